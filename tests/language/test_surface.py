# ruff: noqa: E501 - texts of kernels
"""The objects that Python sees under ``pl`` when it evaluates annotations, and rarer forms that kernels may use."""

from __future__ import annotations

import operator
from enum import Enum

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pypto_core.language as pl
from pypto_core.diagnostics import ParserError, UserError
from pypto_core.ir import (
    Add,
    ArgDirection,
    AtomicType,
    BinaryExpr,
    Call,
    CastMode,
    ConstFloat,
    ConstInt,
    DataType,
    Expr,
    FloorDiv,
    FloorMod,
    Function,
    InCoreScopeStmt,
    Max,
    MemRef,
    Min,
    Mul,
    Role,
    Sub,
    TileType,
    Var,
    flatten,
)

OPERATORS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "min": min,
    "max": max,
}
MEANING = {Add: "+", Sub: "-", Mul: "*", FloorDiv: "//", FloorMod: "%", Min: "min", Max: "max"}


def value_of(node: Expr, variables: dict[str, int]) -> int:
    if isinstance(node, ConstInt):
        return node.value
    if isinstance(node, Var):
        return variables[node.name_hint]
    assert isinstance(node, BinaryExpr)
    return OPERATORS[MEANING[type(node)]](value_of(node.left, variables), value_of(node.right, variables))


@given(
    st.lists(st.tuples(st.sampled_from([*OPERATORS]), st.integers(1, 9), st.booleans()), max_size=6),
    st.integers(1, 20),
    st.booleans(),
)
def test_extents_compute_as_integers_do(steps: list[tuple[str, int, bool]], start: int, negate: bool) -> None:
    dim, number = pl.dynamic("START"), start
    for symbol, operand, swapped in steps:
        function = {"min": pl.min, "max": pl.max}.get(symbol, OPERATORS[symbol])
        if swapped and symbol in "//%" and number == 0:
            continue
        if swapped:
            dim, number = function(operand, dim), OPERATORS[symbol](operand, number)
        else:
            dim, number = function(dim, operand), OPERATORS[symbol](number, operand)
    if negate:
        dim, number = -dim, -number
    assert value_of(dim.expr, {"START": start}) == number


def test_extents_of_other_types() -> None:
    assert pl.dynamic("K", pl.INT32).expr.type.dtype is DataType.INT32
    assert pl.dynamic("K", pl.INT32).expr is pl.dynamic("K", pl.INT32).expr
    assert pl.const(3, pl.INT32).expr.dtype is DataType.INT32
    assert pl.const("inf", pl.FP16).expr.value == float("inf")
    assert pl.cast(pl.dynamic("K", pl.INT32), pl.INDEX).expr.type.dtype is DataType.INDEX
    assert repr(pl.dynamic("K")) == "pl.dynamic('K')"


@pytest.mark.parametrize(
    "action",
    [
        lambda: pl.dynamic("not a name"),
        lambda: pl.dynamic("M") + "x",
        lambda: pl.const(1.5, pl.INT32),
        lambda: pl.const(True, pl.INT32),
        lambda: pl.MemRef(slots=0),
        lambda: pl.MemRef(slots=True),
        lambda: pl.MemRef(slots=2)[2],
    ],
)
def test_wrong_values_are_refused(action) -> None:
    with pytest.raises(UserError):
        action()


def test_annotations_survive_being_evaluated() -> None:
    rows = pl.dynamic("M")
    for form in (
        pl.Tensor[[rows * 2, 64], pl.FP32, pl.TensorView(stride=[64, 1], layout=pl.TensorLayout.ND)],
        pl.Tile[
            [64, 64], pl.FP32, pl.MemRef("x", slots=2)[1], pl.Mem.Vec, pl.TileView(valid_shape=[rows, 64])
        ],
        pl.Out[pl.Tensor[[64], pl.INT8]],
        pl.Tuple[()],
        pl.Tuple[pl.Scalar[pl.INDEX], pl.Array[4, pl.INT32]],
        pl.MemRef("mem_ddr_0", 0, 1024),
    ):
        assert repr(form)
    assert not pl.MemRef("mem_ddr_0", 0, 1024).is_declaration


def read(body: str, around: str = "") -> Function:
    text = (
        around
        + "\n@pl.function\ndef kern(a: pl.Tensor[[64, 64], pl.FP32], n: pl.Scalar[pl.INDEX], f: pl.Scalar[pl.FP32]):\n"
    )
    found = pl.parse(text + "".join(f"    {line}\n" for line in body.splitlines()))
    assert isinstance(found, Function)
    return found


