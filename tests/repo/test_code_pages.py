"""Every code that an error or hint carries has a page, and every page a code that something carries."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import pypto_core.language as pl
from pypto_core.contract import CodePage
from pypto_core.diagnostics import DiagnosticError
from pypto_core.host import load_host
from pypto_core.verify import PROPERTY_ORDER, property_code

ROOT = Path(__file__).resolve().parents[2]
CODE = re.compile(r"\"((?:PT\d{3}|SIM-\d{3}|PTO-\d{3}|PH-[A-Z]+-\d{3}|PH\d{3}))\"")
# Where the pages themselves are written.
PAGES = re.compile(r"pages(_\w+)?\.py|codes\.py")
EXAMPLE = re.compile(r"```python\n(.*?)```", re.DOTALL)


def sources() -> list[Path]:
    folders = [ROOT / "pypto_core", *ROOT.glob("plugins/*/src")]
    return [
        path for folder in folders for path in sorted(folder.rglob("*.py")) if not PAGES.fullmatch(path.name)
    ]


def used_codes() -> dict[str, str]:
    """Each code that the sources write out, with the file that does."""
    used: dict[str, str] = {}
    for path in sources():
        for code in CODE.findall(path.read_text(encoding="utf-8")):
            used.setdefault(code, path.relative_to(ROOT).as_posix())
    return used


def mistakes() -> list[CodePage]:
    """The pages of the language and the operators that show the mistake they are about."""
    pages = load_host().codes.values()
    return [page for page in pages if re.fullmatch(r"PT[12]\d\d", page.code) and EXAMPLE.search(page.text)]


def test_every_code_has_a_page() -> None:
    used = used_codes()
    missing = {code: where for code, where in used.items() if code not in load_host().codes}
    assert len(used) > 150
    assert missing == {}


def test_every_property_of_the_kernel_has_a_page() -> None:
    """Their codes are counted from the order of the properties and stand nowhere in the sources."""
    missing = [name for name in PROPERTY_ORDER if property_code(name) not in load_host().codes]
    assert missing == []


def test_every_page_is_of_a_code_that_something_carries() -> None:
    carried = {*used_codes(), *map(property_code, PROPERTY_ORDER)}
    assert sorted(set(load_host().codes) - carried) == []


def test_every_page_says_something() -> None:
    for code, page in load_host().codes.items():
        assert page.title and len(page.text) > 40, code


@pytest.mark.parametrize("page", mistakes(), ids=lambda page: page.code)
def test_a_page_shows_the_mistake_that_it_is_about(page: CodePage) -> None:
    found = EXAMPLE.search(page.text)
    assert found is not None
    example = found.group(1)
    if "@pl." in example or page.code == "PT114":
        with pytest.raises(DiagnosticError) as caught:
            pl.parse("import pypto_core.language as pl\n\n\n" + example)
    else:
        with pytest.raises(DiagnosticError) as caught:
            _as_python(example)
    assert [d.code for d in caught.value.diagnostics] == [page.code]


def _as_python(text: str) -> None:
    """Execute an example that Python itself stumbles over, at the top level of a module."""
    exec(compile(text, "<example>", "exec"), {"pl": pl})
