"""Each hint: when it comes, what it says, where it points, and that it comes once."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from pypto_core.diagnostics import Severity, UserError
from pypto_core.host import load_host
from pypto_core.ir import DataType, MemorySpace
from pypto_core.run import PassContext
from pypto_core.testing import build as b
from pypto_plugin_autotile.auto_tile import auto_tile_matmul_l0

MAT, ACC = "target_memory=pl.Mem.Mat", "target_memory=pl.Mem.Acc"


def only(tiled: Any, code: str, line: str = "c = pl.") -> Any:
    """The one hint, which has this code and points to the line that begins like this."""
    assert tiled.codes == [code]
    [hint] = tiled.hints
    assert hint.severity is Severity.PERF_HINT and hint.rule == "AutoTileMatmulL0"
    assert hint.span.line_text().strip().startswith(line)
    assert hint.facts and hint.remedy
    return hint


def kernel(
    kit: Any, M: int, N: int, K: int, body: str, dtype: str = "BF16", *more: str, loads: str = ""
) -> Any:
    out = f"pl.Tensor[[{M}, {N}], pl.{kit.result(dtype)}]"
    params = (f"a: pl.Tensor[[{M}, {K}], pl.{dtype}]", f"b: pl.Tensor[[{K}, {N}], pl.{dtype}]", *more,
              f"out: pl.Out[{out}]")  # fmt: skip
    return kit.program(params, out, (loads or kit.loads(M, N, K)) + body)


STORE = "res = pl.store(c, [0, 0], out)\nreturn res"


@pytest.mark.parametrize("dtype", [DataType.INT4, DataType.UINT4])
def test_003_elements_narrower_than_a_byte(kit: Any, dtype: DataType) -> None:
    mat = {"space": MemorySpace.Mat}
    lhs, rhs = b.tile("lhs", (64, 512), dtype, **mat), b.tile("rhs", (512, 64), dtype, **mat)
    program = b.program(b.kernel("main", (lhs, rhs), [b.let("c", b.op("tile.matmul", lhs, rhs)), b.ret()]))
    tiled = kit.tile(program, "910b", check=False)
    assert tiled.codes == ["PH-AT-003"] and tiled.after is program
    assert dtype.text in tiled.hints[0].message


@pytest.mark.parametrize(("M", "N"), [(8, 64), (64, 8)])
def test_005_smaller_than_a_tile(kit: Any, M: int, N: int) -> None:
    tiled = kit.tile(kit.plain(M, N, 512), "910b", check=False)
    hint = only(tiled, "PH-AT-005")
    assert "8" in hint.message and tiled.after is tiled.before
    assert dict(hint.facts)["product (M x N x K)"] == f"{M} x {N} x 512, bfloat16 to fp32"


def test_006_a_callers_accumulator_beyond_l0c(kit: Any) -> None:
    start = f"c0 = pl.tile.create([512, 512], pl.FP32, {ACC})\n"
    program = kernel(kit, 512, 512, 64, start + "c = pl.matmul_acc(c0, lhs, rhs, True)\n" + STORE)
    tiled = kit.tile(program, "910b", check=False)
    hint = only(tiled, "PH-AT-006")
    assert "caller's accumulator" in hint.message and "left untouched" in hint.message
    facts = dict(hint.facts)
    assert facts["accumulator"] == "1048576 of 131072 bytes of L0C"
    assert facts["best tile (m, n, k)"] == "128, 256, 64"
    assert tiled.after is program


def test_006_a_left_operand_of_the_vector_core(kit: Any) -> None:
    loads = (
        "lhs = pl.load(a, [0, 0], [512, 64], target_memory=pl.Mem.Vec)\n"
        f"rhs = pl.load(b, [0, 0], [64, 512], {MAT})\n"
    )
    tiled = kit.tile(
        kernel(kit, 512, 512, 64, "c = pl.matmul(lhs, rhs)\n" + STORE, loads=loads), "910b", check=False
    )
    assert "vector core" in only(tiled, "PH-AT-006").message


TWICE = "c = pl.matmul(lhs, rhs)\none = pl.store(c, [0, 0], out)\nres = pl.store(c, [0, 0], one)\nreturn res"
NESTED = """c = pl.matmul(lhs, rhs)
for i, (o,) in pl.range(1, init_values=(out,)):
    s = pl.store(c, [0, 0], o)
    res = pl.yield_(s)
