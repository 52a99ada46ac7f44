"""What can be compiled: programs, functions, decorated objects and files of program text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pypto_core.diagnostics import OpTypeError, UserError
from pypto_core.ir import Function, Program


def as_program(thing: Any) -> Program:
    """The program that ``thing`` is, wraps, or names as a file.

    A function becomes a program of its own with its name. A file is parsed, never executed. Raises UserError
    (PT614) for a file that can't be read, ParserError for one that can't be understood, OpTypeError (PT620)
    for anything else.
    """
    if isinstance(thing, Program):
        return thing
    if isinstance(thing, Function):
        return Program(thing.name, (thing,), span=thing.span)
    if isinstance(thing, str | Path):
        return _from_file(Path(thing))
    for attribute in ("program", "function"):
        wrapped = getattr(thing, attribute, None)
        if isinstance(wrapped, Program | Function):
            return as_program(wrapped)
    raise OpTypeError(
        f"a {type(thing).__name__} can't be compiled",
        code="PT620",
        remedy="pass a program, a function, something decorated as one, or the path of a .py file",
    )


def _from_file(path: Path) -> Program:
    from pypto_core.language import parse

    try:
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise UserError(
            f"can't read {path}: {error.strerror or error}",
            code="PT614",
            remedy="pass the path of a .py file with a program in it",
        ) from None
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path} is not UTF-8 text: {error.reason} at byte {error.start}",
            code="PT614",
            remedy="pass the path of a .py file with a program in it",
        ) from None
    return as_program(parse(text, filename=str(path)))
