"""The report: complete, self-contained, and it works in a real browser."""

from __future__ import annotations

import html
import re
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from pypto_core.cli import main
from pypto_core.contract import ReportSection
from pypto_core.host import load_host
from pypto_core.report import find_stage, render_report, side_by_side, stage_texts, unified
from pypto_core.run import compile

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "kernels"
MIXED = Path(__file__).resolve().parents[1] / "examples" / "cases" / "one_kernel.py"
KERNEL = """
import pypto_core.language as pl

@pl.program
class Hinted:
    @pl.function(type=pl.FunctionType.InCore)
    def main(self, a: pl.Tensor[[256, 64], pl.FP32], out: pl.Out[pl.Tensor[[256, 64], pl.FP32]]):
        for i in pl.pipeline(0, 4, 1, stage=2):  # <b>"quoted" & more</b>
            x = pl.load(a, [i * 64, 0], [64, 64])
            pl.store(pl.mul(x, 2.0), [i * 64, 0], out)
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    kernel = folder / "kernel.py"
    kernel.write_text(KERNEL)
    assert main(["report", str(kernel), "--backend", "910b", "-o", str(folder / "report.html")]) == 0
    return folder / "report.html"


class Links(HTMLParser):
    """Everything that a page refers to, and the ids that it has."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src", "action", "data") and value:
                self.targets.append(value)
            if name == "id" and value:
                self.ids.append(value)


def test_it_refers_to_nothing_outside_and_every_link_leads_somewhere(report: Path) -> None:
    page = Links()
    text = report.read_text(encoding="utf-8")
    page.feed(text)
    assert all(target.startswith(("#", "data:")) for target in page.targets)
    assert {target[1:] for target in page.targets if target.startswith("#")} <= set(page.ids)
    assert len(set(page.ids)) == len(page.ids)
    assert not re.search(
        r"(?:https?:)?//(?!www\.w3\.org/)[a-z]", text.split("</style>")[1].split("<script>")[0]
    )
    assert "@import" not in text and "url(" not in text


def test_it_holds_every_step_every_hint_and_the_output(tmp_path: Path) -> None:
    kernel = tmp_path / "kernel.py"
    kernel.write_text(KERNEL)
    compiled = compile(kernel, backend="910b")
    text = html.unescape(render_report(compiled))
    for step in compiled.plan.steps:
        assert step.instance in text and step.here in text
    for diagnostic in compiled.diagnostics:
        assert diagnostic.message in text
    for artifact in compiled.artifacts:
        assert isinstance(artifact.data, str) and artifact.data in text
    assert stage_texts(compiled)[-1].text.splitlines()[-2] in text


def test_a_program_that_the_target_refuses_is_reported_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "mixed.html"
    assert main(["report", str(MIXED), "--backend", "910b", "-o", str(page)]) == 2
    assert "PTO-017" in capsys.readouterr().err
    text = html.unescape(page.read_text(encoding="utf-8"))
    assert "The target refuses this program" in text and "PTO-017" in text
    assert "Memory map" in text and "Timeline" in text


@pytest.mark.parametrize("command", ["run", "profile"])
def test_a_program_that_the_target_refuses_runs(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, str(MIXED), "--backend", "910b"]) == 0
    assert capsys.readouterr().out


def test_what_the_author_wrote_is_shown_and_never_run(report: Path) -> None:
    text = report.read_text(encoding="utf-8")
    assert "&lt;b&gt;&#34;quoted&#34; &amp; more&lt;/b&gt;" in text
    assert '<b>"quoted"' not in text


def test_a_section_that_fails_is_shown_as_failed() -> None:
    def fail(compiled: Any) -> str:
        raise ValueError("<no figures>")

    class Plugin:
        __name__ = "acme"

        @staticmethod
        def pypto_plugin() -> Any:
            from pypto_core.host import PluginInfo

            return PluginInfo(name="acme", requires_api=">=1,<2", summary="a section", docs="")

        @staticmethod
        def pypto_report_sections() -> tuple[ReportSection, ...]:
            return (
                ReportSection("acme", "Acme", fail),
                ReportSection("acme2", "Acme 2", lambda compiled: "| a | b |\n|---|---|\n| 1 | <x> |\n"),
            )

    from pypto_core.host import hookimpl

    for name in ("pypto_plugin", "pypto_report_sections"):
        setattr(Plugin, name, staticmethod(hookimpl(getattr(Plugin, name))))
    host = load_host(extra_plugins=[Plugin()])
    text = render_report(compile(EXAMPLES / "add.py", backend="910b", host=host))
    assert "this section could not be written: ValueError: &lt;no figures&gt;" in text
    assert "<td>&lt;x&gt;</td>" in text


def test_diffs_by_hand() -> None:
    before, after = "a\nb\nc\nd\ne\nf\ng\nh\ni\n", "a\nb\nc\nd\ne\nF\nG2\ng\nh\ni\n"
    rows = side_by_side(before, after, context=1)
    assert [(r.kind, r.left, r.right, r.left_number, r.right_number) for r in rows] == [
        ("skipped", "4 equal lines", "", None, None),
        ("same", "e", "e", 5, 5),
        ("changed", "f", "F", 6, 6),
        ("added", "", "G2", None, 7),
        ("same", "g", "g", 7, 8),
        ("skipped", "2 equal lines", "", None, None),
    ]
    assert [mark for mark, _ in unified("x\ny\n", "x\nz\n")] == [" ", "-", "+"]
    assert [row.kind for row in side_by_side("a\n", "a\n")] == ["skipped"]
    everything = side_by_side(before, after, context=None)
    assert [r.left for r in everything if r.left_number] == before.split()
    assert [r.right for r in everything if r.right_number] == after.split()


def test_steps_by_name_and_number() -> None:
    stages = stage_texts(compile(EXAMPLES / "add.py", backend="910b"))
    assert find_stage(stages, "input").number == find_stage(stages, "0").number == 0
    assert find_stage(stages, "simplify").instance.startswith("Simplify")
    assert find_stage(stages, str(len(stages) - 1)) is stages[-1]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    binary = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if binary is None:
        pytest.skip("no Chromium is installed: apt install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=binary, args=["--no-sandbox"])
        yield opened
        opened.close()


def test_it_works_in_a_browser(report: Path, browser: Any) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(report.as_uri())
    assert "Hinted" in page.title()
    details = page.locator("#stages > details")
    count = details.count()
    assert count > 10
    assert page.locator("#stages > details[open]").count() == 0
    page.click("#open-all")
    assert page.locator("#stages > details[open]").count() == count
    page.click("#close-all")
    assert page.locator("#stages > details[open]").count() == 0
    page.click("#pipeline a >> nth=3")
    assert page.locator("#stages > details[open]").count() == 1
    for link in page.locator("nav a").all():
        link.click()
        section = page.locator(f"[id='{(link.get_attribute('href') or '')[1:]}']")
        assert section.is_visible()
    assert said == []
    assert all(url.startswith(("file:", "data:")) for url in asked)
    page.close()
