"""``pypto new`` and ``pypto check-plugin``: packages that are complete, and plugins judged by the suites."""

from __future__ import annotations

import ast
import json
import tomllib
from pathlib import Path

import pytest

from pypto_core.cli.app import run


def files_below(folder: Path) -> set[str]:
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize(
    ("kind", "name", "package"),
    [("pass", "AcmeFuseScale", "pypto_plugin_acme_fuse_scale"), ("backend", "acme1", "pypto_plugin_acme1")],
)
def test_a_package_is_complete(kind: str, name: str, package: str, tmp_path: Path) -> None:
    target = tmp_path / "new"
    assert run(["new", kind, name, "--directory", str(target)]) == 0
    found = files_below(target)
    assert {"pyproject.toml", "README.md", "tests/test_conformance.py"} <= found
    assert {f"src/{package}/{file}" for file in ("__init__.py", "plugin.py", "py.typed")} <= found
    metadata = tomllib.loads((target / "pyproject.toml").read_text())
    [module] = metadata["project"]["entry-points"]["pypto.plugins"].values()
    assert f"src/{module.replace('.', '/')}.py" in found
    for path in target.rglob("*.py"):
        ast.parse(path.read_text())
    assert not any("$" in path.read_text() for path in target.rglob("*") if path.is_file())


def test_a_folder_that_holds_something_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.txt").write_text("kept")
    assert run(["new", "backend", "acme1", "--directory", str(tmp_path)]) == 2
    assert "PT861" in capsys.readouterr().err
    assert files_below(tmp_path) == {"mine.txt"}


@pytest.mark.parametrize(
    ("kind", "name"), [("pass", "fuse"), ("pass", "A-B"), ("backend", "Acme"), ("backend", "../x")]
)
def test_a_name_has_to_be_one(
    kind: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["new", kind, name]) == 2
    assert "PT860" in capsys.readouterr().err
    assert not files_below(tmp_path)


def test_what_a_plugin_is_checked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check-plugin", "slots", "--list", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in shown["suites"]] == [
        "LowerPipelineToAddressedSlots",
        "LowerPipelineToSlots",
    ]
    assert shown["plugin"]["status"] == "ok"


def test_an_unknown_plugin_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check-plugin", "nobody"]) == 2
    assert "pypto plugins" in capsys.readouterr().err
