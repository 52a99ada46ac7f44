"""Whole kernels on both machines and at both levels, and text that can be verified by hand."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import pypto_core.language as pl
from pypto_core.diagnostics import UserError
from pypto_core.run import PassContext, compile
from pypto_plugin_pto.checker import check_text
from pypto_plugin_pto.write import emit

# All but those that say that they have work for both cores, which is refused below.
EXAMPLES = sorted(
    path
    for path in (Path(__file__).parents[3] / "examples" / "kernels").glob("*.py")
    if "\nMIXED = " not in path.read_text(encoding="utf-8")
)
BOTH = [(b, p) for b in ("910b", "a5") for p in ("pypto", "ptoas")]

VEC = (
    "!pto.tile_buf<loc=vec, dtype=f32, rows=32, cols=32, v_row=?, v_col=?, "
    "blayout=row_major, slayout=none_box, fractal=512, pad=0>"
)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
@pytest.mark.parametrize(("backend", "planner"), BOTH)
def test_every_example_is_written_and_passes(path: Path, backend: str, planner: str) -> None:
    compiled = compile(str(path), backend=backend, planner=planner, goal="pto")
    assert compiled.artifacts
    # xDSL reads one of the four.
    types = find_spec("xdsl") is not None and (backend, planner) == ("910b", "ptoas")
    for artifact in compiled.artifacts:
        report = check_text(str(artifact.data), artifact.name, types=types)
        assert report.ok, report.errors
        assert report.level == (2 if planner == "ptoas" else 3)
        assert report.arch == ("a5" if backend == "a5" else "a3")


def test_addition_by_hand(write: Any) -> None:
    params = "a: pl.Tensor[[32, 32], pl.FP32], out: pl.Out[pl.Tensor[[32, 32], pl.FP32]]"
    body = """
    x = pl.load(a, [0, 0], [32, 32])
    out = pl.store(pl.tile.adds(x, 1.5), [0, 0], out)
    return out
    """
    text = write(params, body, planner="ptoas")
    view = "shape = [%c32_index, %c32_index], strides = [%c32_index, %c1_index] {layout = #pto.layout<nd>}"
    window = (
        "offsets = [%c0_index, %c0_index], sizes = [%c32_index, %c32_index] : "
        "!pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<32x32xf32>"
    )
    kind = "attributes {pto.kernel_kind = #pto.kernel_kind<vector>}"
    assert text.splitlines() == [
        'module attributes {pto.target_arch = "a2a3"} {',
        f"  func.func @k(%arg0: !pto.ptr<f32>, %arg1: !pto.ptr<f32>) {kind} {{",
        "    %c32_index = arith.constant 32 : index",
        "    %c1_index = arith.constant 1 : index",
        "    %c0_index = arith.constant 0 : index",
        "    %cst = arith.constant 1.50000000000000000e+00 : f32",
        f"    %a_view = pto.make_tensor_view %arg0, {view} : !pto.tensor_view<?x?xf32>",
        f"    %out_view = pto.make_tensor_view %arg1, {view} : !pto.tensor_view<?x?xf32>",
        f"    %x = pto.alloc_tile valid_row = %c32_index valid_col = %c32_index : {VEC}",
        f"    %a_p = pto.partition_view %a_view, {window}",
        f"    pto.tload ins(%a_p : !pto.partition_tensor_view<32x32xf32>) outs(%x : {VEC})",
        f"    %adds__tmp_v0 = pto.alloc_tile valid_row = %c32_index valid_col = %c32_index : {VEC}",
        f"    pto.tadds ins(%x, %cst : {VEC}, f32) outs(%adds__tmp_v0 : {VEC})",
        f"    %out_p = pto.partition_view %out_view, {window}",
        f"    pto.tstore ins(%adds__tmp_v0 : {VEC}) outs(%out_p : !pto.partition_tensor_view<32x32xf32>)",
        "    return",
        "  }",
        "}",
    ]


def test_parameters_come_tensors_first_then_scalars_then_extents_then_hidden_ones(write: Any) -> None:
    params = (
        "s: pl.Scalar[pl.FP32], a: pl.Tensor[[N, 64], pl.FP32], n: pl.Scalar[pl.INT32], u: pl.Scalar[pl.UINT8], "
        "b: pl.Tensor[[M, N], pl.BF16], out: pl.Out[pl.Tensor[[N, 64], pl.FP32]]"
    )
    body = """
    block = pl.tile.get_block_idx()
    x = pl.load(a, [block * 32 + pl.tile.get_subblock_idx(), 0], [32, 64])
    out = pl.store(pl.tile.adds(x, s), [0, 0], out)
    return out
    """
    text = write(params, body)
    head = text.splitlines()[1]
    assert head.partition("(")[2].partition(") attributes")[0].split(", ") == [
        "%arg0: !pto.ptr<f32>",
        "%arg1: !pto.ptr<bf16>",
        "%arg2: !pto.ptr<f32>",
        "%arg3: f32",
        "%arg4: i32",
        "%arg5: ui8",
        "%arg6: index",
        "%arg7: index",
        "%__pypto_spmd_block_idx: i32",
        "%__pypto_spmd_subblock_idx: i32",
    ]
    # N is seen first; the tensor that is never touched has no view.
    assert "make_tensor_view %arg0, shape = [%arg6, %c64_index]" in text
    assert "make_tensor_view %arg1" not in text


PLAIN = "a: pl.Tensor[[32, 32], pl.FP32], out: pl.Out[pl.Tensor[[32, 32], pl.FP32]]"
COPY = """
x = pl.load(a, [0, 0], [32, 32])
out = pl.store(x, [0, 0], out)
return out
"""


@pytest.mark.parametrize(("kind", "attribute"), [("AIV", "<vector>"), ("InCore", "<vector>")])
def test_the_core_is_stated(write: Any, kind: str, attribute: str) -> None:
    assert f"pto.kernel_kind = #pto.kernel_kind{attribute}" in write(PLAIN, COPY, kind=kind)


def test_a_kernel_of_one_core_with_operators_of_the_other_is_refused(write: Any) -> None:
    with pytest.raises(UserError) as error:
        write(PLAIN, COPY, kind="AIC")
    assert error.value.diagnostics[0].code == "PTO-017"
    assert "cube core and uses the vector core" in error.value.message


def test_operands_of_a_product_that_were_loaded_into_vec_are_told_where_to_go(write: Any) -> None:
    body = """
    c = pl.matmul(pl.load(a, [0, 0], [32, 32]), pl.load(a, [0, 0], [32, 32]))
    return pl.store(c, [0, 0], out)
    """
    with pytest.raises(UserError) as caught:
        write(PLAIN, body)
    assert [d.code for d in caught.value.diagnostics] == ["PTO-017"]
    assert caught.value.diagnostics[0].remedy == "load what the cube multiplies with target_memory=pl.Mem.Mat"


def test_a_mixed_kernel_is_refused_with_the_operators_of_each_side(write: Any) -> None:
    body = """
    x = pl.load(a, [0, 0], [32, 32], target_memory=pl.Mem.Mat)
    c = pl.tile.matmul(x, x)
    out = pl.store(c, [0, 0], out)
    y = pl.exp(pl.load(a, [0, 0], [32, 32]))
    out = pl.store(y, [0, 0], out)
    return out
    """
    with pytest.raises(UserError) as error:
        write(PLAIN, body)
    [diagnostic] = error.value.diagnostics
    facts = dict(diagnostic.facts)
    assert diagnostic.code == "PTO-017"
    assert "tile.matmul" in facts["cube"] and "tile.exp" in facts["vector"]
    assert "tile.exp" not in facts["cube"] and "tile.matmul" not in facts["vector"]
    assert diagnostic.span.is_valid


def test_places_in_the_source_can_be_switched_off(write: Any) -> None:
    on = write(PLAIN, COPY, emit_source_loc=True)
    off = write(PLAIN, COPY, emit_source_loc=False)
    assert "loc(" not in off.replace("tile_buf<loc=", "")
    load = next(line for line in on.splitlines() if "pto.tload" in line)
    assert load.endswith(' loc("<string>":9:9)')
    stripped = [line.partition(" loc(")[0] for line in on.splitlines()]
    assert stripped == off.splitlines()
    assert check_text(on).ok


PROGRAM = """
import pypto_core.language as pl
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def one(self, a: pl.Tensor[[32, 32], pl.FP32], out: pl.Out[pl.Tensor[[32, 32], pl.FP32]]):
        out = pl.store(pl.load(a, [0, 0], [32, 32]), [0, 0], out)
        return out

    @pl.function(type=pl.FunctionType.InCore)
    def two(self, a: pl.Tensor[[32, 32], pl.FP32], out: pl.Out[pl.Tensor[[32, 32], pl.FP32]]):
        out = pl.store(pl.exp(pl.load(a, [0, 0], [32, 32])), [0, 0], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, a: pl.Tensor[[32, 32], pl.FP32], out: pl.Out[pl.Tensor[[32, 32], pl.FP32]]):
        out = self.one(a, out)
        return out
