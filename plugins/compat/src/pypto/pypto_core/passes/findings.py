"""The diagnostic checks: what is suspicious in a program, though no rule forbids it."""

from __future__ import annotations

from collections.abc import Iterator

from pypto_core.contract import Backend
from pypto_core.diagnostics import Diagnostic, Severity, Span
from pypto_core.ir import (
    AssignStmt,
    BufferType,
    Call,
    ConstInt,
    Expr,
    ForStmt,
    Function,
    GlobalVar,
    IfStmt,
    ParamDirection,
    Program,
    Submit,
    TileType,
    Var,
    WhileStmt,
    used_vars,
    walk,
)
from pypto_core.ops import op_of, written_arguments


def unused_variables(program: Program, backend: Backend | None = None) -> Iterator[Diagnostic]:
    """Values that nothing reads, of calls and expressions without effect; names that begin with ``_`` are meant so."""
    for function in program:
        used = set(used_vars(function.body))
        for stmt in walk(function.body):
            if not isinstance(stmt, AssignStmt) or stmt.var in used or stmt.var.name_hint.startswith("_"):
                continue
            if not _has_effect(stmt.value):
                yield _warning(
                    "PT411",
                    "UnusedVariableCheck",
                    f"variable '{stmt.var.name_hint}' is never used",
                    stmt.span,
                    function,
                    "drop the assignment, or call the variable _ where only its evaluation matters",
                )


def unused_results(program: Program, backend: Backend | None = None) -> Iterator[Diagnostic]:
    """Results of loops and branches that nothing reads."""
    for function in program:
        used = set(used_vars(function.body))
        for stmt in walk(function.body):
            if isinstance(stmt, ForStmt | WhileStmt | IfStmt):
                for var in stmt.return_vars:
                    if var not in used and not var.name_hint.startswith("_"):
                        yield _warning(
                            "PT412",
                            "UnusedControlFlowResultCheck",
                            f"result '{var.name_hint}' of a {_KINDS[type(stmt)]} is never used",
                            stmt.span,
                            function,
                            "leave it out of what is carried and yielded",
                        )


def dropped_writes(program: Program, backend: Backend | None = None) -> Iterator[Diagnostic]:
    """Values made by writing into an output parameter of a tensor function that nothing reads or returns.

    Tensor operators write into a new value, so that the parameter itself keeps what it had.
    """
    for function in program:
        used = set(used_vars(function.body))
        outputs = {
            param
            for param, way in zip(function.params, function.param_directions, strict=True)
            if way is not ParamDirection.In
        }
        for stmt in walk(function.body):
            if not isinstance(stmt, AssignStmt) or not isinstance(stmt.value, Call):
                continue
            call = stmt.value
            target = call.args[0] if call.args else None
            if call.op.name in _INTO_FIRST and target in outputs and stmt.var not in used:
                yield _warning(
                    "PT413",
                    "OutParamWriteDropped",
                    f"what is written into output '{_name(target)}' is dropped: '{stmt.var.name_hint}' is never used",
                    stmt.span,
                    function,
                    f"return '{stmt.var.name_hint}', or assign it to '{_name(target)}'",
                )


def narrow_rows(program: Program, backend: Backend | None = None) -> Iterator[Diagnostic]:
    """Transfers whose rows are shorter than the machine moves well, once for each place; without one none are."""
    if backend is None:
        return
    seen: set[tuple[str, int, int]] = set()
    for function in program:
        for call in walk(function.body):
            if not isinstance(call, Call) or call.op.name not in _TRANSFERS:
                continue
            place = (call.span.filename, call.span.begin_line, call.span.begin_column)
            row = _row_bytes(call)
            if (
                row is None
                or row >= backend.recommended_inner_bytes
                or (call.span.is_valid and place in seen)
            ):
                continue
            seen.add(place)
            yield Diagnostic(
                code="PH001",
                message=f"{call.op.name} moves {row} bytes per row; at least {backend.recommended_inner_bytes} bytes "
                f"are recommended for the innermost dimension on {backend.name}",
                severity=Severity.PERF_HINT,
                span=call.span,
                rule="TileInnermostDimGranularity",
                facts={"function": function.name},
                remedy="make the innermost extent larger, e.g. by moving fewer, longer rows",
            )


_KINDS = {ForStmt: "loop", WhileStmt: "loop", IfStmt: "branch"}
_INTO_FIRST = ("tensor.assemble", "tensor.scatter_update", "tensor.write")
_TRANSFERS = ("tile.load", "tile.store", "buffer.load", "buffer.store")


def _has_effect(value: Expr) -> bool:
    for node in walk(value):
        if isinstance(node, Submit) or (isinstance(node, Call) and isinstance(node.op, GlobalVar)):
            return True
        if isinstance(node, Call):
            op = op_of(node)
            if op is None or not op.pure or written_arguments(node):
                return True
    return False


def _row_bytes(call: Call) -> int | None:
    """Bytes of the innermost extent that is moved; None when it is known at run time only."""
    # A load of tiles gives the tile, one of buffers fills its last operand; a store of either moves its first.
    moved = {"tile.load": call, "buffer.load": call.args[-1]}.get(call.op.name, call.args[0]).type
    if isinstance(moved, BufferType):
        return moved.dtype.bits * moved.shape[-1] // 8
    last = moved.shape[-1] if isinstance(moved, TileType) else None
    return (
        moved.dtype.bits * last.value // 8
        if isinstance(moved, TileType) and isinstance(last, ConstInt)
        else None
    )


def _name(value: Expr | None) -> str:
    return value.name_hint if isinstance(value, Var) else "?"


def _warning(code: str, rule: str, message: str, span: Span, function: Function, remedy: str) -> Diagnostic:
    return Diagnostic(
        code=code,
        message=message,
        severity=Severity.WARNING,
        span=span,
        rule=rule,
        facts={"function": function.name},
        remedy=remedy,
    )
