"""Programs that nobody wrote, compiled and on the pipes: no race is left, and the checker agrees with the closure."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path
from types import ModuleType

import pytest

from pypto_core.contract import entry_function
from pypto_core.host import load_host
from pypto_core.run import compile
from pypto_core.testing import random_inputs, random_program
from pypto_plugin_simulator.machine import run as run_bytes
from pypto_plugin_simulator.timing.cores import Streams, recorder
from pypto_plugin_simulator.timing.events import derive_events
from pypto_plugin_simulator.timing.hazards import find_races
from pypto_plugin_simulator.timing.schedule import simulate
from pypto_plugin_simulator.timing.stream import EVENT_IDS, Item, SetFlag, works

PLANNERS = ("pypto", "dsa_rp", "ptoas")


def load_oracle() -> ModuleType:
    path = Path(__file__).with_name("timing_oracle.py")
    spec = importlib.util.spec_from_file_location("simulator_timing_oracle", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


oracle = load_oracle()


def stream_of(seed: int, planner: str) -> list[Item]:
    """A random program, compiled for the 910B and run: what its one core does."""
    program = random_program(seed)
    function = entry_function(program)
    backend = load_host().backend("910b")
    done = compile(program, backend=backend, planner=planner, verification="none", emit=False).program
    streams = Streams()
    record = recorder(streams, done, backend, {})
    run_bytes(done, random_inputs(function), function.name, backend=backend, recorder=record)
    assert streams.untimed == {}
    (stream,) = streams.of.values()
    return stream


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_on_the_pipes(seed: int) -> None:
    """Ten events are taken out, one at a time: a race is found exactly when a pair is left without order."""
    issued = stream_of(seed, PLANNERS[seed % 3])
    stream = derive_events(issued)
    assert works(stream) == works(issued)
    assert oracle.unordered_pairs(stream) == set()
    assert find_races(stream) == []
    schedule = simulate(stream)
    assert schedule.stuck == ()
    starts = oracle.longest_paths(works(issued))
    if max(oracle.outstanding(stream).values(), default=0) < EVENT_IDS:
        assert list(schedule.starts) == pytest.approx(starts)
    else:
        assert all(got >= least for got, least in zip(schedule.starts, starts, strict=True))
    rng = random.Random(seed)
    sets = [item for item in stream if isinstance(item, SetFlag)]
    harmful = 0
    for removed in rng.sample(sets, min(10, len(sets))):
        rest = oracle.without_event(stream, removed)
        pairs = oracle.unordered_pairs(rest)
        assert bool(find_races(rest)) == bool(pairs)
        harmful += bool(pairs)
    assert harmful >= min(10, len(sets)) * 0.7, "hardly any event is one too many"
