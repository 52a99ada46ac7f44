"""Reductions and expansions against numpy and against sums taken one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto_core.diagnostics import UserError
from pypto_core.ir import DataType
from pypto_core.testing import build as b
from pypto_core.testing import random_array, same_elements
from pypto_plugin_simulator.formats import numpy_dtype
from pypto_plugin_simulator.values import run


def one_by_one(part: Any, axis: int, dtype: DataType, product: bool) -> Any:
    """The sum or product along an axis, element after element in float32, rounded at the end."""
    lines = np.moveaxis(part.astype(np.float32), axis, 0)
    total = lines[0].copy()
    # A product of many numbers may leave the range: it is infinite then.
    with np.errstate(over="ignore"):
        for line in lines[1:]:
            total = (total * line if product else total + line).astype(np.float32)
        return np.expand_dims(total.astype(numpy_dtype(dtype)), axis)


@pytest.mark.parametrize("dtype", [DataType.FP32, DataType.FP16, DataType.BF16], ids=str)
@pytest.mark.parametrize("line", ["row", "col"])
@settings(max_examples=15)
@given(rows=st.integers(1, 6), columns=st.integers(1, 200), cut=st.integers(0, 5), seed=st.integers(0, 999))
def test_float_reductions(
    run_op: Any, given_array: Any, dtype: DataType, line: str, rows: int, columns: int, cut: int, seed: int
) -> None:
    array = random_array(np.random.default_rng(seed), dtype, (rows, columns))
    valid = (max(1, rows - cut), max(1, columns - cut))
    x = given_array(array, dtype, valid)
    axis = 1 if line == "row" else 0
    scratch = (x,) if line == "row" else ()
    part = x.part
    wanted = {
        "sum": one_by_one(part, axis, dtype, product=False),
        "prod": one_by_one(part, axis, dtype, product=True),
        "max": part.astype(np.float32).max(axis=axis, keepdims=True).astype(array.dtype),
        "min": part.astype(np.float32).min(axis=axis, keepdims=True).astype(array.dtype),
    }
    for name, want in wanted.items():
        result = run_op(f"tile.{line}_{name}", x, *scratch)
        assert result.shape == ((rows, 1) if axis else (1, columns))
        corner = tuple(slice(0, n) for n in want.shape)
        assert same_elements(result[corner], want).all(), name
        assert np.isnan(result.astype(np.float32)).sum() == result.size - want.size


def test_integer_sums_wrap(run_op: Any, given_array: Any) -> None:
    x = given_array(np.full((2, 3), 2**30, np.int32), DataType.INT32)
    assert run_op("tile.row_sum", x, x).ravel().tolist() == [3 * 2**30 - 2**32] * 2


def test_positions(run_op: Any, given_array: Any) -> None:
    array = np.array([[1, 5, 5, 0], [7, 2, 3, -1]], np.float32)
    x = given_array(array, DataType.FP32, (2, 3))
    assert run_op("tile.row_argmax", x, x).ravel().tolist() == [1, 0]  # the first of equals
    assert run_op("tile.row_argmin", x, x).ravel().tolist() == [0, 1]  # not the undefined column
    assert run_op("tile.col_argmax", x, x).ravel().tolist()[:3] == [1, 0, 0]


def test_tensor_reductions_may_drop_the_axis(run_op: Any, given_array: Any) -> None:
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    x = given_array(array, DataType.FP32)
    assert np.array_equal(run_op("tensor.row_max", x, keep_dim=False), array.max(axis=2))
    assert np.array_equal(run_op("tensor.col_sum", x), array.sum(axis=1, keepdims=True))


def test_nothing_to_reduce() -> None:
    n = b.scalar("n")
    x = b.tensor("x", (4, 8))
    loaded = b.let("t", b.op("tile.load", x, b.dims(0, 0), b.dims(4, 8), b.dims(4, n)))
    total = b.let("s", b.op("tile.row_sum", loaded.var, loaded.var))
    kernel = b.kernel("k", [x, n], [loaded, total, b.ret(total.var)], returns=[total.var.type])
    data = np.ones((4, 8), np.float32)
    assert run(kernel, [data, 3]).returns[0].ravel().tolist() == [3] * 4
    with pytest.raises(UserError, match="nothing to reduce"):
        run(kernel, [data, 0])


@pytest.mark.parametrize("dtype", [DataType.FP32, DataType.FP16], ids=str)
@settings(max_examples=15)
@given(rows=st.integers(1, 6), columns=st.integers(2, 20), seed=st.integers(0, 999))
def test_expansions(
    run_op: Any, given_array: Any, dtype: DataType, rows: int, columns: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    target, column, row = (random_array(rng, dtype, s) for s in ((rows, columns), (rows, 1), (1, columns)))
    valid = (rows, columns - 1)
    functions = {
        "expand": lambda t, v: np.broadcast_to(v, t.shape),
        "expand_add": np.add,
        "expand_sub": np.subtract,
        "expand_mul": np.multiply,
        "expand_div": np.divide,
        "expand_max": np.maximum,
        "expand_min": np.minimum,
        "expand_expdif": lambda t, v: np.exp((t - v).astype(np.float64)),
    }
    for name, function in functions.items():
        for line, vector in (("row", column), ("col", row)):
            result = run_op(
                f"tile.{line}_{name}", given_array(target, dtype, valid), given_array(vector, dtype)
            )
            want = function(target.astype(np.float32), vector.astype(np.float32))
            want = want.astype(np.float32).astype(target.dtype)[:, :-1]
            assert same_elements(result[:, :-1], want).all(), (line, name)
            assert np.isnan(result[:, -1].astype(np.float32)).all()
