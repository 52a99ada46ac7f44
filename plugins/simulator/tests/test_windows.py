"""Races in windows: the clocks against a graph of what comes before what, searched for each pair of accesses."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from pypto_core.diagnostics import UNKNOWN_SPAN, UserError
from pypto_plugin_simulator.devices.windows import Use, Windows

SIZE = 24


def history(rng: random.Random, devices: int) -> list[tuple[Any, ...]]:
    """Accesses, signals by ``Set`` that count up, and waits for a signal that is there."""
    events: list[tuple[Any, ...]] = []
    given = [[0] * devices for _ in range(devices)]
    for _ in range(rng.randint(4, 30)):
        rank = rng.randrange(devices)
        kind = rng.choice(("access", "access", "notify", "wait"))
        if kind == "access":
            width = rng.choice((1, 2, 4))
            first = rng.randrange(0, SIZE // width - 1)
            last = rng.randint(first + 1, SIZE // width)
            events.append((kind, rank, rng.choice(list(Use)), width, first, last))
        elif kind == "notify":
            to = rng.randrange(devices)
            given[rank][to] += 1
            events.append((kind, rank, to, given[rank][to]))
        else:
            sender = rng.randrange(devices)
            if given[sender][rank]:
                events.append((kind, rank, sender, rng.randint(1, given[sender][rank])))
    return events


def first_race(events: list[tuple[Any, ...]], devices: int) -> int | None:
    """The first access that clashes with an earlier one which no path leads from."""
    before: dict[int, set[int]] = {}
    last: dict[int, int] = {}
    sent: dict[tuple[int, int, int], int] = {}
    for at, event in enumerate(events):
        kind, rank = event[:2]
        reached: set[int] = set()
        if rank in last:
            reached |= before[last[rank]] | {last[rank]}
        if kind == "notify":
            sent[rank, event[2], event[3]] = at
        elif kind == "wait":
            # The first signal of that count or a later one may have ended the wait: that of the count came first.
            cause = sent[event[2], rank, event[3]]
            reached |= before[cause] | {cause}
        else:
            for earlier, other in enumerate(events[:at]):
                if (
                    other[0] == "access"
                    and other[1] != rank
                    and earlier not in reached
                    and clash(event, other)
                ):
                    return at
        before[at], last[rank] = reached, at
    return None


def clash(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    if (a[2] is Use.READ and b[2] is Use.READ) or (a[2] is Use.ADD and b[2] is Use.ADD):
        return False
    return a[3] * a[4] < b[3] * b[5] and b[3] * b[4] < a[3] * a[5]


def refused_at(events: list[tuple[Any, ...]], devices: int) -> int | None:
    """The access that the clocks refuse."""
    windows = Windows(devices)
    memory = windows.allocate(SIZE, "memory")[0]
    cells = windows.allocate(4 * devices * devices, "cells")[0].view(np.int32).reshape(devices, devices)
    clocks = [np.eye(devices, dtype=np.int64)[rank] for rank in range(devices)]
    for at, event in enumerate(events):
        kind, rank = event[:2]
        if kind == "access":
            _, _, use, width, first, last = event
            view = memory.view({1: np.int8, 2: np.int16, 4: np.int32}[width])[first:last]
            try:
                windows.touch(view, use, rank, clocks[rank], UNKNOWN_SPAN)
            except UserError as error:
                assert error.diagnostics[0].code == "SIM-021"
                return at
        elif kind == "notify":
            cell = cells[event[2], rank, ...]
            windows.signal(cell, event[3], False, rank, clocks[rank])
            clocks[rank][rank] += 1
        else:
            cell = cells[rank, event[2], ...]
            heard = windows.heard(cell, lambda value, wanted=event[3]: value >= wanted, clocks[rank])
            clocks[rank] = np.maximum(clocks[rank], heard)
    return None


@pytest.mark.parametrize("devices", [2, 3, 5])
def test_clocks_refuse_what_no_path_orders(devices: int) -> None:
    rng = random.Random(devices)
    found = []
    for _ in range(400):
        events = history(rng, devices)
        wanted = first_race(events, devices)
        assert refused_at(events, devices) == wanted, events
        found.append(wanted is None)
    assert 20 < sum(found) < 380


def test_a_counter_is_heard_as_far_as_it_had_to_be() -> None:
    """Two additions have come in when one was waited for: the second one orders nothing yet."""
    windows = Windows(2)
    cell = windows.allocate(4, "signal")[0].view(np.int32)[0, ...]
    sender, waiter = np.array([1, 0]), np.array([0, 1])
    for _ in range(2):
        windows.signal(cell, 1, True, 0, sender)
        sender[0] += 1
    heard = windows.heard(cell, lambda value: value >= 1, waiter)
    assert list(heard) == [1, 0]
    windows.signal(cell, -1, True, 1, np.maximum(waiter, heard))
    assert int(cell) == 1
    assert list(windows.heard(cell, lambda value: value >= 1, np.array([1, 1]))) == [2, 1]


def test_strided_parts_are_told_apart() -> None:
    windows = Windows(2)
    data = windows.allocate(64, "memory")[1].view(np.float32).reshape(4, 4)
    clocks = np.eye(2, dtype=np.int64)
    windows.touch(data[:, :2], Use.WRITE, 0, clocks[0], UNKNOWN_SPAN)
    windows.touch(data[:, 2:], Use.WRITE, 1, clocks[1], UNKNOWN_SPAN)
    windows.touch(data.T[3:], Use.READ, 1, clocks[1], UNKNOWN_SPAN)
    with pytest.raises(UserError, match="'memory' on device 1"):
        windows.touch(data.T[1:2, 3:], Use.READ, 1, clocks[1], UNKNOWN_SPAN)


def test_a_wait_that_was_over_before_it_began_orders_nothing() -> None:
    windows = Windows(2)
    cell = windows.allocate(4, "signal")[0].view(np.int32)[0, ...]
    cell[...] = 5
    windows.signal(cell, 1, True, 0, np.array([1, 0]))
    assert list(windows.heard(cell, lambda value: value >= 5, np.array([0, 1]))) == [0, 0]
    assert list(windows.heard(cell, lambda value: value >= 6, np.array([0, 1]))) == [1, 0]


def test_counts_wrap() -> None:
    windows = Windows(1)
    cell = windows.allocate(4, "signal")[0].view(np.int32)[0, ...]
    for _ in range(2):
        windows.signal(cell, (1 << 31) - 1, True, 0, np.array([1]))
    assert int(cell) == -2
