"""Rules about tiles and accumulators."""

from __future__ import annotations

from typing import Any

import pytest

from pypto_core.contract import Backend
from pypto_core.ir import (
    AssignStmt,
    AtomicType,
    CompactMode,
    DataType,
    Expr,
    Function,
    FunctionType,
    InCoreScopeStmt,
    MemorySpace,
    PadValue,
    Program,
    Stmt,
    TileType,
    TileView,
    TupleType,
    Var,
    implicit_tile_view,
    lt,
)
from pypto_core.testing import build as b
from pypto_core.verify import verify_properties

N = b.scalar("n")
FP32, FP16, BF16, INT8, INT32 = (
    DataType.FP32,
    DataType.FP16,
    DataType.BF16,
    DataType.INT8,
    DataType.INT32,
)
Vec, Mat, Left, Right, Acc = (
    MemorySpace.Vec,
    MemorySpace.Mat,
    MemorySpace.Left,
    MemorySpace.Right,
    MemorySpace.Acc,
)


def numbers(program: Program, name: str, backend: Backend | None = None) -> list[int]:
    return [d.number for d in verify_properties(program, [name], backend)]


def found(
    name: str, *stmts: Stmt, kind: FunctionType = FunctionType.InCore, backend: Any = None
) -> list[int]:
    return numbers(b.program(b.function("f", [N], stmts, kind=kind)), name, backend)


def bind(name: str, kind: Any, op: str = "tile.create", args: tuple[Any, ...] = ()) -> AssignStmt:
    return AssignStmt(Var(name, kind), b.raw_op(op, args, kind))


def test_two_dimensional_operators() -> None:
    flat, deep = b.tile_type((16, 16)), b.tile_type((2, 16, 16))
    x, y = Var("x", flat), Var("y", deep)
    name = "TileOps2D"
    assert found(name, bind("r", flat, "tile.add", (x, x))) == []
    assert found(name, bind("r", deep, "tile.add", (y, y))) == [1, 2, 2]
    assert found(name, bind("r", flat, "tile.exp", (y,))) == [2]
    for exempt in ("tile.load", "tile.store", "tile.reshape", "tile.reinterpret_view"):
        assert found(name, bind("r", deep, exempt, (y,))) == []
    assert found(name, bind("r", deep, "tile.add", (y, y)), kind=FunctionType.AIV) == [1, 2, 2]
    assert found(name, bind("r", deep, "tile.add", (y, y)), kind=FunctionType.Opaque) == []
    assert found(name, InCoreScopeStmt(bind("r", deep, "tile.exp", (x,))), kind=FunctionType.Opaque) == [1]


def test_transpose_and_assemble_of_the_flat_form() -> None:
    flat = b.tile_type((16, 16))
    x = Var("x", flat)
    name = "TileOps2D"
    assert found(name, bind("r", flat, "tile.transpose", (x, 0, 1))) == [3]
    assert found(name, bind("r", flat, "tile.transpose", (x, 0, 1, x))) == []
    assert found(name, bind("r", flat, "tile.assemble", (x, x, b.dims(N, 0)))) == []
    assert found(name, bind("r", flat, "tile.assemble", (x, x, b.dims(N)))) == [4]
    offset = Var("o", TupleType((N.type, N.type)))
    assert found(name, bind("r", flat, "tile.assemble", (x, x, offset))) == [4]


UNLOWERED = {"TileOps2D": 5, "TileMemoryInferred": 4, "HasMemRefs": 2, "AllocatedMemoryAddr": 0}


@pytest.mark.parametrize("name", UNLOWERED)
def test_nothing_holds_of_tiles_that_are_not_made_yet(name: str) -> None:
    x = b.tensor("x", (16, 16))
    summed = AssignStmt(Var("y", x.type), b.raw_op("tensor.add", [x, x], x.type))
    assert found(name, summed) == [UNLOWERED[name]]
    assert found(name, InCoreScopeStmt(summed), kind=FunctionType.Opaque) == [UNLOWERED[name]]
    assert found(name, summed, kind=FunctionType.Orchestration) == []


