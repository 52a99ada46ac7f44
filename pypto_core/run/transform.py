"""Run the body of one pass and say whose fault it is when it fails."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from pypto_core.contract import PassScope
from pypto_core.diagnostics import DiagnosticError, InternalError
from pypto_core.ir import Function, Program, map_functions
from pypto_core.run.context import PassContext
from pypto_core.run.run import PipelineStep


def transform(step: PipelineStep, program: Program, context: PassContext) -> Program:
    """The program after a pass; the same object when the pass changed nothing.

    What the pass raises as diagnostics passes through with a note of where it happened; anything else becomes
    an InternalError (PT910) that names pass and function. A pass that returns something else than it was given
    is an InternalError too (PT911).
    """
    with _blaming(step, "loading it"):
        body = step.pass_.load()
    if step.pass_.scope is PassScope.PROGRAM:
        with _blaming(step, f"program {program.name}"):
            result = body(program, context)
        return _checked(step, result, Program, f"program {program.name}")

    def change(function: Function) -> Function:
        place = f"function {function.name}"
        with _blaming(step, place):
            result = body(function, context)
        return _checked(step, result, Function, place)

    return map_functions(program, change)


def _checked(step: PipelineStep, result: Any, kind: type, place: str) -> Any:
    if isinstance(result, kind):
        return result
    raise InternalError(
        f"pass {step.name} returned {type(result).__name__} instead of a {kind.__name__}",
        code="PT911",
        facts={"pass": f"{step.instance} of {step.origin}", "on": place},
    )


@contextmanager
def _blaming(step: PipelineStep, place: str) -> Generator[None]:
    try:
        yield
    except DiagnosticError as error:
        error.add_note(f"raised by pass {step.instance} on {place}")
        raise
    except (Exception, SystemExit) as error:
        raise InternalError(
            f"pass {step.name} failed on {place}: {type(error).__name__}: {error}",
            code="PT910",
            facts={"pass": f"{step.instance} of {step.origin}", "on": place},
            remedy="report it to whoever provides the pass, with the program that it was given",
        ) from error
