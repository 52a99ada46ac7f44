"""The manual says what happens: its Python and its commands are executed, and what it shows of their output appears.

A page is one session in an empty folder. A block with a title is a file; other Python blocks share their names from
block to block. Shell blocks are lines of ``pypto``, ``pytest``, ``python``, ``sed``, ``cd`` and
``pip install -e FOLDER``. A ``text`` block after one of them shows lines of its output, in order; ``...`` stands for
whatever is in between. A comment ``<!-- not run: reason -->`` excuses the block that follows it.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import attrs
import pytest

from pypto_core.cli.app import run

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [
        path
        for part in ("tutorial", "how-to", "explanation", "reference")
        for path in (ROOT / "docs" / part).glob("*.md")
    ]
    + [ROOT / "README.md", ROOT / "docs" / "index.md"]
)
FENCE = re.compile(r"^```(\w*)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
EXCUSE = re.compile(r"<!-- not run: (.+?) -->\s*\Z")
# Executed elsewhere: tests/repo/test_third_party.py runs the first block of this page in an empty environment.
ELSEWHERE = {"first-backend.md": 1}


@attrs.frozen
class Block:
    """A fenced block: its language, the file that it is, if any, its text, and why it is not executed."""

    language: str
    title: str
    text: str
    excuse: str


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found: list[Block] = []
    for match in FENCE.finditer(text):
        excuse = EXCUSE.search(text, 0, match.start())
        found.append(Block(match[1], match[2] or "", match[3], excuse[1] if excuse else ""))
    return found


@attrs.define
class Session:
    """What a page has done so far."""

    folder: Path
    monkeypatch: pytest.MonkeyPatch
    names: dict[str, Any] = attrs.field(factory=dict)
    output: str = ""
    count: int = 0

    def take(self, block: Block) -> None:
        if block.title:
            path = Path(block.title)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            self.output = self.python(block.text)
        elif block.language == "sh":
            self.output = "".join(self.command(line) for line in joined(block.text))
        elif block.language == "text":
            assert shown_in(block.text, self.output), f"{block.text}\nis not in\n\n{self.output}"

    def python(self, text: str) -> str:
        self.count += 1
        path = self.folder / f"block_{self.count}.py"
        path.write_text(text, encoding="utf-8")
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            self.names |= runpy.run_path(str(path), init_globals=dict(self.names))
        return said.getvalue()

    def command(self, line: str) -> str:
        words = shlex.split(line, comments=True)
        if not words:
            return ""
        said, code = io.StringIO(), 0
        match words:
            case ["pypto", *arguments]:
                with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                    code = run(arguments)
            case ["cd", folder]:
                os.chdir(folder)
            case ["pip", "install", "-e", folder]:
                self.install(Path(folder.partition("[")[0]))
            case ["python" | "pytest" as program, *arguments]:
                tool = ["-m", "pytest", "-q", "-p", "no:cacheprovider"] if program == "pytest" else []
                command = [sys.executable, *tool, *arguments]
                env = {**os.environ, "PYTHONPATH": os.pathsep.join([p for p in sys.path if p])}
                done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
                said.write(done.stdout + done.stderr)
                code = done.returncode
            case [setting, "pypto", *_] if setting.startswith("PYPTO_"):
                name, _, value = setting.partition("=")
                with pytest.MonkeyPatch.context() as patch:
                    patch.setenv(name, value)
                    return self.command(line.partition(" ")[2])
            case ["sed", *_]:
                subprocess.run(["bash", "-c", line], check=True)
            case _:
                raise AssertionError(f"the manual's test does not know the command: {line}")
        wanted = re.search(r"#.*exit code (\d+)", line)
        assert code == int(wanted[1] if wanted else 0), f"{line}\n{said.getvalue()}"
        return said.getvalue()

    def install(self, project: Path) -> None:
        """What an editable installation comes to: its sources on the path, and what it says of itself beside them."""
        said = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        site = self.folder / ".site"
        info = site / f"{said['name'].replace('-', '_')}-{said['version']}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {said['name']}\nVersion: {said['version']}\n"
        )
        groups = [
            f"[{group}]\n" + "".join(f"{name} = {where}\n" for name, where in rows.items())
            for group, rows in said["entry-points"].items()
        ]
        (info / "entry_points.txt").write_text("\n".join(groups))
        for path in (site, (project / "src").resolve()):
            self.monkeypatch.syspath_prepend(str(path))


def joined(text: str) -> list[str]:
    """The lines, those that end in a backslash with the next."""
    return text.replace("\\\n", " ").splitlines()


def shown_in(shown: str, output: str) -> bool:
    """Whether the lines stand in the output in this order; spaces aside, and with anything for ``...``."""
    left = iter([" ".join(line.split()) for line in output.splitlines()])
    wanted = [" ".join(line.split()) for line in shown.splitlines()]
    patterns = [re.escape(line).replace(r"\.\.\.", ".*") for line in wanted if line not in ("", "...")]
    return all(any(re.fullmatch(pattern, line) for line in left) for pattern in patterns)


def test_what_a_page_shows_is_looked_for_line_by_line() -> None:
    output = "one  two\nthree\n\nfour\n"
    assert shown_in("one two\n...\nfour", output)
    assert shown_in("... two\nth...", output)
    assert not shown_in("three\none two", output)
    assert not shown_in("one", output)


def sessions() -> list[Any]:
    """The pages with blocks; those that run a suite of tests are slow."""
    found = [page for page in PAGES if blocks(page)]
    slow = [any(re.search(r"^pytest", b.text, re.MULTILINE) for b in blocks(page)) for page in found]
    marks = [[pytest.mark.slow] if long else [] for long in slow]
    names = [page.relative_to(ROOT).as_posix() for page in found]
    return [pytest.param(page, id=name, marks=m) for page, name, m in zip(found, names, marks, strict=True)]


@pytest.mark.parametrize("page", sessions())
def test_a_page_does_what_it_says(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "110")
    monkeypatch.setenv("PYPTO_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("PYPTO_PLUGINS", "PYPTO_VERIFY_LEVEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    session = Session(tmp_path, monkeypatch)
    done = 0
    for number, block in enumerate(blocks(page)):
        if block.excuse or number < ELSEWHERE.get(page.name, 0):
            continue
        if block.language:
            session.take(block)
            done += block.language in ("python", "sh")
    languages = {block.language for block in blocks(page) if not block.excuse}
    assert done or not languages & {"python", "sh"} or page.name in ELSEWHERE


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_block_escapes_by_having_no_language(page: Path) -> None:
    """Commands and Python in a block that says neither would never be executed."""
    for block in blocks(page):
        if not block.language and not block.excuse:
            assert not re.search(r"^(pypto|pip|python|import|from|@pl)\b", block.text, re.MULTILINE), (
                block.text
            )