def test_every_tile_has_a_memory_space() -> None:
    name = "TileMemoryInferred"
    here, nowhere = b.tile_type((16, 16)), b.tile_type((16, 16), space=None)
    assert found(name, bind("t", here)) == []
    assert found(name, bind("t", nowhere)) == [1]
    for kind in (FunctionType.AIC, FunctionType.AIV, FunctionType.Opaque):
        assert found(name, bind("t", nowhere), kind=kind) == []
    assert found(name, InCoreScopeStmt(bind("t", nowhere)), kind=FunctionType.Opaque) == [1]
    loop = b.loop(4, lambda i, c: [b.give(c)], carries={"c": Var("t", nowhere)})
    assert found(name, loop) == [1, 1], "the carry and the result"
    phi = Var("phi", nowhere)
    assert found(name, b.branch(lt(N, 4), [b.give(Var("a", here))], [b.give(Var("b", here))], [phi])) == [1]


def test_operands_lie_where_their_operator_takes_them() -> None:
    def product(left: MemorySpace, right: MemorySpace) -> Stmt:
        lhs, rhs = b.tile("l", (16, 16), FP16, space=left), b.tile("r", (16, 16), FP16, space=right)
        return b.let("p", b.op("tile.matmul", lhs, rhs))

    name = "TileMemoryInferred"
    assert found(name, product(Left, Right)) == []
    assert found(name, product(Mat, Right)) == [2]
    assert found(name, product(Right, Left)) == [2, 2]
    (first, _) = verify_properties(b.program(b.kernel("f", [], [product(Mat, Mat)])), [name])
    assert first.message == "operand 'lhs' of 'tile.matmul' lies in Mat"
    assert first.remedy == "move it first: pl.move(…, target_memory=pl.Mem.Left)"


def test_the_values_of_a_carry_or_phi_share_a_space() -> None:
    name = "TileMemoryInferred"
    vec, acc = b.tile("v", (16, 16)), b.tile("a", (16, 16), space=Acc)
    loop = b.loop(4, lambda i, c: [b.give(acc)], carries={"c": vec})
    assert found(name, loop) == [3]
    assert found(name, b.loop(4, lambda i, c: [b.give(vec)], carries={"c": vec})) == []
    phi = b.branch(lt(N, 4), [b.give(vec)], [b.give(acc)], [b.tile("r", (16, 16))])
    assert found(name, phi) == [3]


def test_views_that_say_nothing() -> None:
    def stored(kind: TileType, view: TileView) -> TileType:
        # The constructor drops such views; a type decoded or patched without it may keep one.
        object.__setattr__(kind, "tile_view", view)
        return kind

    name = "TileTypeCoherence"
    for space in (None, Vec, Mat, Left, Right, Acc):
        plain = b.tile_type((16, 32), space=space)
        assert found(name, bind("t", plain)) == []
        said = stored(b.tile_type((16, 32), space=space), implicit_tile_view(plain.shape, space))
        assert found(name, bind("t", said)) == [1]
    full = stored(b.tile_type((16, 32)), TileView(valid_shape=(16, 32)))
    assert found(name, bind("t", full)) == [1]
    for view in ({"pad": PadValue.zero}, {"valid_shape": (N, 32)}, {"compact": CompactMode.normal}):
        assert found(name, bind("t", b.tile_type((16, 32), **view))) == []  # type: ignore[arg-type]
    param = b.program(Function("g", (Var("p", full),), (TupleType((full,)),), b.ret()))
    assert numbers(param, name) == [1], "one type object is reported once"


def acc_type(rows: int, valid: int | Expr, compact: bool) -> TileType:
    mode = CompactMode.normal if compact else CompactMode.null
    return b.tile_type((rows, 64), INT32, Acc, valid_shape=(valid, 64), compact=mode)


def accumulate(acc: TileType, lhs_rows: int | Expr, op: str = "tile.matmul_acc") -> Stmt:
    rows = acc.shape[0]
    lhs = b.tile("l", (rows, 32), INT8, space=Left, valid_shape=(lhs_rows, 32))
    rhs = b.tile("r", (32, 64), INT8, space=Right)
    args = (lhs, rhs) if op == "tile.matmul" else (Var("acc", acc), lhs, rhs)
    return bind("out", acc, op, args)