return res"""
EFFECT = "c = pl.matmul(lhs, rhs)\npl.store(c, [0, 0], out)\nreturn out"
ALIAS = "c = pl.matmul(lhs, rhs)\nw = c\nres = pl.store(w, [0, 0], out)\nreturn res"
PARTITION = "c = pl.matmul(lhs, rhs)\nres = pl.store(c, [0, 0], out, [512, 512])\nreturn res"


@pytest.mark.parametrize("body", [TWICE, NESTED, EFFECT, ALIAS, PARTITION])
def test_006_no_single_store_beside_the_product(kit: Any, body: str) -> None:
    tiled = kit.tile(kernel(kit, 512, 512, 64, body), "910b", check=False)
    hint = only(tiled, "PH-AT-006")
    assert "is not consumed by a single 2D tile.store" in hint.message
    assert tiled.after is tiled.before


def test_006_an_operand_that_changes_before_the_store(kit: Any) -> None:
    body = f"""c = pl.matmul(lhs, rhs)
small = pl.load(b, [0, 0], [64, 64], {MAT})
changed = pl.tile.assemble(lhs, small, [0, 0])
res = pl.store(c, [0, 0], out)
return res"""
    tiled = kit.tile(kernel(kit, 512, 512, 64, body), "910b", check=False)
    assert "'lhs' is overwritten before the result is stored" in only(tiled, "PH-AT-006").message


def test_other_statements_between_product_and_store_are_crossed(kit: Any) -> None:
    body = """c = pl.matmul(lhs, rhs)
part = pl.load(aux, [0, 0], [16, 16])
mark = pl.store(part, [16, 16], aux)
res = pl.store(c, [0, 0], out)
return res"""
    program = kernel(kit, 512, 512, 64, body, "BF16", "aux: pl.InOut[pl.Tensor[[32, 32], pl.FP32]]")
    tiled = kit.tile(program, "910b")
    assert tiled.hints == () and len(tiled.loops()) == 2
    kit.same(tiled)


def test_006_a_chained_result_beyond_mat_is_said_once(kit: Any) -> None:
    body = f"""other = pl.load(e, [0, 0], [1024, 64], {MAT})
c = pl.matmul(lhs, rhs)
cb = pl.tile.cast(c, pl.BF16, mode="rint")
d = pl.matmul(cb, other)
res = pl.store(d, [0, 0], out)
return res"""
    out = "pl.Tensor[[512, 64], pl.FP32]"
    params = ("a: pl.Tensor[[512, 512], pl.BF16]", "b: pl.Tensor[[512, 1024], pl.BF16]",
              "e: pl.Tensor[[1024, 64], pl.BF16]", f"out: pl.Out[{out}]")  # fmt: skip
    tiled = kit.tile(kit.program(params, out, kit.loads(512, 1024, 512) + body), "910b", check=False)
    hint = only(tiled, "PH-AT-006")
    assert dict(hint.facts)["Mat"] == "1048576 of 524288 bytes"
    # The cast stays on the vector core, so that the next product's left operand is staged once.
    assert len(tiled.calls("tile.cast")) == 1
    staged = [call for call in tiled.calls("tile.move") if call.args[0].name_hint == "cb"]
    assert len(staged) == 1 and staged[0].type.memory_space is MemorySpace.Mat


def chain(kit: Any, M: int, N: int, condition: str, flag: bool = False) -> Any:
    body = f"""c0 = pl.tile.create([{M}, {N}], pl.FP32, {ACC})
for kb, (acc,) in pl.pipeline(4, stage=2, init_values=(c0,)):
    k0 = kb * 64
    at = pl.load(a, [0, k0], [{M}, 64], {MAT})
    bt = pl.load(b, [k0, 0], [64, {N}], {MAT})
    c = pl.tile.matmul_acc(acc, at, bt, {condition})
    r = pl.yield_(c)
