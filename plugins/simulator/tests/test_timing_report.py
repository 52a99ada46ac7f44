"""What a report says of streams made by hand: figures, walls of launches, trace events, picture, tables."""

from __future__ import annotations

import io
import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from pypto_core.diagnostics import Span, UserError
from pypto_core.host import load_host
from pypto_core.ir import PipeType
from pypto_plugin_simulator.timing.chrome import trace_events
from pypto_plugin_simulator.timing.cores import Core, Streams
from pypto_plugin_simulator.timing.engine import time_streams
from pypto_plugin_simulator.timing.picture import draw
from pypto_plugin_simulator.timing.report import TimeReport
from pypto_plugin_simulator.timing.stream import Item, Work
from pypto_plugin_simulator.timing.tables import show

MTE2, MTE3, V, M = (PipeType[n] for n in ("MTE2", "MTE3", "V", "M"))


def kernel(trips: int = 4, compute: float = 30, pipe: PipeType = V) -> list[Item]:
    """Load 100, compute, store 50, with two buffers each."""
    items: list[Item] = []

    def add(pipe: PipeType, cycles: float, line: int, reads: str, writes: str, label: str) -> None:
        touched = [tuple(("Vec", ord(c), ord(c) + 1) for c in names) for names in (reads, writes)]
        span = Span("kernel.py", line, 5)
        work = Work(
            index=len(items), pipe=pipe, cycles=cycles, reads=touched[0], writes=touched[1], label=label, span=span
        )  # fmt: skip
        items.append(work)

    for i in range(trips):
        x, y = "ab"[i % 2], "cd"[i % 2]
        add(MTE2, 100, 3, "", x, "x = tile.load")
        add(pipe, compute, 4, x, y, "y = tile.exp")
        add(MTE3, 50, 5, y, "", "tile.store")
    return items


def report(streams: dict[Core, list[Item]], sync: str = "auto", **more: Any) -> TimeReport:
    return time_streams(
        Streams(streams, more.get("untimed", {}), more.get("core_flags", {})),
        load_host().backend("910b"),
        sync,
    )


ONE = Core(0, 0, 0)


def test_figures_of_one_core() -> None:
    made = report({ONE: kernel()})
    assert made.wall == 480
    assert made.microseconds == pytest.approx(480 / 1850)
    data = made.to_json()
    assert data == json.loads(json.dumps(data))
    (core,) = data["cores"]
    assert [row["pipe"] for row in core["pipes"]] == ["MTE2", "V", "MTE3"]
    assert [row["busy"] for row in core["pipes"]] == [400, 120, 200]
    assert [row["operations"] for row in core["pipes"]] == [4, 4, 4]
    assert sum(row["critical"] for row in core["pipes"]) == 480
    assert core["critical_path"][0] == {
        "statement": "x = tile.load", "at": "kernel.py:3:5", "pipe": "MTE2", "times": 4, "cycles": 400,
    }  # fmt: skip
    assert data["hazards"] == []


def test_blocks_are_dealt_out_over_the_cores() -> None:
    """49 vector blocks of 180 cycles on 48 cores take two rounds; 25 with a product have 24 cube cores."""
    vector = report({Core(0, i, 0): kernel(1) for i in range(49)})
    assert vector.wall == 2 * 180
    assert [core.begin for core in vector.cores] == [0] * 48 + [180]
    assert report({Core(0, i, 0): kernel(1) for i in range(48)}).wall == 180
    assert report({Core(0, i, 0): kernel(1, pipe=M) for i in range(25)}).wall == 2 * 180


def test_launches_follow_each_other() -> None:
    made = report({Core(0, 0, 0): kernel(1), Core(1, 0, 0): kernel(4), Core(1, 1, 0): kernel(1)})
    assert made.launches == (180, 480)
    assert made.wall == 660
    assert [core.begin for core in made.cores] == [0, 180, 180]
    assert made.slowest is made.cores[1]


def test_findings_of_several_cores_are_one() -> None:
    made = report({Core(0, i, 0): kernel(2) for i in range(3)}, sync="program")
    kinds = {(hazard.code, tuple(span.begin_line for span in hazard.spans)) for hazard in made.hazards}
    assert kinds == {("SIM-040", (3, 4)), ("SIM-040", (4, 5))}
    assert [hazard.times for hazard in made.hazards] == [6, 6]


def test_flags_between_cores_are_counted() -> None:
    made = report({ONE: kernel(1)}, core_flags={0: (2, 1), 1: (3, 0), 2: (0, 1)})
    assert [hazard.message for hazard in made.hazards] == [
        "event 1 between cores is set and never waited for",
        "event 2 between cores is waited for and never set",
    ]


