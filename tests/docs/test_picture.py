"""The picture in the manual is small, and what it is taken of is the tutorial's kernel."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pypto_core.language as pl
from pypto_core.ir import ForKind, ForStmt, walk

ROOT = Path(__file__).resolve().parents[2]


def test_the_picture_is_small_and_one() -> None:
    data = (ROOT / "docs" / "assets" / "report.png").read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n") and len(data) < 120_000


def test_the_picture_is_taken_of_the_tutorial_s_kernel() -> None:
    spec = importlib.util.spec_from_file_location("screenshot", ROOT / "scripts" / "screenshot.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    [function] = pl.parse(module.kernel())
    [loop] = [node for node in walk(function.body) if isinstance(node, ForStmt)]
    assert loop.kind is ForKind.Pipeline
