"""What is written although its parameter is an input: a warning about programs as they were written."""

from __future__ import annotations

from collections.abc import Iterator

from pypto_core.diagnostics import Diagnostic, Severity
from pypto_core.ir import (
    AssignStmt,
    Call,
    Expr,
    ForStmt,
    Function,
    FunctionType,
    GlobalVar,
    IfStmt,
    ParamDirection,
    Program,
    Stmt,
    Submit,
    TensorType,
    Var,
    WhileStmt,
    flatten,
    last_yield,
    regions,
)
from pypto_core.ops import alias_source, written_arguments
from pypto_core.verify.rules import place, shown
from pypto_core.verify.scan import scan


def written_inputs(program: Program) -> Iterator[Diagnostic]:
    """Warn of each tensor that is a plain parameter and that its function writes, at the first write (PT414).

    The names of a tensor are followed through views, writes, carries and branches. Inline functions are left out: what
    they are handed is declared where they are used.
    """
    for function in program:
        if function.func_type is not FunctionType.Inline:
            for param, (stmt, call) in _Writes(function, program).found.items():
                what = f"function '{call.op.name}'" if isinstance(call.op, GlobalVar) else f"'{call.op.name}'"
                yield Diagnostic(
                    code="PT414",
                    message=f"{shown(param)} is an input of function '{function.name}', and {what} writes it",
                    severity=Severity.WARNING,
                    span=place(call.span, stmt.span),
                    rule="InputWritten",
                    facts={
                        "effect": "a caller is not told that it changes: a run leaves the tensor that it was given "
                        "as it was"
                    },
                    remedy=f"declare it: {param.name_hint}: pl.Out[pl.Tensor[...]], or pl.InOut when it is read too",
                )


class _Writes:
    """``found``: the first write of each input. ``roots``: which input a variable is, or lies in."""

    def __init__(self, function: Function, program: Program) -> None:
        self.program = program
        self.found: dict[Var, tuple[Stmt, Call | Submit]] = {}
        self.roots: dict[Var, Var] = {
            param: param
            for param, way in zip(function.params, function.param_directions, strict=True)
            if way is ParamDirection.In and type(param.type) is TensorType
        }
        if not self.roots:
            return
        self.calls: dict[Stmt, list[Call | Submit]] = {}
        for call, stmt in scan(function).calls:
            self.calls.setdefault(stmt, []).append(call)
        self.region(function.body)

    def root(self, value: Expr | None) -> Var | None:
        return self.roots.get(value) if isinstance(value, Var) else None

    def bind(self, var: Var, root: Var | None) -> None:
        self.roots.pop(var, None)
        if root is not None:
            self.roots[var] = root

    def region(self, body: Stmt | None) -> None:
        for stmt in flatten(body):
            self.statement(stmt)

    def statement(self, stmt: Stmt) -> None:
        for call in self.calls.get(stmt, ()):
            for index in self.written(call):
                root = self.root(call.args[index])
                if root is not None:
                    self.found.setdefault(root, (stmt, call))
        if isinstance(stmt, AssignStmt):
            self.bind(stmt.var, self.source(stmt.value))
        elif isinstance(stmt, ForStmt | WhileStmt):
            for arg in stmt.iter_args:
                self.bind(arg, self.root(arg.init_value))
        for region in regions(stmt):
            self.region(region)
        if isinstance(stmt, ForStmt | WhileStmt):
            for var, arg in zip(stmt.return_vars, stmt.iter_args, strict=False):
                self.bind(var, self.root(arg))
        elif isinstance(stmt, IfStmt):
            arms = [
                tail.values for tail in map(last_yield, (stmt.then_body, stmt.else_body)) if tail is not None
            ]
            for slot, var in enumerate(stmt.return_vars):
                roots = (self.root(values[slot]) for values in arms if slot < len(values))
                self.bind(var, next((root for root in roots if root is not None), None))

    def source(self, value: Expr) -> Var | None:
        """The input that the result of an expression is, or lies in."""
        if isinstance(value, Call):
            index = alias_source(value)
            return self.root(value.args[index]) if index is not None and index < len(value.args) else None
        return self.root(value)

    def written(self, call: Call | Submit) -> tuple[int, ...]:
        """The arguments that a call changes."""
        if isinstance(call, Call) and not isinstance(call.op, GlobalVar):
            return written_arguments(call)
        callee = self.program.get_function(call.op.name)
        if callee is None:
            return ()
        ways = enumerate(callee.param_directions[: len(call.args)])
        return tuple(index for index, way in ways if way is not ParamDirection.In)
