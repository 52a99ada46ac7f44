"""From a compilation to HTML."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import attrs

from pypto_core import __version__
from pypto_core.contract import ReportSection
from pypto_core.diagnostics import Diagnostic, DiagnosticError, Severity, render
from pypto_core.report.diffs import unified
from pypto_core.report.stages import StageText, stage_texts
from pypto_core.run import Compiled
from pypto_core.solver import Step

if TYPE_CHECKING:
    from jinja2 import Template

_WORDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.PERF_HINT: "hint"}


@attrs.frozen
class SourceLine:
    """A line of the author's file with what is said of it."""

    number: int
    text: str
    said: tuple[tuple[str, Diagnostic], ...]


@attrs.frozen
class Part:
    """A section of a plugin, ready to be put in."""

    name: str
    title: str
    html: str


def render_report(compiled: Compiled, refused: DiagnosticError | None = None) -> str:
    """The report as one HTML document; nothing in it is fetched from anywhere.

    ``refused``: why the target did not write the program, for one that was compiled without.

    A section whose plugin fails shows the failure in its place.
    """
    stages = stage_texts(compiled)
    sections = compiled.context.host.report_sections.values() if compiled.context.host is not None else ()
    backend = compiled.context.backend
    return _template().render(
        compiled=compiled,
        version=__version__,
        backend=backend,
        refused=refused.render() if refused is not None else "",
        steps=list(_steps(compiled, stages)),
        skipped=compiled.plan.skipped,
        goals=compiled.plan.goals,
        stages=[
            (stage, unified(stages[at - 1].text, stage.text) if at else ()) for at, stage in enumerate(stages)
        ],
        sources=dict(_sources(compiled)),
        loose=[(_WORDS[d.severity], render(d)) for d in compiled.diagnostics if not d.span.is_valid],
        count=len(compiled.diagnostics),
        parts=[part for part in (_part(s, compiled) for s in sections) if part.html],
        artifacts=[
            (a.name, a.data if isinstance(a.data, str) else "", len(a.content)) for a in compiled.artifacts
        ],
        timings=compiled.timings,
        total=sum(seconds for _, seconds in compiled.timings),
    )


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, auto_reload=False
    )
    environment.filters["milliseconds"] = lambda seconds: f"{seconds * 1e3:.1f}"  # pyright: ignore
    source = files("pypto_core.report").joinpath("templates", "report.html.j2").read_text("utf-8")
    return environment.from_string(source)


def _steps(compiled: Compiled, stages: tuple[StageText, ...]) -> Iterator[tuple[Step, StageText]]:
    yield from zip(compiled.plan.steps, stages[1:], strict=True)


def _sources(compiled: Compiled) -> Iterator[tuple[str, list[SourceLine]]]:
    """Every file that the program or a diagnostic comes from, with what is said under its lines."""
    texts: dict[str, tuple[str, ...]] = {}
    said: dict[str, dict[int, list[tuple[str, Diagnostic]]]] = {}
    spans = [function.span for function in compiled.source]
    for span in (*spans, *(d.span for d in compiled.diagnostics)):
        if span.is_valid and span.source is not None:
            texts.setdefault(span.filename, span.source.lines)
    for diagnostic in compiled.diagnostics:
        span = diagnostic.span
        if span.filename in texts:
            lines = said.setdefault(span.filename, {})
            lines.setdefault(span.begin_line, []).append((_WORDS[diagnostic.severity], diagnostic))
    for name, lines in texts.items():
        rows = said.get(name, {})
        yield name, [SourceLine(n, text, tuple(rows.get(n, ()))) for n, text in enumerate(lines, 1)]


def _part(section: ReportSection, compiled: Compiled) -> Part:
    try:
        text = section.load()(compiled)
        html = _html(text, section.media) if text else ""
    except (DiagnosticError, ImportError, ValueError, LookupError, AttributeError, TypeError) as error:
        html = _escaped(f"this section could not be written: {type(error).__name__}: {error}")
    return Part(section.name, section.title, html)


def _html(text: str, media: str) -> str:
    """A section's text as HTML. Markdown and plain text are escaped; HTML and SVG are put in as they are."""
    if media == "text/markdown":
        from markdown_it import MarkdownIt

        return str(MarkdownIt("commonmark", {"html": False}).enable("table").render(text))
    return text if media in ("text/html", "image/svg+xml") else _escaped(text)


def _escaped(text: Any) -> str:
    from markupsafe import escape

    return f"<pre>{escape(text)}</pre>"
