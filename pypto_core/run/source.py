"""What can be compiled: programs, functions, decorated objects and files of program text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pypto_core.diagnostics import OpTypeError
from pypto_core.ir import Function, Program


def as_program(thing: Any) -> Program:
    """The program that ``thing`` is, wraps, or names as a file.

    A function becomes a program of its own with its name. A file is parsed, never executed. Raises UserError
    (PT113) for a file that can't be read, ParserError for one that can't be understood, OpTypeError (PT820)
    for anything else.
    """
    if isinstance(thing, Program):
        return thing
    if isinstance(thing, Function):
        return Program(thing.name, (thing,), span=thing.span)
    if isinstance(thing, str | Path):
        from pypto_core.language import loads  # programs made in Python need no front end

        return as_program(loads(thing))
    for attribute in ("program", "function"):
        wrapped = getattr(thing, attribute, None)
        if isinstance(wrapped, Program | Function):
            return as_program(wrapped)
    raise OpTypeError(
        f"a {type(thing).__name__} can't be compiled",
        code="PT820",
        remedy="pass a program, a function, something decorated as one, or the path of a .py file",
    )
