"""The matrix unit: products, products added up, and matrices seen transposed."""

from __future__ import annotations

from pypto_core.ir import Call, MemorySpace, TileType, shapes_equal, static_shape
from pypto_plugin_buffer_ir.rules import MATRIX_SPACES
from pypto_plugin_buffer_ir.select.memory import ACC, LEFT, RIGHT
from pypto_plugin_buffer_ir.select.refusal import OPERATOR, refuse
from pypto_plugin_buffer_ir.select.scalars import check_scalar
from pypto_plugin_buffer_ir.select.state import Place, State
from pypto_plugin_buffer_ir.select.tiles import extents_text


def check_matmul(state: State, call: Call, kind: TileType) -> None:
    """``tile.matmul(lhs, rhs)``."""
    _check_product(state, call, 0, kind)


def _check_product(state: State, call: Call, first: int, kind: TileType) -> None:
    """The operands ``first`` and ``first + 1`` multiplied give ``kind``."""
    lhs, rhs = (call.args[i].type for i in (first, first + 1))
    for index, space in ((first, LEFT), (first + 1, RIGHT)):
        state.place(call.args[index], call.span)
        _in_space(call, index, space)
    assert isinstance(lhs, TileType) and isinstance(rhs, TileType)
    if kind.memory_space is not ACC:
        refuse(OPERATOR, f"the result of {call.op.name} does not lie in Acc", call.span)
    shapes = [static_shape(t.shape) for t in (lhs, rhs, kind)]
    (m, k), (inner, n), result = ((0, 0) if s is None else s for s in shapes)
    if k != inner or result != (m, n):
        texts = " x ".join(extents_text(t.shape) for t in (lhs, rhs))
        refuse(OPERATOR, f"{texts} is no product of {extents_text(kind.shape)}", call.span)


def _in_space(call: Call, index: int, space: MemorySpace) -> None:
    kind = call.args[index].type
    if not isinstance(kind, TileType) or kind.memory_space is not space:
        refuse(OPERATOR, f"operand {index} of {call.op.name} does not lie in {space.name}", call.span)


def acc_place(state: State, call: Call, kind: TileType) -> Place:
    """Where ``tile.matmul_acc(acc, lhs, rhs[, init_cond])`` lies: in its accumulator."""
    place = state.place(call.args[0], call.span)
    _in_space(call, 0, ACC)
    before = call.args[0].type
    assert isinstance(before, TileType)
    _check_product(state, call, 1, kind)
    same = before.dtype is kind.dtype and shapes_equal(before.shape, kind.shape)
    if not same or not shapes_equal(before.valid_shape, kind.valid_shape):
        refuse(OPERATOR, "an accumulator changes its type", call.span)
    if len(call.args) > 3:
        check_scalar(call.args[3], call.span)
    return Place(place.storage, place.version, alias=place.alias, fresh=place.fresh)


def transposed_place(state: State, call: Call, kind: TileType) -> Place:
    """Where ``tile.transpose_view`` lies: the bytes of its operand."""
    place = state.place(call.args[0], call.span)
    if kind.memory_space not in MATRIX_SPACES:
        refuse(
            OPERATOR,
            "rows and columns are exchanged by relabelling in the matrix unit's memories only",
            call.span,
        )
    return Place(place.storage, place.version, alias=place.alias, fresh=place.fresh)
