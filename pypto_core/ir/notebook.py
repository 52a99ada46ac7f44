"""How programs look in notebooks."""

from __future__ import annotations

from html import escape
from importlib import import_module
from typing import Any

from pypto_core.diagnostics import DiagnosticError

# The printer belongs to a layer above this one, and only a notebook that shows a program needs it: it is reached by
# name at that moment.
_PRINTER = "pypto_core.text"


def program_html(node: Any) -> str:
    """A program or function as preformatted text, escaped; what can't be printed is named, with the reason."""
    try:
        text: str = import_module(_PRINTER).print_program(node)
    except DiagnosticError as error:
        text = f"{node!r}\n{error.message}"
    return f"<pre>{escape(text)}</pre>"
