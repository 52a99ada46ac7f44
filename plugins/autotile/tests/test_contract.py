"""Where the pass stands in a pipeline, and what holds of a kernel that went through it."""

from __future__ import annotations

from typing import Any

import pytest

from pypto_core.contract import Role, parse_pass_spec
from pypto_core.ir import AssignStmt, Call, MemorySpace, Mutator, TileType, replace, walk
from pypto_core.run import PassContext, compile, goals_of, resolve
from pypto_plugin_autotile.passes import PASSES

[PASS] = PASSES
KEPT = {"SSAForm", "SplitIncoreOrch", "IncoreTileOps", "TileOps2D", "NormalizedStmtStructure"}


def ours(compiled: Any) -> list[Any]:
    return [hint for hint in compiled.hints if hint.rule == PASS.name]


def test_what_it_needs_and_keeps() -> None:
    contract = PASS.contract
    assert contract.requires == KEPT and contract.produces == KEPT
    assert contract.invalidates == {"PipelineResolved"}
    assert contract.forbids == frozenset()
    assert contract.role is Role.OPTIMISE


def test_its_options_are_text() -> None:
    assert PASS.spec() == "AutoTileMatmulL0"
    text = "AutoTileMatmulL0{enable_l0c_double_buffer=true}"
    assert parse_pass_spec(text).apply(PASS).spec() == text


@pytest.mark.parametrize("planner", ["pypto", "ptoas"])
def test_it_stands_before_spaces_are_inferred(kit: Any, planner: str) -> None:
    context = PassContext(backend=kit.backend("910b"), planner=planner, host=kit.host)
    _, goals = goals_of("TileMemoryInferred", context, kit.host)
    with context:
        plan = resolve(context, kit.host, goals, kit.plain(256, 256, 256)).plan
    names = [step.name for step in plan.steps]
    assert (
        names.index("FlattenCallExpr") < names.index("AutoTileMatmulL0") < names.index("InferTileMemorySpace")
    )


def test_operands_placed_by_hand_do_not_switch_it_off(kit: Any) -> None:
    """Such a kernel has TileMemoryInferred from the start; a tile that can't fit is an error all the same."""
    body = """lhs = pl.load(a, [0, 0], [16, 256], target_memory=pl.Mem.Mat)
rhs = pl.load(b, [0, 0], [256, 256], target_memory=pl.Mem.Mat)
left = pl.move(lhs, target_memory=pl.Mem.Left)
right = pl.move(rhs, target_memory=pl.Mem.Right)
c = pl.matmul(left, right)
res = pl.store(c, [0, 0], out)
return res"""
    out = "pl.Tensor[[16, 256], pl.FP32]"
    params = ("a: pl.Tensor[[16, 256], pl.FP16]", "b: pl.Tensor[[256, 256], pl.FP16]", f"out: pl.Out[{out}]")
    with pytest.raises(ValueError, match="131072 bytes, but the active backend provides 65536"):
        compile(kit.program(params, out, body), backend="910b", goal="TileMemoryInferred", host=kit.host)


@pytest.mark.parametrize("backend", ["910b", "a5"])
@pytest.mark.parametrize("shape", [(256, 544, 128), (16, 64, 2048), (256, 256, 256)])
def test_nested_calls_reach_it_flattened(kit: Any, backend: str, shape: tuple[int, int, int]) -> None:
    M, N, K = shape
    use = "res = pl.store(pl.matmul(lhs, rhs), [0, 0], out)\nreturn res"
    compiled = compile(
        kit.plain(M, N, K, use=use),
        backend=backend,
        goal="TileMemoryInferred",
        verification="BASIC",
        host=kit.host,
    )
    assert any(isinstance(node, Call) and node.name == "tile.extract" for node in walk(compiled.program))
    for node in walk(compiled.program):
        kind = getattr(node, "type", None)
        if isinstance(kind, TileType) and kind.memory_space is MemorySpace.Right:
            rows, cols = (dim.value for dim in kind.shape)
            assert rows * cols * kind.dtype.bits // 8 <= 65536
    assert ours(compiled) == []


def test_hints_come_out_of_a_compilation(kit: Any) -> None:
    use = (
        "c = pl.matmul(lhs, rhs)\none = pl.store(c, [0, 0], out)\nres = pl.store(c, [0, 0], one)\nreturn res"
    )
    compiled = compile(
        kit.plain(512, 512, 64, use=use), backend="910b", goal="TileMemoryInferred", host=kit.host
    )
    [hint] = ours(compiled)
    assert hint.code == "PH-AT-006" and "c = pl.matmul" in hint.span.line_text()


def test_comments_notes_and_options_survive(kit: Any) -> None:
    use = """# the product
c = pl.matmul(lhs, rhs)
# its way out
res = pl.store(c, [0, 0], out, atomic=pl.AtomicType.Add)
# the end
return res"""

    class Noted(Mutator):
        def visit_call(self, call: Call) -> Call:
            return (
                replace(call, attrs={"note": call.name})
                if call.name in ("tile.matmul", "tile.store")
                else call
            )

    program = Noted().visit(kit.plain(512, 544, 64, use=use))
    tiled = kit.tile(program, "910b")
    stores, products = tiled.calls("tile.store"), tiled.calls("tile.matmul")
    assert len(stores) > 2 and len(products) == len(stores)
    assert all(call.kwargs["atomic"].name == "Add" and call.attrs["note"] == "tile.store" for call in stores)
    assert all(call.attrs["note"] == "tile.matmul" for call in products)
    comments = [line for stmt, _ in tiled.stmts() for line in stmt.leading_comments]
    assert [c.strip("# ") for c in comments] == ["the product", "its way out", "the end"]
    spans = [stmt.span for stmt, _ in tiled.stmts() if isinstance(stmt, AssignStmt)]
    assert all(span.is_valid for span in spans)
