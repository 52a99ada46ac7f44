"""`pypto pipeline FILE --explain`: what each pass did with the program, and what it said of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pypto_core.cli import main

PIPELINES = """
import pypto_core.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(
        self, a: pl.Tensor[[8192, 64], pl.FP32], n: pl.Scalar[pl.INDEX], out: pl.Out[pl.Tensor[[512, 4096], pl.FP32]]
    ):
        for i in pl.pipeline(0, n, 2, stage=2):
            t = pl.load(a, [i, 0], [64, 64])
            out = pl.store(pl.exp(t), [0, 0], out)
        for j in pl.pipeline(0, 8, 1, stage=2):
            u = pl.load(a, [j, 0], [{rows}, 64])
            v = pl.reshape(u, [64, {rows}])
            out = pl.store(pl.exp(v), [0, 0], out)
        return out
"""


def written(tmp_path: Path, rows: int = 64) -> Path:
    path = tmp_path / "pipelines.py"
    path.write_text(PIPELINES.replace("{rows}", str(rows)))
    return path


def explained(capsys: pytest.CaptureFixture[str], *args: object, code: int = 0) -> str:
    assert main(["pipeline", *map(str, args), "-b", "910b", "--explain"]) == code
    return capsys.readouterr().out


def part_of(text: str, name: str) -> list[str]:
    """The lines under a step."""
    lines = text.splitlines()
    begin = next(n for n, line in enumerate(lines) if f". {name}  [" in line)
    end = next(
        n
        for n, line in enumerate(lines[begin + 1 :], begin + 1)
        if ". " in line[:4] or not line[:1].isspace()
    )
    return [line.strip() for line in lines[begin + 1 : end]]


def test_each_hint_stands_under_its_pass_with_gate_load_figures_and_remedy(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = written(tmp_path)
    text = explained(capsys, path, "--planner", "ptoas")
    said = part_of(text, "LowerPipelineToSlots")
    assert [line.split("]")[0] for line in said if line.startswith("says")] == [
        "says      hint[PH-LS-005",
        "says      hint[PH-LS-011",
    ]
    assert f"--> {path}:10:9" in said
    for fact in (
        "gate          = constant stop of a stepped loop",
        "step          = 2",
        "stop          = known at run time",
    ):
        assert fact in said
    second = said[next(n for n, line in enumerate(said) if "PH-LS-011" in line) :]
    assert any(line.startswith("gate") for line in second) and any(
        line.startswith("load") and "= u" in line for line in second
    )
    assert sum(line.startswith("fix: ") for line in said) == 2
    # Of no other pass, and nowhere twice.
    assert text.count("hint[PH-LS-") == 2
    # Both loops are replicated by the next one.
    assert "program   unchanged" in said and "program   changed" in part_of(text, "LowerPipelineLoops")


def test_the_same_as_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = written(tmp_path)
    data: Any = json.loads(explained(capsys, path, "--planner", "ptoas", "--json"))
    said = {step["instance"]: step["diagnostics"] for step in data["steps"]}
    assert [d["code"] for d in said["LowerPipelineToSlots"]] == ["PH-LS-005", "PH-LS-011"]
    first = said["LowerPipelineToSlots"][0]
    assert (
        first["facts"]["gate"] == "constant stop of a stepped loop"
        and first["remedy"]
        and first["line"] == 10
    )
    assert {step["instance"] for step in data["steps"] if step["changed"]} >= {
        "LowerPipelineLoops",
        "InitMemRef",
    }
    assert sum(len(found) for found in said.values()) == 2


def test_without_a_file_or_without_the_flag_nothing_runs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert "program   " not in explained(capsys)
    assert main(["pipeline", str(written(tmp_path)), "-b", "910b", "--planner", "ptoas", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert not any("diagnostics" in step or "changed" in step for step in data["steps"])


def test_of_a_run_that_fails_the_steps_before_are_shown(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Tiles of 1 MiB, which no vector core has room for: an error of the pass that places them."""
    path = written(tmp_path, rows=4096)
    assert main(["pipeline", str(path), "-b", "910b", "--explain"]) == 2
    shown = capsys.readouterr()
    assert "error[" in shown.err and "Vec" in shown.err
    assert "program   changed" in part_of(shown.out, "LowerPipelineLoops")
    assert not any(line.startswith("program") for line in part_of(shown.out, "AllocateMemoryAddr"))
    assert main(["pipeline", str(path), "-b", "910b", "--explain", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["errors"]


def test_compile_prints_the_hints_too(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["compile", str(written(tmp_path)), "-b", "910b", "--planner", "ptoas"]) == 0
    shown = capsys.readouterr()
    assert "hint[PH-LS-005]" in shown.err and "hint[PH-LS-011]" in shown.err and "gate" in shown.err
    assert "hint[" not in shown.out