def check_trace(data: dict[str, Any]) -> list[dict[str, Any]]:
    """What Perfetto asks of the JSON format; returns the slices."""
    assert set(data) == {"traceEvents", "displayTimeUnit", "otherData"}
    assert data["displayTimeUnit"] in ("ms", "ns")
    events = data["traceEvents"]
    tracks = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert len(set(tracks.values())) <= len(tracks)
    timed = [event for event in events if event["ph"] != "M"]
    assert [e["ts"] for e in timed] == sorted(e["ts"] for e in timed)
    arrows: dict[int, list[dict[str, Any]]] = {}
    for event in events:
        assert {"name", "ph", "pid", "tid", "ts"} <= set(event)
        assert event["ph"] in ("M", "X", "s", "f")
        assert math.isfinite(event["ts"]) and event["ts"] >= 0
        if event["ph"] == "X":
            assert event["dur"] > 0
        if event["ph"] != "M":
            assert (event["pid"], event["tid"]) in tracks
        if event["ph"] in "sf":
            arrows.setdefault(event["id"], []).append(event)
    for ends in arrows.values():
        assert [end["ph"] for end in ends] == ["s", "f"], "an arrow begins before it ends"
        assert ends[0]["tid"] != ends[1]["tid"]
    slices = [event for event in timed if event["ph"] == "X"]
    last: dict[Any, float] = {}
    for piece in slices:
        track = (piece["pid"], piece["tid"])
        assert piece["ts"] >= last.get(track, 0) - 1e-9, "a pipe does one thing at a time"
        last[track] = piece["ts"] + piece["dur"]
    return slices


def test_trace_events() -> None:
    data = json.loads(json.dumps(trace_events(report({Core(0, i, 0): kernel() for i in range(2)}))))
    slices = check_trace(data)
    assert len(slices) == 2 * 12
    tracks = [e for e in data["traceEvents"] if e["name"] == "thread_name" and e["pid"] == 1]
    assert [track["args"]["name"].split()[0] for track in tracks] == ["MTE2", "V", "MTE3"]
    first = slices[0]
    assert (first["name"], first["ts"], first["args"]["at"]) == ("x = tile.load", 0, "kernel.py:3:5")
    assert first["dur"] == pytest.approx(100 / 1850)
    end = max(piece["ts"] + piece["dur"] for piece in slices)
    assert end == pytest.approx(480 / 1850)
    arrows = [e for e in data["traceEvents"] if e["ph"] == "s" and e["pid"] == 1]
    assert len(arrows) == 8, "each compute waits for its load, each store for its compute"


def test_work_without_time_has_no_slice() -> None:
    assert check_trace(trace_events(report({ONE: kernel(2, compute=0)}))) != []
    assert trace_events(report({}))["traceEvents"] == []


def test_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    made = report({ONE: kernel()})
    drawn = draw(made, tmp_path / "time.svg").read_bytes()
    assert b"<svg" in drawn
    assert draw(made, tmp_path / "again.svg").read_bytes() == drawn
    assert draw(made, tmp_path / "time.png").read_bytes().startswith(b"\x89PNG")
    assert draw(report({}), tmp_path / "nothing.svg").exists()


def test_picture_that_can_t_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = report({ONE: kernel(1)})
    with pytest.raises(UserError, match=r"can't be written as 'time\.txt'"):
        draw(made, tmp_path / "time.txt")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UserError) as caught:
        draw(made, tmp_path / "time.svg")
    assert caught.value.diagnostics[0].code == "SIM-045"
    assert caught.value.diagnostics[0].remedy == "pip install 'pypto-core[plot]'"


def shown(made: TimeReport, top: int = 8) -> str:
    out = Console(file=io.StringIO(), highlight=False, markup=False)
    show(made, top, out)
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


def test_tables() -> None:
    text = shown(report({ONE: kernel()}, untimed={"tile.odd": 2}))
    assert "480 cycles, 0.26 us at 1,850 MHz on 910b, events: auto" in text
    rows = [line.split() for line in text.splitlines()]
    # 20 cycles alone of each load but the first, which has 100
    assert ["MTE2", "4", "400", "83.3%", "160", "400"] in rows
    assert "loads that nothing hides: 310 cycles" in text
    assert ["x", "=", "tile.load", "MTE2", "4", "400", "kernel.py:3:5"] in rows
    assert "not timed: tile.odd, 2 times" in text
    assert "kernel.py" not in shown(report({ONE: kernel()}), top=0)


def test_tables_name_hazards() -> None:
    text = shown(report({ONE: kernel(1)}, sync="program"))
    assert (
        "SIM-040 kernel.py:3:5 and kernel.py:4:5: race: 'y = tile.exp' on V reads what the other writes"
        in text
    )
