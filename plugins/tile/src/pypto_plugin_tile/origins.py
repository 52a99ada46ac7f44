"""Which values of a function are the storage of one of its parameters."""

from __future__ import annotations

from collections.abc import Mapping

from pypto_core.ir import (
    AssignStmt,
    Call,
    Expr,
    ForStmt,
    Function,
    IfStmt,
    ReturnStmt,
    Stmt,
    Submit,
    TensorType,
    TupleGetItemExpr,
    TupleType,
    Var,
    WhileStmt,
    flatten,
    last_yield,
    regions,
    walk_stmts,
)
from pypto_core.ops import alias_source, op_of, written_arguments


class Origins:
    """The parameters behind the tensors of a function: through stores, aliases, carries, branches and calls.

    ``functions``: the callees, whose own returns name their parameters already.
    """

    def __init__(self, function: Function, functions: Mapping[str, Function]) -> None:
        self._functions = functions
        self._known: dict[Var, Var] = {p: p for p in function.params if isinstance(p.type, TensorType)}
        self._calls: dict[Var, Call | Submit] = {}
        self._follow(function.body)

    def of(self, value: Expr) -> Var | None:
        """The parameter that a value is, None when it is another tensor or can't be told."""
        if isinstance(value, Var):
            return self._known.get(value)
        if isinstance(value, TupleGetItemExpr):
            source = value.tuple
            call = self._calls.get(source) if isinstance(source, Var) else source
            return self._from_callee(call, value.index) if isinstance(call, Call | Submit) else None
        if isinstance(value, Submit) or (isinstance(value, Call) and op_of(value) is None):
            return None if isinstance(value.type, TupleType) else self._from_callee(value, 0)
        if isinstance(value, Call) and isinstance(value.type, TensorType):
            written = _written(value)
            return None if written is None else self.of(written)
        return None

    def _from_callee(self, call: Call | Submit, index: int) -> Var | None:
        callee = self._functions.get(call.op.name)
        position = None if callee is None else returned_parameter(callee, index)
        return None if position is None or position >= len(call.args) else self.of(call.args[position])

    def _follow(self, body: Stmt | None) -> None:
        for stmt in flatten(body):
            if isinstance(stmt, AssignStmt):
                if isinstance(stmt.value, Call | Submit) and isinstance(stmt.value.type, TupleType):
                    self._calls[stmt.var] = stmt.value
                self._bind(stmt.var, self.of(stmt.value))
            elif isinstance(stmt, ForStmt | WhileStmt):
                self._loop(stmt)
            else:
                for region in regions(stmt):
                    self._follow(region)
                if isinstance(stmt, IfStmt):
                    self._branch(stmt)

    def _branch(self, stmt: IfStmt) -> None:
        tails = [last_yield(body) for body in (stmt.then_body, stmt.else_body)]
        for i, result in enumerate(stmt.return_vars):
            ways = [self.of(t.values[i]) for t in tails if t is not None and i < len(t.values)]
            self._bind(result, ways[0] if len(ways) == 2 and ways[0] is ways[1] else None)

    def _loop(self, stmt: ForStmt | WhileStmt) -> None:
        for arg in stmt.iter_args:
            self._bind(arg, self.of(arg.init_value))
        self._follow(stmt.body)
        tail = last_yield(stmt.body)
        for i, (arg, result) in enumerate(zip(stmt.iter_args, stmt.return_vars, strict=True)):
            origin = self._known.get(arg)
            same = tail is not None and i < len(tail.values) and self.of(tail.values[i]) is origin
            self._bind(result, origin if same else None)

    def _bind(self, var: Var, origin: Var | None) -> None:
        if origin is not None:
            self._known[var] = origin


def _written(call: Call) -> Expr | None:
    """The operand whose storage the result is because the operator writes into it."""
    index, written = alias_source(call), written_arguments(call)
    if index is not None and index in written:
        return call.args[index]
    return call.args[written[0]] if len(written) == 1 else None


class Results:
    """Which parameters functions return, however they call them by then."""

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self._functions = functions
        self._origins: dict[str, Origins] = {}

    def parameter(self, name: str, index: int) -> int | None:
        """The position of the parameter that function ``name`` returns at ``index``, when all returns agree."""
        function = self._functions.get(name)
        if function is None:
            return None
        if name not in self._origins:
            self._origins[name] = Origins(function, self._functions)
        positions = {p: i for i, p in enumerate(function.params)}
        found: set[int | None] = set()
        for stmt in walk_stmts(function.body):
            if isinstance(stmt, ReturnStmt):
                value = stmt.values[index] if index < len(stmt.values) else None
                origin = None if value is None else self._origins[name].of(value)
                found.add(None if origin is None else positions[origin])
        return found.pop() if len(found) == 1 else None


def returned_parameter(function: Function, index: int) -> int | None:
    """Which of its parameters a function returns at ``index``, when all its returns say the same one."""
    found: set[int | None] = set()
    for stmt in walk_stmts(function.body):
        if isinstance(stmt, ReturnStmt):
            value = stmt.values[index] if index < len(stmt.values) else None
            found.add(next((i for i, p in enumerate(function.params) if p is value), None))
    return found.pop() if len(found) == 1 else None