def test_enum_options_by_number_and_by_member() -> None:
    found = flatten(
        read(
            "t = pl.load(a, [0, 0], [64, 64])\nx = pl.store(t, [0, 0], a, atomic=1)\n"
            "y = pl.store(t, [0, 0], a, atomic=pl.AtomicType.Add)\nz = pl.cast(t, pl.FP16, 4)"
        ).body
    )
    assert found[1].value.kwargs["atomic"] is found[2].value.kwargs["atomic"] is AtomicType.Add
    assert found[3].value.kwargs["mode"] is CastMode.ceil


def test_notes_of_calls_hold_types_and_directions() -> None:
    found = read(
        'r = self.g(a, attrs={"t": pl.Tile[[8, 8], pl.FP32], "d": [pl.adir.inout, pl.adir.no_dep], "l": LIST})',
        "LIST = [1, 2]",
    )
    notes = found.body.value.attrs
    assert isinstance(notes["t"], TileType)
    assert notes["d"] == (ArgDirection.InOut, ArgDirection.NoDep)
    assert notes["l"] == (1, 2)


def test_arguments_without_dependency() -> None:
    program = pl.parse(
        """
@pl.program
class P:
    @pl.function
    def main(self, a: pl.Tensor[[8, 8], pl.FP32], b: pl.Tensor[[8, 8], pl.FP32]):
        x = self.k(a, b=pl.no_dep(b))
    @pl.function
    def k(a: pl.Tensor[[8, 8], pl.FP32], b: pl.Tensor[[8, 8], pl.FP32]):
        return a
"""
    )
    call = program["main"].body.value
    assert [a.name_hint for a in call.args] == ["a", "b"]
    assert dict(call.attrs) == {"arg_direction_overrides": (1,)}


def test_results_replace_extents_and_parameters() -> None:
    program = pl.parse(
        """
M = pl.dynamic("M")
@pl.program
class P:
    @pl.function
    def main(self, a: pl.Tensor[[128, 8], pl.FP32], m: pl.Scalar[pl.INDEX]):
        x = self.k(a, m + 1)
    @pl.function
    def k(a: pl.Tensor[[M, 8], pl.FP32], n: pl.Scalar[pl.INDEX]) -> pl.Tensor[[M // 2, 8], pl.FP32, pl.TensorView(valid_shape=[n, 8], layout=pl.TensorLayout.ND)]:
        return a
"""
    )
    kind = program["main"].body.var.type
    assert value_of(kind.shape[0], {}) == 64
    valid = kind.valid_shape[0]
    assert isinstance(valid, Add) and valid.left is program["main"].params[1]


def test_a_memref_as_a_value() -> None:
    found = flatten(
        read("m: pl.Ptr = pl.tile.alloc(pl.Mem.Vec, 64)\nx: pl.MemRefType = pl.MemRef(m, 0, 64)").body
    )
    assert isinstance(found[1].value, MemRef) and found[1].value.base is found[0].var


def test_role_of_an_in_core_scope_is_kept() -> None:
    (scope,) = flatten(read("with pl.at(level=pl.Level.CORE_GROUP, role=pl.Role.SubWorker):\n    x = n").body)
    assert isinstance(scope, InCoreScopeStmt) and scope.attrs["role"] is Role.SubWorker


def test_a_view_follows_a_replaced_space() -> None:
    found = flatten(
        read(
            "t = pl.load(a, [0, 0], [64, 64], valid_shape=[n, 64])\n"
            "m: pl.Tile[[64, 64], pl.FP32, pl.Mem.Mat] = pl.load(a, [0, 0], [64, 64], valid_shape=[n, 64])"
        ).body
    )
    assert found[0].var.type.view.layout != found[1].var.type.view.layout
    # Mat's own layout: boxes column by column, elements in them row by row, 512 bytes each.
    assert [getattr(part, "name", part) for part in found[1].var.type.view.layout] == [
        "col_major",
        "row_major",
        512,
    ]


class Mode(Enum):
    fast = 1


def test_plain_enums_compare_and_are_no_numbers() -> None:
    @pl.function
    def kern(n: pl.Scalar[pl.INDEX]):
        pl.static_assert(Mode.fast == Mode.fast)
        x = n + 1  # noqa: F841

    with pytest.raises(ParserError, match="must be a scalar"):

        @pl.function
        def wrong(n: pl.Scalar[pl.INDEX]):
            x = n + Mode.fast  # noqa: F841


def test_constants_of_every_type_in_a_call() -> None:
    found = flatten(
        read(
            "t = pl.load(a, [0, 0], [64, 64])\nh = pl.cast(t, pl.BF16)\nx = pl.mul(h, 2)\ny = pl.mul(h, pl.const(2.0, pl.BF16))"
        ).body
    )
    for stmt in found[2:]:
        literal = stmt.value.args[1]
        assert isinstance(literal, ConstFloat) and literal.dtype is DataType.BF16 and literal.value == 2.0
        assert isinstance(stmt.value, Call) and stmt.value.name == "tile.muls"
