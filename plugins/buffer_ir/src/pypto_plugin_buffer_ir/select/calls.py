"""Calls of operators: the row of the table, and what its form asks for beyond it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pypto_core.diagnostics import Span
from pypto_core.ir import PIPELINE_MEMBERSHIP, Call, GlobalVar, TensorType, TileType, Var
from pypto_plugin_buffer_ir.rules import RULES, Form, Rule
from pypto_plugin_buffer_ir.select.cube import acc_place, check_matmul, transposed_place
from pypto_plugin_buffer_ir.select.elementwise import check_elementwise
from pypto_plugin_buffer_ir.select.memory import (
    check_create,
    check_extract,
    check_load,
    check_move,
    check_store,
)
from pypto_plugin_buffer_ir.select.refusal import OPERATOR, SHAPE, TILE, refuse
from pypto_plugin_buffer_ir.select.state import Place, State
from pypto_plugin_buffer_ir.select.tiles import check_tile
from pypto_plugin_buffer_ir.select.windows import assemble_place, relabel_place, set_valid_place, slice_place

OWNERS: Mapping[Form, Callable[[State, Call, TileType], None]] = {
    Form.CREATE: check_create,
    Form.LOAD: check_load,
    Form.MOVE: check_move,
    Form.EXTRACT: check_extract,
    Form.ELEMENTWISE: check_elementwise,
    Form.MATMUL: check_matmul,
}
"""Tests of the forms whose result has an allocation of its own."""

VIEWS: Mapping[Form, Callable[[State, Call, TileType], Place]] = {
    Form.SLICE: slice_place,
    Form.ASSEMBLE: assemble_place,
    Form.RELABEL: relabel_place,
    Form.SET_VALID: set_valid_place,
    Form.TRANSPOSE_VIEW: transposed_place,
    Form.MATMUL_ACC: acc_place,
}
"""Tests of the forms whose result lies where an operand does."""

OTHERS = frozenset({Form.ALLOC, Form.STORE, Form.QUERY})
"""Forms whose result is no tile."""


def rule_of(call: Call) -> Rule:
    """The row of a call whose options and number of arguments it covers."""
    name, span = call.op.name, call.span
    if isinstance(call.op, GlobalVar):
        refuse(SHAPE, f"it calls the function '{name}'", span)
    rule = RULES.get(name)
    if rule is None:
        refuse(OPERATOR, f"{name} has no form on buffers", span)
    extra = [key for key in call.attrs if key != PIPELINE_MEMBERSHIP]
    if extra:
        refuse(OPERATOR, f"the call of {name} is marked with '{extra[0]}'", span)
    for option, value in call.kwargs.items():
        accepted = rule.options.get(option, frozenset())
        if accepted is not None and value not in accepted:
            shown = getattr(value, "name", value)
            refuse(OPERATOR, f"{name} with {option}={shown} has no form on buffers", span)
    least, most = rule.arguments
    if not least <= len(call.args) <= most:
        refuse(OPERATOR, f"{name} with {len(call.args)} arguments has no form on buffers", span)
    return rule


def check_assigned(state: State, var: Var, call: Call, span: Span) -> None:
    """``var = call``."""
    rule, kind = rule_of(call), var.type
    if isinstance(kind, TileType):
        _check_tile(state, var, kind, call, rule, span)
    elif rule.form is Form.STORE and isinstance(kind, TensorType):
        state.tensors[var] = check_store(state, call)
    elif rule.form is Form.ALLOC and call.kwargs.get("pinned"):
        refuse(TILE, f"the allocation '{var.name_hint}' has slots, or is declared by the author", span)
    elif rule.form not in OTHERS:
        refuse(OPERATOR, f"the result of {rule.tile} is of type {kind!r}", span)


def check_alone(state: State, call: Call) -> None:
    """A call for its effect."""
    rule = rule_of(call)
    if rule.form is not Form.STORE:
        refuse(
            OPERATOR,
            f"{rule.tile} stands alone, and what it changes is followed by its result only",
            call.span,
        )
    check_store(state, call)


def _check_tile(state: State, var: Var, kind: TileType, call: Call, rule: Rule, span: Span) -> None:
    if rule.form in VIEWS:
        if rule.form is Form.SLICE:
            check_tile(kind, span, window=True)
        place = VIEWS[rule.form](state, call, kind)
        if rule.form is not Form.SLICE:
            check_tile(kind, span, window=place.window is not None)
        state.put(var, place, span)
    elif rule.form in OWNERS:
        check_tile(kind, span)
        OWNERS[rule.form](state, call, kind)
        state.own(var, span, rule.form)
    else:
        refuse(OPERATOR, f"{rule.tile} results in a tile", span)
