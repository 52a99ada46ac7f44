"""``pypto tile`` and the pages of the codes."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import pypto_plugin_autotile
from pypto_core.cli import main
from pypto_core.diagnostics import UserError
from pypto_plugin_autotile.codes import PAGES
from pypto_plugin_autotile.command import command


def run(*args: str) -> Result:
    return CliRunner().invoke(command, args, catch_exceptions=False)


def test_the_table_begins_with_the_choice() -> None:
    lines = run("16", "256", "512", "--backend", "910b").output.splitlines()
    assert lines[0] == "16 x 256 x 512 bfloat16 on Ascend 910B"
    assert lines[2].split("  ")[0] == "16, 256, 64" and lines[2].endswith("chosen") and "3499" in lines[2]


def test_the_planner_opens_two_accumulators() -> None:
    one = json.loads(run("256", "256", "64", "-b", "910b", "--json").output)
    two = json.loads(run("256", "256", "64", "-b", "910b", "-p", "ptoas", "--json").output)
    flag = json.loads(run("256", "256", "64", "-b", "910b", "--double-buffer-c", "--json").output)
    assert [one["result"][key] for key in "mnk"] == [128, 256, 64]
    assert [two["result"][key] for key in "mnk"] == [64, 256, 64] and two["result"]["double_buffer_c"] is True
    assert flag["result"] == two["result"]


def test_other_types_and_questions() -> None:
    output = run(
        "64", "1024", "256", "--dtype", "int8", "--backend", "a5", "--ask", "64,512,64", "--top", "2"
    ).output
    lines = output.splitlines()
    assert lines[2].startswith("64, 1024, 32")
    assert any(line.startswith("64, 512, 64:") for line in lines)


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("16", "16", "16", "--dtype", "float"), "PT612"),
        (("16", "16", "16"), "PT612"),
        (("16", "16", "16", "-b", "910b", "--ask", "1,2"), "PT612"),
        (("8", "16", "16", "-b", "910b"), "PT601"),
    ],
)
def test_mistakes_are_explained(args: tuple[str, ...], code: str) -> None:
    with pytest.raises(UserError) as caught:
        run(*args)
    assert caught.value.diagnostics[0].code == code and caught.value.diagnostics[0].remedy


def test_a_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    run("256", "256", "256", "-b", "910b", "--plot", str(tmp_path / "walls.svg"))
    assert (tmp_path / "walls.svg").read_text(encoding="utf-8").lstrip().startswith("<?xml")


def codes_in_sources() -> set[str]:
    root = Path(pypto_plugin_autotile.__file__).parent
    found: set[str] = set()
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
                if (text.startswith("PT6") and len(text) == 5) or (
                    text.startswith("PH-AT-") and len(text) == 9
                ):
                    found.add(text)
    return found


def test_every_code_has_a_page(kit: Any) -> None:
    assert {page.code for page in PAGES} == codes_in_sources()
    assert all(len(page.text) > 40 for page in PAGES)
    assert {page.code for page in PAGES} <= set(kit.host.codes)


def test_the_command_is_listed(kit: Any) -> None:
    assert "tile" in kit.host.commands


def test_a_sweep_chooses_as_one_by_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "products.csv"
    file.write_text("M,N,K,dtype\n512,512,512,bf16\n16,256,128,int8\n16,0,256,bf16\n64,64,64,\n")
    assert main(["sweep", str(file), "--backend", "910b", "--dtype", "fp16", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["dtype"] for row in rows] == ["bf16", "int8", "bf16", "fp16"]
    for row in (rows[0], rows[1], rows[3]):
        sizes = [str(row[name]) for name in "mnk"]
        assert main(["tile", *sizes, "--dtype", row["dtype"], "--backend", "910b", "--json"]) == 0
        result = json.loads(capsys.readouterr().out)["result"]
        assert row["tile"] == [result["m"], result["n"], result["k"]]
        assert row["wall"] == result["estimated_cost_cycles"]
    assert "error" in rows[2] and "tile" not in rows[2]


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "m,n,k\n16,x,16\n"])
def test_a_sweep_of_something_else(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "products.csv"
    file.write_text(text)
    assert main(["sweep", str(file), "--backend", "910b"]) == 2
    assert "PT613" in capsys.readouterr().err
