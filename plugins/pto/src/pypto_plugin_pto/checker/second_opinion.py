"""The same text before another parser and verifier: xDSL knows func, scf and arith better than this checker does.

Instructions of the PTO dialect are turned into the generic form of an unknown dialect, line by line, so that xDSL
judges names, types and everything around them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from pypto_core.diagnostics import Diagnostic, UserError
from pypto_plugin_pto.checker.lexer import Source, Token
from pypto_plugin_pto.checker.state import Edit

CODE = "PTO-114"
_DIALECT = re.compile(r"(?<![\w.$@%])pto(?=[.<])")


def verify(text: str, source: Source, edits: Sequence[Edit]) -> Iterator[Diagnostic]:
    """What xDSL finds. Raises UserError (PTO-021) when it is not installed."""
    try:
        from xdsl.context import Context
        from xdsl.dialects import get_all_dialects
        from xdsl.parser import Parser
        from xdsl.utils.exceptions import ParseError, VerifyException
    except ImportError:
        raise UserError(
            "checking types with xDSL needs xDSL",
            code="PTO-021",
            remedy="pip install 'pypto-plugin-pto[types]'",
        ) from None
    context: Any = Context(allow_unregistered=True)
    for name, factory in get_all_dialects().items():
        context.register_dialect(name, factory)
    lifted = generic_form(text, edits)
    try:
        Parser(context, lifted).parse_module().verify()
    except ParseError as error:
        line = lifted.count("\n", 0, error.span.start) + 1
        yield _finding(source, text, line, error.args[0] if error.args else str(error))
    except VerifyException as error:
        yield _finding(source, text, 1, str(error))


def generic_form(text: str, edits: Sequence[Edit]) -> str:
    """The text with its instructions in generic form; lines keep their numbers."""
    out: list[str] = []
    at = 0
    for edit in sorted(edits, key=lambda e: (e.begin, e.end)):
        out += [text[at : edit.begin], edit.text, "\n" * text.count("\n", edit.begin, edit.end)]
        at = edit.end
    out.append(text[at:])
    # Unknown to xDSL, whatever PTO dialect it may have one day.
    return _DIALECT.sub("ptox", "".join(out))


def _finding(source: Source, text: str, line: int, message: object) -> Diagnostic:
    begin = 0
    for _ in range(line - 1):
        begin = text.index("\n", begin) + 1
    body = text[begin:].split("\n", 1)[0]
    token = Token("line", body.strip(), begin + len(body) - len(body.lstrip()))
    sentence = str(message).strip().splitlines()
    return Diagnostic(
        code=CODE, message=f"xDSL: {sentence[-1].strip() if sentence else 'refused'}", span=source.span(token)
    )
