"""The matrix unit's operators, and tiles that are read in another order."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pypto_core.diagnostics import UserError
from pypto_core.ir import DataType, FunctionType
from pypto_core.run import PassContext
from pypto_core.testing import build as b
from pypto_plugin_pto.write import function_lines, recipes_of

LEVELS = ("ptoas", "pypto")
A = "a: pl.Tensor[[64, 64], pl.FP16], "
OUT = "out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]"


@pytest.mark.parametrize("planner", LEVELS)
@pytest.mark.parametrize("backend", ["910b", "a5"])
def test_a_product_with_a_bias(write: Any, body_of: Any, planner: str, backend: str) -> None:
    params = A + "b: pl.Tensor[[64, 64], pl.FP16], bias: pl.Tensor[[1, 64], pl.FP32], " + OUT
    body = """
    x = pl.load(a, [0, 0], [64, 64], target_memory=pl.Mem.Mat)
    y = pl.load(b, [0, 0], [64, 64], target_memory=pl.Mem.Mat)
    z = pl.load(bias, [0, 0], [1, 64], target_memory=pl.Mem.Mat)
    l = pl.tile.extract(x, 0, 0, [64, 64], target_memory=pl.Mem.Left)
    r = pl.move(y, target_memory=pl.Mem.Right)
    acc = pl.tile.matmul_bias(l, r, z)
    out = pl.store(acc, [0, 0], out)
    return out
    """
    text = write(params, body, planner=planner, backend=backend)
    lines = body_of(text)
    left, right, acc, row = "left[64x64xf16]", "right[64x64xf16]", "acc[64x64xf32]", "bias[1x64xf32]"
    assert (
        f"pto.textract ins(%x, %c0_index, %c0_index : mat[64x64xf16], index, index) outs(%l : {left})"
        in lines
    )
    [product] = [x for x in lines if "tmatmul.bias" in x]
    assert re.match(r"pto\.tmatmul\.bias ins\(%l, %r, %\S+ : ", product)
    assert product.endswith(f" : {left}, {right}, {row}) outs(%acc : {acc})")
    [kind] = set(re.findall(r"!pto\.tile_buf<loc=bias, [^>]*>", text))
    assert "blayout=row_major, slayout=none_box, fractal=512" in kind


@pytest.mark.parametrize("planner", LEVELS)
def test_a_row_times_a_matrix(write: Any, body_of: Any, planner: str) -> None:
    params = "a: pl.Tensor[[1, 64], pl.FP16], b: pl.Tensor[[64, 64], pl.FP16], out: pl.Out[pl.Tensor[[1, 64], pl.FP32]]"
    body = """
    x = pl.load(a, [0, 0], [1, 64], target_memory=pl.Mem.Mat)
    y = pl.load(b, [0, 0], [64, 64], target_memory=pl.Mem.Mat)
    c = pl.tile.gemv(x, y, acc_phase="partial")
    d = pl.tile.gemv_acc(c, x, y)
    out = pl.store(d, [0, 0], out)
    return out
    """
    lines = body_of(write(params, body, planner=planner))
    [first] = [x for x in lines if x.startswith("pto.tgemv ")]
    [second] = [x for x in lines if x.startswith("pto.tgemv.acc ")]
    assert first.endswith("outs(%c : acc[1x64xf32]) {accPhase = #pto<acc_phase partial>}")
    assert second.startswith("pto.tgemv.acc ins(%c, ") and second.endswith("outs(%c : acc[1x64xf32])")


@pytest.mark.parametrize("planner", LEVELS)
def test_a_tile_in_mat_is_transposed_by_looking_at_it_otherwise(
    write: Any, body_of: Any, planner: str
) -> None:
    params = "a: pl.Tensor[[64, 128], pl.FP16], b: pl.Tensor[[64, 128], pl.FP16], " + OUT
    body = """
    x = pl.load(a, [0, 0], [64, 128], target_memory=pl.Mem.Mat)
    y = pl.load(b, [0, 0], [64, 128], target_memory=pl.Mem.Mat)
    yt = pl.tile.transpose_view(y)
    acc = pl.tile.matmul(x, yt)
    out = pl.store(acc, [0, 0], out)
    return out
    """
    text = write(params, body, planner=planner)
    [kind] = re.findall(r"%yt = .*(!pto\.tile_buf<loc=mat[^>]*>)", text)
    assert "rows=128, cols=64" in kind and "blayout=row_major, slayout=col_major" in kind
    if planner == "ptoas":
        assert "%yt = pto.treshape %y : mat[64x128xf16] -> mat[128x64xf16]" in body_of(text)
    else:
        address = dict(re.findall(r"(%\S+) = pto\.alloc_tile addr = (%\S+) ", text))
        assert address["%yt"] == address["%y"]


def test_a_tensor_that_is_stored_by_columns(write: Any) -> None:
    params = A + "b: pl.Tensor[[64, 32], pl.FP16, pl.TensorView(stride=[1, 64], layout=pl.TensorLayout.DN)], "
    body = """
    x = pl.load(a, [0, 0], [64, 64], target_memory=pl.Mem.Mat)
    y = pl.load(b, [0, 0], [64, 32], target_memory=pl.Mem.Mat)
    acc = pl.tile.matmul(x, y)
    out = pl.store(acc, [0, 0], out)
    return out
    """
    text = write(params + OUT.replace("64, 64", "64, 32"), body)
    shape = "shape = [%c64_index, %c32_index], strides = [%c1_index, %c64_index] {layout = #pto.layout<dn>}"
    assert f"%b_view = pto.make_tensor_view %arg1, {shape}" in text
    [kind] = set(re.findall(r"outs\(%y : (!pto\.tile_buf<[^>]*>)\)", text))
    assert "blayout=row_major, slayout=col_major" in kind


@pytest.mark.parametrize("backend", ["910b", "a5"])
def test_integers_multiply_into_integers(write: Any, body_of: Any, backend: str) -> None:
    params = "a: pl.Tensor[[32, 32], pl.INT8], out: pl.Out[pl.Tensor[[32, 32], pl.INT32]]"
    body = """
    x = pl.load(a, [0, 0], [32, 32], target_memory=pl.Mem.Mat)
    out = pl.store(pl.matmul(x, x), [0, 0], out)
    return out
    """
    lines = body_of(write(params, body, backend=backend))
    [product] = [x for x in lines if "pto.tmatmul" in x]
    assert product.endswith("left[32x32xi8], right[32x32xi8]) outs(%matmul__tmp_v0 : acc[32x32xi32])")


def test_elements_that_the_matrix_unit_does_not_multiply(write: Any) -> None:
    params = "a: pl.Tensor[[32, 32], pl.INT16], out: pl.Out[pl.Tensor[[32, 32], pl.INT32]]"
    body = """
    x = pl.load(a, [0, 0], [32, 32], target_memory=pl.Mem.Mat)
    out = pl.store(pl.matmul(x, x), [0, 0], out)
    return out
    """
    with pytest.raises(UserError, match="multiplies no int16 elements"):
        write(params, body)


@pytest.mark.parametrize("planner", LEVELS)
def test_a_batch_of_one_matrix_is_a_product(write: Any, body_of: Any, planner: str) -> None:
    body = """
    x = pl.load(a, [0, 0], [64, 64], target_memory=pl.Mem.Mat)
    c = pl.tile.{batch}matmul(x, x)
    d = pl.tile.{batch}matmul_acc(c, x, x)
    out = pl.store(d, [0, 0], out)
    return out
    """
    texts = [write(A + OUT, body.replace("{batch}", batch), planner=planner) for batch in ("", "batch_")]
    assert "pto.tmatmul.acc" in texts[0] and texts[0] == texts[1]


@pytest.mark.parametrize(("name", "operands"), [("batch_matmul", 2), ("batch_matmul_acc", 3)])
def test_batches_of_matrices_are_refused_with_the_pass_that_unrolls_them(name: str, operands: int) -> None:
    tiles = [b.tile(f"t{n}", (2, 16, 16), DataType.FP16) for n in range(operands)]
    call = b.let("x", b.raw_op(f"tile.{name}", tiles, tiles[0].type))
    ctx = PassContext()
    with pytest.raises(UserError) as error:
        function_lines(b.function("k", [], [call], kind=FunctionType.AIC), ctx, recipes_of(ctx))
    [diagnostic] = error.value.diagnostics
    assert diagnostic.code == "PTO-002" and "not batches" in diagnostic.message
    assert "FlattenTileNdTo2D" in diagnostic.remedy
