"""Rules about parameters that a function writes: OutParamNotShadowed and InOutUseValid."""

from __future__ import annotations

from collections.abc import Iterator

from pypto_core.diagnostics import Diagnostic, Note
from pypto_core.ir import (
    AssignStmt,
    Call,
    Function,
    GlobalVar,
    ParamDirection,
    Program,
    Stmt,
    Submit,
    Var,
    flatten,
    is_wrapper,
    regions,
)
from pypto_core.verify.rules import rule, shown
from pypto_core.verify.scan import scan

_SHADOW = rule("OutParamNotShadowed")
_INOUT = rule("InOutUseValid")
_WRITES = (ParamDirection.Out, ParamDirection.InOut)
_MAKES = ("tensor.create", "tensor.full")


def verify_out_param_not_shadowed(program: Program, backend: object = None) -> Iterator[Diagnostic]:
    """Find parameters to write that are bound to a fresh tensor instead (1)."""
    for function in program:
        written = {p for p, d in zip(function.params, function.param_directions, strict=True) if d in _WRITES}
        if not written:
            continue
        for stmt in scan(function).of(AssignStmt):
            value = stmt.value
            if stmt.var in written and isinstance(value, Call) and value.op.name in _MAKES:
                yield _SHADOW.error(
                    1,
                    f"output parameter {shown(stmt.var)} of function '{function.name}' is bound to a fresh tensor "
                    f"by '{value.op.name}'",
                    stmt.span,
                    remedy="write into the parameter (store, assemble), or give the new tensor a name of its own",
                )


def verify_in_out_use_valid(program: Program, backend: object = None) -> Iterator[Diagnostic]:
    """Find reads of a variable after it was handed to a function that writes it (1).

    The value is then what the function returns. A variable bound anew may be read again, so may one whose callee
    returns nothing, and passing it on to be overwritten is no read. What a region does is not followed out of it.
    Launch wrappers are left out.
    """
    for function in program:
        if not is_wrapper(function.func_type) and any(_written_args(function, program)):
            yield from _Handed(function, program).run()


def _written_args(function: Function, program: Program) -> Iterator[Var]:
    for call, _ in scan(function).calls:
        yield from (var for var, _ in handed_over(call, program))


def handed_over(call: Call | Submit, program: Program) -> list[tuple[Var, bool]]:
    """The variables that a call's callee writes and hands back, with whether it reads them too."""
    if not (isinstance(call, Submit) or isinstance(call.op, GlobalVar)):
        return []
    callee = program.get_function(call.op.name)
    if callee is None or not callee.return_types:
        return []
    return [
        (arg, direction is ParamDirection.InOut)
        for arg, direction in zip(call.args, callee.param_directions, strict=False)
        if direction in _WRITES and isinstance(arg, Var)
    ]


class _Handed:
    def __init__(self, function: Function, program: Program) -> None:
        self.function, self.program = function, program
        self.scan = scan(function)
        self.calls: dict[Stmt, list[Call | Submit]] = {}
        for call, stmt in self.scan.calls:
            self.calls.setdefault(stmt, []).append(call)
        self.gone: dict[Var, Stmt] = {}
        self.found: list[Diagnostic] = []

    def run(self) -> list[Diagnostic]:
        self.region(self.function.body)
        return self.found

    def region(self, body: Stmt) -> None:
        outer = self.gone
        self.gone = dict(outer)
        for stmt in flatten(body):
            self.statement(stmt)
        self.gone = outer

    def statement(self, stmt: Stmt) -> None:
        handed = [pair for call in self.calls.get(stmt, ()) for pair in handed_over(call, self.program)]
        if self.gone:
            overwritten = {var for var, reads in handed if not reads}
            late = self.scan.late_reads.get(stmt, ())
            for var in dict.fromkeys((*self.scan.reads.get(stmt, ()), *late)):
                if var in self.gone and var not in overwritten:
                    self.report(var, stmt)
        for region in regions(stmt):
            self.region(region)
        for var, _ in handed:
            self.gone[var] = stmt
        if isinstance(stmt, AssignStmt):
            self.gone.pop(stmt.var, None)

    def report(self, var: Var, stmt: Stmt) -> None:
        call = self.gone[var]
        self.found.append(
            _INOUT.error(
                1,
                f"variable {shown(var)} is read after a function was given it to write",
                stmt.span,
                remedy="read what the function returned instead",
                facts={"function": self.function.name},
                notes=(Note(message="handed over here", span=call.span),) if call.span.is_valid else (),
            )
        )
