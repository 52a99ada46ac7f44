"""Kernel files under ``@pl.jit`` are read as text like any other, where their annotations say all."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

import pypto_core.language as pl
from pypto_core.cli import main
from pypto_core.diagnostics import UserError
from pypto_core.ir import Program, assert_structural_equal
from pypto_core.run import compile

KERNEL = """import pypto_core.language as pl

ROWS = pl.dynamic("ROWS")
TILE = 16


@pl.jit.inline
def doubled(t, times: int = 1):
    for i in pl.range(times):
        t = pl.add(t, t)
    return t


@pl.jit.incore(attrs={"note": 1}, config=None)
def block(x: pl.Tensor, out: pl.Out[pl.Tensor], at: pl.Scalar[pl.INDEX]):
    t = pl.load(x, [at, 0], [TILE, x.shape[1]])
    return pl.store(doubled(t, 2), [at, 0], out)


@pl.jit(auto_scope=False)
def kern(x: pl.Tensor[[ROWS, 32], pl.FP32], out: pl.Out[pl.Tensor[[ROWS, 32], pl.FP32]], *, skip: int = 0):
    rows, cols = x.shape
    for r in pl.range(skip, rows, TILE):
        out = block(x, out, r)
    return out


if __name__ == "__main__":
    kern(None, None)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "kernel_of_a_user.py"
    path.write_text(KERNEL)
    return path


def test_the_text_means_what_python_makes_of_it(file: Path) -> None:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    program = pl.loads(file)
    assert isinstance(program, Program) and set(program.functions) == {"kern", "block", "doubled"}
    assert_structural_equal(program, module.kern.specialise())
    assert_structural_equal(program, pl.loads_program(file))
    assert program.functions["kern"].attrs["auto_scope"] is False
    assert program.functions["block"].attrs["note"] == 1


def test_the_command_line_compiles_and_runs_it(
    file: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from pypto_core.host import load_host

    machine = next(iter(load_host().backends))
    golden = tmp_path / "golden.py"
    golden.write_text(
        "import numpy as np\n"
        "def inputs(rng):\n"
        "    x = rng.standard_normal((48, 32), dtype=np.float32)\n"
        "    return {'x': x, 'out': np.zeros_like(x)}\n"
        "def golden(x):\n"
        "    return {'out': x * 4}\n"
    )
    assert main(["run", str(file), "-b", machine, "--golden", str(golden), "--json"]) == 0
    [row] = json.loads(capsys.readouterr().out)["outputs"]
    assert (row["output"], row["golden"], row["ok"]) == ("out", "equal", True)
    names = [artifact.name for artifact in compile(file, backend=machine).artifacts]
    assert names == ["block.pto"]


def test_a_lone_helper_is_a_kernel_and_one_of_several_entries_is_not() -> None:
    helper = "import pypto_core.language as pl\n@pl.jit.incore\ndef f(x: pl.Tensor[[8, 8], pl.FP32]):\n    return x\n"
    assert list(pl.parse(helper).functions) == ["f"]
    with pytest.raises(UserError, match="holds several kernels"):
        pl.parse(
            helper.replace(".incore", "")
            + helper.replace(".incore", "").replace("f(", "g(").split("\n", 1)[1]
        )


def test_plain_functions_beside_an_entry_are_its_helpers() -> None:
    text = """import pypto_core.language as pl
@pl.function(type=pl.FunctionType.InCore)
def scale(x: pl.Tensor[[16, 16], pl.FP32], out: pl.Out[pl.Tensor[[16, 16], pl.FP32]]):
    return pl.store(pl.mul(pl.load(x, [0, 0], [16, 16]), 2.0), [0, 0], out)
@pl.jit
def kern(x: pl.Tensor[[16, 16], pl.FP32], out: pl.Out[pl.Tensor[[16, 16], pl.FP32]]):
    out = scale(x, out)
    return out
"""
    from pypto_core.host import load_host

    program = pl.parse(text)
    x, out = np.full((16, 16), 3, np.float32), np.zeros((16, 16), np.float32)
    found = load_host().engine("values").load()(program, [x, out], "kern").outputs["out"]
    np.testing.assert_array_equal(found, x * 2)
