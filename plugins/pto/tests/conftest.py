"""Compiles kernels written as text to PTO text, with the planner and machine of the test's choice."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

import pypto_core.language as pl
from pypto_core.run import compile
from pypto_plugin_pto.checker import check_text

# The texts that several files test with stand beside them.
sys.path.insert(0, str(Path(__file__).parent))

HEAD = """
import pypto_core.language as pl
M = pl.dynamic("M")
N = pl.dynamic("N")
@pl.program
class P:
    @pl.function(type=pl.FunctionType.{kind})
    def k(self, {params}):
"""


def kernel_source(params: str, body: str, kind: str = "InCore") -> str:
    """The text of a program with one kernel ``k``."""
    inner = textwrap.indent(textwrap.dedent(body).strip("\n"), " " * 8)
    return HEAD.format(params=params, kind=kind) + inner + "\n"


def compiled_text(
    params: str,
    body: str,
    *,
    backend: str = "910b",
    planner: str = "pypto",
    check: bool = True,
    kind: str = "InCore",
    **options: object,
) -> str:
    """The module of the kernel, written from tiles; it has to pass the checker."""
    options.setdefault("emit_source_loc", False)
    options.setdefault("enable_buffer_ir", False)
    program = pl.parse(kernel_source(params, body, kind))
    compiled = compile(program, backend=backend, planner=planner, goal="pto", **options)
    [artifact] = compiled.artifacts
    assert artifact.name == "k.pto"
    text = str(artifact.data)
    if check:
        report = check_text(text, "k.pto")
        assert report.ok, "\n".join(f"{d.span}: {d.message}" for d in report.errors) + "\n" + text
        assert report.level == (2 if planner == "ptoas" else 3)
    return text


@pytest.fixture(scope="session")
def write() -> Callable[..., str]:
    """``write(params, body, backend=, planner=, **options)``: the text of kernel ``k``."""
    return compiled_text


@pytest.fixture(scope="session")
def body_of() -> Callable[[str], list[str]]:
    """The lines of a function without constants and views, tile types cut down to their memory and shape."""
    import re

    def cut(text: str) -> list[str]:
        lines = [line.strip() for line in text.splitlines()]
        kept = [x for x in lines if "arith.constant" not in x and "make_tensor_view" not in x]
        tile = r"!pto\.tile_buf<loc=(\w+), dtype=(\w+), rows=(\d+), cols=(\d+), [^>]*>"
        return [re.sub(tile, r"\1[\3x\4x\2]", x) for x in kept]

    return cut
