"""Code in documents: blocks of Python found between the lines of plain text."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import attrs

_WORD = re.compile(r"\bpl\.|\bpypto\b|\bpasses\.")
_ELLIPSIS_PARAMETER = re.compile(r"\(self, \.\.\.\)")


@attrs.frozen
class Snippet:
    """Lines of a document that are Python; ``line`` is the first one's number."""

    document: str
    line: int
    text: str

    @property
    def is_api(self) -> bool:
        """Whether it calls the compiler rather than being a kernel."""
        return "import" in self.text and "pypto" in self.text

    @property
    def is_program(self) -> bool:
        """Whether it is a class that stands by itself."""
        return "@pl.program" in self.text

    def __str__(self) -> str:
        return f"{self.document}:{self.line}"


def readable(text: str) -> bool:
    """Whether Python can parse the lines, an ellipsis among the parameters aside."""
    try:
        ast.parse(_ELLIPSIS_PARAMETER.sub("(self)", textwrap.dedent(text)))
    except SyntaxError:
        return False
    return True


def _blocks(lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Runs of lines that are Python together and speak of the compiler; as long as possible, from the top."""
    at = 0
    while at < len(lines):
        block: list[str] = []
        for end in range(at + 1, min(len(lines), at + 40) + 1):
            piece = lines[at:end]
            if piece[-1].strip() and readable("\n".join(piece)):
                block = piece
            elif not piece[-1].strip() and not any(piece[i].strip() for i in range(-min(2, len(piece)), 0)):
                break  # two empty lines end a block
        if block and lines[at].strip() and _WORD.search("\n".join(block)) and not _prose(block):
            yield at + 1, block
            at += len(block)
        else:
            at += 1


def _prose(block: list[str]) -> bool:
    """Whether the lines only look like Python: single names and tuples of words."""
    tree = ast.parse(_ELLIPSIS_PARAMETER.sub("(self)", textwrap.dedent("\n".join(block))))
    return all(isinstance(node, ast.Expr) and not isinstance(node.value, ast.Call) for node in tree.body)


def _trimmed(lines: list[str]) -> list[str]:
    """The lines without headings of the document that follow the code."""
    while lines and (not lines[-1].strip() or lines[-1].strip().isidentifier()):
        lines = lines[:-1]
    return lines


def _parts(line: int, block: list[str]) -> Iterator[Snippet]:
    """A block as it stands when it calls the compiler; kernels are apart where an empty line is between them."""
    whole = Snippet("", line, textwrap.dedent("\n".join(block)))
    if whole.is_api or whole.is_program:
        yield whole
        return
    start = 0
    for at in [*(i for i, text in enumerate(block) if not text.strip()), len(block)]:
        piece = block[start:at]
        if piece and readable("\n".join(piece)):
            yield Snippet("", line + start, textwrap.dedent("\n".join(piece)))
            start = at + 1


def snippets(folder: Path) -> list[Snippet]:
    """All of a folder's documents, in order."""
    found: list[Snippet] = []
    for path in sorted(folder.glob("*.txt")):
        for line, block in _blocks(path.read_text(encoding="utf-8").splitlines()):
            found += [attrs.evolve(part, document=path.stem) for part in _parts(line, _trimmed(block))]
    return found
