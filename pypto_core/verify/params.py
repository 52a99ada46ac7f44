"""Rules about parameters that a function writes: OutParamNotShadowed, InOutUseValid, ReturnParamsExplicit."""

from __future__ import annotations

from collections.abc import Iterator

from pypto_core.diagnostics import Diagnostic, Note
from pypto_core.ir import (
    ArgEffect,
    AssignStmt,
    Call,
    Expr,
    ForStmt,
    Function,
    GlobalVar,
    IfStmt,
    ParamDirection,
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
from pypto_core.ops import op_of
from pypto_core.verify.functions import returned_params
from pypto_core.verify.rules import rule, shown
from pypto_core.verify.scan import Scan, scan

_SHADOW = rule("OutParamNotShadowed")
_INOUT = rule("InOutUseValid")
_RETURN = rule("ReturnParamsExplicit")
_WRITES = (ParamDirection.Out, ParamDirection.InOut)
_MAKES = ("tensor.create", "tensor.full")


def verify_out_param_not_shadowed(program: Program, backend: object = None) -> Iterator[Diagnostic]:
    """Find parameters to write that are bound to a fresh tensor instead (1)."""
    for function in program:
        written = {
            p for p, d in zip(function.params, function.param_directions, strict=True) if d in _WRITES
        }
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


def verify_return_params_explicit(program: Program, backend: object = None) -> Iterator[Diagnostic]:
    """Find kernels and wrappers that don't name the parameters they return.

    1 tensors are returned by type but no return statement names them; 2 a returned value is a parameter under
    another name: the result of a store into it, or of a loop or call that hands it on.
    """
    for function in program:
        if not (is_incore_type(function.func_type) or is_wrapper(function.func_type)):
            continue
        if not any(isinstance(kind, TensorType) for kind in function.return_types):
            continue
        returns = list(scan(function).of(ReturnStmt))
        if not returns:
            yield _RETURN.error(
                1,
                f"function '{function.name}' returns tensors but has no return statement",
                function.span,
                remedy="run NormalizeReturnOrder, or return the output parameters",
            )
            continue
        origins = _origins(function, program, scan(function))
        for stmt in returns:
            for i, value in enumerate(stmt.values):
                origin = _origin(value, origins, program)
                if origin is not None and origin is not value:
                    yield _RETURN.error(
                        2,
                        f"value {i} returned by function '{function.name}' is its parameter {shown(origin)} "
                        "under another name",
                        stmt.span,
                        remedy="run NormalizeReturnOrder, or return the parameter itself",
                    )


def _origins(function: Function, program: Program, reading: Scan) -> dict[Var, Var]:
    """Variable → the parameter whose storage it is."""
    found: dict[Var, Var] = {p: p for p in function.params if isinstance(p.type, TensorType)}
    for stmt in reading.stmts:
        if isinstance(stmt, ForStmt | WhileStmt):
            for arg, result in zip(stmt.iter_args, stmt.return_vars, strict=False):
                origin = _origin(arg.init_value, found, program)
                if origin is not None and isinstance(arg.type, TensorType):
                    found[arg] = found[result] = origin
        elif isinstance(stmt, AssignStmt):
            origin = _origin(stmt.value, found, program)
            if origin is not None:
                found[stmt.var] = origin
        elif isinstance(stmt, IfStmt):
            # Its branches come later in program order; what they yield is looked up through their own origins.
            _branches(stmt, found, program)
    return found


def _branches(stmt: IfStmt, found: dict[Var, Var], program: Program) -> None:
    inner = dict(found)
    for body in (stmt.then_body, stmt.else_body):
        for each in flatten(body):
            if isinstance(each, AssignStmt):
                origin = _origin(each.value, inner, program)
                if origin is not None:
                    inner[each.var] = origin
            elif isinstance(each, IfStmt):
                _branches(each, inner, program)
                inner.update((v, found[v]) for v in each.return_vars if v in found)
    yields = [last_yield(stmt.then_body), last_yield(stmt.else_body)]
    for i, result in enumerate(stmt.return_vars):
        origins = [_origin(y.values[i], inner, program) for y in yields if y is not None and i < len(y.values)]
        if len(origins) == 2 and origins[0] is not None and origins[0] is origins[1]:
            found[result] = origins[0]


def _origin(value: Expr, found: dict[Var, Var], program: Program) -> Var | None:
    if isinstance(value, Var):
        return found.get(value)
    if isinstance(value, TupleGetItemExpr) and isinstance(value.tuple, Call | Submit):
        return _from_callee(value.tuple, value.index, found, program)
    if not isinstance(value, Call | Submit):
        return None
    if isinstance(value, Submit) or isinstance(value.op, GlobalVar):
        return None if isinstance(value.type, TupleType) else _from_callee(value, 0, found, program)
    index = written_operand(value)
    if index is None or not isinstance(value.type, TensorType):
        return None
    return _origin(value.args[index], found, program)


def written_operand(call: Call) -> int | None:
    """The operand whose storage the call's result is, because the operator writes into it."""
    op = op_of(call)
    if op is None:
        return None
    if op.memory is not None and op.memory.reuses is not None:
        return op.memory.reuses if op.memory.reuses < len(call.args) else None
    written = [i for i in range(len(call.args)) if op.effect(i) is not ArgEffect.Read]
    return written[0] if len(written) == 1 else None


def _from_callee(
    call: Call | Submit, index: int, found: dict[Var, Var], program: Program
) -> Var | None:
    callee = program.get_function(call.op.name)
    position = returned_params(callee).get(index) if callee is not None else None
    if position is None or position >= len(call.args):
        return None
    return _origin(call.args[position], found, program)

