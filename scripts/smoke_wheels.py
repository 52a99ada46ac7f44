"""Installs the built wheels into an empty environment and watches parts appear and disappear.

Usage: smoke_wheels.py FOLDER, where FOLDER holds the wheels of the kernel and of every plugin. Nothing of the
source tree is on the path: what works here works for a user. Three rounds:

1. the kernel alone imports, lists nothing, and says what is missing;
2. each plugin by itself is listed with what it brings, and is gone once uninstalled;
3. with all of them a pipeline is resolved for every backend; then each is taken away in turn.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

CORE = "pypto_core-"
LAYERS = (
    *("diagnostics", "ir", "ops", "text", "language", "contract"),
    *("verify", "solver", "host", "run", "jobs", "report", "jit", "testing", "cli"),
)


@attrs.frozen
class Environment:
    """An environment outside the source tree, with a count of the checks made in it."""

    folder: Path
    wheels: Path
    checks: list[str] = attrs.field(factory=list)

    @property
    def variables(self) -> dict[str, str]:
        """The caller's variables less those that would let other code in."""
        dropped = ("PYTHONPATH", "PYPTO_PLUGINS", "VIRTUAL_ENV")
        return {name: value for name, value in os.environ.items() if name not in dropped}

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment, away from the source tree."""
        program = str(self.folder / "bin" / command[0])
        return subprocess.run(
            [program, *command[1:]],
            cwd=self.folder,
            env=self.variables,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    def pip(self, *arguments: str) -> None:
        """Run pip; its failure ends the test."""
        result = self.run("python", "-m", "pip", "--disable-pip-version-check", *arguments)
        if result.returncode != 0:
            raise SystemExit(f"pip {' '.join(arguments)} failed\n{result.stdout}{result.stderr}")

    def install(self, wheel: Path) -> None:
        """Install a wheel; other pypto distributions come from the same folder."""
        self.pip("install", "--quiet", "--find-links", str(self.wheels), str(wheel))

    def uninstall(self, distribution: str) -> None:
        """Remove a distribution."""
        self.pip("uninstall", "--quiet", "--yes", distribution)

    def pypto(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the command line; a traceback is a fault whatever the exit code."""
        result = self.run("pypto", *arguments)
        self.check(
            "Traceback" not in result.stdout + result.stderr, f"pypto {' '.join(arguments)}", result.stderr
        )
        return result

    def listed(self, *arguments: str) -> Any:
        """What a command prints with --json."""
        result = self.pypto(*arguments, "--json")
        self.check(
            result.returncode == 0, f"pypto {' '.join(arguments)} --json", result.stdout + result.stderr
        )
        return json.loads(result.stdout)

    def check(self, holds: bool, claim: str, facts: object = "") -> None:
        """Count a claim that holds; end the test on one that doesn't."""
        if not holds:
            raise SystemExit(f"smoke: does not hold: {claim}\n{facts}")
        self.checks.append(claim)


def distribution_of(wheel: Path) -> str:
    """The distribution's name from its wheel's."""
    return wheel.name.split("-")[0].replace("_", "-")


def version_of(wheel: Path) -> str:
    """The version from a wheel's name."""
    return wheel.name.split("-")[1]


def plugin_rows(env: Environment) -> dict[str, dict[str, Any]]:
    """What `pypto plugins` lists, by distribution."""
    return {row["distribution"]: row for row in env.listed("plugins")}


def brought(env: Environment, command: str) -> dict[str, list[str]]:
    """Names that a listing command shows, by the distribution that brought each."""
    found: dict[str, list[str]] = {}
    for row in env.listed(command):
        found.setdefault(row["distribution"], []).append(row["name"])
    return found


def kernel_alone(env: Environment, plugins: list[Path]) -> None:
    """The kernel imports, its commands answer, and it names a package that would help."""
    layers = [
        "diagnostics",
        "ir",
        "ops",
        "text",
        "language",
        "contract",
        "solver",
        "host",
        "run",
        "testing",
        "cli",
    ]
    code = "; ".join(["import pypto_core", *(f"import pypto_core.{layer}" for layer in layers)])
    result = env.run("python", "-c", code)
    env.check(result.returncode == 0, "every layer of the kernel imports", result.stderr)
    env.check(plugin_rows(env) == {}, "the kernel alone lists no plugin")
    for command in ("passes", "backends"):
        others = sorted(set(brought(env, command)) - {"pypto-core"})
        env.check(others == [], f"the kernel alone lists no {command} of a plugin", others)
    env.check(env.pypto("--help").returncode == 0, "help works without plugins")
    result = env.pypto("pipeline", "--explain")
    said = result.stdout + result.stderr
    named = [distribution_of(wheel) for wheel in plugins if distribution_of(wheel) in said]
    env.check(result.returncode != 0, "without plugins there is no pipeline", said)
    env.check(bool(named), "the kernel alone says which package to install", said)


