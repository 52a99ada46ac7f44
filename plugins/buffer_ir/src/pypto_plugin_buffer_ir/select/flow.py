"""Statements: what is handed on through loops and branches, and the one return at the end."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from pypto_core.diagnostics import Span
from pypto_core.ir import (
    AssignStmt,
    Call,
    ConstInt,
    DataType,
    EvalStmt,
    Expr,
    ForKind,
    ForStmt,
    Function,
    IfStmt,
    MemorySpace,
    PtrType,
    ReturnStmt,
    ScalarType,
    Stmt,
    TensorType,
    TileType,
    Type,
    Var,
    WhileStmt,
    YieldStmt,
    base_name,
    dtype_of,
    flatten,
    types_equal,
)
from pypto_plugin_buffer_ir.select.calls import check_alone, check_assigned
from pypto_plugin_buffer_ir.select.memory import same_tensor
from pypto_plugin_buffer_ir.select.refusal import EXTENTS, SHAPE, WINDOW, refuse
from pypto_plugin_buffer_ir.select.scalars import check_scalar
from pypto_plugin_buffer_ir.select.state import Place, State
from pypto_plugin_buffer_ir.select.tiles import check_tile, is_dynamic

Handed = Place | Var | None
"""What a loop or branch hands on: where a tile lies, the parameter that a tensor is, nothing for a number."""


def check_body(state: State, function: Function) -> None:
    """All statements of a function, and what it returns."""
    stmts = flatten(function.body)
    if stmts and isinstance(stmts[-1], ReturnStmt):
        _check_stmts(state, stmts[:-1])
        _check_return(state, function, stmts[-1])
    else:
        _check_stmts(state, stmts)
        if function.return_types:
            refuse(SHAPE, "it does not end with a return", function.span)


def _check_return(state: State, function: Function, stmt: ReturnStmt) -> None:
    if len(stmt.values) != len(function.return_types):
        refuse(SHAPE, "it returns more or less than it states", stmt.span)
    for value, stated in zip(stmt.values, function.return_types, strict=True):
        param, kind = state.tensor(value, stmt.span), value.type
        assert isinstance(param.type, TensorType) and isinstance(kind, TensorType)
        if not (same_tensor(param.type, stated) and same_tensor(kind, stated)):
            name = base_name(param.name_hint)
            refuse(SHAPE, f"what it returns for parameter '{name}' is of another type than stated", stmt.span)


def _check_stmts(state: State, stmts: Sequence[Stmt]) -> None:
    for stmt in stmts:
        if isinstance(stmt, AssignStmt):
            _check_assign(state, stmt)
        elif isinstance(stmt, EvalStmt) and isinstance(stmt.expr, Call):
            check_alone(state, stmt.expr)
        elif isinstance(stmt, ForStmt):
            _check_for(state, stmt)
        elif isinstance(stmt, WhileStmt):
            _check_loop(state, stmt)
        elif isinstance(stmt, IfStmt):
            _check_if(state, stmt)
        elif isinstance(stmt, ReturnStmt):
            refuse(SHAPE, "it returns from within", stmt.span)
        else:
            refuse(SHAPE, f"a {type(stmt).__name__} has no form on buffers", stmt.span)


def _check_assign(state: State, stmt: AssignStmt) -> None:
    var, value, kind = stmt.var, stmt.value, stmt.var.type
    span = stmt.span if stmt.span.is_valid else var.span
    if isinstance(value, Call):
        check_assigned(state, var, value, span)
    elif isinstance(kind, ScalarType):
        check_scalar(value, span)
    elif isinstance(kind, TensorType):
        state.tensors[var] = state.tensor(value, span)
    elif isinstance(kind, TileType):
        place = state.place(value, span)
        if place.window is not None:
            refuse(WINDOW, f"'{base_name(var.name_hint)}' is another name of a window", span)
        check_tile(kind, span)
        state.put(var, place, span)
    elif not isinstance(kind, PtrType):
        refuse(SHAPE, f"'{base_name(var.name_hint)}' is of type {kind!r}", span)


# -- regions


@contextmanager
def _region(state: State) -> Generator[None]:
    state.regions.append(object())
    try:
        yield
    finally:
        state.regions.pop()


def _check_region(
    state: State, body: Stmt, count: int, span: Span
) -> tuple[list[Expr], list[Handed], object]:
    """The values that a region yields, what each is, and the token of the region."""
    stmts = flatten(body)
    with _region(state):
        tail = stmts[-1] if stmts and isinstance(stmts[-1], YieldStmt) else None
        _check_stmts(state, stmts[:-1] if tail is not None else stmts)
        values = list(tail.values) if tail is not None else []
        if len(values) != count:
            refuse(SHAPE, "a region does not hand on all that is expected of it", span)
        return values, [_handed(state, value, span) for value in values], state.region


def _handed(state: State, value: Expr, span: Span) -> Handed:
    """What a loop or branch may hand on: a number, a parameter, or a whole tile with constant extents."""
    kind: Type = value.type
    if isinstance(kind, ScalarType):
        check_scalar(value, span)
        return None
    if isinstance(kind, TensorType):
        return state.tensor(value, span)
    if not isinstance(kind, TileType):
        refuse(SHAPE, f"a loop or branch hands on a value of type {kind!r}", span)
    place = state.place(value, span)
    if place.window is not None:
        refuse(WINDOW, "a loop or branch hands on a window", span)
    if is_dynamic(kind):
        refuse(EXTENTS, "a loop or branch hands on a tile with run-time extents", span)
    return place


def _receive(state: State, var: Var, source: Expr, handed: Handed, span: Span) -> None:
    """``var`` stands for what is handed to it."""
    kind = var.type
    if isinstance(handed, Var):
        state.tensors[var] = handed
    elif handed is not None:
        assert isinstance(kind, TileType)
        check_tile(kind, span)
        if not types_equal(_unplaced(kind), _unplaced(source.type)):
            refuse(SHAPE, f"'{base_name(var.name_hint)}' is of another type than what is handed to it", span)
        storage = state.new_storage()
        storage.join(handed.storage)
        state.put(var, Place(storage, 0, alias=handed.alias), span)


def _unplaced(kind: Type) -> Type:
    assert isinstance(kind, TileType)
    return TileType(kind.shape, kind.dtype, None, kind.tile_view, kind.memory_space)


def _boxed(var: Var) -> bool:
    return isinstance(var.type, TileType) and var.type.memory_space is not MemorySpace.Vec


def _check_for(state: State, stmt: ForStmt) -> None:
    if dtype_of(stmt.loop_var) is not DataType.INDEX:
        refuse(
            SHAPE, f"the loop over '{base_name(stmt.loop_var.name_hint)}' does not count in INDEX", stmt.span
        )
    if not isinstance(stmt.step, ConstInt) or stmt.step.value <= 0:
        refuse(
            SHAPE,
            f"the loop over '{base_name(stmt.loop_var.name_hint)}' has no constant step above 0",
            stmt.span,
        )
    if stmt.kind not in (ForKind.Sequential, ForKind.Parallel):
        refuse(SHAPE, f"a {stmt.kind.name} loop has no form on buffers", stmt.span)
    for bound in (stmt.start, stmt.stop):
        if not (isinstance(bound.type, ScalarType) and bound.type.dtype.is_signed):
            refuse(SHAPE, "a loop bound is no signed integer", stmt.span)
        check_scalar(bound, stmt.span)
    _check_loop(state, stmt)


def _check_loop(state: State, stmt: ForStmt | WhileStmt) -> None:
    span = stmt.span
    for arg in stmt.iter_args:
        _receive(state, arg, arg.init_value, _handed(state, arg.init_value, span), span)
    if isinstance(stmt, WhileStmt):
        check_scalar(stmt.condition, span)
    values, handed, _ = _check_region(state, stmt.body, len(stmt.iter_args), span)
    for arg, result, value, got in zip(stmt.iter_args, stmt.return_vars, values, handed, strict=True):
        name = base_name(arg.name_hint)
        if isinstance(got, Var) and got is not state.tensors.get(arg):
            refuse(SHAPE, f"the loop exchanges the parameter that '{name}' stands for", span)
        if isinstance(got, Place):
            place = state.tiles[arg]
            if _boxed(arg) and got.alias is not place.alias:
                refuse(SHAPE, f"'{name}' can't be copied within its memory from trip to trip", span)
            place.storage.join(got.storage)
            if not types_equal(_unplaced(arg.type), _unplaced(value.type)):
                refuse(SHAPE, f"'{name}' is of another type in the next trip", span)
            _receive(state, result, arg, place, span)
        elif isinstance(got, Var):
            state.tensors[result] = got


def _check_if(state: State, stmt: IfStmt) -> None:
    span, count = stmt.span, len(stmt.return_vars)
    check_scalar(stmt.condition, span)
    values, first, one = _check_region(state, stmt.then_body, count, span)
    if stmt.else_body is None:
        if count:
            refuse(SHAPE, "a branch has a result in one arm only", span)
        return
    others, second, other = _check_region(state, stmt.else_body, count, span)
    for var, value, alternative, a, b in zip(stmt.return_vars, values, others, first, second, strict=True):
        name = base_name(var.name_hint)
        if isinstance(a, Var) and a is not b:
            refuse(SHAPE, f"'{name}' is one parameter or another", span)
        if isinstance(a, Place) and isinstance(b, Place):
            a.storage.join(b.storage)
            kept = b if a.fresh is one and b.fresh is not other else a
            if _boxed(var) and a.alias is not b.alias and a.fresh is not one and b.fresh is not other:
                refuse(SHAPE, f"'{name}' can't be copied within its memory at the end of an arm", span)
            _receive(state, var, alternative if kept is b else value, kept, span)
            if not types_equal(_unplaced(value.type), _unplaced(alternative.type)):
                refuse(SHAPE, f"'{name}' is of one type or another", span)
        else:
            _receive(state, var, value, a, span)
