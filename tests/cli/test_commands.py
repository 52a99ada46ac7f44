"""The command line in process: what it prints, as JSON and for people, and its exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

from pypto_core.cli import main
from pypto_core.contract import ReportSection
from pypto_core.host import Origin, Registered, Registry, load_host

KERNEL = """
import pypto_core.language as pl

@pl.program
class Double:
    @pl.function(type=pl.FunctionType.InCore)
    def double(self, a: pl.Tensor[[32, 64], pl.FP32], out: pl.Out[pl.Tensor[[32, 64], pl.FP32]]):
        x = pl.load(a, [0, 0], [32, 64])
        return pl.store(pl.add(x, x), [0, 0], out)
"""


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    path = tmp_path / "double.py"
    path.write_text(KERNEL)
    return path


def json_of(capsys: pytest.CaptureFixture[str], *args: object, code: int = 0) -> Any:
    assert main([*map(str, args), "--json"]) == code
    return json.loads(capsys.readouterr().out)


def text_of(capsys: pytest.CaptureFixture[str], *args: object, code: int = 0) -> str:
    assert main([*map(str, args)]) == code
    captured = capsys.readouterr()
    return captured.out + captured.err


def test_plugins_name_distribution_version_and_state(capsys):
    rows = json_of(capsys, "plugins")
    by_name = {row["name"]: row for row in rows}
    assert by_name["structure"]["distribution"] == "pypto-plugin-structure"
    assert by_name["structure"]["status"] == "ok"
    assert by_name["structure"]["version"]
    assert [row["name"] for row in rows] == sorted(by_name)


def test_blocked_plugin_is_listed_as_blocked_and_brings_nothing(capsys, monkeypatch):
    monkeypatch.setenv("PYPTO_PLUGINS", "-structure")
    rows = {row["name"]: row for row in json_of(capsys, "plugins")}
    assert rows["structure"]["status"] == "blocked"
    names = {row["name"] for row in json_of(capsys, "passes")}
    assert "ConvertToSSA" not in names
    assert "InitMemRef" in names


def test_core_alone_says_what_is_missing(capsys, monkeypatch):
    monkeypatch.setenv("PYPTO_PLUGINS", "")
    assert json_of(capsys, "backends") == []
    shown = text_of(capsys, "pipeline", code=2)
    # All are installed here and blocked, so the way out is the variable, not pip.
    assert "no backend is installed" in shown
    assert "PYPTO_PLUGINS" in shown


def test_passes_show_contracts(capsys):
    row = json_of(capsys, "passes", "InitMemRef")
    assert row["invalidates"] == ["SSAForm"]
    assert "HasMemRefs" in row["produces"]
    assert row["distribution"] == "pypto-plugin-memory"


def test_backends_show_capacities(capsys):
    rows = {row["name"]: row for row in json_of(capsys, "backends")}
    assert {"910b", "a5"} <= set(rows)
    shown = text_of(capsys, "backends", "Ascend910B")
    assert "188416" in shown  # 184 KiB of Vec


def test_ops_by_family_and_by_name(capsys):
    [row] = json_of(capsys, "ops", "tile.matmul")
    assert row["inputs"] == "Left, Right"
    assert row["output"] == "Acc"
    assert all(r["name"].startswith("system.") for r in json_of(capsys, "ops", "system"))
    assert "did you mean" in text_of(capsys, "ops", "tile.matmull", code=2)


def test_properties_say_who_makes_them(capsys):
    rows = {row["name"]: row for row in json_of(capsys, "properties")}
    assert rows["SSAForm"]["made_by"] == ["ConvertToSSA"]
    assert "InitMemRef" in rows["SSAForm"]["destroyed_by"]


def test_pipeline_gives_steps_with_reasons_lock_and_picture(capsys, kernel, tmp_path):
    lock, picture = tmp_path / "plan.lock", tmp_path / "plan.svg"
    plan = json_of(
        capsys,
        "pipeline",
        kernel,
        "-b",
        "910b",
        "-g",
        "AllocatedMemoryAddr",
        "--lock",
        lock,
        "--graph",
        picture,
    )
    names = [step["pass"] for step in plan["steps"]]
    assert names.index("ConvertToSSA") < names.index("InitMemRef") < names.index("AllocateMemoryAddr")
    assert all(step["here"] for step in plan["steps"])
    assert lock.read_text().startswith("facts ")
    assert picture.read_text().startswith("<svg")
    explained = text_of(capsys, "pipeline", kernel, "-b", "910b", "-g", "AllocatedMemoryAddr", "--explain")
    assert "destroys  SSAForm" in explained


@pytest.mark.parametrize("name", ["plan.bad", "plan.png", "plan", "plan.svg.txt"])
def test_a_picture_of_another_kind_is_refused(capsys, kernel, tmp_path, name):
    path = tmp_path / name
    text = text_of(capsys, "pipeline", kernel, "-b", "910b", "--graph", path, code=2)
    assert "PT823" in text and ".svg" in text and not path.exists()


def test_a_pass_may_be_allowed_to_run_again(capsys, kernel):
    asked = (
        "pipeline",
        kernel,
        "-b",
        "910b",
        "-g",
        "AllocatedMemoryAddr",
        "--allow-rerun",
        "NormalizeStmtStructure",
    )
    assert json_of(capsys, *asked)["steps"]
    assert "NoSuchPass" in text_of(
        capsys, "pipeline", kernel, "-b", "910b", "--allow-rerun", "NoSuchPass", code=2
    )
    assert text_of(capsys, "pipeline", kernel, "-b", "910b", "--solver-budget", "0", code=2)


def test_several_backends_need_a_choice(capsys, kernel):
    shown = text_of(capsys, "compile", kernel, "-g", "AllocatedMemoryAddr", code=2)
    assert "several backends are installed" in shown


def test_compile_writes_artifacts_and_shows_memory(capsys, kernel, tmp_path):
    data = json_of(capsys, "compile", kernel, "-b", "910b", "-o", tmp_path / "out")
    assert all(Path(a["file"]).stat().st_size == a["bytes"] for a in data["artifacts"])
    assert data["artifacts"]
    # Two tiles of 32 x 64 floats, at most three buffers, each of 8192 bytes.
    assert {row["bytes"] for row in data["memory"]} == {8192}
    assert all(row["address"] % 32 == 0 and row["capacity"] == 188416 for row in data["memory"])


def test_run_compares_with_the_program_and_with_golden(capsys, kernel, tmp_path):
    golden = tmp_path / "golden.py"
    golden.write_text("def golden(a):\n    return {'out': a + a}\n")
    data = np.arange(32 * 64, dtype=np.float32).reshape(32, 64)
    np.savez(tmp_path / "in.npz", a=data)
    saved = tmp_path / "out.npz"
    result = json_of(
        capsys,
        "run",
        kernel,
        "-b",
        "a5",
        "--inputs",
        tmp_path / "in.npz",
        "--golden",
        golden,
        "--save",
        saved,
    )
    [row] = result["outputs"]
    assert row["ok"] and row["golden"] == "equal" and row["max_error"] == 0.0
    with np.load(saved) as archive:
        np.testing.assert_array_equal(archive["out"], data * 2)


@pytest.mark.parametrize("planner", ["pypto", "dsa_rp", "ptoas"])
def test_run_on_the_planned_bytes(capsys, kernel, planner):
    result = json_of(capsys, "run", kernel, "-b", "a5", "-p", planner, "--engine", "bytes")
    [row] = result["outputs"]
    assert row["ok"] and row["as_written"] == "equal"


def test_run_on_bytes_finds_a_tile_that_nobody_filled(capsys, tmp_path):
    path = tmp_path / "empty.py"
    path.write_text(
        """import pypto_core.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def main(self, out: pl.Out[pl.Tensor[[16, 16], pl.FP32]]):
        t = pl.create_tile([16, 16], pl.FP32)
        pl.store(t, [0, 0], out)
