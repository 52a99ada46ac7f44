"""The page behind a code that errors, warnings and hints carry."""

from __future__ import annotations

import re
from typing import Any

import attrs

_CODE = re.compile(r"[A-Z]{2,}(-[A-Z]+)*-?\d+\Z")


def _check_code(_: object, attribute: Any, code: str) -> None:
    if not _CODE.match(code):
        raise ValueError(f"a code looks like PT101 or PH-AT-003, not {code!r}")


@attrs.frozen
class CodePage:
    """What a code means: ``title`` in one line, ``text`` in Markdown with cause, example and way out."""

    code: str = attrs.field(validator=_check_code)
    title: str
    text: str
