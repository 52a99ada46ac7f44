"""Random products of every kind compute the same before and after, and nothing in L0 is too large.

The simulator adds up in the order of K, so that a reduction cut into blocks gives the same bits: floats are compared
exactly as well.
"""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto_core.run import PassContext
from pypto_plugin_autotile.auto_tile import auto_tile_matmul_l0

BACKENDS, PLANNERS = ("910b", "a5"), ("pypto", "dsa_rp", "ptoas")
MAT, ACC = "target_memory=pl.Mem.Mat", "target_memory=pl.Mem.Acc"


@attrs.frozen
class Case:
    M: int
    N: int
    K: int
    dtype: str
    backend: str
    planner: str
    opted_in: bool

    @property
    def result(self) -> str:
        return "INT32" if self.dtype == "INT8" else "FP32"


def extents(most: int) -> st.SearchStrategy[int]:
    """Multiples of 16 to ``most``, small ones more often."""
    count = most // 16
    small = st.integers(1, min(8, count))
    medium = st.integers(1, min(40, count))
    return st.one_of(small, medium, st.integers(1, count)).map(lambda n: 16 * n)


@st.composite
def cases(draw: Any, most: int, work: int) -> Case:
    M, N, K = (draw(extents(most)) for _ in range(3))
    while work < M * N * K:
        M, N, K = (max(16, extent // 32 * 16) if extent == max(M, N, K) else extent for extent in (M, N, K))
    planner = draw(st.sampled_from(PLANNERS))
    return Case(
        M, N, K, draw(st.sampled_from(("BF16", "FP16", "FP32", "INT8"))), draw(st.sampled_from(BACKENDS)),
        planner, planner == "pypto" and draw(st.booleans()),
    )  # fmt: skip


def run(
    kit: Any, case: Case, program: Any, *, execute: bool = True, settled: bool = True, **inputs: Any
) -> Any:
    options = {"enable_pypto_l0c_double_buffer": True} if case.opted_in else {}
    tiled = kit.tile(program, case.backend, case.planner, check=None, settled=settled, **options)
    if execute and tiled.after is not program:
        kit.same(tiled, **inputs)
    return tiled


def params(case: Case, *more: str, turned: str = "") -> tuple[tuple[str, ...], str]:
    """``turned``: the operands that lie transposed."""
    out = f"pl.Tensor[[{case.M}, {case.N}], pl.{case.result}]"
    rows, columns = (case.K, case.M) if "a" in turned else (case.M, case.K)
    a = f"a: pl.Tensor[[{rows}, {columns}], pl.{case.dtype}]"
    rows, columns = (case.N, case.K) if "b" in turned else (case.K, case.N)
    b = f"b: pl.Tensor[[{rows}, {columns}], pl.{case.dtype}]"
    return (a, b, *more, f"out: pl.Out[{out}]"), out


def panel_of(name: str, rows: str, columns: str, shape: tuple[int, int], turned: bool) -> str:
    """The line that loads a panel of ``name`` as the product takes it."""
    if not turned:
        return f"{name}t = pl.load({name}, [{rows}, {columns}], [{shape[0]}, {shape[1]}], {MAT})"
    return (
        f"{name}l = pl.load({name}, [{columns}, {rows}], [{shape[1]}, {shape[0]}], {MAT})\n"
        f"    {name}t = pl.tile.transpose_view({name}l)"
    )


STORE = "res = pl.store(c, [0, 0], out)\nreturn res"


@settings(max_examples=60)
@given(case=cases(2048, 1 << 23))
def test_stored_products(kit: Any, case: Case) -> None:
    tiled = run(kit, case, kit.plain(case.M, case.N, case.K, case.dtype))
    assert tiled.hints == (), "a stored product always has a place"


@settings(max_examples=100)
@given(case=cases(2048, 1 << 33))
def test_large_products_fit(kit: Any, case: Case) -> None:
    tiled = run(kit, case, kit.plain(case.M, case.N, case.K, case.dtype), execute=False)
    assert tiled.hints == ()


@settings(max_examples=40)
@given(
    case=cases(1024, 1 << 22), cond=st.sampled_from(("", ", flag == 1", ", True")), steps=st.integers(1, 3)
)
def test_accumulations(kit: Any, case: Case, cond: str, steps: int) -> None:
    """Several steps of a caller's own reduction; without a predicate the first one is a product of its own."""
    names, out = params(case, "flag: pl.Scalar[pl.INDEX]")
    body = kit.loads(case.M, case.N, case.K)
    if cond == "":
        body += f"a0 = pl.tile.extract(lhs, 0, 0, [{case.M}, 16], target_memory=pl.Mem.Left)\n"
        body += f"b0 = pl.tile.extract(rhs, 0, 0, [16, {case.N}], target_memory=pl.Mem.Right)\n"
        body += "c0 = pl.tile.matmul(a0, b0)\n"
        if (case.M + case.N) * 16 * 4 > 65536 or case.M * case.N * 4 > 65536:
            return
    else:
        body += f"c0 = pl.tile.create([{case.M}, {case.N}], pl.{case.result}, {ACC})\n"
        cond = ", flag == 1" if "flag" in cond else cond
    for step in range(steps):
        predicate = cond if step == 0 else ""
        body += f"c{step + 1} = pl.tile.matmul_acc(c{step}, lhs, rhs{predicate})\n"
    program = kit.program(names, out, body + f"res = pl.store(c{steps}, [0, 0], out)\nreturn res")
    run(kit, case, program, dims={"flag": 1})


@settings(max_examples=40)
@given(case=cases(1024, 1 << 22), boxes=st.booleans())
def test_biased_products(kit: Any, case: Case, boxes: bool) -> None:
    if boxes:
        case = attrs.evolve(case, N=-(-case.N // 32) * 32, K=-(-case.K // 32) * 32)
    names, out = params(case, f"bias: pl.Tensor[[1, {case.N}], pl.{case.result}]")
    body = kit.loads(case.M, case.N, case.K)
    body += f"row = pl.load(bias, [0, 0], [1, {case.N}], {MAT})\nc = pl.tile.matmul_bias(lhs, rhs, row)\n"
    tiled = run(kit, case, kit.program(names, out, body + STORE))
    if boxes and case.dtype != "FP16":
        assert tiled.hints == ()


@settings(max_examples=40)
@given(case=cases(768, 1 << 22), P=extents(128), fold=st.booleans())
def test_chained_products(kit: Any, case: Case, P: int, fold: bool) -> None:
    case = attrs.evolve(case, dtype="BF16" if case.dtype == "INT8" else case.dtype)
    mode = "rint" if fold else "round"
    out = f"pl.Tensor[[{case.M}, {P}], pl.FP32]"
    names = (*params(case)[0][:2], f"e: pl.Tensor[[{case.N}, {P}], pl.BF16]", f"out: pl.Out[{out}]")
    body = kit.loads(case.M, case.N, case.K) + f"other = pl.load(e, [0, 0], [{case.N}, {P}], {MAT})\n"
    body += f'c = pl.tile.matmul(lhs, rhs)\ncb = pl.tile.cast(c, pl.BF16, mode="{mode}")\n'
    body += "d = pl.tile.matmul(cb, other)\nres = pl.store(d, [0, 0], out)\nreturn res"
    tiled = run(kit, case, kit.program(names, out, body))
    if fold and not tiled.hints:
        assert tiled.calls("tile.cast") == []


@settings(max_examples=40)
@given(case=cases(512, 1 << 21), missing=st.tuples(*[st.integers(0, 40)] * 2), dynamic=st.booleans())
def test_narrowed_products(kit: Any, case: Case, missing: tuple[int, int], dynamic: bool) -> None:
    """Fewer valid rows and columns than physical ones, known or not."""
    rows, cols = (max(1, extent - less) for extent, less in zip((case.M, case.N), missing, strict=True))
    names, _ = params(case, "vr: pl.Scalar[pl.INDEX]", "vc: pl.Scalar[pl.INDEX]")
    vr, vc = ("vr", "vc") if dynamic else (rows, cols)
    body = (
        f"lhs = pl.load(a, [0, 0], [{case.M}, {case.K}], [{vr}, {case.K}], {MAT})\n"
        f"rhs = pl.load(b, [0, 0], [{case.K}, {case.N}], [{case.K}, {vc}], {MAT})\n"
        "c = pl.matmul(lhs, rhs)\n"
    )
    program = kit.program(names, f"pl.Tensor[[{case.M}, {case.N}], pl.{case.result}]", body + STORE)
    tiled = run(kit, case, program, dims={"vr": rows, "vc": cols})
    assert tiled.hints == ()


@settings(max_examples=30)
@given(case=cases(512, 1 << 21), missing=st.tuples(*[st.integers(0, 40)] * 3))
def test_tensors_without_padding(kit: Any, case: Case, missing: tuple[int, int, int]) -> None:
    """Operands padded to boxes on chip, of tensors that end where their data does: no write leaves them."""
    M, N, K = (max(1, e - less) for e, less in zip((case.M, case.N, case.K), missing, strict=True))
    out = f"pl.Tensor[[{M}, {N}], pl.{case.result}]"
    names = (f"a: pl.Tensor[[{M}, {K}], pl.{case.dtype}]", f"b: pl.Tensor[[{K}, {N}], pl.{case.dtype}]",
             f"out: pl.Out[{out}]")  # fmt: skip
    body = (
        f"lhs = pl.load(a, [0, 0], [{case.M}, {case.K}], [{M}, {K}], {MAT})\n"
        f"rhs = pl.load(b, [0, 0], [{case.K}, {case.N}], [{K}, {N}], {MAT})\n"
        "c = pl.matmul(lhs, rhs)\n"
    )
    run(kit, case, kit.program(names, out, body + STORE))


@settings(max_examples=30)
@given(case=cases(512, 1 << 21))
def test_left_operands_from_the_vector_core(kit: Any, case: Case) -> None:
    names, out = params(case)
    body = (
        f"lhs = pl.load(a, [0, 0], [{case.M}, {case.K}], target_memory=pl.Mem.Vec)\n"
        f"rhs = pl.load(b, [0, 0], [{case.K}, {case.N}], {MAT})\nc = pl.matmul(lhs, rhs)\n"
    )
    tiled = run(kit, case, kit.program(names, out, body + STORE))
    staged = [call for call in tiled.calls("tile.move") if call.type.memory_space.name == "Mat"]
    if tiled.after is not tiled.before:
        assert len(staged) == 1
        assert all(call.args[0].type.memory_space.name == "Mat" for call in tiled.calls("tile.extract"))


@settings(max_examples=30)
@given(
    case=cases(640, 1 << 20), panel=extents(256), steps=st.sampled_from((2, 4)), peeled=st.booleans(),
    cond=st.sampled_from(("kb == 0", "k0 == 0")), turned=st.sampled_from(("", "a", "b", "b", "ab")),
)  # fmt: skip
def test_split_k_chains(
    kit: Any, case: Case, panel: int, steps: int, peeled: bool, cond: str, turned: str
) -> None:
    case = attrs.evolve(case, K=panel * steps)
    names, out = params(case, turned=turned)
    reduction = (
        f"""    if {cond}:
        x = pl.tile.matmul(at, bt)
        ph = pl.yield_(x)
    else:
        y = pl.tile.matmul_acc(acc, at, bt)
        ph = pl.yield_(y)
    r = pl.yield_(ph)"""
        if peeled
        else f"""    step = pl.tile.matmul_acc(acc, at, bt, {cond})
    r = pl.yield_(step)"""
    )
    body = f"""
c0 = pl.tile.create([{case.M}, {case.N}], pl.{case.result}, {ACC})
for kb, (acc,) in pl.pipeline({steps}, stage=2, init_values=(c0,)):
    k0 = kb * {panel}
    {panel_of("a", "0", "k0", (case.M, panel), "a" in turned)}
    {panel_of("b", "k0", "0", (panel, case.N), "b" in turned)}
{reduction}
res = pl.store(r, [0, 0], out)
return res
"""
    tiled = run(kit, case, kit.program(names, out, body), settled=False)
    needed = -(-case.M // 32) * 32 * -(-case.N // 32) * 32 * 4
    if needed <= 131072:
        assert not any("left untouched" in hint.message for hint in tiled.hints)


@pytest.mark.parametrize("kind", ["InCore", "AIC", "AIV"])
def test_every_kernel_type_is_visited(kit: Any, kind: str) -> None:
    program = kit.plain(16, 64, 2048, kind=kind)
    assert kit.tile(program, "a5").after is not program


def test_functions_of_the_host_are_not_touched(kit: Any) -> None:
    program = kit.plain(16, 64, 2048, kind="Opaque")
    context = PassContext(backend=kit.backend("a5"), host=kit.host)
    with context:
        assert auto_tile_matmul_l0(program, context) is program
