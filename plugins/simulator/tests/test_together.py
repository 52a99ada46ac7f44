"""Blocks that wait for each other at ``system.syncall``: each sees what all wrote ahead of it."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from pypto_core.diagnostics import UserError
from pypto_core.host import load_host
from pypto_core.language import parse_program
from pypto_core.run import compile

HEAD = """
import pypto_core.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self, x: pl.Tensor[[4, 64], pl.FP32], a: pl.Out[pl.Tensor[[4, 64], pl.FP32]],
        b: pl.Out[pl.Tensor[[4, 64], pl.FP32]], out: pl.Out[pl.Tensor[[4, 64], pl.FP32]],
    ) -> tuple[pl.Tensor[[4, 64], pl.FP32], pl.Tensor[[4, 64], pl.FP32], pl.Tensor[[4, 64], pl.FP32]]:
        with pl.spmd(4, sync_start=True):
            i = pl.tile.get_block_idx()
"""
TAIL = "\n        return a, b, out\n"
TURNS = """
            a[i : i + 1, :] = pl.add(x[i : i + 1, :], 1.0)
            pl.system.syncall()
            n = (i + 1) % 4
            b[i : i + 1, :] = pl.mul(a[n : n + 1, :], 2.0)
            pl.system.syncall()
            m = (i + 2) % 4
            out[i : i + 1, :] = pl.sub(b[m : m + 1, :], a[i : i + 1, :])
"""
SOME = """
            a[i : i + 1, :] = pl.neg(x[i : i + 1, :])
            if i < 2:
                pl.system.syncall()
            b[i : i + 1, :] = x[i : i + 1, :]
            out[i : i + 1, :] = x[i : i + 1, :]
"""
BAD = """
            a[i : i + 1, :] = pl.neg(x[i : i + 1, :])
            pl.system.syncall()
            if i == 3:
                pl.write(b, [i + 1, 0], 1.0)
            pl.system.syncall()
            out[i : i + 1, :] = x[i : i + 1, :]
"""


def given() -> Any:
    return np.random.default_rng(2).standard_normal((4, 64), dtype=np.float32)


def run(program: Any, engine: str = "values", **options: Any) -> Any:
    return load_host().engine(engine).load()(program, {"x": given()}, **options)


def test_all_wait_at_each_meeting() -> None:
    """The order of the statements of one block says nothing about those of another, but for the meetings."""
    program = parse_program(HEAD + TURNS + TAIL)
    a = given() + 1
    b = 2 * np.roll(a, -1, axis=0)
    want = {"a": a, "b": b, "out": np.roll(b, -2, axis=0) - a}
    machine = load_host().backend("910b")
    for planner, goal in (("pypto", "AllocatedMemoryAddr"), ("ptoas", "HasMemRefs")):
        compiled = compile(program, backend="910b", planner=planner, goal=goal).program
        found = [run(program), run(compiled), run(compiled, "bytes", backend=machine)]
        for result in found:
            for name, value in want.items():
                np.testing.assert_allclose(result.outputs[name], value, rtol=1e-6)


def test_the_timed_run_of_blocks_that_meet() -> None:
    machine = load_host().backend("910b")
    compiled = compile(
        parse_program(HEAD + TURNS + TAIL), backend="910b", planner="pypto", goal="AllocatedMemoryAddr"
    )
    found = run(compiled.program, "time", backend=machine)
    np.testing.assert_allclose(found.outputs["a"], given() + 1, rtol=1e-6)
    report = found.report["time"]
    assert report.hazards == ()
    assert len({core.core.launch for core in report.cores}) == 1 and len(report.cores) == 4


def test_a_block_that_waits_for_one_that_has_ended() -> None:
    with pytest.raises(UserError, match="block 0 waits for all blocks, and block 2 has ended") as caught:
        run(parse_program(HEAD + SOME + TAIL))
    [found] = caught.value.diagnostics
    assert found.code == "SIM-005" and found.span.is_valid
    assert dict(found.facts) == {"waiting": "0, 1", "ended": "2, 3"}


@pytest.mark.parametrize("body", [SOME, BAD])
def test_no_thread_is_left_behind(body: str) -> None:
    before = threading.active_count()
    with pytest.raises(UserError):
        run(parse_program(HEAD + body + TAIL))
    assert threading.active_count() == before
