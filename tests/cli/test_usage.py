"""With ``--json`` a command line that can't be read fails in the shape of every other error."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from pypto_core.cli import main
from pypto_core.cli.app import cli


def commands() -> dict[str, click.Command]:
    """Every command that is installed."""
    context = click.Context(cli)
    found = {name: cli.get_command(context, name) for name in cli.list_commands(context)}
    return {name: command for name, command in found.items() if command is not None}


def mistakes(command: click.Command) -> Iterator[tuple[str, list[str], str]]:
    """Each way in which a command line of this command can be wrong: its arguments, and what the error names."""
    given = [
        "f"
        for p in command.params
        if isinstance(p, click.Argument) and p.required
        for _ in range(p.nargs or 1)
    ]
    yield "unknown option", [*given, "--no-such-option"], "--no-such-option"
    if not any(isinstance(p, click.Argument) and p.nargs == -1 for p in command.params):
        yield "too many arguments", ["surplus"] * 9, "surplus"
    if given:
        yield "missing argument", [], "Missing argument"
    for option in command.params:
        name = option.opts[-1]
        if isinstance(option, click.Option) and not option.is_flag:
            yield f"no value for {name}", [*given, name], name
            if isinstance(option.type, click.Choice | click.types.IntParamType | click.IntRange):
                yield f"bad value of {name}", [*given, name, "no such value"], name
            if isinstance(option.type, click.Path) and option.type.exists:
                yield f"missing file of {name}", [*given, name, "no/such/file"], "no/such/file"


CASES = {
    f"{name}: {what}": ([name, "--json", *arguments], culprit)
    for name, command in commands().items()
    if any("--json" in p.opts for p in command.params)
    for what, arguments, culprit in mistakes(command)
}


def errors(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    """What a failing command says, which is nothing but JSON."""
    assert main([*arguments]) in (1, 2)
    captured = capsys.readouterr()
    assert captured.err == ""
    return json.loads(captured.out)["errors"]


def test_the_commands_are_walked() -> None:
    for command in ("compile", "run", "plugins", "profile", "tile", "sweep", "memory"):
        assert f"{command}: unknown option" in CASES
    assert "run: bad value of --seed" in CASES and "run: missing file of --inputs" in CASES


@pytest.mark.parametrize("case", CASES)
def test_a_usage_error_is_json(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, culprit = CASES[case]
    [error] = errors(capsys, *arguments)
    assert (error["code"], error["remedy"]) == ("PT859", f"see: pypto {arguments[0]} --help")
    assert culprit in error["message"]


def test_an_unknown_command_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    [error] = errors(capsys, "compil", "--json")
    assert error["message"] == "No such command 'compil'. Did you mean compile?"
    [error] = errors(capsys, "plugins", "slotz", "--json")
    assert error["message"].startswith("no plugin is called 'slotz'")


@pytest.mark.parametrize("name", ["compile", "run", "memory", "profile", "report", "diff", "check"])
def test_a_missing_kernel_file_is_json(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [error] = errors(capsys, name, str(tmp_path / "none.py"), "--json")
    assert "none.py" in error["message"]


def test_without_the_flag_the_usage_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plugins", "--no-such-option"]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.startswith("Usage: pypto plugins [OPTIONS] [NAME]")


def test_an_unknown_command_may_be_that_of_a_plugin_which_is_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYPTO_PLUGINS", "-simulator")
    [error] = errors(capsys, "profile", "--json")
    assert error["message"] == (
        "No such command 'profile'. Plugins that are not loaded: simulator (PYPTO_PLUGINS leaves it out)."
    )