"""


def test_one_module_per_device_function_and_a_note_of_the_others() -> None:
    compiled = compile(pl.parse(PROGRAM), backend="910b", goal="pto")
    assert [a.name for a in compiled.artifacts] == ["one.pto", "two.pto"]
    for artifact in compiled.artifacts:
        text = str(artifact.data)
        assert text.startswith("// main (Orchestration) runs on the host and is not written here\n")
        assert text.count("func.func") == 1
        assert check_text(text).ok


def test_a_program_without_kernels_is_warned_of() -> None:
    source = """
import pypto_core.language as pl
@pl.program
class P:
    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, a: pl.Tensor[[32, 32], pl.FP32]):
        return a
"""
    ctx = PassContext()
    assert list(emit(pl.parse(source), ctx)) == []
    [warning] = ctx.log
    assert warning.code == "PTO-020" and warning.facts == (("functions", "main (Orchestration)"),)


def test_what_has_its_body_elsewhere_is_named_and_not_written_as_an_empty_kernel() -> None:
    kernel = """
    @pl.function(type=pl.FunctionType.InCore)
    def {name}(self, a: pl.Tensor[[32, 32], pl.FP32], out: pl.Out[pl.Tensor[[32, 32], pl.FP32]]):
        {body}
"""
    head = "import pypto_core.language as pl\n@pl.program\nclass P:"
    declared = kernel.format(name="far", body="...")
    near = kernel.format(name="near", body="return pl.store(pl.load(a, [0, 0], [32, 32]), [0, 0], out)")
    [artifact] = compile(pl.parse(head + declared + near), backend="910b").artifacts
    assert artifact.name == "near.pto"
    assert str(artifact.data).splitlines()[0] == "// far (InCore) has its body elsewhere"
    alone = compile(pl.parse(head + declared), backend="910b")
    assert alone.artifacts == () and "PTO-020" in {d.code for d in alone.diagnostics}


def test_comments_of_the_author_are_kept(write: Any) -> None:
    body = """
    # the first half
    x = pl.load(a, [0, 0], [32, 32])
    out = pl.store(x, [0, 0], out)
    return out
    """
    lines = [line.strip() for line in write(PLAIN, body).splitlines()]
    at = lines.index("// the first half")
    assert lines[at + 1].startswith("%x = pto.alloc_tile")
