"""Building and installing find every plugin by its folder, and a wheel with a fault is refused."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def build_wheels() -> ModuleType:
    """scripts/build_wheels.py as a module."""
    spec = importlib.util.spec_from_file_location("build_wheels", ROOT / "scripts" / "build_wheels.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make(folder: Path, *arguments: str) -> str:
    """What make prints in a folder that has our Makefile."""
    command = ["make", "--no-print-directory", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A repository of two plugins that the Makefile has never heard of."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "pyproject.toml").touch()
    for name in ("quiet", "loud_one"):
        (tmp_path / "plugins" / name).mkdir(parents=True)
        (tmp_path / "plugins" / name / "pyproject.toml").touch()
    (tmp_path / "plugins" / "no_plugin").mkdir()
    return tmp_path


def test_the_environment_has_every_plugin_folder(workspace: Path) -> None:
    plan = make(workspace, "--dry-run", ".venv")
    assert re.findall(r"-e \./(\S+)", plan) == ["plugins/loud_one", "plugins/quiet"]


@pytest.mark.parametrize("target", ["demo", "test", "lint", "types", "imports", "bench", "wheels", "docs"])
def test_each_target_makes_the_environment_first(workspace: Path, target: str) -> None:
    plan = make(workspace, "--dry-run", target)
    assert "-m venv .venv" in plan
    assert plan.index("-m venv .venv") < plan.index("plugins/quiet")


def test_a_new_plugin_renews_the_environment(workspace: Path) -> None:
    (workspace / ".venv").mkdir()
    (workspace / ".venv" / ".installed").touch()
    assert "pip" not in make(workspace, "--dry-run", "lint")
    (workspace / "plugins" / "no_plugin" / "pyproject.toml").touch()
    assert "-e ./plugins/no_plugin" in make(
        workspace, "--dry-run", "-W", "plugins/no_plugin/pyproject.toml", "lint"
    )


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", "docs/index.md", ".ci/run"])
def test_every_make_target_that_is_spoken_of_exists(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    spoken = set(re.findall(r"(?:^|`|: )make ([a-z.]+)", text, re.MULTILINE))
    spoken |= set(re.findall(r"^step \S+ make (\S+)", text, re.MULTILINE))
    rules = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert spoken, "nothing was found to check"
    assert spoken - rules - {".venv"} == set()


def test_help_lists_each_target_with_its_purpose(workspace: Path) -> None:
    lines = [line.split(maxsplit=2) for line in make(workspace, "help").splitlines()]
    rules = re.findall(r"^([a-z]+):", (workspace / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert [words[1] for words in lines] == rules
    assert all(len(words) == 3 for words in lines)


def test_every_project_is_built(build_wheels: ModuleType, workspace: Path) -> None:
    plugins = workspace / "plugins"
    assert build_wheels.projects(workspace) == [workspace, plugins / "loud_one", plugins / "quiet"]


@pytest.mark.parametrize(
    ("names", "fault"),
    [
        (["one/__init__.py", "one/py.typed", "one-1.dist-info/RECORD"], None),
        (["one/__init__.py", "one-1.dist-info/RECORD"], "one has no py.typed"),
        (["one/py.typed", "two/py.typed"], "it has ['one', 'two']"),
        (["one-1.dist-info/RECORD"], "it has []"),
        (["one/py.typed", "one/tests/test_it.py"], "one/tests/test_it.py does not belong"),
        (["one/py.typed", "one/__pycache__/x.pyc"], "one/__pycache__/x.pyc does not belong"),
    ],
)
def test_a_wheel_holds_one_typed_package(
    build_wheels: ModuleType, tmp_path: Path, names: list[str], fault: str | None
) -> None:
    wheel = tmp_path / "one-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in names:
            archive.writestr(name, "")
    found = build_wheels.faults(wheel)
    assert (found == []) == (fault is None), found
    assert fault is None or fault in " ".join(found)


def test_the_check_of_a_change_is_a_valid_script() -> None:
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o111, "it has to be executable"
    assert script.read_text(encoding="utf-8").splitlines()[0] == "#!/usr/bin/env bash"
    subprocess.run(["bash", "-n", str(script)], check=True)