@pytest.mark.parametrize(
    ("rows", "valid", "compact", "lhs_rows", "expected"),
    [
        (64, 64, False, 64, []),
        (64, 16, True, 16, []),
        (64, 16, False, 16, [1]),  # written at 16 rows, read at 64
        (64, N, False, N, [1]),
        (64, N, True, N, []),
        (64, 64, False, 16, [2]),  # declared full, written at 16
        (64, 64, False, N, []),  # not known to be wrong
        (64, 64, False, 60, []),  # 60 rows take four boxes too
        (64, 60, False, 60, []),  # declared or not
        (64, 48, False, 48, [1]),
        (64, 32, True, 16, [2]),
        (16, 5, False, 5, []),  # one box has one pitch
        (16, N, False, N, []),
    ],
)
def test_accumulators_are_read_at_the_pitch_they_are_written(
    rows: int, valid: int | Expr, compact: bool, lhs_rows: int | Expr, expected: list[int]
) -> None:
    kind = acc_type(rows, valid, compact)
    assert found("AccCompactValid", accumulate(kind, lhs_rows)) == expected
    assert found("AccCompactValid", accumulate(kind, lhs_rows, "tile.matmul")) == expected


def test_deduced_products_are_compact_where_they_must() -> None:
    lhs = b.tile("l", (64, 32), FP16, space=Left, valid_shape=(N, 32))
    rhs = b.tile("r", (32, 64), FP16, space=Right)
    product = b.let("p", b.op("tile.matmul", lhs, rhs))
    more = b.let("q", b.op("tile.matmul_acc", product.var, lhs, rhs))
    assert found("AccCompactValid", product, more) == []


def seeded(compact: bool) -> list[Stmt]:
    options = {"compact": True} if compact else {}
    made = b.let("s", b.op("tile.create", b.dims(64, 64), dtype=FP32, target_memory=Acc, **options))
    seed = b.let("seed", b.op("tile.set_validshape", made.var, 16, 64))
    lhs = b.tile("l", (64, 32), FP16, space=Left, valid_shape=(16, 32))
    rhs = b.tile("r", (32, 64), FP16, space=Right)
    return [made, seed, b.let("q", b.op("tile.matmul_acc", seed.var, lhs, rhs))]


def test_a_narrowed_seed_is_declared_compact() -> None:
    assert found("AccCompactValid", *seeded(compact=True)) == []
    assert found("AccCompactValid", *seeded(compact=False)) == [1]


def machine(**parts: Any) -> Any:
    """A backend as far as these verifiers look."""
    from types import SimpleNamespace

    return SimpleNamespace(title="a machine", acc_to_gm=(), atomic_add_dtypes=(), **parts)


def store(tile: TileType, target: DataType, **options: Any) -> Stmt:
    out = b.tensor("out", (64, 64), target)
    made = b.op("tile.store", Var("t", tile), b.dims(0, 0), out, **options)
    return AssignStmt(Var("out", out.type), made)


def test_what_leaves_the_accumulator() -> None:
    name = "AccToGmStoreValid"
    acc = b.tile_type((16, 16), FP32, Acc)
    for dtype in (INT32, FP32, FP16, BF16):
        assert found(name, store(acc, dtype)) == []
    assert found(name, store(acc, INT8)) == [1]
    assert found(name, store(b.tile_type((16, 16), INT8), INT8)) == [], "not an accumulator"
    backend = machine()
    backend.acc_to_gm = ((FP32, FP16), (INT32, FP32))
    assert found(name, store(acc, FP16), backend=backend) == []
    assert found(name, store(acc, FP32), backend=backend) == [1], "the pair decides"


def test_atomic_additions() -> None:
    name = "AtomicAddDtypeValid"
    tile = b.tile_type((16, 16), BF16)
    backend = machine()
    backend.atomic_add_dtypes = (FP32,)
    added = store(tile, BF16, atomic=AtomicType.Add)
    assert found(name, added) == [], "no machine, no limit"
    assert found(name, added, backend=backend) == [1]
    assert found(name, store(tile, BF16), backend=backend) == []
    assert found(name, store(tile, BF16, atomic=AtomicType.None_), backend=backend) == []
    assert found(name, store(b.tile_type((16, 16)), FP32, atomic=AtomicType.Add), backend=backend) == []
