"""``pypto properties``: what passes can rely on, and who makes it."""

from __future__ import annotations

from typing import Any

import click

from pypto_core.cli.output import console, emit_json, json_option, table
from pypto_core.host import load_host


@click.command("properties")
@json_option
def command(as_json: bool) -> None:
    """List properties with their meaning and the passes that make or destroy them."""
    host = load_host()
    rows: list[dict[str, Any]] = [
        {
            "name": value.name,
            "summary": value.summary,
            "kind": value.kind.value,
            "verified": value.verifier is not None,
            "disturbed_by": sorted(value.disturbed_by),
            "made_by": [
                p.name
                for p in host.passes.values()
                if value.name in p.contract.produces - p.contract.requires
            ],
            "destroyed_by": [
                p.name
                for p in host.passes.values()
                if value.name in p.contract.invalidates - p.contract.produces
            ],
            "distribution": host.properties.origin(value.name).distribution,
        }
        for value in host.properties.values()
    ]
    if as_json:
        emit_json(rows)
        return
    headers = ("property", "kind", "meaning", "made by", "destroyed by")
    console().print(
        table(
            headers,
            [
                (r["name"], r["kind"], r["summary"], " ".join(r["made_by"]), " ".join(r["destroyed_by"]))
                for r in rows
            ],
        )
    )
