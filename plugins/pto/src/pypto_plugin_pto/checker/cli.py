"""``pypto check``: is this PTO text what the assembler accepts?"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from pypto_core.diagnostics import UserError, render
from pypto_plugin_pto.checker.check import Report, check_text


@click.command("check")
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, allow_dash=True)
)
@click.option("--arch", type=click.Choice(["a3", "a5"]), help="Check element types for this machine.")
@click.option("--level", type=click.Choice(["2", "3"]), help="2: no buffer has an address. 3: each has one.")
@click.option("--types", is_flag=True, help="Have xDSL verify the module too (extra 'types').")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def command(files: tuple[str, ...], arch: str | None, level: str | None, types: bool, as_json: bool) -> int:
    """Check PTO modules without an assembler; '-' is standard input.

    Looks at grammar, tile types and alignment, what each instruction takes, levels, rings of buffers, names, their
    types and where they are visible. Exit code 1 when something is wrong, 2 when a file can't be read.
    """
    reports = [
        check_text(_read(name), name, arch=arch, level=int(level) if level else None, types=types)
        for name in files
    ]
    if as_json:
        click.echo(json.dumps([_plain(r) for r in reports], indent=2))
    else:
        for report in reports:
            _show(report)
    return 0 if all(r.ok for r in reports) else 1


def _read(name: str) -> str:
    """The text of a file or of standard input. Raises UserError (PTO-023) when there is none."""
    where = "standard input" if name == "-" else name
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise UserError(
            f"{where} can't be read: {error.strerror or error}",
            code="PTO-023",
            remedy="give the path of a .pto file that you may read",
        ) from None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(
            f"{where} is no UTF-8 text",
            code="PTO-023",
            facts={"byte": f"0x{data[error.start]:02x} at offset {error.start}"},
            remedy="give the text of a module, saved as UTF-8; what the assembler has made of it can't be checked",
        ) from None


def _show(report: Report) -> None:
    for finding in report.findings:
        click.echo(render(finding) + "\n")
    count = len(report.errors)
    what = "ok" if report.ok else f"{count} error{'s' if count > 1 else ''}"
    known = [f"level {report.level}"] if report.level else []
    known += [report.arch] if report.arch else []
    click.echo(f"{report.filename}: {what}" + (f" ({', '.join(known)})" if known else ""))


def _plain(report: Report) -> dict[str, object]:
    return {
        "file": report.filename,
        "ok": report.ok,
        "level": report.level,
        "arch": report.arch,
        "findings": [f.to_json() for f in report.findings],
    }
