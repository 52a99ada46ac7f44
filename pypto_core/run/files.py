"""Files that a compilation writes."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from pypto_core.diagnostics import UserError


def as_path(value: str | PathLike[str]) -> Path:
    """A path from whatever names one."""
    return Path(value)


def write_file(path: Path, content: bytes | str) -> None:
    """Write a file, making its folder when it is missing; text becomes UTF-8 with newlines as they are.

    Raises UserError (PT822) when that is not possible.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    except (OSError, ValueError) as error:
        raise UserError(
            f"'{path}' can't be written: {getattr(error, 'strerror', None) or error}",
            code="PT822",
            remedy="choose a folder that exists or can be made, and that you may write to",
        ) from None
