"""What notebooks show: read back as HTML, it says what the value says, whatever stands in names and reasons."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pypto_core.language as pl
from pypto_core.contract import Pass, PassContract, Role
from pypto_core.host import load_host
from pypto_core.ir import Program, replace
from pypto_core.run import PassContext, Pipeline, compile
from pypto_core.text import print_program

KERNEL = Path(__file__).resolve().parents[2] / "examples" / "kernels" / "scale_add.py"
HOSTILE = "<script>alert('&')</script>"


class Reader(HTMLParser):
    """Tags in order, and the text of each cell or preformatted block."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(page)
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open.append(tag)
        if tag in ("pre", "td", "th", "caption"):
            self.texts.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.texts:
            self.texts[-1] += data


def test_a_program_shows_its_text() -> None:
    program = pl.loads(KERNEL)
    assert isinstance(program, Program)
    read = Reader(program._repr_html_())
    assert read.tags == ["pre"]
    assert read.texts == [print_program(program)]
    [function] = program
    assert Reader(function._repr_html_()).texts == [print_program(function)]


def test_what_stands_in_comments_is_text() -> None:
    program = replace(pl.loads(KERNEL), leading_comments=(HOSTILE,))
    read = Reader(program._repr_html_())
    assert read.tags == ["pre"] and HOSTILE in read.texts[0]


def test_a_program_without_a_text_form_is_named() -> None:
    [function] = pl.loads(KERNEL)
    odd = replace(function, attrs={"acme": object()})
    read = Reader(odd._repr_html_())
    assert read.tags == ["pre"]
    assert repr(odd) in read.texts[0] and "has no text form" in read.texts[0]


def test_a_pipeline_shows_its_steps_with_the_solver_s_reasons() -> None:
    compiled = compile(KERNEL, backend="910b")
    page = compiled.pipeline._repr_html_()
    read = Reader(page)
    assert set(read.tags) == {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    caption, *cells = read.texts
    assert caption == f"{len(compiled.plan.steps)} passes, backend 910b, planner pypto"
    rows = [tuple(cells[i : i + 4]) for i in range(0, len(cells), 4)]
    wanted = [(str(n), s.instance, s.here, str(s.origin)) for n, s in enumerate(compiled.plan.steps, 1)]
    assert rows[1 : 1 + len(wanted)] == wanted
    assert [row[1] for row in rows[1 + len(wanted) :]] == [s.instance for s in compiled.plan.skipped]


def test_a_pipeline_put_together_by_hand_says_so_and_escapes() -> None:
    odd = Pass(contract=PassContract(name=HOSTILE, role=Role.MUST), run=lambda program, _: program)
    simplify = load_host().find_pass("Simplify")
    read = Reader(Pipeline.of([odd, simplify])._repr_html_())
    assert "script" not in read.tags
    assert HOSTILE in read.texts and read.texts.count("put there by hand") == 2


def test_showing_changes_nothing_and_needs_no_context() -> None:
    pipeline = Pipeline.of([load_host().find_pass("Simplify")])
    assert PassContext.current() is None
    assert pipeline._repr_html_() == pipeline._repr_html_()
