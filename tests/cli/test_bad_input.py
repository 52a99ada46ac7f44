"""Every mistake of a user is one error with its place, a caret and a way out; exit code 2 and no traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pypto_core.cli import main

TEMPLATE = """import pypto_core.language as pl

@pl.program
class Bad:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: pl.Tensor[[64, 64], pl.FP32], b: pl.Tensor[[64, 64], pl.FP16],
          out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
        x = pl.load(a, [0, 0], [64, 64])
        {body}
        return pl.store(y, [0, 0], out)
"""

MAT = "target_memory=pl.Mem.Mat"

CASES = {
    "shape mismatch": (
        f"y = pl.matmul(pl.load(a, [0, 0], [64, 32], {MAT}), pl.load(a, [0, 0], [64, 64], {MAT}))",
        ["K of lhs is 32, K of rhs is 64"],
        13,
    ),
    "undefined name": ("y = pl.add(x, zz)", ["'zz' is not defined"], 23),
    "tile op on a tensor": ("y = pl.tile.add(a, x)", ["must be a tile", "pl.load(tensor"], 25),
    "wrong dtype": (
        f"y = pl.tile.matmul(pl.load(a, [0, 0], [64, 64], {MAT}), pl.load(b, [0, 0], [64, 64], {MAT}))",
        ["fp32", "fp16", "pl.cast"],
        13,
    ),
    "unknown kwarg": ("y = pl.load(a, [0, 0], [64, 64], target_mem=pl.Mem.Mat)", ["'target_memory'"], 42),
    "unknown operation": ("y = pl.tile.ad(x, x)", ["tile.add"], 13),
    "operator on tiles": ("y = x + x", ["pl.add(a, b)"], 13),
    "plain range": ("for i in range(3):\n            y = x", ["pl.range"], 18),
    "out of bounds": ("y = pl.load(a, [32, 0], [64, 64], valid_shape=[64, 64])", ["64"], 13),
}


def run(capsys: pytest.CaptureFixture[str], path: Path, *more: str) -> str:
    code = main(["compile", str(path), "-b", "910b", "-g", "AllocatedMemoryAddr", *more])
    assert code == 2
    captured = capsys.readouterr()
    assert "Traceback" not in captured.out + captured.err
    return captured.out if "--json" in more else captured.err


@pytest.mark.parametrize("name", CASES)
def test_one_error_with_caret_and_remedy(capsys, tmp_path, name):
    body, words, column = CASES[name]
    path = tmp_path / "bad.py"
    path.write_text(TEMPLATE.format(body=body))
    shown = run(capsys, path)
    assert shown.count("error[") == 1
    for word in words:
        assert word in shown
    assert f"{path}:9:{column}" in shown
    lines = shown.splitlines()
    source = next(i for i, line in enumerate(lines) if line.lstrip().startswith("9 | "))
    assert lines[source + 1].index("^") - lines[source].index("| ") - 2 == column - 1
    assert "  fix: " in shown
    [error] = json.loads(run(capsys, path, "--json"))["errors"]
    assert (error["line"], error["column"]) == (9, column)
    assert error["remedy"]


@pytest.mark.parametrize(
    ("body", "code", "place"),
    [
        (
            "for i, (c,) in pl.range(4, init_values=(x,)):\n            y = pl.yield_(i)",
            "PT421",
            "10:17",
        ),
    ],
)
def test_what_only_a_verifier_finds_is_one_error_too(capsys, tmp_path, body, code, place):
    path = tmp_path / "bad.py"
    path.write_text(TEMPLATE.format(body=body))
    shown = run(capsys, path)
    assert shown.startswith(f"error[{code}]") and shown.count("error[") == 1
    assert f"{path}:{place}" in shown and "^" in shown and "  fix: " in shown


def test_a_tile_that_fits_no_memory_says_how_much_is_missing(capsys, tmp_path):
    path = tmp_path / "bad.py"
    path.write_text(
        TEMPLATE.format(
            body="q = pl.create_tile([512, 512], pl.FP32)\n        y = pl.exp(x)\n        z = pl.exp(q)"
        )
    )
    shown = run(capsys, path)
    assert "188416" in shown  # available
    assert "1048576" in shown  # bytes of q alone
    assert "fix: " in shown


def test_a_file_that_is_no_program(capsys, tmp_path):
    path = tmp_path / "empty.py"
    path.write_text("x = 1\n")
    assert "error[" in run(capsys, path)


def test_code_in_a_file_is_never_executed(capsys, tmp_path):
    marker = tmp_path / "executed"
    path = tmp_path / "evil.py"
    path.write_text(f"open({str(marker)!r}, 'w').close()\n" + TEMPLATE.format(body="y = pl.exp(x)"))
    main(["compile", str(path), "-b", "910b", "-g", "AllocatedMemoryAddr"])
    capsys.readouterr()
    assert not marker.exists()
