"""The property BufferIR: kernels on buffers name every byte that they touch, and overwrite none that they read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pypto_core.diagnostics import Diagnostic, OpError, Span
from pypto_core.ir import (
    AssignStmt,
    BufferType,
    Call,
    EvalStmt,
    Expr,
    ForStmt,
    Function,
    FunctionIRStage,
    IfStmt,
    MemRefType,
    MultiBufferType,
    Program,
    PtrType,
    ReturnStmt,
    ScalarType,
    Stmt,
    Submit,
    TileType,
    TupleGetItemExpr,
    TupleType,
    Type,
    Var,
    WhileStmt,
    YieldStmt,
    map_nodes,
    walk,
    walk_stmts,
)
from pypto_core.ops import op_of
from pypto_core.verify import PROPERTIES_BY_NAME, rule, shown
from pypto_plugin_buffer_ir.elementwise import BUFFER_RECIPES
from pypto_plugin_buffer_ir.ops import COPY, EXTRACT, SET_VALIDSHAPE, VIEWS, check_call
from pypto_plugin_buffer_ir.places import Places

_RULE = rule("BufferIR")
_COMPOSED = ("SSAForm", "UseAfterDef", "AssignTypeSymmetry")
_REPORT = "report it with the program before this pass: lowering should not have made this"
TILE, POINTER, ESCAPES, ALIAS, CARRIED, TILE_OP, UNKNOWN_OP, PLACEMENT, CALL, FOREIGN, BYTES, VIEW_EXTENTS = (
    range(1, 13)
)


def verify_buffer_ir(program: Program, backend: object = None) -> Iterator[Diagnostic]:
    """Check the functions of the Buffer stage; the others are none of its business.

    1 a tile, 2 a MemRef or pointer as a value, 3 a buffer among the returned types, 4 a handle under another name,
    5 a handle where only numbers may stand, 6 an operator on tiles, 7 an unknown operator on buffers, 8 one whose
    result is lost or does not exist, 9 a call that breaks its operator's contract, 10 a buffer made by a foreign
    operator, 11 bytes that are read and overwritten, or of which that can't be ruled out, 12 the extents of a view set.
    """
    functions = [f for f in program if f.ir_stage is FunctionIRStage.Buffer]
    for function in functions:
        yield from verify_function(function)
    if functions:
        part = Program(program.name, functions)
        for name in _COMPOSED:
            check = PROPERTIES_BY_NAME[name].load()
            assert check is not None
            yield from check(part)


def verify_function(function: Function) -> Iterator[Diagnostic]:
    """The rules of this property alone, for one function."""
    yield from _Checker(function).problems()


def _parts(kind: Type) -> Iterator[Type]:
    if isinstance(kind, TupleType):
        for part in kind.types:
            yield from _parts(part)
    else:
        yield kind


def _is_handle(expr: object) -> bool:
    return isinstance(expr, Expr) and any(
        isinstance(t, BufferType | MultiBufferType) for t in _parts(expr.type)
    )


class _Checker:
    """One function; ``places`` grows as handles are defined."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.places = Places()
        self.views: set[Expr] = set()
        self.found: list[Diagnostic] = []

    def error(self, number: int, message: str, span: Span, remedy: str = _REPORT, **facts: object) -> None:
        """Note a problem."""
        where = span if span.is_valid else self.function.span
        text = f"{message} (in function '{self.function.name}')"
        self.found.append(_RULE.error(number, text, where, remedy=remedy, facts=facts))

    def problems(self) -> list[Diagnostic]:
        """Everything that is wrong."""
        function = self.function
        for kind in function.return_types:
            if any(isinstance(t, BufferType | MultiBufferType) for t in _parts(kind)):
                self.error(ESCAPES, "a buffer cannot escape through function return", function.span)
        for param in function.params:
            self._type(param.type, param.span)
            if isinstance(param.type, BufferType):
                self.places.own(param, param.type, None)
        for stmt in walk_stmts(function.body):
            self._statement(stmt)
        return self.found

    # -- statements

    def _statement(self, stmt: Stmt) -> None:
        if isinstance(stmt, AssignStmt):
            self._assigned(stmt)
        elif isinstance(stmt, EvalStmt):
            self._evaluated(stmt)
        else:
            for what, expr in _read(stmt):
                self._no_handles(expr, what, stmt.span)
            for var in _defined(stmt):
                self._type(var.type, stmt.span)
                if _is_handle(var):
                    self.error(CARRIED, f"{_word(stmt)} cannot carry buffer handles: {shown(var)}", stmt.span)
        attrs = getattr(stmt, "attrs", None)
        if attrs:
            self._notes(attrs, stmt.span)

    def _assigned(self, stmt: AssignStmt) -> None:
        var, value = stmt.var, stmt.value
        self._type(var.type, stmt.span)
        if isinstance(value, Call):
            legal = self._call(value, stmt.span, var)
            if isinstance(var.type, BufferType) and _is_buffer_op(value):
                self._define(var, value, stmt.span, legal)
            return
        if _is_handle(var):
            if not isinstance(value, TupleGetItemExpr):
                self.error(ALIAS, f"assigning a handle to {shown(var)} creates an implicit alias", stmt.span)
            return
        self._no_handles(value, "a scalar expression", stmt.span)
        if isinstance(var.type, ScalarType):
            number = self.places.number(value)
            if number is not None:
                self.places.numbers[var] = number

    def _define(self, var: Var, call: Call, span: Span, legal: bool) -> None:
        if var in self.places.of:
            self.error(ALIAS, f"the buffer {shown(var)} is defined again", span)
            return
        problem = self.places.define(var, call) if legal else ""
        if problem:
            self.error(BYTES, problem, span)
        if call.op.name in VIEWS:
            self.views.add(var)

    def _evaluated(self, stmt: EvalStmt) -> None:
        if isinstance(stmt.expr, Call):
            self._call(stmt.expr, stmt.span, None)
        elif isinstance(stmt.expr, Submit):
            self._no_handles(stmt.expr, "a task submission", stmt.span)

    # -- calls

    def _call(self, call: Call, span: Span, result: Var | None) -> bool:
        """Check a call; whether it keeps its operator's contract."""
        name = call.op.name
        self._type(call.type, span)
        if call.attrs:
            self._notes(call.attrs, span)
        self._notes(call.kwargs, span)
        if name.startswith(("tile.", "pld.tile.")):
            self.error(TILE_OP, f"Logical tile operation '{name}' remains in buffer IR", span)
            return False
        if not _is_buffer_op(call):
            if name.startswith("buffer."):
                self.error(UNKNOWN_OP, f"'{name}' has no registered buffer-stage contract", span)
            if _is_handle(call):
                self.error(FOREIGN, f"'{name}' is no operator on buffers and returns one", span)
            for arg in call.args:
                self._no_handles(arg, f"an argument of '{name}'", span)
            return False
        for arg in call.args:
            if not isinstance(arg, Var):
                self._no_handles(arg, f"an operand of '{name}'", span)
        return self._contract(call, span, result)

    def _contract(self, call: Call, span: Span, result: Var | None) -> bool:
        name = call.op.name
        op = op_of(call)
        assert op is not None and op.buffer is not None
        has_result = op.buffer.states_type or isinstance(call.type, ScalarType)
        if has_result != (result is not None):
            said = (
                "must be assigned to a variable" if has_result else "has no result and stands as a statement"
            )
            self.error(PLACEMENT, f"'{name}' {said}", span)
        try:
            check_call(call)
        except OpError as error:
            self.error(CALL, f"Invalid buffer call '{name}': {error.message}", span)
            return False
        self._bytes(call, span)
        return True

    def _bytes(self, call: Call, span: Span) -> None:
        name = call.op.name
        recipe = BUFFER_RECIPES.get(name)
        if name == SET_VALIDSHAPE:
            if call.args[0] in self.views:
                self.error(VIEW_EXTENTS, f"'{name}' cannot mutate static view metadata", span)
            return
        if recipe is None and name not in (COPY, EXTRACT):
            return
        exact = name != EXTRACT and not (recipe is not None and recipe.disjoint)
        for arg in dict.fromkeys(call.args[:-1]):
            if isinstance(arg.type, BufferType):
                problem = self.places.clash(arg, call.args[-1], exact)
                if problem:
                    remedy = "let the planner put the destination elsewhere, or copy the source before"
                    self.error(BYTES, f"'{name}' {problem}", span, remedy, **self._ranges(arg, call.args[-1]))

    def _ranges(self, *handles: Expr) -> dict[str, object]:
        facts: dict[str, object] = {}
        for what, handle in zip(("source", "destination"), handles, strict=True):
            place = self.places.of.get(handle)
            if place is not None:
                start = self.places.addresses.get(place.root)
                base = f"{start} + " if isinstance(start, int) else ""
                facts[what] = (
                    f"{shown(place.root)}: {base}{place.start} to {base}{place.start + place.length}"
                )
        return facts

    # -- where nothing of tiles and handles may stand

    def _type(self, kind: Type, span: Span) -> None:
        for part in _parts(kind):
            if isinstance(part, TileType):
                self.error(TILE, f"Logical TileType remains in buffer IR: {part!r}", span)
            elif isinstance(part, PtrType | MemRefType):
                self.error(POINTER, "Standalone MemRef/Ptr values have no meaning in buffer IR", span)

    def _no_handles(self, expr: Expr, what: str, span: Span) -> None:
        for node in walk(expr):
            if isinstance(node, Expr) and _is_handle(node):
                self.error(CARRIED, f"{what} cannot carry buffer handles", span)
                return

    def _notes(self, values: Any, span: Span) -> None:
        for node in map_nodes(values):
            if isinstance(node, Expr):
                self._no_handles(node, "an attribute", span)