res = pl.store(r, [0, 0], out)
return res"""
    more = ("flag: pl.Scalar[pl.INDEX]",) if flag else ()
    return kernel(kit, M, N, 256, body, "BF16", *more, loads="\n")


def test_006_a_predicate_that_shows_nothing(kit: Any) -> None:
    tiled = kit.tile(chain(kit, 512, 512, "flag == 0", flag=True), "910b", check=False)
    hint = only(tiled, "PH-AT-006", "c = pl.tile.matmul_acc")
    assert "init_cond must test this loop's induction variable" in hint.message
    assert tiled.after is tiled.before


@pytest.mark.parametrize("condition", ["kb == 1", "k0 != 0", "kb < 1"])
def test_006_a_predicate_of_another_form(kit: Any, condition: str) -> None:
    assert kit.tile(chain(kit, 512, 512, condition), "910b", check=False).codes == ["PH-AT-006"]


def test_a_chain_that_fits_is_not_hinted_at(kit: Any) -> None:
    tiled = kit.tile(chain(kit, 64, 64, "flag == 0", flag=True), "910b")
    assert tiled.hints == ()


@pytest.mark.parametrize("K", [8, 50, 264])
def test_007_a_depth_that_is_no_multiple_of_16(kit: Any, K: int) -> None:
    tiled = kit.tile(kit.plain(64, 64, K), "910b", check=False)
    hint = only(tiled, "PH-AT-007")
    assert (
        f"K={K} is not a multiple of the cube fractal 16" in hint.message
        and str(-(-K // 16) * 16) in hint.remedy
    )
    assert tiled.after is tiled.before


def chained(kit: Any, M: int, N: int, K: int, cast: str, dtype: str = "BF16", second: str = "BF16") -> Any:
    body = f"""other = pl.load(e, [0, 0], [{N}, 64], {MAT})
c = pl.matmul(lhs, rhs)
{cast}
d = pl.matmul({"cb" if cast else "c"}, other)
res = pl.store(d, [0, 0], out)
return res"""
    out = f"pl.Tensor[[{M}, 64], pl.FP32]"
    params = (f"a: pl.Tensor[[{M}, {K}], pl.{dtype}]", f"b: pl.Tensor[[{K}, {N}], pl.{dtype}]",
              f"e: pl.Tensor[[{N}, 64], pl.{second}]", f"out: pl.Out[{out}]")  # fmt: skip
    return kit.program(params, out, kit.loads(M, N, K) + body)


def test_009_a_wide_result_that_stays_on_chip(kit: Any) -> None:
    tiled = kit.tile(chained(kit, 256, 256, 256, "", "FP32", "FP32"), "910b", check=False)
    assert tiled.codes == ["PH-AT-009", "PH-AT-006"]
    first = tiled.hints[0]
    assert "intermediate is fp32, where Ascend 910B needs a bf16/f16 one" in first.message
    assert 'mode="rint"' in first.remedy
    assert kit.tile(chained(kit, 256, 512, 64, "", "FP32", "FP32"), "a5").hints == ()


@pytest.mark.parametrize("mode", ["round", "none", "floor", "ceil", "trunc", "odd"])
def test_010_a_cast_that_the_drain_cannot_do(kit: Any, mode: str) -> None:
    cast = f'cb = pl.tile.cast(c, pl.BF16, mode="{mode}")'
    tiled = kit.tile(chained(kit, 64, 64, 64, cast), "910b")
    hint = only(tiled, "PH-AT-010", "cb = pl.tile.cast")
    assert dict(hint.facts)["mode"] == mode
    assert len(tiled.calls("tile.cast")) == 1


def test_010_a_cast_of_integers(kit: Any) -> None:
    cast = 'cb = pl.tile.cast(c, pl.FP16, mode="rint")'
    tiled = kit.tile(chained(kit, 64, 64, 64, cast, "INT8", "FP16"), "910b")
    assert dict(only(tiled, "PH-AT-010", "cb = ").facts)["cast"] == "int32 to fp16"


def test_a_cast_for_the_vector_core_is_no_matter_of_the_pass(kit: Any) -> None:
    body = """c = pl.matmul(lhs, rhs)
