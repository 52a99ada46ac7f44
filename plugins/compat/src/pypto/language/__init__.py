"""The kernel language: ``import pypto.language as pl``.

The names are those of :mod:`pypto_core.language`, and whatever it has is here: a kernel means the same whichever of the
two it imports. Operators are attributes too. ``jit`` has the settings of :class:`pypto.runtime.RunConfig` by default.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pypto_core.language as _language
from pypto.language.forms import teach_forms
from pypto_core.ir import Function, Program

_kernel = import_module("pypto_core.language")
globals().update({name: getattr(_kernel, name) for name in _kernel.__all__})

teach_forms()

_MODULES = ("distributed", "parser", "typing")

__all__ = [*_kernel.__all__, *_MODULES]  # pyright: ignore[reportUnsupportedDunderAll]


def parse(code: str, filename: str = "<string>", source_map: None = None) -> Program | Function:
    """The one program or function in a text, which is read and never executed.

    Raises a ParserError for what is not in the language, and a ValueError when the text holds none or several.
    """
    if source_map is not None:
        raise TypeError("a source map is not needed: errors show the text that was passed")
    return _language.parse(code, filename)


def parse_program(code: str, filename: str = "<string>", source_map: None = None) -> Program:
    """The one program in a text; see :func:`parse`."""
    if source_map is not None:
        raise TypeError("a source map is not needed: errors show the text that was passed")
    return _language.parse_program(code, filename)


def __getattr__(name: str) -> Any:
    """Operators without their group, submodules, and ``jit``."""
    if name in _MODULES:
        return import_module(f"pypto.language.{name}")
    if name == "jit":
        return import_module("pypto.jit").jit
    return getattr(_kernel, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, *dir(_kernel)})
