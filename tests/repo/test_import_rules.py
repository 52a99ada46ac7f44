"""The import contracts cover every plugin, and a plugin that breaks one is caught."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLUGINS = sorted(path.parent.name for path in ROOT.glob("plugins/*/pyproject.toml"))


@pytest.fixture(scope="module")
def import_rules() -> ModuleType:
    """scripts/import_rules.py as a module."""
    spec = importlib.util.spec_from_file_location("import_rules", ROOT / "scripts" / "import_rules.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_plugin_is_under_the_rules(import_rules: ModuleType) -> None:
    config = import_rules.configuration(ROOT)
    expected = [f"pypto_plugin_{name}" for name in PLUGINS]
    by_id = {contract["id"]: contract for contract in config["contracts"]}
    assert by_id["kernel"]["forbidden_modules"] == expected
    assert by_id["plugins"]["modules"] == expected
    assert by_id["layers"]["exhaustive"] is True


def test_the_configuration_survives_its_way_through_toml(import_rules: ModuleType) -> None:
    config = import_rules.configuration(ROOT)
    assert tomllib.loads(import_rules.to_toml(config))["tool"]["importlinter"] == config


def _project(root: Path, package: str, source: str) -> None:
    folder = root / package
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(source)


@pytest.mark.parametrize(
    ("kernel", "first", "second", "broken"),
    [
        ("", "import pypto_core", "", None),
        ("import pypto_plugin_first", "", "", "the kernel imports no plugin"),
        ("", "", "import pypto_plugin_first", "no plugin imports another"),
    ],
)
def test_each_rule_is_broken_by_what_it_forbids(
    import_rules: ModuleType, tmp_path: Path, kernel: str, first: str, second: str, broken: str | None
) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.importlinter]\nroot_packages = ["pypto_core"]\ncontracts = []\n'
    )
    for name, source in (("first", first), ("second", second)):
        (tmp_path / "plugins" / name).mkdir(parents=True)
        (tmp_path / "plugins" / name / "pyproject.toml").touch()
        _project(tmp_path, f"pypto_plugin_{name}", source)
    _project(tmp_path, "pypto_core", kernel)
    rules = tmp_path / "rules.toml"
    rules.write_text(import_rules.to_toml(import_rules.configuration(tmp_path)))
    # A process of its own: the packages' names are those of the installed ones.
    code = "import sys; from importlinter.cli import lint_imports_command; lint_imports_command()"
    result = subprocess.run(
        [sys.executable, "-c", code, "--config", str(rules), "--no-cache"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode == 0) == (broken is None), result.stdout + result.stderr
    if broken is not None:
        assert f"{broken} BROKEN" in result.stdout
