"""A kernel to put wrong statements into."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import pypto_core.language as pl
from pypto_core.diagnostics import DiagnosticError

HEAD = """import pypto_core.language as pl
LIST = [1, 2]
buf = pl.MemRef()
ring = pl.MemRef(slots=2)
M = pl.dynamic("M")
import numpy as np
@pl.function(type=pl.FunctionType.InCore)
def kern(a: pl.Tensor[[64, 64], pl.FP32], out: pl.Out[pl.Tensor[[64, 64], pl.FP32]], n: pl.Scalar[pl.INDEX],
         f: pl.Scalar[pl.FP32], flag: pl.Scalar[pl.BOOL]):
    t = pl.load(a, [0, 0], [64, 64])
    h = pl.cast(t, pl.FP16)
"""
BODY_LINE = HEAD.count("\n") + 1
"""Line of a body's first line in the text."""


@pytest.fixture
def refused() -> Callable[[str, str, int, int], None]:
    """Checks that a body is refused with a message holding ``fragment``, at a line and column of the body."""

    def check(body: str, fragment: str, line: int, column: int) -> None:
        text = HEAD + "".join(f"    {part}\n" for part in body.splitlines())
        with pytest.raises(DiagnosticError) as caught:
            pl.parse(text, "kern.py")
        error = caught.value
        assert fragment in error.message
        span = error.span
        assert (span.filename, span.begin_line - BODY_LINE + 1, span.begin_column) == (
            "kern.py",
            line,
            column,
        )
        rendered = error.render()
        assert body.splitlines()[line - 1] in rendered
        assert "^" in rendered

    return check
