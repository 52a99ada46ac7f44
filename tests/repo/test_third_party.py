"""A stranger's chip and pass: built to wheels, installed into an empty environment, and tried there.

The commands of the tutorial are read from its page and run as they stand; only where the packages come from is said
from outside.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STRANGERS = ROOT / "examples" / "third_party"
TUTORIAL = ROOT / "docs" / "tutorial" / "first-backend.md"
OURS = ("structure", "tile", "autotile", "pipeline", "memory", "pto", "simulator", "backend_910b")
COMMANDS = 10

pytestmark = pytest.mark.slow


def build(project: Path, folder: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(folder),
        str(project),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheels of the kernel, of the plugins that a chip needs, and of the strangers."""
    folder = tmp_path_factory.mktemp("wheels")
    for project in (ROOT, *(ROOT / "plugins" / name for name in OURS), *sorted(STRANGERS.iterdir())):
        build(project, folder)
    return folder


def clean(wheels: Path) -> dict[str, str]:
    """Variables of an environment that sees no source tree, and these wheels beside the package index."""
    dropped = ("PYTHONPATH", "PYPTO_PLUGINS", "PYPTO_VERIFY_LEVEL", "VIRTUAL_ENV", "PYTEST_ADDOPTS")
    kept = {k: v for k, v in os.environ.items() if k not in dropped and not k.startswith("PYTEST_")}
    return kept | {"PIP_FIND_LINKS": str(wheels), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def commands() -> list[str]:
    """The commands of the tutorial's first block."""
    block = re.search(r"```sh\n(.*?)```", TUTORIAL.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    return block[1].strip().splitlines()


def test_the_tutorial_ends_in_a_passing_backend(
    wheels: Path, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    assert len(commands()) < COMMANDS
    started = time.monotonic()
    script = "set -e\n" + "\n".join(commands())
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=clean(wheels), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\d{3} passed", done.stdout), done.stdout
    assert "skipped" not in done.stdout and "failed" not in done.stdout
    # How long a newcomer waits; shown by --junit-xml, and no condition of this test.
    record_property("seconds", time.monotonic() - started)
    record_property("lines by hand", 0)


@pytest.fixture(scope="module")
def environment(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty environment with the strangers' wheels and what they need."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    names = [f"pypto-plugin-{name.replace('_', '-')}" for name in OURS]
    strangers = ["pypto-plugin-nimbus1", "pypto-plugin-nimbus-drop-unit-scale"]
    call(
        folder,
        wheels,
        "python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "pypto-core[conformance]",
        *names,
        *strangers,
    )
    return folder


def call(environment: Path, wheels: Path, *command: str) -> str:
    done = subprocess.run(
        [str(environment / "bin" / command[0]), *command[1:]],
        cwd=environment,
        env=clean(wheels),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_both_are_found_and_take_part(environment: Path, wheels: Path) -> None:
    assert "nimbus1" in call(environment, wheels, "pypto", "backends")
    plan = call(environment, wheels, "pypto", "pipeline", "--backend", "nimbus1")
    assert "NimbusDropUnitScale" in plan


@pytest.mark.parametrize("name", ["nimbus1", "nimbus_drop_unit_scale"])
def test_their_own_tests_pass(name: str, environment: Path, wheels: Path) -> None:
    said = call(
        environment, wheels, "python", "-m", "pytest", "-q", str(STRANGERS / name), "-p", "no:cacheprovider"
    )
    assert re.search(r"\d+ passed", said), said


def test_nothing_of_ours_knows_them() -> None:
    for folder in (ROOT / "pypto_core", *ROOT.glob("plugins/*/src")):
        for path in folder.rglob("*.py"):
            assert "nimbus" not in path.read_text(encoding="utf-8").lower(), path
