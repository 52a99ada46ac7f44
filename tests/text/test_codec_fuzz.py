"""The fuzzer of scripts/fuzz_codec.py, for as long as a test may take."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from pypto_core.ir import Add, ConstInt, DataType, MakeTuple, scalar_type
from pypto_core.text import dumps
from tests.text.samples import every_statement

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "fuzz_codec.py"


@pytest.fixture(scope="module")
def fuzzer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fuzz_codec", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_damaged_files_load_or_are_refused(fuzzer: ModuleType) -> None:
    files = [dumps(every_statement()), *fuzzer.seeds()[:8]]
    ends, failures = fuzzer.fuzz(files, seed=7, seconds=20, cases=500)
    assert failures == []
    # Every common way of being wrong occurs, so that the mutations are worth their time.
    assert {"loaded", "PT551", "PT552", "PT553", "PT554", "PT555", "PT556"} <= set(ends)


def test_a_case_is_told_by_its_number(fuzzer: ModuleType) -> None:
    files = [dumps(every_statement())]
    for number in range(30):
        assert fuzzer.case(files, 3, number) == fuzzer.case(files, 3, number)


@pytest.mark.parametrize("levels", [10, 17, 60])
def test_what_is_shared_over_and_over_is_bounded(fuzzer: ModuleType, levels: int) -> None:
    node = MakeTuple((Add(ConstInt(1), ConstInt(2), scalar_type(DataType.INDEX)),))
    for _ in range(levels):
        node = MakeTuple((node, node))
    # Written out it has about 2 ** levels times 5 nodes; 100,000 are always allowed.
    assert fuzzer.check(dumps(node)) == ("loaded" if levels == 10 else "PT556")