def each_by_itself(env: Environment, plugins: list[Path]) -> dict[str, dict[str, list[str]]]:
    """Each plugin appears with its parts and disappears; returns what each brings by command."""
    parts: dict[str, dict[str, list[str]]] = {}
    for wheel in plugins:
        name, version = distribution_of(wheel), version_of(wheel)
        env.install(wheel)
        rows = plugin_rows(env)
        env.check(sorted(rows) == [name], f"{name} alone is the one plugin listed", rows)
        row = rows[name]
        env.check((row["version"], row["status"]) == (version, "ok"), f"{name} {version} is loaded", row)
        parts[name] = {command: brought(env, command).get(name, []) for command in ("passes", "backends")}
        env.uninstall(name)
        env.check(plugin_rows(env) == {}, f"{name} is gone once uninstalled")
        for command in ("passes", "backends"):
            env.check(name not in brought(env, command), f"{command} of {name} are gone with it")
    return parts


def plan(env: Environment, backend: str) -> tuple[list[str], str]:
    """The passes of the resolved pipeline in order (empty when there is none), and all that was said."""
    result = env.pypto("pipeline", "--backend", backend, "--json")
    said = result.stdout + result.stderr
    if result.returncode != 0:
        return [], said
    return [step["pass"] for step in json.loads(result.stdout)["steps"]], said


def all_together(env: Environment, plugins: list[Path], parts: dict[str, dict[str, list[str]]]) -> None:
    """With all, each backend has a pipeline; without one, no trace of it and a hint at what is missing."""
    names = [distribution_of(wheel) for wheel in plugins]
    for count, wheel in enumerate(plugins, start=1):
        env.install(wheel)
        env.check(
            sorted(plugin_rows(env)) == sorted(names[:count]), f"{names[count - 1]} joins those before it"
        )
    backends = sorted(backend for part in parts.values() for backend in part["backends"])
    env.check(bool(backends), "some plugin brings a backend", parts)
    full = {backend: plan(env, backend) for backend in backends}
    for backend, (steps, said) in full.items():
        env.check(bool(steps), f"a pipeline for {backend} is resolved", said)
    for wheel in plugins:
        name = distribution_of(wheel)
        env.uninstall(name)
        env.check(sorted(plugin_rows(env)) == sorted(set(names) - {name}), f"without {name} the others stay")
        for backend, claim, holds, facts in without(
            env, name, parts[name], {b: full[b][0] for b in backends}
        ):
            env.check(holds, f"{backend}: {claim}", facts)
        env.install(wheel)
    again = {backend: plan(env, backend)[0] for backend in backends}
    env.check(again == {b: full[b][0] for b in backends}, "with all back, the pipelines are as before", again)


def without(
    env: Environment, name: str, parts: dict[str, list[str]], full: dict[str, list[str]]
) -> Iterator[tuple[str, str, bool, str]]:
    """Claims about each backend's pipeline when one plugin is missing: (backend, claim, holds, facts)."""
    for backend, before in full.items():
        steps, said = plan(env, backend)
        used = set(parts["passes"]) & set(before)
        yield backend, f"no pass of {name} is left", not set(parts["passes"]) & set(steps), said
        if backend in parts["backends"]:
            yield backend, f"no pipeline without {name}, and it is named", not steps and name in said, said
        elif used and not steps:
            yield backend, f"what is missing is found in {name}", name in said, said
        elif not used and steps:
            yield backend, f"{name} took no part, so nothing changes", steps == before, said


def main() -> int:
    """Run the rounds and print one line each."""
    wheels = Path(sys.argv[1]).resolve()
    [core] = wheels.glob(f"{CORE}*.whl")
    plugins = sorted(wheel for wheel in wheels.glob("pypto_*.whl") if wheel != core)
    with tempfile.TemporaryDirectory(prefix="pypto-smoke-") as folder:
        venv.create(folder, with_pip=True)
        env = Environment(Path(folder), wheels)
        env.install(core)
        kernel_alone(env, plugins)
        print(f"kernel alone: {len(env.checks)} checks")
        parts = each_by_itself(env, plugins)
        print(f"each of {len(plugins)} plugins by itself: {len(env.checks)} checks so far")
        all_together(env, plugins, parts)
    print(f"smoke: {len(env.checks)} checks passed with {len(plugins)} plugins")
    return 0


if __name__ == "__main__":
    sys.exit(main())
