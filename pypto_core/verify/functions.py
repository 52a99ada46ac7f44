"""Rules about functions as a whole: which are left, what they call, what they return."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from pypto_core.diagnostics import Diagnostic
from pypto_core.ir import (
    ARG_DIRECTIONS,
    ArgDirection,
    Call,
    Function,
    FunctionType,
    GlobalVar,
    ParamDirection,
    Program,
    ScalarType,
    Stmt,
    Submit,
    is_incore_type,
    is_orchestration_like,
    is_wrapper,
)
from pypto_core.ops import type_text
from pypto_core.verify.rules import place, rule
from pypto_core.verify.scan import scan

_INLINE = rule("InlineFunctionsEliminated")
_REFERENCES = rule("OrchestrationReferencesResolved")
_DIRECTIONS = rule("CallDirectionsResolved")
_DEPS = rule("ManualDepsOnSubmitOnly")
_MANUAL_DEPS = ("manual_dep_edges", "compiler_manual_dep_edges")
_WRITES = (ParamDirection.Out, ParamDirection.InOut)


def function_calls(function: Function) -> Iterator[tuple[Call | Submit, Stmt]]:
    """The calls of other functions that a function makes."""
    for call, stmt in scan(function).calls:
        if isinstance(call, Submit) or isinstance(call.op, GlobalVar):
            yield call, stmt


def verify_inline_functions_eliminated(program: Program, backend: object = None) -> Iterator[Diagnostic]:
    """Find 1 functions to be spliced into their callers, 2 calls of such, 3 calls of functions that don't exist."""
    for function in program:
        if function.func_type is FunctionType.Inline:
            yield _INLINE.error(
                1,
                f"function '{function.name}' is still to be inlined",
                function.span,
                remedy="run InlineFunctions",
            )
        for call, stmt in function_calls(function):
            callee = program.get_function(call.op.name)
            if callee is not None and callee.func_type is not FunctionType.Inline:
                continue
            what = "does not exist" if callee is None else "is still to be inlined"
            yield _INLINE.error(
                3 if callee is None else 2,
                f"function '{function.name}' calls '{call.op.name}', which {what}",
                place(call.span, stmt.span),
                remedy="run InlineFunctions" if callee is not None else "add the function to the program",
            )


def verify_orchestration_references_resolved(
    program: Program, backend: object = None
) -> Iterator[Diagnostic]:
    """Find calls of orchestration functions whose callee is not in the program (1)."""
    for function in program:
        if not is_orchestration_like(function.func_type):
            continue
        for call, stmt in function_calls(function):
            if program.get_function(call.op.name) is None:
                yield _REFERENCES.error(
                    1,
                    f"orchestration function '{function.name}' calls '{call.op.name}', which is not in the program",
                    place(call.span, stmt.span),
                    remedy="add the kernel to the program",
                    facts={"functions": ", ".join(program.functions)},
                )


def verify_call_directions_resolved(program: Program, backend: object = None) -> Iterator[Diagnostic]:
    """Find calls of kernels that don't say how they pass their arguments.

    1 no directions; 2 another number of them than of arguments; 3 a direction that contradicts the argument or the
    callee's parameter. Calls made on a core or in a launch wrapper are no tasks and need none.
    """
    for function in program:
        if is_incore_type(function.func_type) or is_wrapper(function.func_type):
            continue
        for call, stmt in function_calls(function):
            yield from _directions(call, stmt, program.get_function(call.op.name))


def _directions(call: Call | Submit, stmt: Stmt, callee: Function | None) -> Iterator[Diagnostic]:
    span, name = place(call.span, stmt.span), call.op.name
    remedy = "run DeriveCallDirections"
    noted = call.attrs.get(ARG_DIRECTIONS)
    given = cast("tuple[object, ...]", noted)
    if not isinstance(noted, tuple):
        yield _DIRECTIONS.error(1, f"the call of '{name}' has no '{ARG_DIRECTIONS}'", span, remedy=remedy)
        return
    if len(given) != len(call.args):
        message = f"the call of '{name}' has {len(given)} directions for {len(call.args)} arguments"
        yield _DIRECTIONS.error(2, message, span, remedy=remedy)
        return
    params = callee.param_directions if callee is not None else ()
    for i, (direction, arg) in enumerate(zip(given, call.args, strict=True)):
        scalar = isinstance(arg.type, ScalarType)
        wrong = scalar != (direction is ArgDirection.Scalar)
        written = i < len(params) and params[i] in _WRITES and not scalar
        if wrong or (written and direction is ArgDirection.Input):
            yield _DIRECTIONS.error(
                3,
                f"argument {i} of the call of '{name}' can't be passed as {getattr(direction, 'name', direction)}",
                span,
                remedy=remedy,
                facts={
                    "argument": type_text(arg.type),
                    "parameter": params[i].name if i < len(params) else "unknown",
                },
            )


def verify_manual_deps_on_submit_only(program: Program, backend: object = None) -> Iterator[Diagnostic]:
    """Find dependencies between tasks written on plain calls (1)."""
    for function in program:
        for call, stmt in scan(function).calls:
            if not isinstance(call, Call) or not call.attrs:
                continue
            for key in _MANUAL_DEPS:
                if key in call.attrs:
                    yield _DEPS.error(
                        1,
                        f"the call of '{call.op.name}' carries '{key}', which only a submitted task can",
                        place(call.span, stmt.span),
                        remedy="submit it: pl.submit(self.kernel, …, deps=[…])",
                    )
