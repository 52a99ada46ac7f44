"""ReturnParamsExplicit: a kernel that returns what it wrote into a parameter says so by returning the parameter."""

from __future__ import annotations

from collections.abc import Iterator

from pypto_core.diagnostics import Diagnostic
from pypto_core.ir import (
    AssignStmt,
    Call,
    Expr,
    ForStmt,
    Function,
    GlobalVar,
    IfStmt,
    Program,
    ReturnStmt,
    Stmt,
    Submit,
    TensorType,
    TupleGetItemExpr,
    TupleType,
    Var,
    WhileStmt,
    flatten,
    is_incore_type,
    is_wrapper,
    last_yield,
    regions,
)
from pypto_core.ops import alias_source, written_arguments
from pypto_core.verify.rules import rule, shown
from pypto_core.verify.scan import scan

_RULE = rule("ReturnParamsExplicit")


def verify_return_params_explicit(program: Program, backend: object = None) -> Iterator[Diagnostic]:
    """Find kernels and wrappers that don't name the parameters they return.

    1 tensors are returned by type but no return statement names them; 2 a returned value is a parameter under
    another name: the result of a store into it, or of a loop, branch or call that hands it on.
    """
    for function in program:
        if not (is_incore_type(function.func_type) or is_wrapper(function.func_type)):
            continue
        if not any(isinstance(kind, TensorType) for kind in function.return_types):
            continue
        returns: list[ReturnStmt] = list(scan(function).of(ReturnStmt))
        if not returns:
            yield _RULE.error(
                1,
                f"function '{function.name}' returns tensors but has no return statement",
                function.span,
                remedy="run NormalizeReturnOrder, or return the output parameters",
            )
            continue
        origins = _Origins(function, program)
        for stmt in returns:
            for i, value in enumerate(stmt.values):
                origin = origins.of(value)
                if origin is not None and origin is not value:
                    yield _RULE.error(
                        2,
                        f"value {i} returned by function '{function.name}' is its parameter {shown(origin)} "
                        "under another name",
                        stmt.span,
                        remedy="run NormalizeReturnOrder, or return the parameter itself",
                    )


class _Origins:
    """Which values of a function are the storage of a parameter."""

    def __init__(self, function: Function, program: Program) -> None:
        self.program = program
        self.known: dict[Var, Var] = {p: p for p in function.params if isinstance(p.type, TensorType)}
        self.tuples: dict[Var, Call | Submit] = {}
        self.follow(function.body)

    def follow(self, body: Stmt | None) -> None:
        for stmt in flatten(body):
            if isinstance(stmt, AssignStmt):
                if isinstance(stmt.value, Call | Submit) and isinstance(stmt.value.type, TupleType):
                    self.tuples[stmt.var] = stmt.value
                self.bind(stmt.var, self.of(stmt.value))
            elif isinstance(stmt, ForStmt | WhileStmt):
                self.loop(stmt)
            else:
                for region in regions(stmt):
                    self.follow(region)
                if isinstance(stmt, IfStmt):
                    ends = (last_yield(stmt.then_body), last_yield(stmt.else_body))
                    for i, result in enumerate(stmt.return_vars):
                        ways = [self.of(y.values[i]) for y in ends if y is not None and i < len(y.values)]
                        self.bind(result, ways[0] if len(ways) == 2 and ways[0] is ways[1] else None)

    def loop(self, stmt: ForStmt | WhileStmt) -> None:
        for arg in stmt.iter_args:
            self.bind(arg, self.of(arg.init_value))
        self.follow(stmt.body)
        last = last_yield(stmt.body)
        values = last.values if last is not None else ()
        for arg, value, result in zip(stmt.iter_args, values, stmt.return_vars, strict=False):
            origin = self.known.get(arg)
            self.bind(result, origin if self.of(value) is origin else None)

    def bind(self, var: Var, origin: Var | None) -> None:
        if origin is not None:
            self.known[var] = origin

    def of(self, value: Expr) -> Var | None:
        """The parameter that a value is, or None."""
        if isinstance(value, Var):
            return self.known.get(value)
        if isinstance(value, TupleGetItemExpr):
            source = value.tuple
            call = self.tuples.get(source) if isinstance(source, Var) else source
            return self.from_callee(call, value.index) if isinstance(call, Call | Submit) else None
        if isinstance(value, Submit) or (isinstance(value, Call) and isinstance(value.op, GlobalVar)):
            return None if isinstance(value.type, TupleType) else self.from_callee(value, 0)
        if not isinstance(value, Call) or not isinstance(value.type, TensorType):
            return None
        index = written_operand(value)
        return None if index is None else self.of(value.args[index])

    def from_callee(self, call: Call | Submit, index: int) -> Var | None:
        callee = self.program.get_function(call.op.name)
        if callee is None:
            return None
        for stmt in scan(callee).of(ReturnStmt):
            returned = stmt.values[index] if index < len(stmt.values) else None
            for param, arg in zip(callee.params, call.args, strict=False):
                if param is returned:
                    return self.of(arg)
        return None


def written_operand(call: Call) -> int | None:
    """The operand whose storage the call's result is, because the operator writes into it."""
    index = alias_source(call)
    written = written_arguments(call)
    return index if index in written else written[0] if len(written) == 1 else None