"""
    )
    json_of(capsys, "run", path, "-b", "a5")
    shown = text_of(capsys, "run", path, "-b", "a5", "--engine", "bytes", code=2)
    assert "SIM-010" in shown and "empty.py:8" in shown and "empty.py:7" in shown


def test_run_fails_when_golden_says_something_else(capsys, kernel, tmp_path):
    golden = tmp_path / "golden.py"
    golden.write_text("def golden(a):\n    return {'out': a + a + 1}\n")
    result = json_of(capsys, "run", kernel, "-b", "910b", "--golden", golden, code=1)
    assert result["outputs"][0]["golden"] == "differs"
    assert result["outputs"][0]["max_error"] == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def golden(a):\n    raise KeyError('x')\n", "the golden function fails: KeyError"),
        ("x = 1\n", "has no function golden"),
        ("import nothing_of_this_name\n", "fails when it is executed"),
    ],
)
def test_a_broken_golden_file_is_an_error(capsys, kernel, tmp_path, text, words):
    golden = tmp_path / "golden.py"
    golden.write_text(text)
    assert words in text_of(capsys, "run", kernel, "-b", "910b", "--golden", golden, code=2)


def test_pickled_inputs_are_refused(capsys, kernel, tmp_path):
    np.savez(tmp_path / "in.npz", a=np.array([{"x": 1}], dtype=object))
    shown = text_of(capsys, "run", kernel, "-b", "910b", "--inputs", tmp_path / "in.npz", code=2)
    assert "can't be read as arrays" in shown


def test_explain_lists_and_shows_pages(capsys):
    rows = json_of(capsys, "explain")
    assert rows
    page = json_of(capsys, "explain", rows[0]["code"])
    assert page["title"] == rows[0]["title"] and page["text"]
    assert "no page is installed" in text_of(capsys, "explain", "PT99999", code=2)


def told_by_plugins(monkeypatch, **sections):
    """Explain with these sections instead of those of installed plugins."""
    origin = Origin("in-process", "")
    rows = {
        name: Registered(ReportSection(name, name.title(), told), origin) for name, told in sections.items()
    }
    host = attrs.evolve(load_host(), report_sections=Registry.of("report section", rows))
    monkeypatch.setattr("pypto_core.cli.explain.load_host", lambda: host)


def test_explain_tells_of_a_file_what_plugins_have_to_say(capsys, kernel, monkeypatch):
    told_by_plugins(
        monkeypatch, sizes=lambda compiled: f"{len(compiled.artifacts)} file(s)", none=lambda _: ""
    )
    assert json_of(capsys, "explain", kernel, "-b", "910b") == {"none": "", "sizes": "1 file(s)"}
    assert json_of(capsys, "explain", kernel, "-b", "910b", "--none") == {"none": ""}
    assert text_of(capsys, "explain", kernel, "-b", "910b") == "Sizes\n\n1 file(s)\n"
    assert "--sizes" in text_of(capsys, "explain", "--help")
    assert "needs a file" in text_of(capsys, "explain", "--sizes", code=2)
    assert "needs a file" in text_of(capsys, "explain", "PT309", "--sizes", code=2)
    assert "nowhere.py can't be read" in text_of(capsys, "explain", "nowhere.py", "-b", "910b", code=2)


def test_explain_tells_on_a_terminal_what_a_section_has_as_html(capsys, kernel, monkeypatch):
    html = (
        "<p>5 cycles, a &lt; b</p>\n<table><tr><th>pipe</th>\n<th class='n'>busy</th></tr>\n"
        "<tr><td>MTE2</td><td class='n'>5</td></tr></table>\n<svg width='1'>\n<text>drawn</text></svg>"
    )
    section = ReportSection("time", "Time", lambda _: html, media="text/html")
    sections = Registry.of("report section", {"time": Registered(section, Origin("in-process", ""))})
    told = attrs.evolve(load_host(), report_sections=sections)
    monkeypatch.setattr("pypto_core.cli.explain.load_host", lambda: told)
    lines = text_of(capsys, "explain", kernel, "-b", "910b").splitlines()
    assert [line for line in lines if line] == [
        "Time", "5 cycles, a < b", "pipe        busy", "MTE2        5", "A picture, see pypto report.",
    ]  # fmt: skip
    assert json_of(capsys, "explain", kernel, "-b", "910b") == {"time": html}


def test_explain_without_anything_to_tell_says_so(capsys, kernel, monkeypatch):
    told_by_plugins(monkeypatch)
    assert "no installed plugin has anything" in text_of(capsys, "explain", kernel, "-b", "910b", code=2)


def test_mistyped_command_names_the_nearest(capsys):
    assert "pipeline" in text_of(capsys, "pipelin", code=2)


def test_options_are_read_as_values(capsys, kernel):
    shown = text_of(capsys, "compile", kernel, "-b", "910b", "-O", "1x=2", code=2)
    assert "is not an option" in shown


def test_help_does_not_load_numpy_or_networkx():
    code = (
        "import sys; from pypto_core.cli import main; main(['--help']);"
        "print([m for m in ('numpy', 'networkx', 'matplotlib', 'ml_dtypes') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.rstrip().endswith("[]")
    assert "compile" in done.stdout
