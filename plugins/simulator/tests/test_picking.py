"""Gather, scatter and sort, against loops written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from bytes_kit import host
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto_core.diagnostics import UserError
from pypto_core.ir import DataType
from pypto_core.language import parse
from pypto_core.testing import assert_same_behaviour

FP32, FP16, INT32, UINT32 = DataType.FP32, DataType.FP16, DataType.INT32, DataType.UINT32
PATTERNS = {1: "0101", 2: "1010", 3: "0001", 4: "0010", 5: "0100", 6: "1000", 7: "1111"}


def random(seed: int, shape: tuple[int, ...], kind: Any = np.float32) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(kind)


@settings(max_examples=15)
@given(st.integers(0, 99), st.integers(1, 6), st.integers(1, 9), st.integers(1, 5), st.integers(1, 8))
def test_gather_counts_the_elements_of_a_tile(run_op, given_array, seed, rows, cols, m, n) -> None:
    x = random(seed, (rows, cols))
    index = np.random.default_rng(seed).integers(0, rows * cols, (m, n)).astype(np.int32)
    tmp = given_array(np.zeros((m, n), np.int32), INT32)
    got = run_op("tile.gather", given_array(x, FP32), given_array(index, INT32), tmp)
    want = [[x[index[i, j] // cols, index[i, j] % cols] for j in range(n)] for i in range(m)]
    np.testing.assert_array_equal(got, np.array(want, np.float32))


@pytest.mark.parametrize("dim", [-1, 0, 1])
def test_gather_of_a_tensor_counts_along_an_axis(run_op, given_array, dim) -> None:
    x = random(1, (5, 7))
    index = np.random.default_rng(2).integers(0, 5, (4, 6)).astype(np.int32)
    got = run_op("tensor.gather", given_array(x, FP32), given_array(index, INT32), dim=dim)
    for i in range(4):
        for j in range(6):
            assert got[i, j] == (x[index[i, j], j] if dim == 0 else x[i, index[i, j]])


@pytest.mark.parametrize("pattern", PATTERNS)
def test_masks_are_read_from_the_lowest_bit(run_op, given_array, pattern) -> None:
    bits = PATTERNS[pattern][::-1]
    x = random(3, (3, 16))
    kept = [c for c in range(16) if bits[c % 4] == "1"]
    got = run_op("tile.gather_mask", given_array(x, FP32), mask_pattern=pattern, output_dtype=INT32)
    np.testing.assert_array_equal(got, x[:, kept].view(np.int32))
    y = random(4, (3, len(kept)))
    got = run_op("tile.scatter_mask", given_array(x, FP32), given_array(y, FP32), mask_pattern=pattern)
    want = x.copy()
    want[:, kept] = y
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("space", ["tile", "tensor"])
def test_scatter_puts_one_after_the_other(run_op, given_array, space) -> None:
    x, y = random(5, (4, 8)), random(6, (3, 5))
    index = np.random.default_rng(7).integers(0, 12, (3, 5)).astype(np.int32)  # some twice
    got = run_op(f"{space}.scatter", *(given_array(a, t) for a, t in ((x, FP32), (y, FP32), (index, INT32))))
    want = x.copy()
    for i in range(3):
        for j in range(5):
            want[index[i, j] // 8, index[i, j] % 8] = y[i, j]
    np.testing.assert_array_equal(got, want)


def test_rows_by_name(run_op, given_array) -> None:
    x, table = random(8, (4, 8)), random(9, (20, 8))
    index = np.array([[3, 19, 0, 3]], np.int32)
    got = run_op(
        "tensor.gather_row", given_array(x, FP32), given_array(table, FP32), given_array(index, INT32)
    )
    np.testing.assert_array_equal(got, table[[3, 19, 0, 3]])


def pairs_of(values: Any, numbers: Any) -> Any:
    """The words of a list of pairs, byte by byte."""
    raw = bytearray()
    for value, number in zip(values, numbers, strict=True):
        raw += value.tobytes() + b"\0" * (4 - value.dtype.itemsize) + np.uint32(number).tobytes()
    return np.frombuffer(bytes(raw), values.dtype)


@pytest.mark.parametrize(("dtype", "kind"), [(FP32, np.float32), (FP16, np.float16)])
def test_runs_of_32_are_sorted_as_pairs(run_op, given_array, dtype, kind) -> None:
    x = np.random.default_rng(1).integers(-9, 9, (2, 96)).astype(kind)  # with equal values
    numbers = np.arange(96, dtype=np.uint32)[None] + 1000
    got = run_op("tile.sort32", given_array(x, dtype), given_array(numbers, UINT32))
    for r in range(2):
        want = []
        for first in range(0, 96, 32):
            run = sorted(range(first, first + 32), key=lambda c: (-float(x[r, c]), c))
            want.append(pairs_of(x[r, run], numbers[0, run]))
        assert got[r].tobytes() == np.concatenate(want).tobytes()


def lists(kind: Any, lengths: list[int]) -> list[tuple[Any, Any, Any]]:
    """(values, numbers, words) of sorted lists."""
    rng, out, first = np.random.default_rng(3), [], 0
    for n in lengths:
        values = np.sort(rng.permutation(1000)[:n].astype(kind))[::-1].copy()
        numbers = np.arange(first, first + n)
        out.append((values, numbers, pairs_of(values, numbers)))
        first += n
    return out


@pytest.mark.parametrize(("dtype", "kind"), [(FP32, np.float32), (FP16, np.float16)])
def test_four_runs_become_one(run_op, given_array, dtype, kind) -> None:
    runs = lists(kind, [32] * 6)
    words = np.concatenate([r[2] for r in runs])[None]
    got = run_op("tile.mrgsort_format1", given_array(words, dtype), block_len=len(runs[0][2]))
    want = []
    for group in (runs[:4], runs[4:]):
        values, numbers = (np.concatenate([r[i] for r in group]) for i in (0, 1))
        order = np.argsort(-values, kind="stable")
        want.append(pairs_of(values[order], numbers[order]))
    assert got.tobytes() == np.concatenate(want).tobytes()


@pytest.mark.parametrize("exhausted", [False, True])
@pytest.mark.parametrize("lengths", [[32, 64], [32, 32, 64], [8, 16, 32, 8]])
def test_lists_become_one(run_op, given_array, lengths, exhausted) -> None:
    made = lists(np.float32, lengths)
    tmp = np.zeros((1, 2 * sum(lengths)), np.float32)
    operands = [given_array(words[None], FP32) for _, _, words in made]
    got = run_op("tile.mrgsort_format2", *operands, given_array(tmp, FP32), exhausted=exhausted)
    heads, want = [list(zip(v, n, strict=True)) for v, n, _ in made], []
    while all(heads) if exhausted else any(heads):
        best = max((h for h in heads if h), key=lambda h: h[0][0])
        want.append(best.pop(0))
    words = pairs_of(np.array([v for v, _ in want], np.float32), [n for _, n in want])
    assert got[0, : len(words)].tobytes() == words.tobytes()
    assert np.isnan(got[0, len(words) :: 2]).all()


def test_indices_have_to_name_data(run_op, given_array) -> None:
    x, tmp = given_array(random(1, (4, 4)), FP32, (2, 4)), given_array(np.zeros((1, 1), np.int32), INT32)
    for index, words in ((16, "index 16 is outside of 16"), (-1, "outside of 16"), (8, "hold no data")):
        with pytest.raises(UserError, match=words):
            run_op("tile.gather", x, given_array(np.array([[index]], np.int32), INT32), tmp)
    with pytest.raises(UserError, match="runs of 32"):
        run_op("tile.sort32", given_array(random(1, (1, 40)), FP32), given_array(np.zeros((1, 40)), UINT32))
    with pytest.raises(UserError, match="no number of pairs"):
        run_op("tile.mrgsort_format1", given_array(random(1, (1, 64)), FP32), block_len=33)


def test_the_greatest_of_a_row_on_bytes() -> None:
    program = parse("""
