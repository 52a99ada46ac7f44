"""The page about coverage says what the files use, and that is what it should."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def table() -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("coverage_table", ROOT / "scripts" / "coverage_table.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["coverage_table"] = module
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date(table: ModuleType) -> None:
    text = "\n".join(table.lines()) + "\n"
    assert table.PAGE.read_text(encoding="utf-8") == text, "run scripts/coverage_table.py"


def test_three_quarters_of_the_regions_can_be_written(table: ModuleType) -> None:
    """All that they need, signals between devices included."""
    used = frozenset[str]().union(*table.files().values())
    first, second, third, *_ = table.GROUPS
    missing = {f for group in (first, second, third) for f in table.wanted(group)} - used
    assert not missing


def test_nineteen_twentieths_of_the_regions_can_be_written(table: ModuleType) -> None:
    used = frozenset[str]().union(*table.files().values())
    groups = list(table.GROUPS)
    until = groups.index("nineteen twentieths of the regions") + 1
    assert not {f for group in groups[:until] for f in table.wanted(group)} - used


SOURCE = """
import pypto_core.language as pl

N = pl.dynamic("N")
A, B = 4, [1, 2]

@pl.program
class P:
    @pl.function(type=pl.FunctionType.Orchestration)
    def f(self, x: pl.Tensor[[N, 8], pl.BF16], n: pl.Scalar[pl.INDEX], out: pl.Out[pl.Tensor[[8], pl.FP32]]):
        for i in pl.range(0, n, A):
            with pl.at(level=pl.Level.CORE_GROUP, deps=[t]) as tid:
                out[:] = pl.cast(x[i, 2:], pl.FP32, mode="rint")
        if A > 3:
            pl.write(out, [0], B[0])
        return out, n
"""
WANTED = """loop range; range with run-time bound; scope at; at(deps=); at as a task; cast; cast(mode=rint); dtype BF16;
dtype FP32; dtype INDEX; dynamic dim; rank 1; rank 2; pl.Out; read slice/2; read open-ended; write slice/1;
write full-colon; if at compile time; expression Gt; write; call as a statement; read const-index/1; returned tuple;
module constant; function in a program class; function(type=Orchestration)"""
ABSENT = "loop spmd; if at run time; add; expression Lt; read slice/3; dtype FP16; kernel made in a factory"


def test_what_is_found_in_a_file(table: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(SOURCE, encoding="utf-8")
    found = table.features_of(path)
    assert {" ".join(f.split()) for f in WANTED.split(";")} <= found
    assert not {f.strip() for f in ABSENT.split(";")} & found
