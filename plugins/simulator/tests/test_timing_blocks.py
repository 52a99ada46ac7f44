"""Blocks of a launch that touch the same global memory: by hand, at random, and in compiled kernels."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto_core.contract import entry_function
from pypto_core.ir import PipeType
from pypto_core.language import parse
from pypto_core.run import compile
from pypto_core.testing import random_inputs
from pypto_plugin_simulator.timing.between import find_block_races
from pypto_plugin_simulator.timing.cores import Core
from pypto_plugin_simulator.timing.engine import run
from pypto_plugin_simulator.timing.stream import Item, Work

Streams = dict[Core, list[Item]]


@st.composite
def launches(draw: Any) -> Streams:
    """A few works of a few blocks on few bytes, on chip and in global memory."""
    areas = st.sampled_from(("DDR of a", "DDR of b", "Vec"))
    extent = st.tuples(areas, st.integers(0, 9), st.integers(1, 4)).map(lambda e: (e[0], e[1], e[1] + e[2]))
    extents = st.lists(extent, max_size=2).map(tuple)
    streams: Streams = {}
    for index in range(draw(st.integers(1, 10))):
        core = Core(draw(st.integers(0, 1)), draw(st.integers(0, 2)), draw(st.integers(0, 1)))
        atomic = draw(st.booleans())
        reads = () if atomic else draw(extents)
        work = Work(
            index=index, pipe=PipeType.MTE3, cycles=1, reads=reads, writes=draw(extents), atomic=atomic
        )
        streams.setdefault(core, []).append(work)
    return streams


def shared(one: Work, other: Work) -> bool:
    """Whether two works are a race when nothing orders them."""

    def meet(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
        both = ((x, y) for x in a for y in b if x[0] == y[0] and x[0].startswith("DDR"))
        return any(x[1] < y[2] and y[1] < x[2] for x, y in both)

    writes = meet(one.writes, other.writes) and not (one.atomic and other.atomic)
    return writes or meet(one.writes, other.reads) or meet(one.reads, other.writes)


@settings(max_examples=200)
@given(streams=launches())
def test_races_are_those_of_all_pairs(streams: Streams) -> None:
    works = [(core, item) for core, stream in streams.items() for item in stream if isinstance(item, Work)]
    pairs = {
        frozenset((a.index, b.index))
        for i, (first, a) in enumerate(works)
        for second, b in works[:i]
        if first.launch == second.launch and first.block != second.block and shared(a, b)
    }
    found = {frozenset((race.first.index, race.second.index)) for race in find_block_races(streams)}
    assert found <= pairs
    assert bool(found) == bool(pairs)


KERNEL = """
import pypto_core.language as pl

@pl.program
class Blocks:
    @pl.function(type=pl.FunctionType.InCore)
    def main(
        self, a: pl.Tensor[[128, 64], pl.FP32], out: pl.{kind}[pl.Tensor[[128, 64], pl.FP32]]
    ) -> pl.Tensor[[128, 64], pl.FP32]:
        i = pl.tile.get_block_idx()
        x = pl.load(a, [0, 0], [32, 64])
        {sync}
        return pl.store(x, [{where}, 0], out{atomic})
"""


@pytest.mark.parametrize(
    ("parts", "lines"),
    [
        ({"where": "i * 32"}, []),
        ({"where": "i * 16"}, [(13, 13)]),
        ({"where": "0"}, [(13, 13)]),
        ({"where": "0", "atomic": ", atomic=pl.AtomicType.Add", "kind": "InOut"}, []),
        ({"where": "0", "sync": "pl.system.syncall()"}, []),
    ],
    ids=("apart", "overlapping", "the same", "added", "joined"),
)
def test_kernels(parts: dict[str, str], lines: list[Any]) -> None:
    text = KERNEL.format(**{"kind": "Out", "sync": "pass", "atomic": ""} | parts)
    program = compile(parse(text), backend="910b", planner="pypto", verification="none", emit=False).program
    inputs = random_inputs(entry_function(program))
    hazards = run(program, inputs, backend="910b", block_num=3).report["time"].hazards
    assert [tuple(span.begin_line for span in hazard.spans) for hazard in hazards] == lines
    assert all(hazard.code == "SIM-046" and "DDR of out" in hazard.message for hazard in hazards)
    assert run(program, inputs, backend="910b", block_num=1).report["time"].hazards == ()
