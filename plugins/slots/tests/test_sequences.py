"""Random loop shapes, rotated and run on bytes: which slot each trip takes, and that nothing in it is lost.

PYPTO_LOOPS=500 runs that many shapes; the tests run a few.
"""

from __future__ import annotations

import os
from random import Random
from typing import Any

import attrs
import numpy as np
import pytest

from pypto_core.contract import entry_function
from pypto_core.ir import ForStmt, Program, walk_stmts
from pypto_core.run import PassContext, compile
from pypto_core.testing import random_inputs, same_elements

LOOPS = int(os.environ.get("PYPTO_LOOPS", "18"))
PLANNERS = ("ptoas", "pypto", "dsa_rp")
BYTES = 4 * 64
"""Of one tile of the loop."""

PARAMS = (
    "a: pl.Tensor[[64, 64], pl.FP32], out: pl.InOut[pl.Tensor[[64, 64], pl.FP32]], hi: pl.Scalar[pl.INDEX]"
)
BODY = """
    kept = pl.load(a, [63, 0], [1, 64])
    for i in pl.pipeline({start}, {stop}, {step}, stage={stages}):
        x = pl.load(a, [i % 64, 0], [1, 64])
        y = pl.load(a, [(i * 7 + 3) % 64, 0], [1, 64])
        s = pl.add(x, y)
        u = pl.mul(s, x)
        w = pl.add(u, kept)
        pl.store(w, [i % 64, 0], out)
    pl.store(kept, [0, 0], out)
"""


@attrs.frozen
class Shape:
    """A loop. ``runtime``: its end is a parameter."""

    start: int
    step: int
    trips: int
    stages: int
    runtime: bool

    @property
    def stop(self) -> int:
        """An end that gives that many trips; with a step above 1, not always the least one."""
        return self.start + self.step * self.trips - (self.start % self.step if self.trips else 0)


def shape(rng: Random) -> Shape:
    """Anything that the pass admits."""
    stages = rng.randint(2, 16)
    start = rng.choice([0, stages * rng.randrange(4), rng.randrange(1, 40)])
    step = rng.choice([1, 1, 2, 3, rng.randrange(1, 80)])
    trips = rng.choice([0, 1, stages - 1, stages, stages + 1, rng.randrange(40)])
    return Shape(start, step, trips, stages, runtime=step == 1 and rng.random() < 0.4)


def rotated(kit: Any, program: Program, planner: str) -> tuple[Program, Any]:
    """The compiled program, its loop in slots, and the machine."""
    options = {} if planner == "ptoas" else {"enable_addressed_slots": True}
    machine = kit.host.backend("910b")
    with PassContext(backend=machine, planner=planner):
        done = compile(program, host=kit.host, emit=False, **options).program
    [function] = done.functions.values()
    loops = [s for s in walk_stmts(function.body) if isinstance(s, ForStmt)]
    assert len(loops) <= 1, "one body, no remainder"
    return done, machine


@pytest.mark.parametrize("seed", range(LOOPS))
def test_each_trip_takes_its_slot(kit: Any, seed: int) -> None:
    planner = PLANNERS[seed % 3]
    loop = shape(Random(seed))
    text = BODY.format(
        start=loop.start, stop="hi" if loop.runtime else loop.stop, step=loop.step, stages=loop.stages
    )
    program = kit.kernel(PARAMS, text)
    inputs = {**random_inputs(entry_function(program, None), seed), "hi": loop.stop}
    inputs["a"] = np.random.default_rng(seed).integers(-99, 99, (64, 64)).astype(np.float32)
    want = kit.host.engine("values").load()(program, inputs).outputs["out"]
    after, machine = rotated(kit, program, planner)
    steps: list[Any] = []
    have = kit.host.engine("bytes").load()(
        after, inputs, backend=machine, addressed=planner != "ptoas", recorder=steps.append
    )
    assert same_elements(want, have.outputs["out"]).all()
    _check_slots(loop, steps)


def _check_slots(loop: Shape, steps: list[Any]) -> None:
    values = range(loop.start, loop.stop, loop.step)
    loads = [step for step in steps if step.op == "tile.load"][1:]  # without that of 'kept'
    assert len(loads) == 2 * len(values)
    if not loads:
        return
    for ring in (loads[0::2], loads[1::2]):
        origin = ring[0].writes[0].start
        slots = [(load.writes[0].start - origin) // BYTES for load in ring]
        assert slots == [(iv - loop.start) // loop.step % loop.stages for iv in values]
        assert all(load.writes[0].stop - load.writes[0].start == BYTES for load in ring)
    _check_reads(loads, steps)


def _check_reads(loads: list[Any], steps: list[Any]) -> None:
    """Whoever reads a slot reads what the load of its own trip has put there, and that load is read."""
    last: dict[tuple[str, int], int] = {}
    read: set[int] = set()
    trip = -1
    tops = {load.index for load in loads[0::2]}
    for step in steps:
        trip += step.index in tops
        for touched in step.reads:
            writer = last.get((touched.storage, touched.start))
            if writer is not None:
                assert writer in (2 * trip, 2 * trip + 1)
                read.add(writer)
        if step.op == "tile.load" and step in loads:
            write = step.writes[0]
            last[write.storage, write.start] = loads.index(step)
        else:
            for write in step.writes:
                last.pop((write.storage, write.start), None)
    assert read == set(range(len(loads)))
