"""Run the body of one pass and say whose fault it is when it fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pypto_core.contract import PassScope
from pypto_core.diagnostics import DiagnosticError, InternalError
from pypto_core.ir import Function, Program, is_deep, map_functions, too_deep
from pypto_core.run.context import PassContext
from pypto_core.run.run import PipelineStep


def transform(step: PipelineStep, program: Program, context: PassContext) -> Program:
    """The program after a pass; the same object when the pass changed nothing.

    What the pass raises as diagnostics passes through with a note of where it happened; anything else becomes
    an InternalError (PT910) that names pass and function. A pass that returns something else than it was given
    is an InternalError too (PT911).
    """
    body = _blaming(step, "loading it", step.pass_.load)
    if step.pass_.scope is PassScope.PROGRAM:
        place = f"program {program.name}"
        return _checked(step, _blaming(step, place, body, program, context), Program, place)

    def change(function: Function) -> Function:
        place = f"function {function.name}"
        return _checked(step, _blaming(step, place, body, function, context), Function, place)

    return map_functions(program, change)


def _checked(step: PipelineStep, result: Any, kind: type, place: str) -> Any:
    if isinstance(result, kind):
        return result
    raise InternalError(
        f"pass {step.name} returned {type(result).__name__} instead of a {kind.__name__}",
        code="PT911",
        facts={"pass": f"{step.instance} of {step.origin}", "on": place},
    )


def _blaming(step: PipelineStep, place: str, call: Callable[..., Any], *arguments: Any) -> Any:
    """What ``call`` returns. Not a context manager: contextlib would let a StopIteration through."""
    try:
        return call(*arguments)
    except DiagnosticError as error:
        error.add_note(f"raised by pass {step.instance} on {place}")
        raise
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit and the like would end the process without a word
        if isinstance(error, RecursionError) and arguments and is_deep(arguments[0]):
            raise too_deep(arguments[0], f"run pass {step.name} on it") from None
        raise InternalError(
            f"pass {step.name} failed on {place}: {type(error).__name__}: {error}",
            code="PT910",
            facts={"pass": f"{step.instance} of {step.origin}", "on": place},
            remedy="report it to whoever provides the pass, with the program that it was given",
        ) from error