cb = pl.tile.cast(c, pl.BF16, mode="round")
res = pl.store(cb, [0, 0], half)
return res"""
    out = "pl.Tensor[[64, 64], pl.BF16]"
    params = ("a: pl.Tensor[[64, 64], pl.BF16]", "b: pl.Tensor[[64, 64], pl.BF16]", f"half: pl.Out[{out}]")
    tiled = kit.tile(kit.program(params, out, kit.loads(64, 64, 64) + body), "910b")
    assert tiled.hints == () and tiled.after is tiled.before


def biased(kit: Any, M: int, N: int, K: int, body: str, dtype: str = "BF16", lhs: str = MAT) -> Any:
    loads = (
        f"lhs = pl.load(a, [0, 0], [{M}, {K}], {lhs})\nrhs = pl.load(b, [0, 0], [{K}, {N}], {MAT})\n"
        f"row = pl.load(bias, [0, 0], [1, {N}], {MAT})\n"
    )
    more = f"bias: pl.Tensor[[1, {N}], pl.{kit.result(dtype)}]"
    aux = "aux: pl.InOut[pl.Tensor[[32, 32], pl.FP32]]"
    return kernel(kit, M, N, K, body, dtype, more, aux, loads=loads)


PRODUCT = "c = pl.tile.matmul_bias(lhs, rhs, row)\n"
BARRIER = "part = pl.load(aux, [0, 0], [16, 16])\nmark = pl.store(part, [16, 16], aux)\n"


def test_011_a_left_operand_of_the_vector_core(kit: Any) -> None:
    program = biased(kit, 64, 64, 512, PRODUCT + STORE, lhs="target_memory=pl.Mem.Vec")
    tiled = kit.tile(program, "910b", check=False)
    assert "lies in Vec" in only(tiled, "PH-AT-011", "c = pl.tile").message
    assert tiled.after is program


@pytest.mark.parametrize(("M", "N", "K"), [(64, 48, 512), (64, 64, 528), (24, 64, 512)])
def test_011_extents_that_are_no_whole_boxes(kit: Any, M: int, N: int, K: int) -> None:
    tiled = kit.tile(biased(kit, M, N, K, PRODUCT + STORE, "INT8"), "910b", check=False)
    assert "no whole boxes" in only(tiled, "PH-AT-011", "c = pl.tile").message


def test_011_a_bias_type_that_the_table_does_not_take(kit: Any) -> None:
    backend = attrs.evolve(kit.backend("910b"), mat_to_bias=())
    context = PassContext(backend=backend, host=load_host())
    program = biased(kit, 64, 64, 512, PRODUCT + STORE)
    with context:
        assert auto_tile_matmul_l0(program, context) is program
    [hint] = context.log
    assert hint.code == "PH-AT-011" and "can't move a bias of fp32" in hint.message


@pytest.mark.parametrize(
    ("before", "after"),
    [(BARRIER, ""), ("", BARRIER), ("twin = pl.move(row, target_memory=pl.Mem.Bias)\n", "")],
    ids=["between load and product", "between product and store", "another reader"],
)
def test_011_a_bias_of_which_no_window_can_be_loaded(kit: Any, before: str, after: str) -> None:
    program = biased(kit, 256, 1024, 64, before + PRODUCT + after + STORE)
    tiled = kit.tile(program, "910b", check=False)
    only(tiled, "PH-AT-011", "c = pl.tile")
    assert tiled.after is program


def test_loads_between_bias_product_and_store_do_not_matter(kit: Any) -> None:
    more = "part = pl.load(aux, [0, 0], [16, 16])\n"
    tiled = kit.tile(
        biased(kit, 256, 1024, 64, more + PRODUCT + "p2 = pl.load(aux, [0, 0], [16, 16])\n" + STORE), "910b"
    )
    assert tiled.hints == ()
    assert not any(call.type.shape[1].value == 1024 for call in tiled.calls("tile.load")
                   if call.type.shape[0].value == 1), "the whole row is no longer loaded"  # fmt: skip
    kit.same(tiled)


def test_a_biased_result_without_a_store_is_a_006(kit: Any) -> None:
    body = PRODUCT + "one = pl.store(c, [0, 0], out)\nres = pl.store(c, [0, 0], one)\nreturn res"
    tiled = kit.tile(biased(kit, 256, 1024, 64, body), "910b", check=False)
    only(tiled, "PH-AT-006", "c = pl.tile")


def test_a_bias_in_its_table_that_is_too_wide(kit: Any) -> None:
    body = "inb = pl.move(row, target_memory=pl.Mem.Bias)\nc = pl.tile.matmul_bias(lhs, rhs, inb)\n" + STORE
    tiled = kit.tile(biased(kit, 256, 512, 64, body), "910b", check=False)
    assert "lies in the bias table" in only(tiled, "PH-AT-006", "c = pl.tile").message
    assert tiled.after is tiled.before


# -- silence


@pytest.mark.parametrize(
    "loads",
    [
        "lhs = pl.load(a, [0, 0], [64, 512], target_memory=pl.Mem.Mat)\nrhs = pl.load(b, [0, 0], [512, 64])\n",
        (
            "l0 = pl.load(a, [0, 0], [64, 512], target_memory=pl.Mem.Mat)\n"
            "lhs = pl.tile.extract(l0, 0, 0, [64, 512], target_memory=pl.Mem.Left)\n"
            "r0 = pl.load(b, [0, 0], [512, 64], target_memory=pl.Mem.Mat)\n"
            "rhs = pl.tile.extract(r0, 0, 0, [512, 64], target_memory=pl.Mem.Right)\n"
        ),
    ],
    ids=["right operand in Vec", "both placed by hand, just fitting"],
)
def test_nothing_is_said_of_what_is_not_the_passs_matter(kit: Any, loads: str) -> None:
    program = kernel(kit, 64, 64, 512, "c = pl.matmul(lhs, rhs)\n" + STORE, loads=loads)
    tiled = kit.tile(program, "910b", check=False)
    assert tiled.hints == () and tiled.after is program


# -- falling back to K alone


@pytest.mark.parametrize("planner", ["dsa_rp", "ptoas"])
def test_a_grid_without_a_place_becomes_a_loop_over_k(kit: Any, planner: str) -> None:
    start = f"c0 = pl.tile.create([16, 256], pl.INT32, {ACC})\n"
    body = start + "c = pl.matmul_acc(c0, lhs, rhs, True)\n" + STORE
    program = kernel(kit, 16, 256, 512, body, "INT8")
    tiled = kit.tile(program, "910b", planner)
    hint = only(tiled, "PH-AT-006")
    assert "it is split along K alone, into blocks of" in hint.message
    [loop] = tiled.loops()
    assert loop.stop.value == 512
    kit.same(tiled)
    plain = kit.tile(program, "910b", planner, check=False, k_only_fallback=False)
    assert plain.after is program and "left untouched" in plain.hints[0].message


def test_a_fallback_for_results_that_the_vector_core_reads(kit: Any) -> None:
    body = """c = pl.matmul(lhs, rhs)
