"""Every code that an error or hint carries has a page, and every page a code that something carries."""

from __future__ import annotations

import re
from pathlib import Path

from pypto_core.host import load_host

ROOT = Path(__file__).resolve().parents[2]
CODE = re.compile(r"\"((?:PT\d{3}|SIM-\d{3}|PTO-\d{3}|PH-[A-Z]+-\d{3}))\"")
# Where the pages themselves are written.
PAGES = {"pages.py", "codes.py"}


def sources() -> list[Path]:
    folders = [ROOT / "pypto_core", *ROOT.glob("plugins/*/src")]
    return [path for folder in folders for path in sorted(folder.rglob("*.py")) if path.name not in PAGES]


def test_every_code_has_a_page() -> None:
    used: dict[str, str] = {}
    for path in sources():
        for code in CODE.findall(path.read_text(encoding="utf-8")):
            used.setdefault(code, path.relative_to(ROOT).as_posix())
    missing = {code: where for code, where in used.items() if code not in load_host().codes}
    assert len(used) > 150
    assert missing == {}


def test_every_page_says_something() -> None:
    for code, page in load_host().codes.items():
        assert page.title and len(page.text) > 40, code
