"""What commands print: tables for people, JSON for programs, and nothing in between."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import click
from rich.console import Console
from rich.table import Table

Rows = Iterable[Sequence[object]]


def console() -> Console:
    """Standard output; plain and as wide as the text needs when it is no terminal."""
    out = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    if not out.is_terminal:
        out.width = 10_000
    return out


def error_console() -> Console:
    """Standard error."""
    return Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)


def table(headers: Sequence[str], rows: Rows, *, right: Iterable[str] = ()) -> Table:
    """A borderless table; columns named in ``right`` are aligned to the right."""
    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    flush = set(right)
    for header in headers:
        made.add_column(header, justify="right" if header in flush else "left", overflow="fold")
    for row in rows:
        made.add_row(*(str(cell) for cell in row))
    return made


def json_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """The ``--json`` flag, passed as ``as_json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")(function)


def emit_json(data: Any) -> None:
    """Print data as JSON, keys in the order given."""
    click.echo(json.dumps(data, indent=2, ensure_ascii=False))
