"""What a benchmark returns, and how it takes its times."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Sequence
from typing import Literal

import attrs


@attrs.frozen(kw_only=True)
class Figure:
    """One measured value.

    `target` is the limit that the value has to stay within, in the same unit: a ceiling when `better` is
    "lower", a floor when it is "higher". A figure without a target only informs. `peer` is the same
    quantity of another program, taken in the same run on the same machine, so that their ratio means
    something wherever it is read.
    """

    name: str
    value: float
    unit: str
    target: float | None = None
    better: Literal["lower", "higher"] = "lower"
    peer: float | None = None
    peer_name: str = ""
    note: str = ""

    @property
    def ok(self) -> bool | None:
        """Whether the target is met; None when there is none. A value that is not a number meets nothing."""
        if self.target is None:
            return None
        return self.value <= self.target if self.better == "lower" else self.value >= self.target

    @property
    def ratio(self) -> float | None:
        """How many times better than the peer; None without a peer or with nothing to divide by."""
        if self.peer is None:
            return None
        better, worse = (self.value, self.peer) if self.better == "lower" else (self.peer, self.value)
        return worse / better if better else None


clock = time.process_time
"""Seconds of processor time. What is measured here runs in one thread, so that this is what a user waits for on a
machine with nothing else to do, whatever this one has to do.
"""


def best_of(function: Callable[[], object], *, repeat: int = 5, number: int = 1) -> float:
    """The least processor time in seconds of one call of `function`.

    Takes `repeat` samples of `number` calls each after one call that is not counted, with the garbage
    collector off, as the least sample is the one that other programs disturbed least.
    """
    if repeat < 1 or number < 1:
        raise ValueError("repeat and number count samples and calls: both are at least 1")
    function()
    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        return min(_sample(function, number) for _ in range(repeat))
    finally:
        if enabled:
            gc.enable()


_TURN = 3


def best_of_both(
    first: Callable[[], object], second: Callable[[], object], *, repeat: int = 5
) -> tuple[float, float]:
    """The least times in seconds of a call of each, taken in turns: what disturbs one disturbs the other too.

    A turn is a few calls, as the first ones also pay for the memory that the other side has taken or given back.
    """
    times = [(best_of(first, repeat=_TURN), best_of(second, repeat=_TURN)) for _ in range(repeat)]
    return min(mine for mine, _ in times), min(other for _, other in times)


def _sample(function: Callable[[], object], number: int) -> float:
    start = clock()
    for _ in range(number):
        function()
    return (clock() - start) / number


def growth(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """The exponent e of the least-squares fit `seconds ~ sizes ** e`: 1 is linear, 2 quadratic."""
    if len(sizes) != len(seconds) or len(set(sizes)) < 2:
        raise ValueError("a growth needs one time for each of at least two different sizes")
    xs = [math.log(size) for size in sizes]
    ys = [math.log(second) for second in seconds]
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    covariance = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True))
    return covariance / sum((x - mean_x) ** 2 for x in xs)
