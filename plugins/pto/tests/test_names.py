"""Names that are no names in the text, and texts that do not depend on the order of sets."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pypto_core.language as pl
from pypto_core.run import compile
from pypto_plugin_pto.checker import check_text
from pypto_plugin_pto.text import Names, quoted, symbol

LONG = "x" * 500
ODD = f"""
import pypto_core.language as pl
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def größer(self, α: pl.Tensor[[32, 64], pl.FP32], β: pl.Scalar[pl.FP32], out: pl.Out[pl.Tensor[[32, 64], pl.FP32]]):
        λ = pl.load(α, [0, 0], [32, 64])
        μ = pl.exp(λ)
        _ = pl.exp(μ)
        {LONG} = pl.exp(μ)
        c0_index = pl.add({LONG}, _)
        arg0 = pl.tile.adds(c0_index, β)
        cst = pl.tile.adds(arg0, 1.5)
        __pypto_spmd_block_idx = pl.exp(cst)
        match = pl.exp(__pypto_spmd_block_idx)
        out = pl.store(match, [pl.tile.get_block_idx(), 0], out)
        return out
"""


@pytest.mark.parametrize("planner", ["pypto", "ptoas"])
def test_odd_names_become_names_of_the_text(planner: str) -> None:
    [artifact] = compile(
        pl.parse(ODD, 'a "b"\n\\c.py'), backend="910b", planner=planner, goal="pto", enable_buffer_ir=False
    ).artifacts
    text = str(artifact.data)
    report = check_text(text)
    assert report.findings == (), report.findings
    assert "func.func @gr_u00f6_u00dfer(" in text
    defined = re.findall(r"^\s+(%\S+) = ", text, re.M)
    assert len(defined) == len(set(defined))
    # Only what the grammar calls a name; places keep the name of the file.
    assert all(re.fullmatch(r"%[A-Za-z0-9_.$]+", name) for name in defined)
    assert f"%{LONG} = " in text
    assert r'loc("a \22b\22\0A\5Cc.py":8:' in text
    assert text.isascii() and len(text.splitlines()) == len(text.split("\n")) - 1


def test_names_are_unique_and_begin_with_no_digit() -> None:
    names = Names()
    hints = ["x", "x", "x_1", "x", "1x", "", "é", "ü", "a-b", "a b", "%0"]
    made = [names.named(h) for h in hints]
    assert made == ["%x", "%x_1", "%x_1_1", "%x_2", "%_1x", "%_", "%__1", "%__2", "%a_b", "%a_b_1", "%_0"]
    assert names.temporary() == "%0"


def test_strings_and_symbols_are_written_with_codes() -> None:
    assert quoted('a"b\\c\n\x00é') == '"a\\22b\\5Cc\\0A\\00é"'
    assert symbol("kernel_1") == "@kernel_1" and symbol("größe") == "@gr_u00f6_u00dfe"


def test_two_functions_of_one_name_are_refused() -> None:
    one = "  func.func @k() {\n    return\n  }\n"
    assert check_text("module {\n" + one + one.replace("@k", "@l") + "}\n").ok
    [error] = check_text("module {\n" + one + one + "}\n").errors
    assert error.code == "PTO-109" and "'@k' is defined twice" in error.message
    assert error.span.begin_line == 5


SCRIPT = """
import sys
import pypto_core.language as pl
from pypto_core.run import compile
for path in sys.argv[1:]:
    for artifact in compile(path, backend="910b", planner="ptoas", goal="pto").artifacts:
        sys.stdout.write(artifact.name + artifact.data)
"""
KERNELS = Path(__file__).parents[3] / "examples" / "kernels"
EXAMPLES = [KERNELS / f"{name}.py" for name in ("matmul_acc", "softmax")]


def test_the_same_bytes_whatever_the_hash_seed(tmp_path: Path) -> None:
    odd = tmp_path / "odd.py"
    odd.write_text(ODD, encoding="utf-8")
    command = [sys.executable, "-c", SCRIPT, *[str(p) for p in EXAMPLES], str(odd)]

    def run(seed: int) -> bytes:
        env = {**os.environ, "PYTHONHASHSEED": str(seed)}
        return subprocess.run(command, env=env, check=True, capture_output=True, timeout=120).stdout

    texts = [run(seed) for seed in (0, 1, 2)]
    assert texts[0].count(b"module attributes") == len(EXAMPLES) + 1
    assert texts[0] == texts[1] == texts[2]
