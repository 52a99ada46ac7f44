"""``pypto plugins``: what is installed, and what is wrong with it."""

from __future__ import annotations

import click

from pypto_core.cli.output import console, emit_json, json_option, table
from pypto_core.host import PluginRecord, load_host


@click.command("plugins")
@click.argument("name", required=False)
@json_option
def command(name: str | None, as_json: bool) -> int:
    """List installed plugins; with NAME show one in full, the traceback of a broken one included."""
    host = load_host()
    if name is not None:
        record = host.plugin(name)
        if record is None:
            raise click.UsageError(f"no plugin is called '{name}'; pypto plugins lists them")
        if as_json:
            emit_json(record.to_json())
        else:
            _show_one(record)
        return 1 if record.failed else 0
    if as_json:
        emit_json([record.to_json() for record in host.health])
        return 0
    out = console()
    out.print(
        table(
            ("plugin", "version", "distribution", "status", "provides"),
            [(r.name, r.version, r.distribution, r.status.value, _provides(r)) for r in host.health],
        )
    )
    for record in host.failed:
        out.print(f"\n{record.sentence()}")
        if record.remedy:
            out.print(f"  fix: {record.remedy}")
    return 0


def _provides(record: PluginRecord) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in record.provides)


def _show_one(record: PluginRecord) -> None:
    out = console()
    rows = {
        "plugin": record.name,
        "distribution": f"{record.distribution} {record.version}",
        "status": record.status.value,
        "summary": record.summary,
        "plugin API": record.requires_api,
        "provides": _provides(record),
        "docs": record.docs,
        "reason": record.reason,
        "fix": record.remedy,
    }
    for label, value in rows.items():
        if value:
            out.print(f"{label:<13} {value}")
    for note in record.notes:
        out.print(f"{'note':<13} {note}")
    if record.traceback:
        out.print(f"\n{record.traceback}")
