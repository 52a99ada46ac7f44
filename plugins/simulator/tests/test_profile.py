"""``pypto profile`` from a file to tables, JSON, trace events and a picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pypto_core.cli import main

ADD = """
import pypto_core.language as pl

N = pl.dynamic("N")

@pl.program
class Add:
    @pl.function(type=pl.FunctionType.InCore)
    def add(
        self, a: pl.Tensor[[N, 64], pl.FP32], b: pl.Tensor[[N, 64], pl.FP32], out: pl.Out[pl.Tensor[[N, 64], pl.FP32]]
    ) -> pl.Tensor[[N, 64], pl.FP32]:
        for i in pl.range(N // 32):
            x = pl.load(a, [i * 32, 0], [32, 64])
            {event}
            y = pl.load(b, [i * 32, 0], [32, 64])
            out = pl.store(pl.add(x, y), [i * 32, 0], out)
        return out
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "add.py"
    path.write_text(ADD.format(event="pass"), encoding="utf-8")
    return path


def profile(capsys: pytest.CaptureFixture[str], *args: object, code: int = 0) -> str:
    assert main(["profile", *map(str, args)]) == code
    return capsys.readouterr().out


def figures(capsys: pytest.CaptureFixture[str], *args: object, code: int = 0) -> dict[str, Any]:
    return json.loads(profile(capsys, *args, "--backend", "910b", "--json", code=code))


def test_tables(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = profile(capsys, file, "--backend", "910b", "--top", 2)
    assert " cycles, " in text and " on 910b, events: auto" in text
    lines = [line.split() for line in text.splitlines()]
    assert [line[0] for line in lines if line and line[0] in ("MTE2", "V", "MTE3", "M", "FIX")] == [
        "MTE2", "V", "MTE3",
    ]  # fmt: skip
    assert sum(str(file) in line for line in text.splitlines()) == 2


def test_inputs_decide_how_often_the_loop_runs(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Extents of given arrays hold for the random ones too."""
    np.savez(tmp_path / "in.npz", a=np.ones((128, 64), np.float32))
    given = figures(capsys, file, "--inputs", tmp_path / "in.npz")
    assert [(row["pipe"], row["operations"]) for row in given["cores"][0]["pipes"]] == [
        ("MTE2", 8), ("V", 4), ("MTE3", 4),
    ]  # fmt: skip
    assert given["function"] == "add" and given["planner"] == "pypto" and given["hazards"] == []
    drawn = figures(capsys, file)
    assert drawn["cores"][0]["pipes"][0]["operations"] == 2
    np.savez(tmp_path / "wrong.npz", c=np.ones((128, 64), np.float32))
    assert main(["profile", str(file), "-b", "910b", "--inputs", str(tmp_path / "wrong.npz")]) == 2
    assert "SIM-003" in capsys.readouterr().err


def test_planners_and_options_are_taken(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert figures(capsys, file, "--planner", "ptoas")["planner"] == "ptoas"
    assert figures(capsys, file, "-O", "enable_addressed_slots=true")["diagnostics"] == []
    three = figures(capsys, file, "--blocks", 3, code=1)
    assert len(three["cores"]) == 3
    assert {hazard["code"] for hazard in three["hazards"]} == {"SIM-046"}, (
        "each block writes all of the output"
    )


def test_trace_and_picture(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    trace, picture = tmp_path / "out" / "trace.json", tmp_path / "time.png"
    data = figures(capsys, file, "--trace", trace, "--picture", picture)
    assert picture.read_bytes().startswith(b"\x89PNG")
    events = json.loads(trace.read_text(encoding="utf-8"))
    slices = [event for event in events["traceEvents"] if event["ph"] == "X"]
    assert len(slices) == sum(row["operations"] for row in data["cores"][0]["pipes"])
    end = max(event["ts"] + event["dur"] for event in slices)
    assert end == pytest.approx(data["microseconds"])


def test_races_are_exit_code_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "add.py"
    event = "pl.system.sync_src(set_pipe=pl.PipeType.MTE2, wait_pipe=pl.PipeType.V, event_id=0)"
    path.write_text(ADD.format(event=event), encoding="utf-8")
    data = figures(capsys, path, "--sync", "program", code=1)
    assert {hazard["code"] for hazard in data["hazards"]} == {"SIM-040", "SIM-041"}
    assert figures(capsys, path, code=1)["hazards"][0]["message"].startswith(
        "event MTE2->V #0 is set and never"
    )
    text = profile(capsys, path, "-b", "910b", "--sync", "program", code=1)
    assert "SIM-040" in text and f"{path}:13:" in text
