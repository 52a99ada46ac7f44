"""``pypto cache``: what is kept between runs, and how to get rid of it."""

from __future__ import annotations

import click

from pypto_core.cli.output import console, emit_json, json_option
from pypto_core.host import Store


@click.command("cache")
@click.option("--clear", is_flag=True, help="Remove everything that is kept.")
@json_option
def command(clear: bool, as_json: bool) -> int:
    """Show where compiled kernels are kept between runs, how many, and how much room they take."""
    store = Store.from_environment()
    removed = store.clear() if store is not None and clear else 0
    count, size = store.usage if store is not None else (0, 0)
    if as_json:
        folder = None if store is None else str(store.folder)
        limit = None if store is None else store.limit
        emit_json({"folder": folder, "results": count, "bytes": size, "limit": limit, "removed": removed})
        return 0
    out = console()
    if store is None:
        out.print("the cache is switched off")
        return 0
    if clear:
        out.print(f"removed {removed}")
    for label, value in (
        ("folder", store.folder),
        ("results", count),
        ("bytes", size),
        ("limit", store.limit),
    ):
        out.print(f"{label:<8} {value}")
    return 0