def _is_buffer_op(call: Call) -> bool:
    op = op_of(call)
    return op is not None and op.buffer is not None


def _word(stmt: Stmt) -> str:
    return "a branch" if isinstance(stmt, IfStmt) else "a loop"


def _read(stmt: Stmt) -> Iterable[tuple[str, Expr]]:
    """The expressions that a statement reads itself, each with what it is."""
    if isinstance(stmt, IfStmt | WhileStmt):
        yield "a condition", stmt.condition
    elif isinstance(stmt, ForStmt):
        for bound in (stmt.start, stmt.stop, stmt.step):
            yield "the bound of a loop", bound
    elif isinstance(stmt, YieldStmt):
        for value in stmt.values:
            yield "a yield", value
    elif isinstance(stmt, ReturnStmt):
        for value in stmt.values:
            yield "a return", value
    if isinstance(stmt, ForStmt | WhileStmt):
        for arg in stmt.iter_args:
            yield "a loop", arg.init_value


def _defined(stmt: Stmt) -> Iterable[Var]:
    if isinstance(stmt, ForStmt):
        return (stmt.loop_var, *stmt.iter_args, *stmt.return_vars)
    if isinstance(stmt, WhileStmt):
        return (*stmt.iter_args, *stmt.return_vars)
    return stmt.return_vars if isinstance(stmt, IfStmt) else ()
