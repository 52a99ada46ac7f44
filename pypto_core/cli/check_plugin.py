"""``pypto check-plugin``: the health of one plugin, and the conformance suites on what it brings."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import click

from pypto_core.cli.output import emit_json, json_option
from pypto_core.diagnostics import UserError
from pypto_core.host import Host, PluginRecord, load_host

_SUITE = "pypto_core.testing"


@click.command("check-plugin")
@click.argument("name")
@click.option("--list", "only_list", is_flag=True, help="say what would be run, and run nothing")
@json_option
def command(name: str, only_list: bool, as_json: bool) -> int:
    """Check the plugin NAME: does it load, and do its backends and passes conform?

    Exit code 1 when it is broken or a suite fails.
    """
    host = load_host()
    record = host.plugin(name)
    if record is None:
        raise click.UsageError(f"no plugin is called '{name}'; pypto plugins lists them")
    suites = [] if record.failed else _suites(host, record)
    if not as_json:
        click.echo(f"{record.name} {record.version}: {record.status.value}")
        if record.failed:
            click.echo(f"{record.sentence()}\n{record.traceback}".rstrip())
        for note in record.notes:
            click.echo(f"note: {note}")
    results: list[dict[str, Any]] = []
    for kind, thing in suites:
        row: dict[str, Any] = {"kind": kind, "name": thing}
        if not only_list:
            row |= _run(kind, thing, quiet=as_json)
        results.append(row)
        if not as_json:
            verdict = f": {'passed' if row['passed'] else 'FAILED'}" if "passed" in row else ""
            click.echo(f"{kind} {thing}{verdict}")
    if as_json:
        emit_json({"plugin": record.to_json(), "suites": results})
    return 1 if record.failed or not all(row.get("passed", True) for row in results) else 0


def _suites(host: Host, record: PluginRecord) -> list[tuple[str, str]]:
    """(kind, name) of each thing that a suite exists for."""
    found: list[tuple[str, str]] = []
    for kind, registry in (("backend", host.backends), ("pass", host.passes)):
        found += [(kind, n) for n in registry if registry.origin(n).distribution == record.distribution]
    return found


def _run(kind: str, name: str, quiet: bool) -> dict[str, Any]:
    missing = [module for module in ("pytest", "hypothesis", "numpy") if find_spec(module) is None]
    if missing:
        raise UserError(
            f"the conformance suites need {' and '.join(missing)}",
            code="PT862",
            remedy="pip install 'pypto-core[conformance]'",
        )
    arguments: Sequence[str] = (
        *("-m", "pytest", "-q", "-p", "no:cacheprovider", "--pyargs", f"{_SUITE}.{kind}_suite"),
        *(f"--pypto-{kind}", name),
    )
    done = subprocess.run([sys.executable, *arguments], capture_output=quiet, text=True, check=False)
    row: dict[str, Any] = {"passed": done.returncode == 0}
    return row | {"output": done.stdout} if quiet else row
