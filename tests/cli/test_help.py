"""``pypto --help`` lists the commands of plugins without importing them again, and never a wrong list."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pypto_core.host import Store, fingerprint, listing, load_host

CODE = """
import sys
from pypto_core.host import fingerprint
fingerprint._files = lambda root: iter(())  # somebody may be editing the sources just now
from pypto_core.cli import main
code = main(sys.argv[1:])
loaded = sorted(name for name in sys.modules if name.startswith("pypto_plugin_"))
print("loaded:", *loaded, file=sys.stderr)
sys.exit(code)
"""


def pypto(folder: Path, *args: str, **env: str) -> tuple[str, list[str]]:
    """What a new process prints, and the plugin modules that it imported."""
    environment = {**os.environ, "PYPTO_CACHE": "on", "PYPTO_CACHE_DIR": str(folder), **env}
    done = subprocess.run(
        [sys.executable, "-c", CODE, *args], env=environment, capture_output=True, text=True, check=True
    )
    *_, last = done.stderr.strip().splitlines()
    assert last.startswith("loaded:")
    return done.stdout, last.split()[1:]


def test_the_second_help_is_the_first_one_and_imports_no_plugin(tmp_path: Path) -> None:
    first, loaded = pypto(tmp_path, "--help")
    again, none_loaded = pypto(tmp_path, "--help")
    assert first == again and loaded and not none_loaded
    for name, command in load_host().commands.items():
        assert f" {name} {command.help} " in " ".join([*again.split(), ""])
    assert "compile" in again


def test_plugins_that_are_left_out_bring_no_commands(tmp_path: Path) -> None:
    commands = load_host().commands
    plugin = next(iter({commands.origin(name).plugin: name for name in commands}))
    mine = [name for name in commands if commands.origin(name).plugin == plugin]
    with_it, _ = pypto(tmp_path, "--help")
    without, _ = pypto(tmp_path, "--help", PYPTO_PLUGINS=f"-{plugin}")
    assert pypto(tmp_path, "--help")[0] == with_it
    listed = {line.split()[0] for line in without.splitlines() if line.startswith("  ")}
    assert mine and not listed.intersection(mine)
    assert {line.split()[0] for line in with_it.splitlines() if line.startswith("  ")} >= set(mine)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("PYPTO_CACHE", "on")
    monkeypatch.setenv("PYPTO_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(fingerprint, "_files", lambda root: iter(()))
    fingerprint.sources_of.cache_clear()
    return Store(tmp_path)


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'{"a": 1}', b"\xff"])
def test_a_list_that_can_not_be_read_is_made_again(store: Store, content: bytes) -> None:
    wanted = listing.command_lines()
    [path] = store.folder.rglob("*.result")
    store.put(path.stem, content)
    assert listing.command_lines() == wanted
    assert json.loads(store.get(path.stem) or b"") == wanted


def test_nothing_is_kept_while_a_plugin_is_broken(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        failed = ("a record",)
        commands: Any = {}

    monkeypatch.setattr("pypto_core.host.host.load_host", lambda: Broken)
    assert listing.command_lines() == {}
    assert store.usage == (0, 0)


def test_without_a_cache_plugins_are_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYPTO_CACHE", "off")
    monkeypatch.setenv("PYPTO_CACHE_DIR", str(tmp_path))
    assert listing.command_lines() == {name: c.help for name, c in load_host().commands.items()}
    assert not list(tmp_path.iterdir())
