"""HasMemRefs, AllocatedMemoryAddr, TensorViewCanonical."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pypto_core.ir import (
    PTR,
    AssignStmt,
    ConstInt,
    DataType,
    Expr,
    FunctionType,
    MemorySpace,
    MemRef,
    Program,
    Stmt,
    TensorLayout,
    TensorType,
    TensorView,
    TileType,
    Var,
    add,
    floormod,
    mul,
)
from pypto_core.testing import build as b
from pypto_core.verify import verify_properties
from pypto_core.verify.tensors import verify_tensor_view_canonical

N, I = b.scalar("n"), b.scalar("i")
FP32 = DataType.FP32
BASE = Var("mem_vec_0", PTR)


def numbers(program: Program, name: str, backend: Any = None) -> list[int]:
    return [d.number for d in verify_properties(program, [name], backend)]


def found(
    name: str, *stmts: Stmt, backend: Any = None, kind: FunctionType = FunctionType.Opaque
) -> list[int]:
    return numbers(b.program(b.function("f", [N, I], stmts, kind=kind)), name, backend)


def placed(
    offset: int | Expr, size: int = 1024, space: MemorySpace = MemorySpace.Vec, **parts: Any
) -> TileType:
    where = ConstInt(offset, DataType.INT64) if isinstance(offset, int) else offset
    return TileType((16, 16), FP32, MemRef(BASE, where, size, **parts), None, space)


def bind(kind: Any, op: str = "tile.create", *args: Expr) -> AssignStmt:
    return AssignStmt(Var("t", kind), b.raw_op(op, args, kind))


def test_tiles_have_a_place() -> None:
    name = "HasMemRefs"
    free = b.tile_type((16, 16))
    for kind in (FunctionType.Opaque, FunctionType.InCore, FunctionType.Orchestration):
        assert found(name, bind(placed(0)), kind=kind) == []
        assert found(name, bind(free), kind=kind) == [1]
        assert found(name, bind(placed(0, is_pinned=True)), kind=kind) == [1], "declared, not laid out"
    loop = b.loop(4, lambda i, c: [b.give(c)], carries={"c": Var("x", free)})
    assert found(name, loop) == [1, 1], "carry and result"


def test_what_a_pipe_yields_has_no_place_nor_have_its_views() -> None:
    name = "HasMemRefs"
    free = b.tile_type((16, 16))
    popped = bind(free, "tile.tpop_from_aic")
    view = bind(free, "tile.reshape", popped.var, b.dims(16, 16))
    alias = AssignStmt(Var("a", free), view.var)
    assert found(name, popped, view, alias) == []
    assert found(name, popped, bind(free, "tile.exp", popped.var)) == [1], "a new value"
    assert found(name, bind(placed(0)), AssignStmt(Var("a", free), Var("x", free))) == [1]


def machine(limit: int) -> Any:
    """A backend with one memory, as far as the verifier looks."""
    vec = SimpleNamespace(capacity=limit, reserved=8192)
    return SimpleNamespace(
        title="a machine",
        memory=lambda space: vec if space is MemorySpace.Vec else None,
        capacity=lambda space: limit if space is MemorySpace.Vec else 0,
    )


def test_addresses() -> None:
    name = "AllocatedMemoryAddr"
    assert found(name, bind(placed(0)), bind(placed(512))) == []
    assert found(name, bind(b.tile_type((16, 16)))) == [0]
    assert found(name, bind(placed(-1))) == [0]
    assert found(name, bind(placed(0, is_pinned=True))) == [0]
    assert found(name, bind(placed(-1, space=MemorySpace.DDR))) == [], "global memory is not planned"


def test_the_end_of_a_memory() -> None:
    name = "AllocatedMemoryAddr"
    stmts = [bind(placed(0)), bind(placed(1024))]
    assert found(name, *stmts) == [], "no machine, no limit"
    assert found(name, *stmts, backend=machine(2048)) == []
    assert found(name, *stmts, backend=machine(2047)) == [1]
    assert found(name, bind(placed(10**9, space=MemorySpace.Mat)), backend=machine(2048)) == []
    program = b.program(b.function("f", [], stmts))
    (only,) = verify_properties(program, [name], machine(2047))
    assert only.message == "Function 'f': Vec buffer usage (2048 bytes) exceeds platform limit (2047 bytes)"
    assert dict(only.facts)["reserved"] == "8192 bytes"


def test_addresses_known_at_run_time_count_with_their_greatest_value() -> None:
    name = "AllocatedMemoryAddr"
    slot = add(mul(floormod(I, 2), 1024), 512)
    ring = bind(placed(slot, slot_count=2, slot_index=floormod(I, 2)))
    assert found(name, ring, backend=machine(512 + 2 * 1024)) == []
    assert found(name, ring, backend=machine(512 + 2 * 1024 - 1)) == [1]
    assert found(name, bind(placed(mul(I, 1024))), backend=machine(16)) == [], "nothing is known"


def view(shape: tuple[int | Expr, ...], strict: bool = True, **parts: Any) -> list[int]:
    kind = TensorType(shape, FP32, None, TensorView(**parts))
    program = b.program(b.function("f", [Var("x", kind)], []))
    return [d.number for d in verify_tensor_view_canonical(program, require_materialized=strict)]


@pytest.mark.parametrize(
    ("shape", "stride", "layout", "expected"),
    [
        ((4, 8), (8, 1), TensorLayout.ND, []),
        ((4, 8), (16, 1), TensorLayout.ND, []),
        ((4, N), (N, 1), TensorLayout.ND, []),
        ((4, 8), (N, 1), TensorLayout.ND, []),
        ((4, 8), (1, 4), TensorLayout.ND, [2]),
        ((4, 8), (7, 1), TensorLayout.ND, [2]),
        ((4, 8), (1,), TensorLayout.ND, [2]),
        ((1, 8), (1, 1), TensorLayout.ND, []),
        ((2, 4, 8), (32, 8, 1), TensorLayout.ND, []),
        ((2, 4, 8), (16, 8, 1), TensorLayout.ND, [2]),
        ((4, 8), (1, 4), TensorLayout.DN, []),
        ((4, 8), (8, 1), TensorLayout.DN, [2]),
        ((2, 4, 8), (32, 1, 4), TensorLayout.DN, []),
        ((4, 8), (8, 1), TensorLayout.NZ, [1]),
        ((8,), (1,), TensorLayout.DN, [1]),
    ],
)
def test_strides(
    shape: tuple[Any, ...], stride: tuple[Any, ...], layout: TensorLayout, expected: list[int]
) -> None:
    assert view(shape, stride=stride, layout=layout) == expected


def test_views_without_strides() -> None:
    assert view((4, 8), layout=TensorLayout.DN) == [3]
    assert view((4, 8), strict=False, layout=TensorLayout.DN) == []
    assert view((4, 8), strict=False, layout=TensorLayout.NZ) == [1]
    assert numbers(b.program(b.function("f", [b.tensor("x", (4, 8))], [])), "TensorViewCanonical") == []
