"""Each operator: the instruction that is written for it, at both levels and on both machines."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

import pypto_core.language as pl
from pypto_core.diagnostics import UserError
from pypto_core.run import compile
from pypto_plugin_pto.catalogue import recipes
from pypto_plugin_pto.checker import check_text

PARAMS = (
    "a: pl.Tensor[[32, 64], pl.{dt}], b: pl.Tensor[[32, 64], pl.{dt}], s: pl.Scalar[pl.{dt}], n: pl.Scalar[pl.INDEX], "
    "out: pl.Out[pl.Tensor[[32, 64], pl.{dt}]]"
)
LOADED = """
x = pl.load(a, [0, 0], [32, 64])
y = pl.load(b, [0, 0], [32, 64])
t = pl.create_tile([32, 64], pl.{dt})
"""
T, H, C, R, I, U8 = (
    "vec[32x64xf32]",
    "vec[32x64xf16]",
    "vec[32x1xf32]",
    "vec[1x64xf32]",
    "vec[32x64xi32]",
    "vec[32x32xui8]",
)

# operator (and what makes its operands) -> the line with it
FLOAT = {
    "z = pl.add(x, y)": f"pto.tadd ins(%x, %y : {T}, {T}) outs(%z : {T})",
    "z = pl.sub(x, y)": f"pto.tsub ins(%x, %y : {T}, {T}) outs(%z : {T})",
    "z = pl.mul(x, x)": f"pto.tmul ins(%x, %x : {T}, {T}) outs(%z : {T})",
    "z = pl.div(x, y)": f"pto.tdiv ins(%x, %y : {T}, {T}) outs(%z : {T})",
    "z = pl.tile.div(x, y, high_precision=True)":
        f"pto.tdiv ins(%x, %y : {T}, {T}) outs(%z : {T}) {{precisionType = #pto<div_precision high_precision>}}",
    "z = pl.maximum(x, y)": f"pto.tmax ins(%x, %y : {T}, {T}) outs(%z : {T})",
    "z = pl.minimum(x, y)": f"pto.tmin ins(%x, %y : {T}, {T}) outs(%z : {T})",
    "z = pl.tile.rem(x, y, t)": f"pto.trem ins(%x, %y, %t : {T}, {T}, {T}) outs(%z : {T})",
    "z = pl.tile.fmod(x, y)": f"pto.tfmod ins(%x, %y : {T}, {T}) outs(%z : {T})",
    "z = pl.tile.adds(x, s)": f"pto.tadds ins(%x, %arg3 : {T}, f32) outs(%z : {T})",
    "z = pl.tile.subs(x, 2.5)": f"pto.tsubs ins(%x, %cst : {T}, f32) outs(%z : {T})",
    "z = pl.tile.muls(x, s)": f"pto.tmuls ins(%x, %arg3 : {T}, f32) outs(%z : {T})",
    "z = pl.tile.divs(x, s)": f"pto.tdivs ins(%x, %arg3 : {T}, f32) outs(%z : {T})",
    "z = pl.tile.maximums(x, s)": f"pto.tmaxs ins(%x, %arg3 : {T}, f32) outs(%z : {T})",
    "z = pl.tile.minimums(x, s)": f"pto.tmins ins(%x, %arg3 : {T}, f32) outs(%z : {T})",
    "z = pl.tile.fmods(x, s)": f"pto.tfmods ins(%x, %arg3 : {T}, f32) outs(%z : {T})",
    "z = pl.tile.rems(x, s, t)": f"pto.trems ins(%x, %arg3, %t : {T}, f32, {T}) outs(%z : {T})",
    "z = pl.tile.lrelu(x, 0.5)": f"pto.tlrelu ins(%x, %cst : {T}, f32) outs(%z : {T})",
    "z = pl.exp(x)": f"pto.texp ins(%x : {T}) outs(%z : {T})",
    "z = pl.log(x)": f"pto.tlog ins(%x : {T}) outs(%z : {T})",
    "z = pl.sqrt(x)": f"pto.tsqrt ins(%x : {T}) outs(%z : {T})",
    "z = pl.rsqrt(x)": f"pto.trsqrt ins(%x : {T}) outs(%z : {T})",
    "z = pl.tile.rsqrt(x, t)": f"pto.trsqrt ins(%x, %t : {T}, {T}) outs(%z : {T})",
    "z = pl.recip(x)": f"pto.trecip ins(%x : {T}) outs(%z : {T})",
    "z = pl.neg(x)": f"pto.tneg ins(%x : {T}) outs(%z : {T})",
    "z = pl.abs(x)": f"pto.tabs ins(%x : {T}) outs(%z : {T})",
    "z = pl.tile.relu(x)": f"pto.trelu ins(%x : {T}) outs(%z : {T})",
    "h = pl.cast(x, pl.FP16)\nz = pl.cast(h, pl.FP32, mode='none')":
        f"pto.tcvt ins(%h {{rmode = #pto<round_mode NONE>}} : {H}) outs(%z : {T})",
    "h = pl.cast(x, pl.FP16, mode='floor')\nz = x":
        f"pto.tcvt ins(%x {{rmode = #pto<round_mode FLOOR>}} : {T}) outs(%h : {H})",
    "m = pl.tile.cmp(x, y, cmp_type=2)\nw = pl.create_tile([32, 64], pl.UINT8)\nz = pl.tile.sel(m, x, y, w)":
        f"pto.tcmp ins(%x, %y {{cmpMode = #pto<cmp lt>}} : {T}, {T}) outs(%m : {U8})",
    "m = pl.tile.cmps(x, s, cmp_type=5)\nw = pl.create_tile([32, 64], pl.UINT8)\nz = pl.tile.sels(m, x, w, s)":
        f"pto.tcmps ins(%x, %arg3 {{cmpMode = #pto<cmp ge>}} : {T}, f32) outs(%m : {U8})",
    "m = pl.tile.cmp(x, y)\nw = pl.create_tile([32, 64], pl.UINT8)\nz = pl.tile.sel(m, x, y, w)":
        f"pto.tsel ins(%m, %x, %y, %w : {U8}, {T}, {T}, vec[32x64xui8]) outs(%z : {T})",
    "m = pl.tile.cmp(x, y)\nw = pl.create_tile([32, 64], pl.UINT8)\nz = pl.tile.sels(m, x, w, s)":
        f"pto.tsels ins(%m, %x, %w, %arg3 : {U8}, {T}, vec[32x64xui8], f32) outs(%z : {T})",
    "r = pl.row_max(x, t)\nz = pl.row_expand_sub(x, r)": f"pto.trowmax ins(%x, %t : {T}, {T}) outs(%r : {C})",
    "r = pl.row_sum(x, t)\nz = pl.row_expand_div(x, r)":
        f"pto.trowexpanddiv ins(%x, %r : {T}, {C}) outs(%z : {T})",
    "r = pl.tile.row_min(x, t)\nz = pl.tile.row_expand(x, r)": f"pto.trowexpand ins(%r : {C}) outs(%z : {T})",
    "r = pl.tile.row_prod(x, t)\nz = pl.tile.row_expand_add(x, r, t)":
        f"pto.trowexpandadd ins(%x, %r, %t : {T}, {C}, {T}) outs(%z : {T})",
    "r = pl.tile.row_argmax(x, t)\nz = x": f"pto.trowargmax ins(%x, %t : {T}, {T}) outs(%r : vec[32x1xi32])",
    "c = pl.tile.col_argmin(x, t)\nz = x": f"pto.tcolargmin ins(%x, %t : {T}, {T}) outs(%c : vec[1x64xi32])",
    "c = pl.tile.col_sum(x)\nz = pl.tile.col_expand_mul(x, c)": f"pto.tcolsum ins(%x : {T}) outs(%c : {R})",
    "c = pl.tile.col_sum(x, t)\nz = pl.tile.col_expand(x, c)":
        f"pto.tcolsum ins(%x, %t {{isBinary = true}} : {T}, {T}) outs(%c : {R})",
    "c = pl.tile.col_max(x)\nz = pl.tile.col_expand(x, c)": f"pto.tcolexpand ins(%c : {R}) outs(%z : {T})",
    "c = pl.tile.col_min(x)\nz = pl.tile.col_expand_expdif(x, c)":
        f"pto.tcolexpandexpdif ins(%x, %c : {T}, {R}) outs(%z : {T})",
    "z = pl.tile.full([32, 64], dtype=pl.FP32, value=1.0)": f"pto.texpands ins(%cst : f32) outs(%z : {T})",
    "z = pl.tile.expands(x, s)": f"pto.texpands ins(%arg3 : f32) outs(%z : {T})",
    "w = pl.tile.extract(x, n, 0, [16, 64])\nz = x":
        f"pto.textract ins(%x, %arg4, %c0_index : {T}, index, index) outs(%w : vec[16x64xf32])",
    "w = pl.tile.extract(x, 0, 32, [32, 32])\nz = pl.tile.concat(w, w)":
        f"pto.tconcat ins(%w, %w : vec[32x32xf32], vec[32x32xf32]) outs(%z : {T})",
    "w = pl.create_tile([32, 64], pl.FP32)\nv = pl.tile.transpose(x, 0, 1, w)\nz = x":
        f"pto.ttrans ins(%x, %w : {T}, {T}) outs(%v : vec[64x32xf32])",
    "g = pl.tile.read(x, [n, 3])\nz = pl.tile.adds(y, g)": f"%g = pto.tgetval ins(%x, %1 : {T}, index) outs : f32",
    "pl.tile.write(x, [0, n], s)\nz = x": f"pto.tsetval ins(%arg4, %arg3 : index, f32) outs(%x : {T})",
    "g = pl.tensor.read(a, [n, 1])\nz = pl.tile.adds(y, g)": "%g = pto.load_scalar %arg0[%1] : !pto.ptr<f32> -> f32",
    "pl.tensor.write(out, [1, n], s)\nz = y": "pto.store_scalar %arg3, %arg2[%0] : !pto.ptr<f32>, f32",
    "g = pl.tile.gather_mask(x, mask_pattern=2)\nz = pl.tile.concat(g, g)":
        f'pto.tgather ins(%x, {{maskPattern = #pto.mask_pattern<P1010>}} : {T}, "row") outs(%g : vec[32x32xf32])',
    "pl.system.bar_all()\nz = x": "pto.barrier <PIPE_ALL>",
    "pl.system.bar_v()\nz = x": "pto.barrier <PIPE_V>",
    "pl.system.fence()\nz = x": "pto.fence.barrier_all #pto.fence_scope<gm>",
    "pl.system.sync_src(set_pipe=pl.PipeType.MTE2, wait_pipe=pl.PipeType.V, event_id=3)\nz = x":
        "pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID3>]",
    "pl.system.sync_dst(set_pipe=pl.PipeType.MTE2, wait_pipe=pl.PipeType.V, event_id=0)\nz = x":
        "pto.wait_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]",
    "r = pl.array.create(4, pl.INT32)\nz = x": "%r = pto.declare_local_array -> !pto.local_array<4xi32>",
}  # fmt: skip
INTEGER = {
    "z = pl.tile.shls(x, 2)": f"pto.tshls ins(%x, %c2_i32 : {I}, i32) outs(%z : {I})",
    "z = pl.tile.shrs(x, 2)": f"pto.tshrs ins(%x, %c2_i32 : {I}, i32) outs(%z : {I})",
    "z = pl.tile.and_(x, y)": f"pto.tand ins(%x, %y : {I}, {I}) outs(%z : {I})",
    "z = pl.tile.or_(x, y)": f"pto.tor ins(%x, %y : {I}, {I}) outs(%z : {I})",
    "z = pl.tile.xor(x, y, t)": f"pto.txor ins(%x, %y, %t : {I}, {I}, {I}) outs(%z : {I})",
    "z = pl.tile.xors(x, s, t)": f"pto.txors ins(%x, %arg3, %t : {I}, i32, {I}) outs(%z : {I})",
    "z = pl.tile.shl(x, y)": f"pto.tshl ins(%x, %y : {I}, {I}) outs(%z : {I})",
    "z = pl.tile.ci(0, [32, 64], dtype=pl.INT32)":
        f"pto.tci ins(%c0_i32 : i32) outs(%z : {I}) {{descending = false}}",
    "z = pl.tile.ci(s, [32, 64], dtype=pl.INT32, descending=True)":
        f"pto.tci ins(%arg3 : i32) outs(%z : {I}) {{descending = true}}",
    "z = pl.tile.gather(x, y, t)": f"pto.tgather ins(%x, %y, %t : {I}, {I}, {I}) outs(%z : {I})",
    "z = pl.tile.scatter(x, y, t)": f"pto.tscatter ins(%y, %t : {I}, {I}) outs(%x : {I})",
}  # fmt: skip
SHORT = "vec[32x64xi16]"
OTHERS = {
    ("INT16", "z = pl.tile.not_(x)"): f"pto.tnot ins(%x : {SHORT}) outs(%z : {SHORT})",
    ("INT16", "z = pl.tile.ands(x, s)"): f"pto.tands ins(%x, %0 : {SHORT}, i32) outs(%z : {SHORT})",
    ("INT16", "z = pl.tile.ors(x, 3)"): f"pto.tors ins(%x, %c3_i32 : {SHORT}, i32) outs(%z : {SHORT})",
    # An unsigned scalar is handed over without its sign.
    (
        "UINT32",
        "z = pl.tile.adds(x, s)",
    ): "pto.tadds ins(%x, %s : vec[32x64xui32], i32) outs(%z : vec[32x64xui32])",
}
CASES = [
    *(("FP32", b, line) for b, line in FLOAT.items()),
    *(("INT32", b, line) for b, line in INTEGER.items()),
    *((dt, b, line) for (dt, b), line in OTHERS.items()),
]


VARIANTS = [(b, p) for b in ("910b", "a5") for p in ("ptoas", "pypto")]


@pytest.fixture(scope="session")
def modules(body_of: Any) -> Callable[[str, str, str], dict[str, list[str]]]:
    """``modules(dtype, backend, planner)``: the lines of each case's kernel, by the case's text."""

    @cache
    def made(dtype: str, backend: str, planner: str) -> dict[str, list[str]]:
        bodies = [body for dt, body, _ in CASES if dt == dtype]
        program = pl.parse(_program(dtype, bodies))
        options = {"emit_source_loc": False, "enable_buffer_ir": False}
        compiled = compile(program, backend=backend, planner=planner, goal="pto", **options)
        texts = {a.name: str(a.data) for a in compiled.artifacts}
        for name, text in texts.items():
            report = check_text(text, name)
            assert report.ok, (report.errors, text)
        return {body: body_of(texts[f"k{number}.pto"]) for number, body in enumerate(bodies)}

    return made


def _program(dtype: str, bodies: list[str]) -> str:
    lines = ["import pypto_core.language as pl", "@pl.program", "class P:"]
    for number, body in enumerate(bodies):
        source = LOADED + body + "\nout = pl.store(z, [0, 0], out)\nreturn out"
        head = ["@pl.function(type=pl.FunctionType.InCore)", f"def k{number}(self, {PARAMS}):"]
        inner = [f"    {line}" for line in source.splitlines() if line]
        lines += [f"    {line}".replace("{dt}", dtype) for line in [*head, *inner]]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("dtype", "body", "line"), CASES, ids=[f"{d}-{b.splitlines()[-1]}" for d, b, _ in CASES]
)
def test_an_operator_is_written(modules: Any, dtype: str, body: str, line: str) -> None:
    for backend, planner in VARIANTS:
        lines = modules(dtype, backend, planner)[body]
        assert line in lines, "\n".join(lines)


ATOMIC = """
x = pl.load(a, [0, 0], [32, 64])
out = pl.store(x, [0, 0], out, atomic=pl.AtomicType.Add)
return out
"""


def test_an_atomic_store(write: Any, body_of: Any) -> None:
    lines = body_of(write(PARAMS.format(dt="FP32"), ATOMIC))
    assert (
        f"pto.tstore ins(%x : {T}) outs(%out_p : !pto.partition_tensor_view<32x64xf32>) "
        "{atomicType = #pto<atomic_type atomic_add>}"
    ) in lines


SORTED = """
x = pl.load(a, [0, 0], [1, 128])
i = pl.load(b, [0, 0], [1, 128])
s = pl.tile.sort32(x, i)
m = pl.tile.mrgsort_format1(s, block_len=64)
t = pl.create_tile([1, 512], pl.FP32)
z = pl.tile.mrgsort_format2(m, s, t)
out = pl.store(z, [0, 0], out)
return out
"""


def test_sorting(write: Any, body_of: Any) -> None:
    out = "out: pl.Out[pl.Tensor[[1, 512], pl.FP32]]"
    params = f"a: pl.Tensor[[1, 128], pl.FP32], b: pl.Tensor[[1, 128], pl.UINT32], {out}"
    text = write(params, SORTED)
    lines = body_of(text)
    long, pairs, list_ = "vec[1x512xf32]", "vec[1x256xf32]", "vec[1x128xf32]"
    assert f"pto.tsort32 ins(%x, %i : {list_}, vec[1x128xui32]) outs(%s : {pairs})" in lines
    assert f"pto.tmrgsort ins(%s, %c64_i32 : {pairs}, i32) outs(%m : {pairs})" in lines
    assert (
        f"pto.tmrgsort ins(%m, %s, %t {{exhausted = false}} : {pairs}, {pairs}, {long}) "
        f"outs(%z, %no_progress : {long}, vector<4xi16>)"
    ) in lines
    assert "%no_progress = arith.constant dense<0> : vector<4xi16>" in text


def test_arrays_are_updated_in_place(write: Any, body_of: Any) -> None:
    params = (
        "a: pl.Tensor[[32, 64], pl.FP32], n: pl.Scalar[pl.INT32], out: pl.Out[pl.Tensor[[32, 64], pl.FP32]]"
    )
    body = """
    r = pl.array.create(4, pl.INT32)
    r = pl.array.update_element(r, 1, n)
    v = pl.array.get_element(r, 1)
    x = pl.load(a, [v, 0], [16, 64])
    out = pl.store(x, [0, 0], out)
    return out
    """
    lines = body_of(write(params, body))
    [declared] = [x for x in lines if "declare_local_array" in x]
    name = declared.split()[0]
    assert f"pto.local_array_set {name}[%c1_index], %arg2 : !pto.local_array<4xi32>, i32" in lines
    assert f"%v = pto.local_array_get {name}[%c1_index] : !pto.local_array<4xi32> -> i32" in lines


WINDOW_ROW = """w = pl.tile.slice(x, [1, 32], [0, 0])
q = pl.tile.extract(x, 0, 0, [32, 32])
v = pl.tile.col_expand_add(q, w)
z = x"""
GAPS = "w = pl.create_tile([6, 4], pl.FP32)\ni = pl.create_tile([6, 4], pl.INT32)\n"
REFUSED = [
    ("BF16", "z = pl.add(x, y)", "910b", "takes no bfloat16 elements"),
    ("INT32", "z = pl.tile.ands(x, s)", "910b", "takes no int32 elements"),
    ("FP32", "pl.system.syncall()\nz = x", "a5", "how it spells the mode and the cores is not known"),
    ("FP32", "pl.system.sync_set(pl.PipeType.V, 0)\nz = x", "a5", "sets the flags between cores"),
    ("FP32", "z = pl.tile.aiv_shard(x)", "910b", "where a kernel of both cores is divided"),
    ("FP32", "w = pl.tile.slice(x, [32, 1], [0, 0])\nz = x", "910b", "would lie otherwise than the tile"),
    ("FP32", f"{GAPS}z = pl.reshape(w, [4, 6])", "910b", "the elements would have to move"),
    ("FP32", f"{GAPS}z = pl.concat(w, w)", "910b", "would begin within a block of 32 bytes"),
    ("FP32", f"{GAPS}z = pl.tile.gather(w, i, i)", "910b", "counts elements takes no tile with gaps"),
    ("FP32", f"{GAPS}z = pl.tile.scatter(w, w, i)", "910b", "counts elements takes no tile with gaps"),
    ("FP32", "w = pl.tile.slice(x, [32, 32], [0, 0])\nv = pl.reshape(w, [16, 64])\nz = x", "910b", "not adjacent"),
    ("FP32", WINDOW_ROW, "910b", "can't read its row from a window"),
    ("FP32", 'z = pl.cast(x, pl.FP16, mode="rint")\nout = pl.store(z, [0, 0], out)', "910b", "can't be stored as fp32"),
    ("FP32", 'z = pl.cast(x, pl.INT32)\nout = pl.store(z, [0, 0], out)', "910b", "can't be stored as fp32"),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "body", "backend", "message"), REFUSED, ids=[r[3] for r in REFUSED])
def test_what_the_machine_does_not_take_is_one_error_at_its_place(
    write: Any, dtype: str, body: str, backend: str, message: str
) -> None:
    source = LOADED.format(dt=dtype) + body + "\nout = pl.store(x, [0, 0], out)\nreturn out\n"
    with pytest.raises(UserError) as error:
        write(PARAMS.format(dt=dtype), source, backend=backend)
    [diagnostic] = error.value.diagnostics
    assert message in diagnostic.message
    assert diagnostic.span.is_valid and diagnostic.remedy


def test_the_catalogue_names_operators_that_exist() -> None:
    from pypto_core.ops import builtin_registry

    registry = builtin_registry()
    assert [name for name in recipes() if name not in registry] == []
    assert list(recipes()) == sorted(recipes())


def test_the_catalogue_lists_exactly_the_recipes_there_are() -> None:
    from pypto_plugin_pto.recipes import (
        crossing,
        elementwise,
        matmul,
        memory,
        queries,
        reductions,
        sorting,
        views,
    )

    families = (crossing, elementwise, matmul, memory, queries, reductions, sorting, views)
    found = {op: family.__name__.rpartition(".")[2] for family in families for op in family.RECIPES}
    assert {op: recipe.family for op, recipe in recipes().items()} == found
