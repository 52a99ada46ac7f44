"""``pypto backends``: machines, their memories and what they can do."""

from __future__ import annotations

import click

from pypto_core.cli.output import console, emit_json, json_option, table
from pypto_core.contract import Backend
from pypto_core.host import load_host


@click.command("backends")
@click.argument("name", required=False)
@json_option
def command(name: str | None, as_json: bool) -> None:
    """List backends; with NAME show memories, features and every cost figure with its source."""
    host = load_host()
    chosen = [host.backend(name)] if name is not None else list(host.backends.values())
    if as_json:
        rows = [{**b.to_json(), "distribution": host.backends.origin(b.name).distribution} for b in chosen]
        emit_json(rows[0] if name is not None else rows)
        return
    out = console()
    if name is not None:
        _show_one(chosen[0])
        return
    rows = [
        (b.name, b.title, ", ".join(b.aliases), _memories(b), host.backends.origin(b.name)) for b in chosen
    ]
    out.print(table(("backend", "machine", "also called", "memories", "distribution"), rows))


def _memories(backend: Backend) -> str:
    return " ".join(f"{m.space.name} {m.capacity // 1024}K" for m in backend.memories)


def _show_one(backend: Backend) -> None:
    out = console()
    out.print(f"{backend.name}: {backend.title}")
    out.print(
        table(
            ("memory", "usable bytes", "physical bytes", "alignment"),
            [(m.space.name, m.capacity, m.physical, m.alignment) for m in backend.memories],
            right=("usable bytes", "physical bytes", "alignment"),
        )
    )
    out.print(f"features: {', '.join(backend.features) or 'none'}")
    figures = [*backend.cost_model.rows(), *backend.vector.rows()]
    out.print(
        table(
            ("figure", "value", "unit", "source"),
            [(f.name, f.value, f.unit, f.source) for f in figures],
            right=("value",),
        )
    )
