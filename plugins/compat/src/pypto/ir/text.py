"""Programs as text and as bytes, under PyPTO's names."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from pypto_core.ir import Type
from pypto_core.text import dumps, loads, print_program

LANGUAGE = "pypto.language"
"""The module that printed programs import."""

_format: ContextVar[Callable[[str], str] | None] = ContextVar("pypto_format", default=None)


def register_format_callback(callback: Callable[[str], str] | None) -> None:
    """Send what :func:`python_print` prints through ``callback``, in the current context; None ends that."""
    _format.set(callback)


def python_print(
    node: Any,
    prefix: str = "pl",
    concise: bool = False,
    format: bool = True,
    explicit_layout: bool = False,
) -> str:
    """The source text of a program, a part of one or a type; a program imports ``pypto.language as <prefix>``.

    ``format``: send it through the registered callback, if there is one.
    """
    text = print_program(
        node, concise=concise, explicit_layout=explicit_layout, module=LANGUAGE, prefix=prefix
    )
    callback = _format.get() if format else None
    return text if callback is None else callback(text)


def python_print_type(kind: Type, prefix: str = "pl") -> str:
    """The text of a type as an annotation."""
    return print_program(kind, prefix=prefix)


def serialize(node: Any) -> bytes:
    """The stored form of a node; identity of variables and sharing are kept."""
    return dumps(node)


def deserialize(data: bytes) -> Any:
    """The node that was stored."""
    return loads(data)


def serialize_to_file(node: Any, path: str | Path) -> None:
    """Write the stored form of a node."""
    Path(path).write_bytes(dumps(node))


def deserialize_from_file(path: str | Path) -> Any:
    """Read a node that :func:`serialize_to_file` wrote."""
    return loads(Path(path).read_bytes())
