"""How long compiling takes: straight-line kernels by size, the examples, and kernels that the cache knows.

The peer is the C++ compiler of the field, whose times were taken on a machine of the same class: parse and passes of
kernels of 100, 500 and 2,000 elementwise statements. Times are the processor's: compiling waits for nothing, and other
programs on the machine take no part.
"""

# pyright: reportInvalidTypeForm=false

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pypto_core.language as pl
from benchmarks.bench_language import kernel_text
from benchmarks.figures import Figure, best_of, clock, growth

EXAMPLES = Path(__file__).resolve().parent.parent / "examples" / "kernels"
SIZES = (100, 500, 2000)
LIMITS = (0.10, 0.45, 1.8)
PEER = (0.11, 0.57, 3.8)


@pl.jit
def softmax(x: pl.Tensor, out: pl.Out[pl.Tensor]):  # noqa: D103 - a kernel
    with pl.at(level=pl.Level.CORE_GROUP):
        rows, cols = x.shape
        tile = pl.load(x, [0, 0], [rows, cols])
        scratch = pl.create_tile([rows, cols], dtype=pl.FP32, target_memory=pl.Mem.Vec)
        powers = pl.exp(pl.row_expand_sub(tile, pl.row_max(tile, scratch)))
        pl.store(pl.row_expand_div(powers, pl.row_sum(powers, scratch)), [0, 0], out)
    return out


class Sample:
    """An array of which only extents and element type are known."""

    shape, dtype = (64, 64), "float32"


def run() -> list[Figure]:
    """Seconds from source to planned IR by size, the slowest example, and a kernel from each place of the cache."""
    from pypto_core.host import load_host
    from pypto_core.run import PassContext

    host = load_host()
    with PassContext(host=host, backend=next(iter(host.backends.values())), verification="basic"):
        return [*_sizes(), *_examples(), *_cached()]


def _sizes() -> Iterator[Figure]:
    from pypto_core.language import parse_program
    from pypto_core.run import compile

    seconds: list[float] = []
    for size, limit, peer in zip(SIZES, LIMITS, PEER, strict=True):
        text = kernel_text(size)
        best = best_of(lambda text=text: compile(parse_program(text), emit=False), repeat=3)  # type: ignore[misc]
        seconds.append(best)
        yield Figure(
            name=f"source to planned IR, {size:,} statements",
            value=best,
            unit="s",
            target=limit,
            peer=peer,
            peer_name="C++",
        )
    yield Figure(name="growth of compile time", value=growth(SIZES, seconds), unit="exponent", target=1.15)


def _examples() -> Iterator[Figure]:
    from pypto_core.run import compile

    for what, emit, limit in (("planned IR", False, 0.15), ("PTO", True, 0.25)):
        slowest = (0.0, "none")
        for path in sorted(EXAMPLES.glob("*.py")):
            took = _seconds(lambda path=path, emit=emit: compile(path, emit=emit))  # type: ignore[misc]
            if took is not None:
                slowest = max(slowest, (took, path.stem))
        yield Figure(
            name=f"slowest example, source to {what}",
            value=slowest[0],
            unit="s",
            target=limit,
            note=slowest[1],
        )


def _seconds(compiled: Callable[[], Any]) -> float | None:
    """The least time of three; None for an example that the target refuses, such as one that mixes the cores."""
    from pypto_core.diagnostics import UserError

    try:
        return best_of(compiled, repeat=3)
    except UserError:
        return None


def _cached() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder, _environment(PYPTO_CACHE="on", PYPTO_CACHE_DIR=folder):
        array = Sample()
        began = clock()
        softmax.compile(array, array)
        first = clock() - began
        softmax.forget()
        from_disk = best_of(lambda: (softmax.forget(), softmax.compile(array, array)), repeat=5)
        from_memory = best_of(lambda: softmax.compile(array, array), repeat=5)
    yield Figure(name="jit kernel to PTO, compiled", value=first, unit="s", target=0.25)
    yield Figure(name="jit kernel to PTO, from disk", value=from_disk, unit="s", target=0.03)
    yield Figure(name="jit kernel to PTO, from memory", value=from_memory, unit="s", target=0.03)


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
