"""TypeChecked, AssignTypeSymmetry, ArrayNotEscaped."""

from __future__ import annotations

import pytest

from pypto_core.ir import (
    UNKNOWN,
    ArrayType,
    AssignStmt,
    CompactMode,
    ConstInt,
    DataType,
    Expr,
    ForStmt,
    FunctionType,
    IterArg,
    MemorySpace,
    PadValue,
    Program,
    ScalarType,
    Stmt,
    TensorLayout,
    TensorType,
    TensorView,
    TileLayout,
    TupleType,
    Type,
    Var,
    WhileStmt,
    add,
    const_index,
    lt,
    max_,
    min_,
    sub,
)
from pypto_core.testing import build as b
from pypto_core.verify import verify_properties

N, M = b.scalar("n"), b.scalar("m")
COND = lt(N, 4)
FP16, FP32 = DataType.FP16, DataType.FP32
Vec, Acc = MemorySpace.Vec, MemorySpace.Acc


def numbers(program: Program, name: str = "TypeChecked") -> list[int]:
    return [d.number for d in verify_properties(program, [name])]


def checked(*stmts: Stmt) -> list[int]:
    return numbers(b.program(b.function("f", [N, M], stmts)))


def meet(left: Type, right: Type) -> list[int]:
    """The numbers of a phi of type ``left`` that a branch yields ``right`` to."""
    mine, other = Var("a", left), Var("b", right)
    return checked(b.branch(COND, [b.give(mine)], [b.give(other)], [Var("phi", left)]))


def carried(init: Type, declared: Type, yielded: Type, result: Type) -> list[int]:
    arg = IterArg("acc", declared, Var("init", init))
    loop = ForStmt(
        b.scalar("i"),
        const_index(0),
        N,
        const_index(1),
        (arg,),
        b.give(Var("v", yielded)),
        (Var("r", result),),
    )
    again = WhileStmt(COND, (arg,), b.give(Var("v", yielded)), (Var("r", result),))
    found = checked(loop)
    assert checked(again) == found
    return found


TILE = b.tile_type((16, 32))


def test_equal_types_pass() -> None:
    twin = b.tile_type((16, 32))
    assert carried(TILE, twin, TILE, twin) == []
    assert meet(TILE, twin) == []
    assert meet(ScalarType(DataType.INDEX), ScalarType(DataType.INT64)) == [], "both count in 64 bits"
    assert meet(TILE, UNKNOWN) == [], "not known yet"


@pytest.mark.parametrize(
    ("other", "number"),
    [
        (TensorType((16, 32), FP32), 101),
        (ScalarType(FP32), 101),
        (b.tile_type((16, 32), FP16), 102),
        (b.tile_type((1, 16, 32)), 103),
        (b.tile_type((16, 64)), 104),
        (b.tile_type((16, 32), valid_shape=(8, 32)), 104),
        (b.tile_type((16, 32), valid_shape=(N, 32)), 104),
        (b.tile_type((16, 32), pad=PadValue.zero), 111),
    ],
)
def test_what_differs_has_its_number(other: Type, number: int) -> None:
    assert meet(TILE, other) == [number]
    assert carried(other, TILE, TILE, TILE) == [number]
    assert carried(TILE, TILE, other, TILE) == [number]
    assert carried(TILE, TILE, TILE, other) == [number]


def test_an_extent_that_can_not_be_proved_equal_says_so() -> None:
    arg = IterArg("acc__iter_v0", TILE, Var("init", b.tile_type((16, 32), valid_shape=(N, 32))))
    loop = ForStmt(b.scalar("i"), const_index(0), N, const_index(1), (arg,), b.give(arg), (Var("r", TILE),))
    (found,) = verify_properties(b.program(b.function("f", [N], [loop])), ["TypeChecked"])
    assert found.number == 104
    assert found.message.startswith("carry 'acc' starts as")
    assert "can't be shown to be equal" in found.message
    assert dict(found.facts)["valid extent 0, starts as"] == "n"
    assert found.remedy


def narrowed(rows: Expr) -> Type:
    return b.tile_type((64, 32), valid_shape=(rows, 32))


