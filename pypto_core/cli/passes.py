"""``pypto passes``: what is installed and what each pass promises."""

from __future__ import annotations

from typing import Any

import click

from pypto_core.cli.output import console, emit_json, json_option, table
from pypto_core.contract import Pass
from pypto_core.host import Host, load_host


@click.command("passes")
@click.argument("name", required=False)
@json_option
def command(name: str | None, as_json: bool) -> None:
    """List passes; with NAME show one contract in full."""
    host = load_host()
    chosen = [host.find_pass(name)] if name is not None else list(host.passes.values())
    if as_json:
        rows = [_row(host, value) for value in chosen]
        emit_json(rows[0] if name is not None else rows)
        return
    out = console()
    if name is not None:
        _show_one(host, chosen[0])
        return
    out.print(
        table(
            ("pass", "role", "needs", "makes", "destroys", "distribution"),
            [
                (
                    value.name,
                    value.contract.role.value,
                    " ".join(sorted(value.contract.requires)),
                    " ".join(sorted(value.contract.produces - value.contract.requires)),
                    " ".join(sorted(value.contract.invalidates)),
                    host.passes.origin(value.name),
                )
                for value in chosen
            ],
        )
    )


def _row(host: Host, value: Pass) -> dict[str, Any]:
    contract, origin = value.contract, host.passes.origin(value.name)
    return {
        "name": value.name,
        "summary": value.summary,
        "distribution": origin.distribution,
        "version": origin.version,
        "scope": value.scope.value,
        "role": contract.role.value,
        "requires": sorted(contract.requires),
        "produces": sorted(contract.produces),
        "invalidates": sorted(contract.invalidates),
        "forbids": sorted(contract.forbids),
        "needs": sorted(contract.needs),
        "excludes": sorted(contract.excludes),
        "order": [
            {"relation": f.relation.value, "other": f.other, "reason": f.reason} for f in contract.order
        ],
        "runs": list(contract.runs),
        "touches": sorted(contract.touches),
        "options": value.spec(),
    }


_SINGLE = ("distribution", "version", "scope", "role", "options")


def _show_one(host: Host, value: Pass) -> None:
    out = console()
    row = _row(host, value)
    out.print(f"{value.name}: {value.summary}")
    for key, shown in row.items():
        if key in ("name", "summary", "order") or not shown:
            continue
        values: list[object] = shown if key not in _SINGLE else [shown]
        out.print(f"  {key:<12} {', '.join(map(str, values))}")
    for fact in row["order"]:
        out.print(f"  {fact['relation']:<12} {fact['other']}: {fact['reason']}")
