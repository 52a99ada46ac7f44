"""Takes docs/assets/report.png again: a report on the kernel of the first tutorial, in a headless browser.

Usage: screenshot.py [FILE.png]. Needs playwright and a Chromium of the system, as the tests of reports do.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from pypto_core.cli import main

ROOT = Path(__file__).resolve().parents[1]
TUTORIAL = ROOT / "docs" / "tutorial" / "first-kernel.md"
PICTURE = ROOT / "docs" / "assets" / "report.png"
SHOWN = "LowerPipelineLoops"
MOST_BYTES = 120_000


def kernel() -> str:
    """The tutorial's kernel, with its loop pipelined as the tutorial does it."""
    found = re.search(
        r"```python title=\"kernel.py\"\n(.*?)```", TUTORIAL.read_text(encoding="utf-8"), re.DOTALL
    )
    if found is None:
        raise SystemExit(f"{TUTORIAL} has no block kernel.py")
    return found[1].replace("pl.range(0, ROWS, BLOCK)", "pl.pipeline(0, ROWS, BLOCK, stage=2)")


def take(picture: Path) -> None:
    """Writes the picture; SystemExit when there is no browser, no report, or the picture is too large."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("no Chromium is installed")
    with tempfile.TemporaryDirectory() as folder:
        source, report = Path(folder, "pipelined.py"), Path(folder, "report.html")
        source.write_text(kernel(), encoding="utf-8")
        if main(["report", str(source), "--backend", "910b", "--output", str(report)]) != 0:
            raise SystemExit("the kernel has no report")
        with sync_playwright() as play:
            # The browser's sandbox is not to be had in containers, and the page is our own.
            opened = play.chromium.launch(executable_path=browser, args=["--no-sandbox"])
            page = opened.new_page(viewport={"width": 900, "height": 500})
            page.goto(report.as_uri() + "#stages")
            step = page.locator("#stages details", has_text=SHOWN).first
            if step.get_attribute("open") is None:
                step.locator("summary").first.click()
            step.scroll_into_view_if_needed()
            picture.parent.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=picture)
    size = picture.stat().st_size
    if size > MOST_BYTES:
        raise SystemExit(f"the picture has {size} bytes, more than {MOST_BYTES}")


if __name__ == "__main__":
    take(Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE)
