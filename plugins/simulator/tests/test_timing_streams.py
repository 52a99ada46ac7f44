"""Events, schedules and hazards of streams made by hand and at random, against slow counterparts."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto_core.diagnostics import Span, UserError
from pypto_core.ir import PipeType
from pypto_plugin_simulator.timing.cores import Core
from pypto_plugin_simulator.timing.events import derive_events
from pypto_plugin_simulator.timing.hazards import find_races, hazards_of
from pypto_plugin_simulator.timing.report import measure
from pypto_plugin_simulator.timing.schedule import simulate
from pypto_plugin_simulator.timing.stream import (
    EVENT_IDS,
    PIPES,
    Barrier,
    Flag,
    Item,
    SetFlag,
    WaitFlag,
    Work,
    works,
)


def load_oracle() -> ModuleType:
    path = Path(__file__).with_name("timing_oracle.py")
    spec = importlib.util.spec_from_file_location("simulator_timing_oracle", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


oracle = load_oracle()
longest_paths, ordered, unordered_pairs = oracle.longest_paths, oracle.ordered, oracle.unordered_pairs
without_event, outstanding = oracle.without_event, oracle.outstanding

MTE1, MTE2, MTE3, M, V, S, FIX = (PipeType[n] for n in ("MTE1", "MTE2", "MTE3", "M", "V", "S", "FIX"))


class Script:
    """A stream written line by line; each line of the script is a line of a file."""

    def __init__(self) -> None:
        self.items: list[Item] = []

    @property
    def span(self) -> Span:
        line = len(self.items) + 1
        return Span("kernel.py", line, 1)

    def work(self, pipe: PipeType, cycles: float, reads: str = "", writes: str = "") -> Script:
        """Touches the named buffers, each of 32 bytes."""
        extents = [tuple((name, 0, 32) for name in names.split()) for names in (reads, writes)]
        label = f"{pipe.name} {reads}>{writes}"
        index = len(self.items)
        self.items.append(
            Work(
                index=index, pipe=pipe, cycles=cycles, reads=extents[0], writes=extents[1],
                label=label, span=self.span,
            )
        )  # fmt: skip
        return self

    def set(self, source: PipeType, target: PipeType, number: int = 0) -> Script:
        self.items.append(SetFlag(Flag(source, target, number), self.span))
        return self

    def wait(self, source: PipeType, target: PipeType, number: int = 0) -> Script:
        self.items.append(WaitFlag(Flag(source, target, number), self.span))
        return self

    def barrier(self) -> Script:
        self.items.append(Barrier(self.span))
        return self


def auto(script: Script) -> Any:
    stream = derive_events(script.items)
    assert not find_races(stream)
    schedule = simulate(stream)
    assert not schedule.stuck
    return schedule


def pingpong(trips: int, buffers: int, load: float = 100, compute: float = 30, store: float = 50) -> Script:
    script = Script()
    for i in range(trips):
        x, y = f"x{i % buffers}", f"y{i % buffers}"
        script.work(MTE2, load, "", x).work(V, compute, x, y).work(MTE3, store, y)
    return script


# -- by hand


def test_one_buffer_runs_one_after_the_other() -> None:
    """load 100, compute 30: the next load waits for the compute; stores of 50 hide behind it."""
    schedule = auto(pingpong(4, 1))
    loads = [s for w, s in zip(schedule.works, schedule.starts, strict=True) if w.pipe is MTE2]
    assert loads == [0, 130, 260, 390]
    assert schedule.makespan == 390 + 100 + 30 + 50


def test_two_buffers_hide_the_compute_under_the_loads() -> None:
    schedule = auto(pingpong(4, 2))
    loads = [s for w, s in zip(schedule.works, schedule.starts, strict=True) if w.pipe is MTE2]
    assert loads == [0, 100, 200, 300]
    assert schedule.makespan == 400 + 30 + 50
    times = measure(Core(0, 0, 0), schedule)
    assert times.pipe(MTE2).busy == 400
    assert times.utilisation(MTE2) == pytest.approx(400 / 480)
    # Alone: the first load until its compute begins, later loads when compute and store (80) are over, 20 each.
    assert times.pipe(MTE2).exposed == 100 + 3 * 20
    assert times.pipe(V).exposed == 30, "the last compute; the others run under the next load"
    assert times.pipe(MTE3).exposed == 50
    assert times.load_exposed == 100 + 3 * 70
    assert [(s.pipe, s.cycles) for s in times.critical if s.pipe is not MTE2] == [(MTE3, 50), (V, 30)]
    assert sum(step.cycles for step in times.critical) == schedule.makespan


def test_compute_bound_loads_hide() -> None:
    schedule = auto(pingpong(5, 2, load=40, compute=100, store=10))
    assert schedule.makespan == 40 + 5 * 100 + 10


def test_store_completes_later_than_it_is_issued() -> None:
    """The buffer that a store still reads is not overwritten: the second compute waits for it."""
    script = Script().work(V, 10, "", "y").work(MTE3, 100, "y").work(V, 10, "", "y")
    assert auto(script).starts == (0, 10, 110)


def test_reads_of_two_pipes_don_t_wait_for_each_other() -> None:
    script = Script().work(MTE2, 10, "", "x").work(V, 50, "x", "y").work(MTE3, 50, "x")
    assert auto(script).starts == (0, 10, 10)


def test_parts_of_a_buffer_are_told_apart() -> None:
    def part(index: int, pipe: PipeType, start: int, stop: int, writes: bool) -> Work:
        touched = ((("l1", start, stop),), ())
        reads, written = touched[::-1] if writes else touched
        return Work(index=index, pipe=pipe, cycles=10, reads=reads, writes=written)

    items: list[Item] = [
        part(0, MTE2, 0, 100, True),
        part(1, MTE1, 0, 50, False),
        part(2, MTE2, 50, 100, True),
        part(3, MTE2, 49, 50, True),
    ]
    assert simulate(derive_events(items)).starts == (0, 10, 10, 20)


def test_scalar_work_holds_up_what_is_issued_later() -> None:
    """A scalar read of a vector result: what the program says after it is not issued before it is done."""
    script = Script().work(V, 100, "", "y").work(S, 5, "y").work(MTE2, 10, "", "z")
    assert auto(script).starts == (0, 100, 105)


def test_barrier_waits_for_every_pipe() -> None:
    script = Script().work(MTE2, 70, "", "a").work(V, 20, "", "b").barrier().work(V, 5, "a", "c")
    schedule = simulate(script.items)
    assert schedule.starts == (0, 0, 70)
    assert not find_races(script.items)


def test_nine_events_outstanding_have_to_wait() -> None:
    """Nine loads are issued before the first compute: the ninth event is set once the first was waited for."""
    script = Script()
    for i in range(9):
        script.work(MTE2, 10, "", f"x{i}")
    script.work(MTE2, 1000, "", "late")
    for i in range(9):
        script.work(V, 1, f"x{i}", "")
    stream = derive_events(script.items)
    sets = [item.flag for item in stream if isinstance(item, SetFlag)]
    assert sets == [Flag(MTE2, V, i % EVENT_IDS) for i in range(9)]
    schedule = simulate(stream)
    assert schedule.starts[10:18] == (10, 20, 30, 40, 50, 60, 70, 80)
    # Its event comes after all loads that the program has before the first compute, the long one among them.
    assert schedule.starts[18] == 90 + 1000
    assert not find_races(stream)


# -- the program's own events


def test_program_events_order_what_they_say() -> None:
    script = Script().work(MTE2, 10, "", "x").set(MTE2, V).wait(MTE2, V).work(V, 5, "x", "y")
    schedule = simulate(script.items)
    assert schedule.starts == (0, 10)
    assert not hazards_of(script.items, schedule)


def test_race_names_both_statements() -> None:
    script = Script().work(MTE2, 10, "", "x").work(V, 5, "x", "y")
    schedule = simulate(script.items)
    assert schedule.starts == (0, 0), "nothing holds it back"
    (hazard,) = hazards_of(script.items, schedule)
    assert hazard.code == "SIM-040"
    assert [span.begin_line for span in hazard.spans] == [1, 2]
    assert "reads what the other writes" in hazard.message
    assert "'V x>y' on V" in hazard.message and "'MTE2 >x' on MTE2" in hazard.message


def test_auto_relies_on_the_program_s_events_and_keeps_off_their_ids() -> None:
    script = Script().work(MTE2, 10, "", "x").set(MTE2, V, 0).wait(MTE2, V, 0).work(V, 5, "x", "y")
    assert derive_events(script.items) == script.items
    script.work(MTE2, 10, "", "z").work(V, 5, "z", "y")
    added = [i.flag for i in derive_events(script.items) if isinstance(i, SetFlag) and i.derived]
    assert added == [Flag(MTE2, V, 1)]


def test_all_ids_taken_is_an_error() -> None:
    script = Script()
    for number in range(EVENT_IDS):
        script.set(MTE2, V, number).wait(MTE2, V, number)
    script.work(MTE2, 10, "", "x").work(V, 5, "x", "y")
    with pytest.raises(UserError) as caught:
        derive_events(script.items)
    assert caught.value.diagnostics[0].code == "SIM-043"


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (Script().work(V, 1).wait(MTE2, V), "waited for and never set: 0 sets, 1 waits"),
        (Script().set(MTE2, V), "set and never waited for: 1 sets, 0 waits"),
        (Script().set(MTE2, V, 8).wait(MTE2, V, 8), "there are 8 ids for two pipes"),
        (Script().set(MTE2, V).set(MTE2, V).wait(MTE2, V).wait(MTE2, V).work(V, 1), ""),
        (Script().wait(MTE2, V).work(V, 1).set(V, MTE2).wait(V, MTE2).set(MTE2, V), "the run stops"),
    ],
    ids=("wait without set", "set without wait", "ninth id", "set again", "deadlock"),
)
def test_unbalanced_events(script: Script, message: str) -> None:
    found = hazards_of(script.items, simulate(script.items))
    if message:
        assert any(message in h.message and h.code == "SIM-041" for h in found), found
    else:
        assert found == [], "the second set waits for nothing: the first wait comes at the same moment"


def test_set_again_before_the_wait_is_reported() -> None:
    script = Script().set(MTE2, V).set(MTE2, V).work(V, 7).wait(MTE2, V).wait(MTE2, V)
    (found,) = hazards_of(script.items, simulate(script.items))
    assert "is set again before it was waited for" in found.message
    assert [span.begin_line for span in found.spans] == [2]


def test_wait_before_its_set_in_the_program() -> None:
    """Queues run beside each other: the vector pipe stands still until the load pipe gets to its set."""
    script = Script().wait(MTE2, V).work(V, 5, "x", "y").work(MTE2, 10, "", "x").set(MTE2, V)
    schedule = simulate(script.items)
    assert schedule.starts == (10, 0)
    (race,) = find_races(script.items)
    assert (race.kind, race.first.pipe, race.second.pipe) == ("WAR", V, MTE2), "in the wrong order"


def ring(trips: int, slots: int, ahead: bool) -> Script:
    """Loads into a ring of slots with an event for each slot in either direction, primed before and drained after.

    ``ahead``: the first slot is loaded before the loop and each trip loads the next one, under events that were set up
    for a loop that doesn't: the first load waits for no event, and the last trip loads a slot that nobody computes on.
    """
    script = Script()

    def load(i: int) -> None:
        script.work(MTE2, 50, "", f"x{i % slots}").set(MTE2, V, i % slots)

    for slot in range(slots):
        script.set(V, MTE2, slot)
    if ahead:
        load(0)
    for i in range(trips):
        script.wait(V, MTE2, (i + ahead) % slots)
        load(i + ahead)
        script.wait(MTE2, V, i % slots).work(V, 40, f"x{i % slots}", "").set(V, MTE2, i % slots)
    for slot in range(slots):
        script.wait(V, MTE2, slot)
    return script


@pytest.mark.parametrize("slots", [2, 3, 4, 8])
@pytest.mark.parametrize("trips", [0, 1, 2, 5, 7, 8])
def test_rings_are_balanced_for_any_number_of_trips(trips: int, slots: int) -> None:
    good = ring(trips, slots, ahead=False)
    schedule = simulate(good.items)
    assert hazards_of(good.items, schedule) == []
    assert schedule.makespan == (50 * trips + 40 if trips else 0)
    bad = ring(trips, slots, ahead=True)
    assert any("waited" in hazard.message for hazard in hazards_of(bad.items, simulate(bad.items)))


def test_rings_of_more_slots_than_events() -> None:
    script = ring(20, 16, ahead=False)
    assert {h.message.split(":")[1] for h in hazards_of(script.items, simulate(script.items))} == {
        " there are 8 ids for two pipes, 0 to 7"
    }


# -- at random


@st.composite
def streams(draw: Any, most: int = 18) -> list[Item]:
    """Works on few bytes of two memories, so that most of them meet; sometimes a barrier."""
    pipes = draw(st.lists(st.sampled_from(PIPES), min_size=1, max_size=5, unique=True))

    def extents() -> Any:
        one = st.tuples(st.sampled_from("ab"), st.integers(0, 8), st.integers(1, 4))
        return st.lists(one, max_size=2).map(lambda e: tuple((a, s, s + n) for a, s, n in e))

    work = st.tuples(st.sampled_from(pipes), st.integers(1, 9), extents(), extents())
    chosen = draw(st.lists(st.one_of(work, work, work, work, work, st.none()), min_size=1, max_size=most))
    items: list[Item] = []
    for index, parts in enumerate(chosen):
        if parts is None:
            items.append(Barrier())
            continue
        pipe, cycles, reads, writes = parts
        items.append(Work(index=index, pipe=pipe, cycles=cycles, reads=reads, writes=writes))
    return items


def without_barriers(items: list[Item]) -> list[Item]:
    return [item for item in items if not isinstance(item, Barrier)]


@settings(max_examples=100)
@given(items=streams())
def test_derived_events_order_every_conflict(items: list[Item]) -> None:
    stream = derive_events(items)
    assert works(stream) == works(items)
    assert unordered_pairs(stream) == set()
    assert find_races(stream) == []


@settings(max_examples=100)
@given(items=streams())
def test_races_are_found_exactly_when_there_are_some(items: list[Item]) -> None:
    pairs = {(a, b) for a, b in unordered_pairs(items)}
    listed = works(items)
    place = {work.index: at for at, work in enumerate(listed)}
    found = {(place[r.first.index], place[r.second.index]) for r in find_races(items)}
    assert found <= pairs
    assert bool(found) == bool(pairs)
    assert {b for _, b in found} == {b for _, b in pairs}, "each work that is too early is named"


@settings(max_examples=100)
@given(items=streams())
def test_each_event_that_matters_is_missed(items: list[Item]) -> None:
    """Without any one of its events a stream has a race exactly when a pair is left without order."""
    stream = derive_events(items)
    sets = [item for item in stream if isinstance(item, SetFlag)]
    for removed in sets:
        rest = without_event(stream, removed)
        assert bool(find_races(rest)) == bool(unordered_pairs(rest))


@settings(max_examples=100)
@given(items=streams().map(without_barriers))
def test_start_times_are_the_longest_paths(items: list[Item]) -> None:
    stream = derive_events(items)
    if max(outstanding(stream).values(), default=0) >= EVENT_IDS:
        return  # waits for a free event; see the next test
    assert list(simulate(stream).starts) == longest_paths(works(items))


@settings(max_examples=100)
@given(items=streams())
def test_schedules_keep_to_the_order(items: list[Item]) -> None:
    stream = derive_events(items)
    schedule = simulate(stream)
    assert schedule.stuck == ()
    done_before = ordered(stream)
    for b, start in enumerate(schedule.starts):
        for a, end in enumerate(schedule.ends):
            assert not done_before[a][b] or end <= start
    path = schedule.critical_path()
    assert [schedule.starts[i] for i in path[:1]] in ([], [0])
    assert sum(schedule.works[i].cycles for i in path) == schedule.makespan


@settings(max_examples=100)
@given(order=st.permutations(range(14)), cycles=st.lists(st.integers(1, 9), min_size=28, max_size=28))
def test_never_more_than_eight_events_are_set(order: list[int], cycles: list[int]) -> None:
    """Many loads first, computes in any order: events run out, and everything is ordered and ends all the same."""
    items: list[Item] = [
        Work(index=i, pipe=MTE2, cycles=cycles[i], writes=((f"x{i}", 0, 8),)) for i in range(14)
    ]
    items += [
        Work(index=14 + at, pipe=V if i % 3 else MTE1, cycles=cycles[14 + at], reads=((f"x{i}", 0, 8),))
        for at, i in enumerate(order)
    ]
    stream = derive_events(items)
    assert max(outstanding(stream).values()) <= EVENT_IDS
    assert unordered_pairs(stream) == set()
    schedule = simulate(stream)
    assert schedule.stuck == ()
    relaxed = longest_paths(works(items))
    assert all(got >= least for got, least in zip(schedule.starts, relaxed, strict=True))


def test_two_hundred_removed_events() -> None:
    """Double-buffered kernels with one event removed: caught whenever the closure leaves a pair without order."""
    import random

    rng = random.Random(7)
    harmful = 0
    for trial in range(200):
        buffers = rng.randint(1, 3)
        script = pingpong(rng.randint(2, 6), buffers, *(rng.randint(1, 99) for _ in range(3)))
        stream = derive_events(script.items)
        rest = without_event(stream, rng.choice([i for i in stream if isinstance(i, SetFlag)]))
        pairs = unordered_pairs(rest)
        assert bool(find_races(rest)) == bool(pairs), trial
        harmful += bool(pairs)
    assert harmful > 150, "nearly every derived event is needed"
