"""``pypto explain``: the page behind a code, or what became of the kernels in a file."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import click

from pypto_core.cli.choices import parse_options, target_options
from pypto_core.cli.output import console, emit_json, json_option, table
from pypto_core.contract import ReportSection
from pypto_core.diagnostics import UserError
from pypto_core.host import Host, load_host
from pypto_core.run import compile


class _WithSections(click.Command):
    """Has a flag for each section that an installed plugin adds to reports."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The command's own parameters and the flags."""
        own = super().get_params(ctx)
        taken = {text for parameter in own for text in parameter.opts}
        flags = [
            click.Option([f"--{name}", _flag(name)], is_flag=True, help=f"Of FILE: {section.title}.")
            for name, section in load_host().report_sections.items()
            if f"--{name}" not in taken
        ]
        return [*own, *flags]


def _flag(name: str) -> str:
    return "section_" + "".join(c if c.isalnum() else "_" for c in name).lower()


@click.command("explain", cls=_WithSections)
@click.argument("code", required=False, metavar="[CODE | FILE]")
@target_options
@click.option("--goal", "-g", default="pto", show_default=True, help="What FILE is compiled to.")
@json_option
def command(
    code: str | None,
    backend: str | None,
    planner: str | None,
    options: tuple[str, ...],
    goal: str,
    as_json: bool,
    **flags: bool,
) -> None:
    """Show the page of CODE (PT301, PH-AT-003, …), or compile FILE and tell what became of it.

    Without either, list the codes that have a page. Of a file, all that the installed plugins have to tell is
    shown, or what the flags choose.
    """
    host = load_host()
    if code is not None and (code.endswith(".py") or Path(code).is_file()):
        chosen = _chosen(host, flags)
        compiled = compile(
            Path(code), host=host, backend=backend, planner=planner, goal=goal, **parse_options(options)
        )
        _tell([(section, section.load()(compiled)) for section in chosen], as_json)
    elif any(flags.values()):
        raise UserError(
            "a section of the report needs a file", code="PT857", remedy="pypto explain kernel.py"
        )
    elif code is None:
        _list(host, as_json)
    else:
        _show(host, code, as_json)


def _chosen(host: Host, flags: dict[str, bool]) -> list[ReportSection]:
    """The sections that the flags name, all when they name none."""
    sections = list(host.report_sections.values())
    asked = [section for section in sections if flags.get(_flag(section.name))]
    if not sections:
        raise UserError(
            "no installed plugin has anything to tell about a file",
            code="PT857",
            remedy="see what became of it with: pypto compile FILE --output DIR --dump-passes",
        )
    return asked or sections


def _tell(told: list[tuple[ReportSection, Any]], as_json: bool) -> None:
    if as_json:
        emit_json({section.name: text for section, text in told})
        return
    parts: list[str] = []
    for section, text in told:
        if text and section.media.startswith("image/"):
            parts.append(f"{section.title}: a picture, see pypto report")
        elif text:
            shown = _plain(text) if section.media == "text/html" else text.rstrip()
            parts.append(f"{section.title}\n\n{shown}")
    if parts:
        console().print("\n\n".join(parts))


def _plain(html: str) -> str:
    """HTML as text: rows of tables on lines of their own, and no pictures."""
    text = re.sub(r"<svg\b.*?</svg>", "<p>A picture, see pypto report.</p>", html, flags=re.DOTALL)
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r" ?</(?:p|tr|table)> ?", "\n", re.sub(r" ?</t[hd]> ?", "\t", text))
    lines = (line.strip(" ").expandtabs(12).rstrip() for line in re.sub(r"<[^>]*>", "", text).split("\n"))
    return unescape("\n".join(lines).strip())


def _list(host: Host, as_json: bool) -> None:
    rows = [(page.code, page.title) for page in host.codes.values()]
    if as_json:
        emit_json([{"code": c, "title": t} for c, t in rows])
    else:
        console().print(table(("code", "title"), rows))


def _show(host: Host, code: str, as_json: bool) -> None:
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
