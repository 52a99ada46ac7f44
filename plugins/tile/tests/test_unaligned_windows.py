"""ResolveBackendOpLayouts: a window begins with a block of 32 bytes for certain, or is copied out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pypto_core.ir import AssignStmt, Call, walk_stmts
from pypto_plugin_tile.op_layouts import resolve_backend_op_layouts

PARAMS = "x: pl.Tensor[[64, 64], pl.{dt}], n: pl.Scalar[pl.INDEX], y: pl.InOut[pl.Tensor[[64, 64], pl.{dt}]]"
LOAD = "t = pl.load(x, [0, 0], [64, 64])\n"


def names(program: Any) -> list[str]:
    found = [s.value for s in walk_stmts(program["main"].body) if isinstance(s, AssignStmt)]
    return [v.name.removeprefix("tile.") for v in found if isinstance(v, Call)]


def resolved(kit: Any, body: str, dtype: str = "FP32") -> list[str]:
    transform = kit.on_functions(resolve_backend_op_layouts, "910b")
    program = kit.kernel(PARAMS.format(dt=dtype), LOAD + body)
    x = np.random.default_rng(1).standard_normal((64, 64)).astype(f"float{dtype[2:]}")
    after = kit.prove(transform, program, inputs=[{"x": x, "n": n, "y": -x} for n in (3, 4)])
    assert transform(after) is after
    return names(after)


VIEWS = [
    # offset of a window of 8 rows and 16 columns, element type: columns that are a multiple of 32 bytes
    ("[n, 0]", "FP32"),
    ("[n, 8]", "FP32"),
    ("[0, 16]", "FP16"),
    ("[n, n * 8]", "FP32"),
    ("[n, (n + 1) * 8 - 16]", "FP32"),
    ("[0, pl.min(n * 16, 32)]", "FP32"),
]
COPIES = [
    ("[0, 4]", "FP32"),
    ("[n, n]", "FP32"),
    ("[0, 8]", "FP16"),
    ("[0, n * 4]", "FP32"),
    ("[0, n * 8]", "FP16"),
]


@pytest.mark.parametrize(("offset", "dtype"), VIEWS)
def test_a_window_on_a_block_is_a_view(kit: Any, offset: str, dtype: str) -> None:
    body = f"w = pl.tile.slice(t, [8, 16], {offset})\ne = pl.exp(w)\npl.store(e, [0, 0], y)"
    assert resolved(kit, body, dtype) == ["load", "slice", "exp"]


@pytest.mark.parametrize(("offset", "dtype"), COPIES)
def test_any_other_one_is_copied_out(kit: Any, offset: str, dtype: str) -> None:
    body = f"w = pl.tile.slice(t, [8, 16], {offset})\ne = pl.exp(w)\npl.store(e, [0, 0], y)"
    assert resolved(kit, body, dtype) == ["load", "extract", "exp"]


def test_what_is_valid_stays_so(kit: Any) -> None:
    body = "w = pl.tile.slice(t, [8, 16], [0, 4], [n, 16])\ne = pl.exp(w)\npl.store(e, [0, 0], y)"
    assert resolved(kit, body) == ["load", "extract", "set_validshape", "exp"]


def test_loops_count_in_blocks_or_not(kit: Any) -> None:
    body = """
for j in pl.range(0, 48, {step}):
    w = pl.tile.slice(t, [8, 16], [0, j])
    e = pl.exp(w)
    pl.store(e, [0, j], y)
"""
    assert resolved(kit, body.format(step=16)) == ["load", "slice", "exp"]
    assert resolved(kit, body.format(step=12)) == ["load", "extract", "exp"]


def test_a_window_through_which_elements_are_written_stays_one(kit: Any) -> None:
    body = "w = pl.tile.slice(t, [8, 16], [0, 4])\npl.tile.write(w, [1, 2], 7.0)\npl.store(t, [0, 0], y)"
    assert resolved(kit, body) == ["load", "slice"]
    body = "w = pl.tile.slice(t, [8, 16], [0, 4])\npl.tile.write(t, [1, 6], 7.0)\npl.store(w, [0, 0], y)"
    assert resolved(kit, body) == ["load", "slice"]
