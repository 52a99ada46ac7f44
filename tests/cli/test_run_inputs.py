"""Arrays that come to a run from files: formats that numpy has no name for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pypto_core.cli import main

KERNEL = """
import pypto_core.language as pl

@pl.program
class Copy:
    @pl.function(type=pl.FunctionType.InCore)
    def copy(self, a: pl.Tensor[[16, 32], pl.{dtype}], out: pl.Out[pl.Tensor[[16, 32], pl.{dtype}]]):
        x = pl.load(a, [0, 0], [16, 32])
        return pl.store(x, [0, 0], out)
"""


def files(folder: Path, dtype: str, array: Any) -> list[str]:
    path, inputs = folder / "copy.py", folder / "in.npz"
    path.write_text(KERNEL.format(dtype=dtype))
    np.savez(inputs, a=array)
    return ["run", str(path), "-b", "a5", "--engine", "bytes", "--inputs", str(inputs)]


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [("BF16", ml_dtypes.bfloat16), ("FP8E4M3FN", ml_dtypes.float8_e4m3fn), ("FP16", np.float16)],
)
def test_what_is_saved_is_what_was_given(
    tmp_path: Path, dtype: str, kind: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    given = np.random.default_rng(3).standard_normal((16, 32)).astype(kind)
    golden, saved = tmp_path / "golden.py", tmp_path / "out.npz"
    golden.write_text("def golden(a):\n    return {'out': a.astype('float32')}\n")
    command = files(tmp_path, dtype, given)
    assert main([*command, "--golden", str(golden), "--save", str(saved)]) == 0, capsys.readouterr().err
    with np.load(saved) as archive:
        np.testing.assert_array_equal(archive["out"].view(kind), given)
    # and may be given again
    with np.load(saved) as archive:
        assert main(files(tmp_path, dtype, archive["out"])) == 0


@pytest.mark.parametrize(
    "wrong",
    [np.zeros((16, 32), "V4"), np.zeros((16, 32), [("x", "i1"), ("y", "i1")]), np.zeros((16, 32), "i2")],
)
def test_other_bytes_are_not_taken_for_numbers(
    tmp_path: Path, wrong: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(files(tmp_path, "BF16", wrong)) == 2
    assert "SIM-003" in capsys.readouterr().err


PICK = """
import pypto_core.language as pl

@pl.program
class Pick:
    @pl.function(type=pl.FunctionType.InCore)
    def pick(self, at: pl.Tensor[[1, 1], pl.INT32], a: pl.Tensor[[16, 32], pl.FP32],
             out: pl.Out[pl.Tensor[[1, 32], pl.FP32]]):
        row = pl.cast(pl.read(at, [0, 0]), pl.INDEX)
        x = pl.load(a, [row * 1000 + 1000, 0], [1, 32])
        return pl.store(x, [0, 0], out)
"""


def test_an_error_says_that_nobody_gave_the_inputs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, given = tmp_path / "pick.py", tmp_path / "in.npz"
    path.write_text(PICK)
    np.savez(given, at=np.full((1, 1), 7, np.int32), a=np.zeros((16, 32), np.float32))
    command = ["run", str(path), "-b", "a5", "--seed", "3"]
    assert main(command) == 2
    assert (
        "drawn at random (--seed 3): --inputs, or inputs(rng) of --golden, give your own"
        in capsys.readouterr().err
    )
    assert main([*command, "--inputs", str(given)]) == 2
    assert "drawn at random" not in capsys.readouterr().err
