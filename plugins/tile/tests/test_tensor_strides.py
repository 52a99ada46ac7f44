"""MaterializeTensorStrides: packed strides wherever a tensor has a view without them."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    ConstInt,
    ForStmt,
    TensorLayout,
    TensorType,
    TensorView,
    Var,
    const_index,
    walk_stmts,
)
from pypto_core.testing import build as b
from pypto_plugin_tile.tensor_strides import materialize_tensor_strides, packed_strides

DN = "pl.TensorView(layout=pl.TensorLayout.DN)"
T, OUT = f"pl.Tensor[[32, 64], pl.FP32, {DN}]", "pl.Out[pl.Tensor[[32, 64], pl.FP32]]"


def strided(kit: Any, program: Any, **options: Any) -> Any:
    transform = kit.run(materialize_tensor_strides)
    after = kit.prove(transform, program, ["TensorViewCanonical"], **options)
    assert transform(after) is after
    return after


def strides(var: Any) -> list[int]:
    return [d.value for d in var.type.tensor_view.stride]


def test_parameters_and_what_has_their_type(kit: Any) -> None:
    body = """
    for i, (acc,) in pl.range(0, 2, 1, init_values=(a,)):
        t = pl.load(acc, [0, 0], [32, 64])
        pl.store(t, [0, 0], out)
        y = pl.yield_(acc)
    u = pl.load(y, [0, 0], [32, 64])
    pl.store(u, [0, 0], out)
    """
    after = strided(kit, kit.kernel(f"a: {T}, out: {OUT}", body))
    a, out = after["main"].params
    # The transpose is what is stored: rows are adjacent, columns 32 apart.
    assert strides(a) == [1, 32] and out.type.tensor_view is None
    [loop] = [s for s in walk_stmts(after["main"].body) if isinstance(s, ForStmt)]
    assert loop.iter_args[0].type is loop.return_vars[0].type is a.type


def test_calls_and_returned_types(kit: Any) -> None:
    text = f"""
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: {T}, out: {OUT}) -> tuple[{T}, pl.Tensor[[32, 64], pl.FP32]]:
        t = pl.load(a, [0, 0], [32, 64])
        s = pl.store(t, [0, 0], out)
        return a, s

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, a: {T}, out: {OUT}) -> pl.Tensor[[32, 64], pl.FP32]:
        r = self.k(a, out)
        x = r[1]
        return x
"""
    after = strided(kit, kit.program(text))
    first, second = after["k"].return_types
    assert [d.value for d in first.tensor_view.stride] == [1, 32] and second.tensor_view is None


def test_valid_extents_and_padding_stay() -> None:
    n = b.scalar("n")
    view = TensorView(valid_shape=(n, const_index(8)))
    a = Var("a", TensorType((16, 8), b.tensor("x", [1]).type.dtype, None, view))
    program = b.program(b.kernel("k", [n, a], [b.ret()]))
    after = materialize_tensor_strides(program, None)
    kind = after["k"].params[1].type
    assert strides(after["k"].params[1]) == [8, 1] and kind.valid_shape[0] is after["k"].params[0]


def test_symbolic_extents_are_multiplied() -> None:
    m, n = b.scalar("m"), b.scalar("n")
    one, two, three = packed_strides((m, n, const_index(4)), TensorLayout.ND)
    assert one.left is n and one.right.value == 4 and two.value == 4 and three.value == 1


@pytest.mark.parametrize(("layout", "rank"), [(TensorLayout.NZ, 2), (TensorLayout.DN, 1)])
def test_layouts_that_no_tensor_has(layout: Any, rank: int) -> None:
    a = Var("a", TensorType((16,) * rank, b.tensor("x", [1]).type.dtype, None, TensorView(layout=layout)))
    with pytest.raises(UserError, match=f"can't have the layout {layout.name}") as caught:
        materialize_tensor_strides(b.program(b.kernel("k", [a], [b.ret()])), None)
    assert caught.value.diagnostics[0].code == "PT344"


def test_explicit_strides_and_plain_tensors_stay(kit: Any) -> None:
    kind = "pl.Tensor[[32, 64], pl.FP32, pl.TensorView(stride=[128, 1], layout=pl.TensorLayout.ND)]"
    body = "t = pl.load(a, [0, 0], [32, 64])\npl.store(t, [0, 0], out)"
    program = kit.kernel(f"a: {kind}, out: {OUT}", body)
    assert materialize_tensor_strides(program, None) is program


@given(st.lists(st.integers(1, 7), min_size=1, max_size=5), st.booleans())
def test_strides_are_those_of_a_packed_array(shape: list[int], transposed: bool) -> None:
    """Against numpy: an array whose last two axes are exchanged in memory is the transpose of a packed one."""
    if transposed and len(shape) < 2:
        return
    stored = shape[:-2] + shape[:-3:-1] if transposed else shape
    array = np.arange(prod(stored), dtype=np.int64).reshape(stored)
    if transposed:
        array = array.swapaxes(-1, -2)
    layout = TensorLayout.DN if transposed else TensorLayout.ND
    found = packed_strides(tuple(ConstInt(n) for n in shape), layout)
    for axis, n in enumerate(shape):
        if n > 1:
            assert found[axis].value == array.strides[axis] // array.itemsize
