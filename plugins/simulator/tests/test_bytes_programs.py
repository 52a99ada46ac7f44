"""Programs that were compiled for every planner and machine give on bytes what they gave as values."""

from __future__ import annotations

import runpy
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from bytes_kit import COUNT, TARGETS, check, cube_kernel, host, inputs_of, planned, targets
from wide_kernels import wide_kernel

from pypto_core.language import parse
from pypto_core.run import as_program
from pypto_core.testing import ALL_FEATURES, assert_same_behaviour, random_program

EXAMPLES = Path(__file__).parents[3] / "examples" / "kernels"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_examples(path: Path) -> None:
    program = as_program(path)
    names = runpy.run_path(str(path))
    inputs = names["inputs"](np.random.default_rng(1)) if "inputs" in names else inputs_of(program, 1)
    for backend, planner in targets(len(path.stem)):
        check(program, inputs, backend, planner)


def test_programs_without_a_plan_run_too() -> None:
    for name in ("softmax", "matmul_acc", "add"):
        program = as_program(EXAMPLES / f"{name}.py")
        assert_same_behaviour(program, program, inputs_of(program, 2), host=host(), engine="bytes")


@pytest.mark.parametrize("seed", range(COUNT))
def test_random_programs(seed: int) -> None:
    program = random_program(seed, 15 + seed % 30, features=ALL_FEATURES)
    for backend, planner in targets(seed):
        check(program, inputs_of(program, seed), backend, planner)


@pytest.mark.parametrize("seed", range(COUNT))
def test_vector_kernels_of_many_operators(seed: int) -> None:
    program = wide_kernel(Random(seed), 5 + seed % 40)
    for backend, planner in targets(seed):
        check(program, inputs_of(program, seed), backend, planner)


@pytest.mark.parametrize("seed", range(COUNT))
def test_products_of_all_types_and_pitches(seed: int) -> None:
    program = cube_kernel(Random(seed))
    inputs = {**inputs_of(program, seed), "n": 1 + seed % 40}
    for backend, planner in targets(seed):
        check(program, inputs, backend, planner)


def test_a_run_reports_each_access_in_order() -> None:
    steps: list[Any] = []
    program = as_program(EXAMPLES / "softmax.py")
    after, where = planned(program, "910b", "pypto")
    host().engine("bytes").load()(after, inputs_of(program, 0), recorder=steps.append, **where)
    assert [step.op for step in steps] == [
        "tile.load", "tile.row_max", "tile.row_expand_sub", "tile.exp", "tile.row_sum", "tile.row_expand_div",
        "tile.store",
    ]  # fmt: skip
    assert [step.index for step in steps] == list(range(7))
    load, top, store = steps[0], steps[1], steps[-1]
    assert [(r.space.name, r.storage, r.start, r.stop) for r in load.reads] == [("DDR", "x", 0, 64 * 64 * 4)]
    assert load.writes[0].stop - load.writes[0].start == 64 * 64 * 4 and load.writes[0].storage == ""
    assert load.pipe.name == "MTE2" and top.pipe.name == "V" and store.pipe.name == "MTE3"
    assert sum(r.stop - r.start for r in top.writes) == 64 * 64 * 4 + 64 * 4  # its scratch and its result
    assert [(r.space.name, r.storage) for r in store.writes] == [("DDR", "out")]
    assert top.reads == load.writes and store.operands[0].shape == (64, 64)


def test_windows_of_tensors_are_rows_of_bytes() -> None:
    steps: list[Any] = []
    program = parse("""
import pypto_core.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def main(self, x: pl.Tensor[[8, 64], pl.FP16], out: pl.Out[pl.Tensor[[8, 64], pl.FP16]]):
        t = pl.load(x, [2, 16], [3, 16])
        pl.store(t, [4, 32], out)
""")
    x = np.arange(8 * 64).reshape(8, 64).astype(np.float16)
    host().engine("bytes").load()(program, {"x": x}, recorder=steps.append)
    rows = [(2 * (64 * r + 16), 2 * (64 * r + 32)) for r in (2, 3, 4)]
    assert [(r.start, r.stop) for r in steps[0].reads] == rows
    rows = [(2 * (64 * r + 32), 2 * (64 * r + 48)) for r in (4, 5, 6)]
    assert [(r.start, r.stop) for r in steps[1].writes] == rows


