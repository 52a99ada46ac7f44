"""Plugins as a package manager leaves them: dist-info folders on the path, in a process of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

REPORT = """
import json, logging, sys
logging.basicConfig(level=logging.WARNING)
from pypto_core.host import load_host
host = load_host()
again = load_host()
assert again is host
mine = [r.to_json() for r in host.health if r.distribution.startswith("zz-")]
imported = sorted(name for name in sys.modules if name.startswith("zz_"))
json.dump({"health": mine, "passes": {n: str(host.passes.origin(n)) for n in host.passes},
           "imported": imported, "command": str(host.commands.get("zz"))}, sys.stdout)
"""

GOOD = """
from pypto_core.contract import Command, Pass, PassContract
from pypto_core.host import PluginInfo, hookimpl

@hookimpl
def pypto_plugin():
    return PluginInfo("{name}", "a test")

@hookimpl
def pypto_passes():
    return [Pass(contract=PassContract(name="{made}"), run="zz_heavy:run")]
"""


def install(folder: Path, distribution: str, name: str, source: str, version: str = "1.0") -> None:
    """A distribution with one plugin, as unpacking its wheel would leave it."""
    module = distribution.replace("-", "_")
    (folder / f"{module}.py").write_text(textwrap.dedent(source), encoding="utf-8")
    info = folder / f"{module}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n", encoding="utf-8"
    )
    (info / "entry_points.txt").write_text(f"[pypto.plugins]\n{name} = {module}\n", encoding="utf-8")


def report(folder: Path, selection: str | None = None, *flags: str) -> tuple[dict[str, Any], str]:
    """What a fresh process sees, and what it said on stderr."""
    env = {name: value for name, value in os.environ.items() if name != "PYPTO_PLUGINS"}
    env["PYTHONPATH"] = str(folder)
    if selection is not None:
        env["PYPTO_PLUGINS"] = selection
    result = subprocess.run(
        [sys.executable, *flags, "-c", REPORT], capture_output=True, text=True, env=env, check=False
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout), result.stderr


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """One good plugin and one of every bad kind."""
    install(tmp_path, "zz-good", "zz_good", GOOD.format(name="zz_good", made="ZzPolish"), "3.1")
    install(tmp_path, "zz-broken", "zz_broken", "import a_module_that_is_not_there\n")
    install(tmp_path, "zz-syntax", "zz_syntax", "def pypto_plugin(:\n")
    install(tmp_path, "zz-one", "zz_twin", GOOD.format(name="zz_twin", made="ZzOne"))
    install(tmp_path, "zz-two", "zz_twin", GOOD.format(name="zz_twin", made="ZzTwo"))
    install(
        tmp_path, "zz-old", "zz_old", GOOD.format(name="zz_old", made="ZzOld").replace(
            '"a test"', '"a test", requires_api=">=0.5,<1"')
    )  # fmt: skip
    install(
        tmp_path, "zz-typo", "zz_typo", GOOD.format(name="zz_typo", made="ZzTypo").replace(
            "pypto_passes", "pypto_pass")
    )  # fmt: skip
    install(tmp_path, "zz-thief", "zz_thief", GOOD.format(name="zz_thief", made="ZzPolish"))
    return tmp_path


def test_each_plugin_has_its_fate(site: Path) -> None:
    seen, said = report(site)
    fates = {row["distribution"]: row["status"] for row in seen["health"]}
    assert fates == {
        "zz-good": "ok",
        "zz-broken": "broken",
        "zz-syntax": "broken",
        "zz-one": "duplicate",
        "zz-two": "duplicate",
        "zz-old": "incompatible",
        "zz-typo": "unknown-hook",
        "zz-thief": "clash",
    }
    mine = {name: origin for name, origin in seen["passes"].items() if name.startswith("Zz")}
    assert mine == {"ZzPolish": "zz-good 3.1"}
    reasons = {row["distribution"]: row["reason"] for row in seen["health"]}
    assert "No module named 'a_module_that_is_not_there'" in reasons["zz-broken"]
    assert "SyntaxError" in reasons["zz-syntax"]
    assert "zz-one 1.0 and zz-two 1.0" in reasons["zz-one"] == reasons["zz-two"]
    assert "zz-good 3.1" in reasons["zz-thief"] and "zz-thief 1.0" in reasons["zz-thief"]
    assert said.count("a_module_that_is_not_there") == 1
    assert "Traceback" not in said


def test_duplicates_and_bodies_of_passes_are_not_imported(site: Path) -> None:
    seen, _ = report(site)
    assert seen["imported"] == ["zz_good", "zz_old", "zz_thief", "zz_typo"]


def test_the_variable_selects(site: Path) -> None:
    seen, said = report(site, "zz_good")
    assert seen["passes"] == {"ZzPolish": "zz-good 3.1"}
    assert seen["imported"] == ["zz_good"]
    assert said == ""
    seen, _ = report(site, "")
    assert (seen["passes"], seen["imported"]) == ({}, [])
    seen, _ = report(site, "-zz-one,-zz_thief")
    assert {"ZzPolish", "ZzTwo"} <= set(seen["passes"])


def test_warnings_as_errors_do_not_stop_the_host(site: Path) -> None:
    seen, _ = report(site, None, "-W", "error")
    assert "ZzPolish" in seen["passes"]