v = pl.move(c, target_memory=pl.Mem.Vec)
w = pl.tile.adds(v, 1.0)
res = pl.store(w, [0, 0], out)
return res"""
    program = kernel(kit, 64, 256, 512, body, "FP32")
    tiled = kit.tile(program, "a5", "dsa_rp")
    assert set(tiled.codes) <= {"PH-AT-006"}
    assert len(tiled.loops()) == 1
    kit.same(tiled)


# -- operands placed by hand


@pytest.mark.parametrize(
    ("M", "N", "K", "side", "memory", "shape"),
    [
        (16, 256, 256, "right", "Right (L0B)", "[256, 256]"),
        (256, 16, 256, "left", "Left (L0A)", "[256, 256]"),
    ],
)
@pytest.mark.parametrize("op", ["tile.matmul", "tile.matmul_acc"])
def test_an_operand_that_cannot_fit_is_an_error(
    kit: Any, M: int, N: int, K: int, side: str, memory: str, shape: str, op: str
) -> None:
    start = f"c0 = pl.tile.create([{M}, {N}], pl.FP32, {ACC})\n"
    args = "c0, lhs__ssa_v0, rhs__ssa_v0, True" if op.endswith("acc") else "lhs__ssa_v0, rhs__ssa_v0"
    body = start + f"c = pl.{op}({args})\n" + STORE
    loads = kit.loads(M, N, K).replace("lhs", "l").replace("rhs", "r") + (
        f"lhs__ssa_v0 = pl.tile.extract(l, 0, 0, [{M}, {K}], target_memory=pl.Mem.Left)\n"
        f"rhs__ssa_v0 = pl.tile.extract(r, 0, 0, [{K}, {N}], target_memory=pl.Mem.Right)\n"
    )
    program = kernel(kit, M, N, K, body, "FP16", loads=loads)
    with pytest.raises(UserError) as caught:
        kit.tile(program, "910b")
    error = caught.value
    assert isinstance(error, ValueError)
    name = "lhs" if side == "left" else "rhs"
    assert error.message == (
        f"{op} {side} operand '{name}' is already resident in {memory} with physical shape {shape} and dtype fp16, "
        "requiring 131072 bytes, but the active backend provides 65536 bytes."
    )
    assert "ssa" not in str(error.message) and "Check failed" not in str(error)
    remedy = error.diagnostics[0].remedy
    assert "does not retile operands already placed in Left or Right" in remedy
    assert f"Keep this operand in Mat and pass it directly to {op}" in remedy
    assert f"or manually extract a smaller {memory.split()[0]} tile." in remedy
    assert error.span.line_text().strip().startswith("c = pl.")


def test_without_a_machine_the_first_product_to_tile_is_an_error(kit: Any) -> None:
    context = PassContext(host=kit.host)
    with context, pytest.raises(ValueError, match="no machine is chosen"):
        auto_tile_matmul_l0(kit.plain(64, 64, 512), context)
    placed = """l = pl.tile.extract(lhs, 0, 0, [64, 64], target_memory=pl.Mem.Left)
