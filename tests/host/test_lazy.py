"""Importing the package costs next to nothing, and its names arrive when they are used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import pypto_core


def run(code: str, *flags: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *flags, "-c", code], capture_output=True, text=True, check=True)


def test_importing_the_package_imports_nothing_else() -> None:
    code = "import sys; old = set(sys.modules); import pypto_core; print(*sorted(set(sys.modules) - old))"
    assert run(code).stdout.split() in (["pypto_core"], ["__future__", "pypto_core"])


def test_importing_the_package_takes_under_twenty_milliseconds() -> None:
    times = []
    for _ in range(3):
        lines = run("import pypto_core", "-X", "importtime").stderr.splitlines()
        [line] = [line for line in lines if line.split("|")[-1].strip() == "pypto_core"]
        times.append(int(line.split("|")[1]))
    assert min(times) < 20_000


@pytest.mark.parametrize(
    ("name", "home"),
    [
        ("compile", "pypto_core.run.compile"),
        ("load_host", "pypto_core.host.host"),
        ("PassContext", "pypto_core.run.context"),
    ],
)
def test_names_arrive_from_their_homes(name: str, home: str) -> None:
    assert getattr(pypto_core, name).__module__ == home


def test_packages_arrive_under_their_names() -> None:
    assert pypto_core.ir.__name__ == "pypto_core.ir"
    assert pypto_core.pl.__name__ == "pypto_core.language"
    assert pypto_core.__version__.count(".") >= 1
    assert set(pypto_core.__all__) <= set(dir(pypto_core))


def test_other_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        pypto_core.nothing  # noqa: B018
    assert not hasattr(pypto_core, "compute")