def test_provably_equal_extents_pass_whatever_their_form() -> None:
    assert meet(narrowed(min_(N, 64)), narrowed(min_(64, N))) == []
    assert meet(narrowed(add(N, 1)), narrowed(sub(add(N, 2), 1))) == []
    assert meet(narrowed(max_(min_(N, 64), 0)), narrowed(M)) == [104]


def test_views_are_compared_where_both_are_known() -> None:
    boxed = b.tile_type((16, 32), blayout=TileLayout.col_major)
    assert meet(TILE, boxed) == [111], "one stores none, but both are in Vec"
    free = b.tile_type((16, 32), space=None)
    assert meet(free, b.tile_type((16, 32), space=None, blayout=TileLayout.col_major)) == []
    compact = b.tile_type((16, 32), space=Acc, compact=CompactMode.normal)
    assert meet(b.tile_type((16, 32), space=Acc), compact) == [111]
    assert meet(free, TILE) == [], "memory spaces are not compared"


def test_tensors() -> None:
    def of(**view: object) -> TensorType:
        return TensorType((16, 32), FP32, None, TensorView(**view))  # type: ignore[arg-type]

    plain = TensorType((16, 32), FP32)
    assert meet(plain, of(pad=PadValue.zero)) == [109]
    assert meet(plain, of(stride=(64, 1))) == [], "only one says"
    assert meet(of(stride=(32, 1)), of(stride=(64, 1))) == [111]
    assert meet(of(layout=TensorLayout.DN), of(stride=(64, 1))) == [111]
    assert meet(plain, TensorType((N, 32), FP32)) == [104]


def test_tuples_are_compared_by_element() -> None:
    assert meet(TupleType((TILE, TILE)), TupleType((TILE,))) == [105]
    assert meet(TupleType((TILE, TILE)), TupleType((TILE, b.tile_type((16, 32), FP16)))) == [102]


def test_counts() -> None:
    arg = IterArg("c", N.type, const_index(0))
    loop = ForStmt(b.scalar("i"), const_index(0), N, const_index(1), (arg,), b.give(N, N), (b.scalar("r"),))
    assert checked(loop) == [105]
    loop = ForStmt(b.scalar("i"), const_index(0), N, const_index(1), (arg,), b.give(N), ())
    assert checked(loop) == [105]
    assert checked(b.branch(COND, [b.give(N)], [b.give(N, N)], [b.scalar("r")])) == [105]


def test_conditions_and_bounds() -> None:
    tile = b.tile("t", (16, 16))
    assert checked(b.branch(tile, [])) == [106]
    assert checked(b.branch(N, [])) == [108]
    assert checked(WhileStmt(tile, (), b.give(), ())) == [106]
    assert checked(WhileStmt(N, (), b.give(), ())) == [108]
    assert checked(b.loop(tile, lambda i: [])) == [107]
    assert checked(b.loop(4, lambda i: [], start=tile, step=tile)) == [107, 107]


def test_assignments_have_the_type_of_their_value() -> None:
    def symmetric(var: Var, value: Expr) -> list[int]:
        return numbers(b.program(b.function("f", [N], [AssignStmt(var, value)])), "AssignTypeSymmetry")

    value = b.tile("v", (16, 32))
    assert symmetric(b.tile("t", (16, 32)), value) == []
    assert symmetric(b.tile("t", (16, 32), FP16), value) == [1]
    assert symmetric(b.tile("t", (16, 32), space=None), value) == [1]
    assert symmetric(b.scalar("x", DataType.INT32), ConstInt(1)) == [1]


def test_arrays_stay_in_their_function() -> None:
    array = ArrayType(DataType.INT32, 8)

    def escaped(params: list[Var], returns: list[Type]) -> list[int]:
        return numbers(b.program(b.function("f", params, [], returns=returns)), "ArrayNotEscaped")

    assert escaped([N], [TILE]) == []
    assert escaped([Var("a", array)], []) == [1]
    assert escaped([], [TupleType((TILE, TupleType((array,))))]) == [2]
    local = b.program(b.function("f", [], [b.let("a", b.raw_op("array.create", [8], array))]))
    assert numbers(local, "ArrayNotEscaped") == []
    inlined = b.function("f", [Var("a", array)], [], kind=FunctionType.Inline)
    assert numbers(b.program(inlined), "ArrayNotEscaped") == []
