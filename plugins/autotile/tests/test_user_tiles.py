"""Every matmul tile that published kernels contain compiles and is right, on both machines."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

from pypto_core.testing import random_inputs

MAT = "target_memory=pl.Mem.Mat"


@attrs.frozen
class Row:
    M: int
    N: int
    K: int
    dtype: str
    b_trans: bool

    @property
    def name(self) -> str:
        return f"{self.M}x{self.N}x{self.K}-{self.dtype}{'-T' if self.b_trans else ''}"


def rows() -> list[Row]:
    path = Path(__file__).parent / "data" / "user_matmul_tiles.csv"
    with path.open(encoding="utf-8") as file:
        return [
            Row(int(r["M"]), int(r["N"]), int(r["K"]), r["dtype"], r["b_trans"] == "true")
            for r in csv.DictReader(file)
        ]


ROWS = rows()
# Which planner's result is run: between them both kinds of schedules are.
SIMULATED = {"910b": "pypto", "a5": "dsa_rp"}


def kernel(kit: Any, row: Row) -> Any:
    if not row.b_trans:
        return kit.plain(row.M, row.N, row.K, row.dtype)
    out = f"pl.Tensor[[{row.M}, {row.N}], pl.{kit.result(row.dtype)}]"
    params = (f"a: pl.Tensor[[{row.M}, {row.K}], pl.{row.dtype}]", f"b: pl.Tensor[[{row.N}, {row.K}], pl.{row.dtype}]",
              f"out: pl.Out[{out}]")  # fmt: skip
    return kit.program(params, out, f"""
lhs = pl.load(a, [0, 0], [{row.M}, {row.K}], {MAT})
stored = pl.load(b, [0, 0], [{row.N}, {row.K}], {MAT})
rhs = pl.tile.transpose_view(stored)
c = pl.matmul(lhs, rhs)
res = pl.store(c, [0, 0], out)
return res
""")  # fmt: skip


def test_the_list_is_there() -> None:
    assert len(ROWS) == 65
    assert {row.dtype for row in ROWS} == {"BF16", "FP32", "INT8"}
    assert max(row.M for row in ROWS) == 512 and max(row.K for row in ROWS) == 2048


@pytest.mark.parametrize("backend", ["910b", "a5"])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_each_row(kit: Any, row: Row, backend: str) -> None:
    program = kernel(kit, row)
    for planner in ("pypto", "dsa_rp", "ptoas"):
        tiled = kit.tile(program, backend, planner)
        assert tiled.hints == ()
        if SIMULATED[backend] == planner:
            kit.same(tiled)


@pytest.mark.parametrize("backend", ["910b", "a5"])
def test_products_are_those_of_numpy(kit: Any, backend: str) -> None:
    """A few rows against numpy itself, integers exactly and floats as sums of K products can differ."""
    engine = kit.host.engine("values").load()
    rng = np.random.default_rng(7)
    for row in ROWS[:10]:
        tiled = kit.tile(kernel(kit, row), backend)
        inputs = random_inputs(tiled.main, int(rng.integers(1 << 30)))
        result = engine(tiled.after, inputs, None, host=kit.host).outputs["out"]
        a, b = (inputs[name].astype(np.float64) for name in "ab")
        want = a @ (b.T if row.b_trans else b)
        if row.dtype == "INT8":
            assert np.array_equal(np.asarray(result), want.astype(np.int32))
        else:
            bound = row.K * 2.0**-23 * (np.abs(a) @ np.abs(b.T if row.b_trans else b))
            assert np.all(np.abs(np.asarray(result, np.float64) - want) <= bound)