def test_calls_inside_of_calls_keep_their_accesses_apart() -> None:
    steps: list[Any] = []
    program = parse("""
import pypto_core.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def main(self, x: pl.Tensor[[8, 64], pl.FP32], out: pl.Out[pl.Tensor[[8, 64], pl.FP32]]):
        pl.store(pl.add(pl.load(x, [0, 0], [4, 64]), pl.neg(pl.load(x, [4, 0], [4, 64]))), [0, 0], out)
""")
    x = np.arange(8 * 64, dtype=np.float32).reshape(8, 64)
    host().engine("bytes").load()(program, {"x": x}, recorder=steps.append)
    sizes = {
        step.op: [sum(r.stop - r.start for r in ranges) for ranges in (step.reads, step.writes)]
        for step in steps
    }
    tile = 4 * 64 * 4
    assert sizes == {
        "tile.load": [tile, tile], "tile.neg": [tile, tile], "tile.add": [2 * tile, tile], "tile.store": [tile, tile]
    }  # fmt: skip


def test_blocks_have_memories_of_their_own() -> None:
    steps: list[Any] = []
    program = as_program(EXAMPLES / "add.py")
    host().engine("bytes").load()(program, inputs_of(program, 0), block_num=3, recorder=steps.append)
    assert {step.block.index for step in steps} == {0, 1, 2}
    assert {step.block.count for step in steps} == {3}


@pytest.mark.parametrize(
    ("call", "wanted", "read"),
    [
        ("row_expand(shape, pl.load(c, [0, 0], [8, 1]))", np.arange(8)[:, None], 8 * 4),
        ("col_expand(shape, pl.load(r, [0, 0], [1, 16]))", np.arange(16)[None, :], 16 * 4),
        ("expands(shape, 3.5)", np.array(3.5), 0),
    ],
)
def test_a_tile_that_gives_its_extents_need_not_be_filled(call: str, wanted: Any, read: int) -> None:
    steps: list[Any] = []
    program = parse(f"""
import pypto_core.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def main(
        self,
        c: pl.Tensor[[8, 1], pl.FP32],
        r: pl.Tensor[[1, 16], pl.FP32],
        out: pl.Out[pl.Tensor[[8, 16], pl.FP32]],
    ):
        shape = pl.create_tile([8, 16], pl.FP32)
        pl.store(pl.{call}, [0, 0], out)
""")
    inputs = {"c": np.arange(8, dtype=np.float32)[:, None], "r": np.arange(16, dtype=np.float32)[None, :]}
    for backend, planner in targets(0):
        after, where = planned(program, backend, planner)
        ran = host().engine("bytes").load()(after, inputs, recorder=steps.append, **where)
        assert np.array_equal(ran.outputs["out"], np.broadcast_to(wanted, (8, 16)))
    spreads = [step for step in steps if "expand" in step.op]
    assert spreads and all(sum(p.stop - p.start for p in step.reads) == read for step in spreads)


@pytest.mark.parametrize(
    ("shape", "dtype"), [((5, 7), "FP32"), ((1, 50), "FP16"), ((9, 3), "FP16"), ((17, 40), "FP32")]
)
def test_rows_that_fill_no_blocks_of_storage(shape: tuple[int, int], dtype: str) -> None:
    """Windows, casts, columns and rows of odd extents: what numpy says, on every machine under every planner."""
    rows, cols = shape
    program = parse(f"""
import pypto_core.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def main(
        self,
        x: pl.Tensor[[{3 * rows}, {cols}], pl.{dtype}],
        out: pl.Out[pl.Tensor[[{3 * rows}, {cols}], pl.{dtype}]],
        tops: pl.Out[pl.Tensor[[{3 * rows}, 1], pl.{dtype}]],
        low: pl.Out[pl.Tensor[[1, {cols}], pl.FP32]],
    ):
        least = pl.tile.full([1, {cols}], pl.FP32, 100.0)
        for i in pl.pipeline(3, stage=2):
            t = pl.load(x, [i * {rows}, 0], [{rows}, {cols}])
            scratch = pl.create_tile([{rows}, {cols}], pl.{dtype})
            top = pl.row_max(t, scratch)
            half = pl.reshape(pl.mul(pl.reshape(top, [1, {rows}]), 0.5), [{rows}, 1])
            pl.store(pl.row_expand_sub(t, half), [i * {rows}, 0], out)
            pl.store(top, [i * {rows}, 0], tops)
            last = pl.tile.slice(t, [1, {cols}], [{rows - 1}, 0])
            least = pl.minimum(least, {"last" if dtype == "FP32" else "pl.cast(last, pl.FP32)"})
        pl.store(least, [0, 0], low)
""")
    x = np.random.default_rng(3).standard_normal((3 * rows, cols)).astype(f"float{dtype[2:]}")
    tops = x.max(axis=1, keepdims=True)
    wanted = {
        "out": x - tops * x.dtype.type(0.5),
        "tops": tops,
        "low": x[rows - 1 :: rows].min(axis=0)[None, :],
    }
    for backend, planner in TARGETS:
        after, where = planned(program, backend, planner)
        found = host().engine("bytes").load()(after, {"x": x}, **where).outputs
        for name, value in wanted.items():
            assert np.array_equal(found[name], value.astype(found[name].dtype)), name
