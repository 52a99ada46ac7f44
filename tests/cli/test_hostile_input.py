"""Files that are damaged or lie, and folders that can't be written: one sentence, an exit code, no traceback."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import click
import numpy as np
import pytest

from pypto_core.cli import app, main

KERNEL = """import pypto_core.language as pl

@pl.program
class Double:
    @pl.function(type=pl.FunctionType.InCore)
    def double(self, a: pl.Tensor[[32, 64], pl.FP32], n: pl.Scalar[pl.INDEX],
               out: pl.Out[pl.Tensor[[32, 64], pl.FP32]]):
        x = pl.load(a, [0, 0], [32, 64])
        return pl.store(pl.add(x, x), [0, 0], out)
"""


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    path = tmp_path / "double.py"
    path.write_text(KERNEL)
    return path


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str], kernel: Path) -> Callable[..., str]:
    """Run a command on the kernel that has to end with exit code 2; gives what it said."""

    def call(command: str, *arguments: object) -> str:
        assert main([command, str(kernel), "-b", "910b", *map(str, arguments)]) == 2
        captured = capsys.readouterr()
        assert "Traceback" not in captured.out + captured.err
        return captured.err

    return call


def good(path: Path, **changes: object) -> Path:
    np.savez(path, **{"a": np.ones((32, 64), np.float32), "n": np.int64(3)} | changes)
    return path


def header(text: bytes) -> bytes:
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def damaged(path: Path, kind: str) -> Path:
    data = good(path).read_bytes()
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            shape = header(b"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999,), }\n")
            archive.writestr("a.npy", shape)
        return path
    flipped = bytearray(data)
    flipped[len(data) // 2] ^= 255
    contents = {
        "empty": b"",
        "cut": data[: len(data) // 2],
        "flipped": bytes(flipped),
        "zip's name alone": b"PK\x03\x04" + bytes(50),
        "other": b"other" * 100,
    }
    path.write_bytes(contents[kind])
    return path


@pytest.mark.parametrize("kind", ["empty", "cut", "flipped", "zip's name alone", "other", "zip"])
def test_damaged_inputs_are_refused(kind: str, refused: Callable[..., str], tmp_path: Path) -> None:
    said = refused("run", "--inputs", damaged(tmp_path / "in.npz", kind))
    assert "can't be read as arrays" in said and "numpy.savez" in said


def test_one_array_without_a_name_is_refused(refused: Callable[..., str], tmp_path: Path) -> None:
    np.save(tmp_path / "one.npy", np.zeros(3))
    assert "without a name" in refused("run", "--inputs", tmp_path / "one.npy")


@pytest.mark.parametrize("value", [2.5, float("nan"), float("inf")])
def test_an_integer_parameter_takes_integers(
    value: float, refused: Callable[..., str], tmp_path: Path
) -> None:
    said = refused("run", "--inputs", good(tmp_path / "in.npz", n=value))
    assert "'n' is of type index" in said and str(value) in said


GOLDEN = {
    "import sys; sys.exit(0)": "SystemExit: 0",
    "golden = 3": "has no function golden",
    "def golden(): raise SystemExit(0)": "the golden function fails: SystemExit",
    "def golden(): return {'out': 'x'}": "could not convert string to float",
    "def golden(): return {'out': [[1], [1, 2]]}": "inhomogeneous",
    "def golden(): return {'out': 1j}": "no complex128 numbers",
    "def inputs(rng): 1 / 0\ndef golden(): pass": "the function inputs fails: ZeroDivisionError",
    "def inputs(rng): return None\ndef golden(): pass": "the function inputs fails: TypeError",
    "inputs = 3\ndef golden(): pass": "the function inputs fails: TypeError",
}


@pytest.mark.parametrize("text", GOLDEN)
def test_a_golden_file_with_a_fault_is_told_it(
    text: str, refused: Callable[..., str], tmp_path: Path
) -> None:
    path = tmp_path / "golden.py"
    path.write_text(text)
    assert GOLDEN[text] in refused("run", "--golden", path)


def test_a_golden_array_of_another_shape_is_wrong_and_no_fault(
    kernel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "golden.py"
    path.write_text("import numpy as np\ndef golden(): return {'out': np.zeros((3, 3))}")
    assert main(["run", str(kernel), "-b", "910b", "--golden", str(path)]) == 1
    assert "has shape 3x3" in capsys.readouterr().out


def test_nan_is_no_tolerance(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(kernel), "-b", "910b", "--rtol", "nan"]) == 2
    assert "nan is no tolerance" in capsys.readouterr().err


RETURNING = """
import pypto_core.language as pl
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def exp(self, a: pl.Tensor[[16, 16], pl.FP32], out: pl.Out[pl.Tensor[[16, 16], pl.FP32]]):
        return pl.store(pl.exp(pl.load(a, [0, 0], [16, 16])), [0, 0], out)
    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, a: pl.Tensor[[16, 16], pl.FP32]):
        made = pl.create_tensor([16, 16], dtype=pl.FP32)
        made = self.exp(a, made)
        return made
