"""The pages that are made from what is installed: nothing is missing, every link of theirs leads somewhere."""

from __future__ import annotations

import importlib.util
import posixpath
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pypto_core.cli.app import cli
from pypto_core.host import hookspecs, load_host

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\(([\w./-]+\.md)(?:#([\w.-]+))?\)")


@cache
def script() -> Any:
    """scripts/reference_pages.py as a module, loaded as mkdocs loads it."""
    spec = importlib.util.spec_from_file_location("reference_pages", ROOT / "scripts" / "reference_pages.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@cache
def made() -> dict[str, str]:
    return script().pages()


def headings(text: str) -> set[str]:
    return set(re.findall(r"^#+ (.+?)(?: \{ #[\w-]+ \})?$", text, re.MULTILINE))


def test_every_thing_that_is_installed_has_its_place() -> None:
    host, pages = load_host(), made()
    assert set(host.passes) <= headings(pages["reference/passes.md"])
    assert set(host.properties) <= headings(pages["reference/properties.md"])
    assert {name for name in vars(hookspecs) if name.startswith("pypto_")} <= headings(
        pages["reference/hooks.md"]
    )
    operators = pages["reference/operators.md"]
    assert [name for name in host.operators if f"| `{name}(" not in operators] == []
    assert {f"pypto {name}" for name in cli.list_commands(None)} <= headings(pages["reference/commands.md"])
    codes = "".join(text for path, text in pages.items() if path.startswith("reference/codes/"))
    for name, page in host.codes.items():
        assert codes.count(f"## {name}: ") == 1, name
        assert page.text in codes, name


def test_every_package_of_the_kernel_is_in_the_api() -> None:
    packages = {path.parent.name for path in (ROOT / "pypto_core").glob("*/__init__.py")}
    assert set(script().PACKAGES) == packages
    assert {path.removeprefix("reference/api/") for path in made() if "/api/" in path} == {
        f"{package}.md" for package in packages
    }


def test_every_page_is_in_the_navigation() -> None:
    listed = re.findall(r"^ +- (?:.+: )?([\w/.-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    written = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    assert sorted(listed) == sorted([*written, *made()])


@pytest.mark.parametrize("path", sorted(made()))
def test_links_of_the_pages_lead_somewhere(path: str) -> None:
    for target, anchor in LINK.findall(made()[path]):
        found = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        text = made().get(found)
        if text is None:
            text = (ROOT / "docs" / found).read_text(encoding="utf-8")
        if anchor:
            anchors = set(re.findall(r"\{ #([\w-]+) \}", text))
            anchors |= {re.sub(r"[^\w -]", "", h).strip().lower().replace(" ", "-") for h in headings(text)}
            assert anchor in anchors, f"{target}#{anchor}"


def test_cells_keep_to_their_row() -> None:
    assert script().cell("a | b\n  c <d>") == "a \\| b c &lt;d>"
    rows = list(script().table(("x", "y"), [("1", "2|3")]))
    assert rows == ["| x | y |", "|---|---|", "| 1 | 2\\|3 |", ""]


def test_the_pages_are_the_same_each_time() -> None:
    assert script().pages() == made()