import pypto_core.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def main(self, x: pl.Tensor[[1, 256], pl.FP32], n: pl.Tensor[[1, 256], pl.UINT32],
             out: pl.InOut[pl.Tensor[[1, 512], pl.FP32]]):
        a = pl.load(x, [0, 0], [1, 256])
        b = pl.load(n, [0, 0], [1, 256])
        s = pl.tile.sort32(a, b)
        t = pl.tile.mrgsort_format1(s, block_len=64)
        u = pl.tile.mrgsort_format1(t, block_len=256)
        pl.store(u, [0, 0], out)
""")
    inputs = {
        "x": random(1, (1, 256)), "n": np.arange(256, dtype=np.uint32)[None], "out": np.zeros((1, 512), np.float32)
    }  # fmt: skip
    result = assert_same_behaviour(program, program, inputs, host=host(), engine="bytes")
    order = np.argsort(-inputs["x"][0])
    np.testing.assert_array_equal(result.outputs["out"][0, ::2], inputs["x"][0, order])
    np.testing.assert_array_equal(result.outputs["out"][0, 1::2].view(np.uint32), order)


def test_rows_into_a_tile_that_nobody_filled() -> None:
    program = parse("""
import pypto_core.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def main(self, x: pl.Tensor[[20, 16], pl.FP32], n: pl.Tensor[[1, 8], pl.INT32],
             out: pl.InOut[pl.Tensor[[8, 16], pl.FP32]]):
        names = pl.load(n, [0, 0], [1, 8])
        empty = pl.create_tile([8, 16], pl.FP32)
        rows = pl.tile.gather_row(empty, x, names)
        pl.store(rows, [0, 0], out)
""")
    index = np.array([[3, 19, 0, 3, 1, 2, 5, 4]], np.int32)
    inputs = {"x": random(1, (20, 16)), "n": index, "out": np.zeros((8, 16), np.float32)}
    result = assert_same_behaviour(program, program, inputs, host=host(), engine="bytes")
    np.testing.assert_array_equal(result.outputs["out"], inputs["x"][index[0]])