"""


@pytest.mark.parametrize(("power", "code", "said"), [("exp", 0, "equal"), ("exp2", 1, "differs")])
def test_what_is_returned_is_compared_where_nothing_is_written(
    power: str, code: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel, golden = tmp_path / "kernel.py", tmp_path / "golden.py"
    kernel.write_text(RETURNING)
    golden.write_text(f"import numpy as np\ndef golden(a): return {{'return': np.{power}(a)}}")
    assert main(["run", str(kernel), "-b", "910b", "--golden", str(golden), "--rtol", "1e-6"]) == code
    [row] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("return ")]
    assert row.split()[1:5] == ["16x16", "float32", "equal", said]


def test_outputs_are_saved_whatever_they_are_called(kernel: Path, tmp_path: Path) -> None:
    kernel.write_text(KERNEL.replace("out", "file"))
    inputs = tmp_path / "in.npz"
    np.savez(inputs, a=np.full((32, 64), 1.5, np.float32), n=np.int64(0))
    saved = tmp_path / "saved.npz"
    assert main(["run", str(kernel), "-b", "910b", "--inputs", str(inputs), "--save", str(saved)]) == 0
    with np.load(saved) as archive:
        assert archive.files == ["file"]
        np.testing.assert_array_equal(archive["file"], np.full((32, 64), 3.0, np.float32))


def test_what_can_not_be_written_is_named(refused: Callable[..., str], tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("a file")
    for command, option in (("compile", "-o"), ("run", "--save"), ("pipeline", "--lock")):
        said = refused(command, option, taken / "below")
        assert str(taken / "below") in said and "can't be written" in said


@pytest.mark.parametrize("name", ["backend", "program", "host", "wishes", "instruments"])
def test_options_can_not_replace_what_the_command_gives(name: str, refused: Callable[..., str]) -> None:
    assert f"'{name}' is not an option of passes" in refused("compile", "-O", f"{name}=3")


def test_an_option_that_nothing_reads_is_warned_of_by_run_too(
    kernel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["run", str(kernel), "-b", "910b", "-O", "misspelt=1"]
    assert main(arguments) == 0
    assert "PT816" in capsys.readouterr().err
    assert main([*arguments, "--json"]) == 0
    codes = [d["code"] for d in json.loads(capsys.readouterr().out)["diagnostics"]]
    assert "PT816" in codes


def test_a_program_without_kernels_is_warned_of(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kernel.write_text(KERNEL.replace("(type=pl.FunctionType.InCore)", ""))
    assert main(["compile", str(kernel), "-b", "910b"]) == 0
    said = capsys.readouterr().err
    assert "PT817" in said and "double: Opaque" in said and "pl.FunctionType.InCore" in said


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (OSError(13, "Permission denied", "/x/y"), 2, "'/x/y': Permission denied"),
        (RecursionError("too deep"), 3, "RecursionError: too deep"),
        (MemoryError(), 2, "too little memory: an allocation failed"),
        (GeneratorExit(), 3, "GeneratorExit"),
    ],
)
def test_nothing_ends_in_a_traceback(
    error: BaseException,
    code: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(app.LazyGroup, "get_command", lambda *_: click.Command("x", callback=fail))
    assert main(["x"]) == code
    captured = capsys.readouterr()
    assert said in captured.err and "Traceback" not in captured.err
    assert main(["x", "--json"]) in (2, code)
    assert code == 2 or "test_hostile_input.py" in captured.err


def test_the_fault_is_json_when_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(as_json: bool) -> None:
        raise KeyError("k")

    command = click.Command("x", callback=fail, params=[click.Option(["--json", "as_json"], is_flag=True)])
    monkeypatch.setattr(app.LazyGroup, "get_command", lambda *_: command)
    assert main(["x", "--json"]) == 3
    [error] = json.loads(capsys.readouterr().out)["errors"]
    assert error["code"] == "PT915" and error["message"].startswith("the command failed: KeyError")