r = pl.tile.extract(rhs, 0, 0, [64, 64], target_memory=pl.Mem.Right)
c = pl.matmul(l, r)
""" + STORE  # fmt: skip
    program = kernel(kit, 64, 64, 64, placed)
    with context:
        assert auto_tile_matmul_l0(program, context) is program


def test_a_disabled_hint_is_not_logged(kit: Any) -> None:
    context = PassContext(backend=kit.backend("910b"), host=kit.host, disabled_diagnostics={"PH-AT-007"})
    with context:
        auto_tile_matmul_l0(kit.plain(64, 64, 50), context)
    assert len(context.log) == 0


@pytest.mark.parametrize(
    ("planner", "M", "N", "K", "outcome"),
    [
        ("pypto", 16, 112, 64, "it runs whole"),
        ("dsa_rp", 64, 192, 512, "it is split along K alone, into blocks of 64"),
    ],
)
def test_a_biased_grid_without_a_window_falls_back(
    kit: Any, planner: str, M: int, N: int, K: int, outcome: str
) -> None:
    """Fewer columns at a time drain faster, but all of them fit L0C and the bias table as well."""
    wanted = kit.tile(biased(kit, M, N, K, PRODUCT + STORE), "910b", planner)
    assert all(call.type.shape[1].value < N for call in wanted.calls("tile.matmul_bias"))
    tiled = kit.tile(biased(kit, M, N, K, BARRIER + PRODUCT + STORE), "910b", planner)
    assert outcome in only(tiled, "PH-AT-011", "c = pl.tile").message
    if tiled.after is not tiled.before:
        kit.same(tiled)
