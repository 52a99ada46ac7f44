"""Matrix products: their order of sums, cuts along K, exact integers, valid parts and seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto_core.diagnostics import UserError
from pypto_core.ir import ConstBool, DataType, MemorySpace, eq
from pypto_core.testing import build as b
from pypto_core.testing import random_array, same_elements
from pypto_plugin_simulator.meanings.matmul import accumulate, integer_product
from pypto_plugin_simulator.values import run

FLOATS = [DataType.BF16, DataType.FP16, DataType.FP32]


def one_element(a: Any, c: Any, start: float, i: int, j: int) -> np.float32:
    """One element the slow way: products and sums in float32, k by k."""
    total = np.float32(start)
    for k in range(a.shape[1]):
        total = np.float32(total + np.float32(np.float32(a[i, k]) * np.float32(c[k, j])))
    return total


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@settings(max_examples=10)
@given(m=st.integers(1, 6), k=st.integers(1, 40), n=st.integers(1, 6), seed=st.integers(0, 999))
def test_sums_are_taken_in_the_order_of_k(
    run_op: Any, given_array: Any, dtype: DataType, m: int, k: int, n: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    a, c = random_array(rng, dtype, (m, k)), random_array(rng, dtype, (k, n))
    result = run_op("tile.matmul", given_array(a, dtype), given_array(c, dtype))
    assert result.dtype == np.float32
    want = np.array([[one_element(a, c, 0.0, i, j) for j in range(n)] for i in range(m)], np.float32)
    assert same_elements(result, want).all()
    assert np.allclose(result, a.astype(np.float64) @ c.astype(np.float64), rtol=1e-5, atol=1e-5 * k)


@settings(max_examples=30)
@given(
    m=st.integers(1, 40), n=st.integers(1, 40), cuts=st.lists(st.integers(1, 30), min_size=1, max_size=4),
    seed=st.integers(0, 999),
)  # fmt: skip
def test_a_product_cut_along_k_is_the_uncut_one(m: int, n: int, cuts: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, c = random_array(rng, DataType.FP32, (m, sum(cuts))), random_array(rng, DataType.FP32, (sum(cuts), n))
    acc, first = None, 0
    for length in cuts:
        acc = accumulate(a[:, first : first + length], c[first : first + length], acc)
        first += length
    assert same_elements(acc, accumulate(a, c, None)).all()


@pytest.mark.parametrize("dtype", [*FLOATS, DataType.INT8], ids=str)
@pytest.mark.parametrize("form", ["peeled", "condition"])
def test_a_loop_over_k_is_the_whole_product(dtype: DataType, form: str) -> None:
    m, k, n, step = 16, 64, 24, 16
    x, y = b.tensor("x", (m, k), dtype), b.tensor("y", (k, n), dtype)
    acc_type = DataType.INT32 if dtype.is_int else DataType.FP32

    def load(i: Any) -> tuple[Any, Any]:
        left = b.let("l", b.op("tile.load", x, b.dims(0, i), b.dims(m, step)))
        right = b.let("r", b.op("tile.load", y, b.dims(i, 0), b.dims(step, n)))
        return left, right

    if form == "peeled":
        left, right = load(0)
        seed = b.let("c", b.op("tile.matmul", left.var, right.var))
        before, start = [left, right, seed], step
    else:
        seed = b.let("c", b.op("tile.create", b.dims(m, n), dtype=acc_type, target_memory=MemorySpace.Acc))
        before, start = [seed], 0

    def body(i: Any, acc: Any) -> Any:
        left, right = load(i)
        condition = () if form == "peeled" else (eq(i, 0),)
        nxt = b.let("d", b.op("tile.matmul_acc", acc, left.var, right.var, *condition))
        return [left, right, nxt, b.give(nxt.var)]

    loop = b.loop(k, body, start=start, step=step, carries={"acc": seed.var})
    result = loop.return_vars[0]
    kernel = b.kernel("k", [x, y], [*before, loop, b.ret(result)], returns=[result.type])

    left = b.let("l", b.op("tile.load", x, b.dims(0, 0), b.dims(m, k)))
    right = b.let("r", b.op("tile.load", y, b.dims(0, 0), b.dims(k, n)))
    whole = b.let("c", b.op("tile.matmul", left.var, right.var))
    plain = b.kernel("k", [x, y], [left, right, whole, b.ret(whole.var)], returns=[whole.var.type])

    rng = np.random.default_rng(5)
    inputs = [random_array(rng, dtype, (m, k)), random_array(rng, dtype, (k, n))]
    assert same_elements(run(kernel, inputs).returns[0], run(plain, inputs).returns[0]).all()


@settings(max_examples=30)
@given(m=st.integers(1, 8), k=st.integers(1, 300), n=st.integers(1, 8), seed=st.integers(0, 999))
def test_int8_products_are_exact(m: int, k: int, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, c = random_array(rng, DataType.INT8, (m, k)), random_array(rng, DataType.INT8, (k, n))
    want = [[sum(int(a[i, p]) * int(c[p, j]) for p in range(k)) for j in range(n)] for i in range(m)]
    assert integer_product(a, c).tolist() == want


def test_wide_integers_wrap() -> None:
    a, c = np.full((1, 4), 2**40, np.int64), np.full((4, 1), 2**30, np.int64)
    assert integer_product(a, c).item() == ((4 << 70) + 2**63) % 2**64 - 2**63


def test_int32_accumulators_wrap(run_op: Any, given_array: Any) -> None:
    acc = given_array(np.full((1, 1), 2**31 - 1, np.int32), DataType.INT32)
    one = given_array(np.ones((1, 1), np.int8), DataType.INT8)
    assert run_op("tile.matmul_acc", acc, one, one).item() == -(2**31)


@settings(max_examples=25)
@given(rows=st.integers(1, 6), inner=st.integers(1, 7), columns=st.integers(1, 5), extra=st.integers(0, 2))
def test_valid_parts(run_op: Any, given_array: Any, rows: int, inner: int, columns: int, extra: int) -> None:
    rng = np.random.default_rng(rows * 64 + inner * 8 + columns)
    a, c = random_array(rng, DataType.BF16, (6, 9)), random_array(rng, DataType.BF16, (9, 5))
    lhs = given_array(a, DataType.BF16, (rows, inner))
    rhs = given_array(c, DataType.BF16, (inner + extra, columns))
    result = run_op("tile.matmul", lhs, rhs)
    want = accumulate(a[:rows, :inner], c[:inner, :columns], None)
    assert same_elements(result[:rows, :columns], want).all()
    assert np.isnan(result).sum() == result.size - want.size  # and nothing of the undefined K got in


def test_undefined_rows_of_the_right_side_are_an_error() -> None:
    n = b.scalar("n")
    x, y = b.tensor("x", (4, 8)), b.tensor("y", (8, 4))
    left = b.let("l", b.op("tile.load", x, b.dims(0, 0), b.dims(4, 8)))
    right = b.let("r", b.op("tile.load", y, b.dims(0, 0), b.dims(8, 4), b.dims(n, 4)))
    c = b.let("c", b.op("tile.matmul", left.var, right.var))
    kernel = b.kernel("k", [x, y, n], [left, right, c, b.ret(c.var)], returns=[c.var.type])
    inputs = np.ones((4, 8), np.float32), np.ones((8, 4), np.float32)
    assert (run(kernel, [*inputs, 8]).returns[0] == 8).all()
    with pytest.raises(UserError, match="reads 8 rows"):
        run(kernel, [*inputs, 5])


def test_bias(run_op: Any, given_array: Any) -> None:
    rng = np.random.default_rng(2)
    a, c, bias = (random_array(rng, DataType.FP32, s) for s in ((3, 20), (20, 4), (1, 4)))
    result = run_op("tile.matmul_bias", *(given_array(v, DataType.FP32) for v in (a, c, bias)))
    want = [[one_element(a, c, bias[0, j], i, j) for j in range(4)] for i in range(3)]
    assert same_elements(result, np.array(want, np.float32)).all()


@pytest.mark.parametrize("init", [True, False])
def test_init_condition(run_op: Any, given_array: Any, init: bool) -> None:
    acc, one = np.full((2, 2), 100, np.float32), np.ones((2, 2), np.float32)
    operands = [given_array(v, DataType.FP32) for v in (acc, one, one)]
    assert (run_op("tile.matmul_acc", *operands, ConstBool(init)) == (2 if init else 102)).all()


def test_an_accumulator_of_undefined_content_shows() -> None:
    seed = b.let("c", b.op("tile.create", b.dims(2, 2), dtype=DataType.FP32, target_memory=MemorySpace.Acc))
    x = b.tensor("x", (2, 2))
    left = b.let("l", b.op("tile.load", x, b.dims(0, 0), b.dims(2, 2)))
    d = b.let("d", b.op("tile.matmul_acc", seed.var, left.var, left.var))
    kernel = b.kernel("k", [x], [seed, left, d, b.ret(d.var)], returns=[d.var.type])
    assert np.isnan(run(kernel, [np.ones((2, 2), np.float32)]).returns[0]).all()


def test_batches_and_transposes_of_tensors(run_op: Any, given_array: Any) -> None:
    rng = np.random.default_rng(3)
    a, c = random_array(rng, DataType.BF16, (2, 5, 3)), random_array(rng, DataType.BF16, (4, 5))
    lhs, rhs = given_array(a, DataType.BF16), given_array(c, DataType.BF16)
    result = run_op("tensor.matmul", lhs, rhs, a_trans=True, b_trans=True, out_dtype=DataType.FP32)
    want = np.stack([accumulate(a[i].T, c.T, None) for i in range(2)])
    assert same_elements(result, want).all()
    narrow = run_op("tensor.matmul", lhs, rhs, a_trans=True, b_trans=True)
    assert same_elements(narrow, want.astype(a.dtype)).all()


def test_batches_of_tiles(run_op: Any, given_array: Any) -> None:
    rng = np.random.default_rng(4)
    a, c = random_array(rng, DataType.FP16, (3, 2, 6)), random_array(rng, DataType.FP16, (3, 6, 4))
    result = run_op("tile.batch_matmul", given_array(a, DataType.FP16), given_array(c, DataType.FP16))
    assert same_elements(result, np.stack([accumulate(a[i], c[i], None) for i in range(3)])).all()
