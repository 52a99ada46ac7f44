"""The memory table that several commands show."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from pypto_core.cli.output import table
from pypto_core.run import Compiled, memory_table

ON_CHIP_ONLY = "DDR"


def memory_rows(compiled: Compiled) -> list[dict[str, Any]]:
    """One row per on-chip allocation of the compiled program."""
    addressed = "AllocatedMemoryAddr" in compiled.stages[-1].held if compiled.stages else None
    return [
        {
            "function": row.function,
            "space": row.space.name,
            "name": row.name,
            "bytes": row.bytes,
            "address": row.address,
            "used": row.used,
            "capacity": row.capacity,
            "tiles": list(row.tiles),
        }
        for row in memory_table(compiled.placed, compiled.context.backend, addressed=addressed)
        if row.space.name != ON_CHIP_ONLY
    ]


def print_memory(out: Console, rows: list[dict[str, Any]]) -> None:
    """The rows as a table: space, name, bytes, address, and how full the space is."""
    cells = [
        (
            row["function"],
            row["space"],
            row["name"],
            row["bytes"],
            "-" if row["address"] is None else row["address"],
            _share(row),
            " ".join(row["tiles"]),
        )
        for row in rows
    ]
    headers = ("function", "space", "name", "bytes", "address", "of capacity", "tiles")
    out.print(table(headers, cells, right=("bytes", "address", "of capacity")))


def _share(row: dict[str, Any]) -> str:
    if not row["capacity"]:
        return "-"
    return f"{row['used']}/{row['capacity']} ({row['used'] / row['capacity']:.0%})"
