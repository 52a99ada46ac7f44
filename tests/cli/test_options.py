"""Options of passes on the command line, and what a command says when the computer is too small."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pypto_core.cli import main, parse_options

SWITCH = "enable_addressed_slots"

KERNEL = """
import pypto_core.language as pl

@pl.program
class Copy:
    @pl.function(type=pl.FunctionType.InCore)
    def copy(self, a: pl.Tensor[[{rows}, 64], pl.FP32], out: pl.Out[pl.Tensor[[128, 64], pl.FP32]]):
        for i in pl.pipeline(0, 4, 1, stage=2):
            x = pl.load(a, [i * 32, 0], [32, 64])
            out = pl.store(x, [i * 32, 0], out)
        return out
"""


def kernel(folder: Path, rows: int = 128) -> Path:
    path = folder / "copy.py"
    path.write_text(KERNEL.format(rows=rows))
    return path


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", True), ("=true", True), ("=yes", True), ("=On", True), ("=false", False), ("=no", False),
        ("=OFF", False), ("=0", 0), ("=1.5", 1.5), ("=offset", "offset"),
    ],
)  # fmt: skip
def test_words_for_on_and_off(text: str, value: Any) -> None:
    [(name, found)] = parse_options([f"some{text}"]).items()
    assert (name, found, type(found)) == ("some", value, type(value))


def test_a_switch_that_is_off_is_off(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def largest(value: str) -> int:
        assert main(["memory", str(kernel(tmp_path)), "-b", "910b", "-O", f"{SWITCH}={value}", "--json"]) == 0
        [space] = json.loads(capsys.readouterr().out)
        return max(block["bytes"] for block in space["blocks"])

    tile = 32 * 64 * 4
    assert largest("on") == 2 * tile  # a ring of two slots
    assert largest("off") == tile


def test_a_switch_takes_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", str(kernel(tmp_path)), "-b", "910b", "-O", f"{SWITCH}=banana"]) == 2
    shown = capsys.readouterr().err
    assert "PT850" in shown and "'banana'" in shown and f"{SWITCH}=true" in shown


def test_a_tensor_that_no_computer_holds_is_no_fault_of_the_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = kernel(tmp_path, rows=1 << 44)
    assert main(["compile", str(path), "-b", "910b", "-o", str(tmp_path / "out")]) == 0
    capsys.readouterr()
    assert main(["run", str(path), "-b", "910b"]) == 2
    shown = capsys.readouterr().err
    assert "PT858" in shown and "fix:" in shown
