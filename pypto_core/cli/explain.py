"""``pypto explain``: the page behind a code."""

from __future__ import annotations

import click

from pypto_core.cli.output import console, emit_json, json_option, table
from pypto_core.diagnostics import UserError
from pypto_core.host import load_host


@click.command("explain")
@click.argument("code", required=False)
@json_option
def command(code: str | None, as_json: bool) -> None:
    """Show the page of CODE (PT301, PH-AT-003, …); without it list the codes that have one."""
    host = load_host()
    if code is None:
        rows = [(page.code, page.title) for page in host.codes.values()]
        if as_json:
            emit_json([{"code": c, "title": t} for c, t in rows])
        else:
            console().print(table(("code", "title"), rows))
        return
    page = host.codes.get(code.upper())
    if page is None:
        raise UserError(
            f"no page is installed for the code '{code}'",
            code="PT851",
            remedy="list the codes with: pypto explain",
        )
    if as_json:
        emit_json({"code": page.code, "title": page.title, "text": page.text})
    else:
        console().print(f"{page.code}: {page.title}\n\n{page.text}")
