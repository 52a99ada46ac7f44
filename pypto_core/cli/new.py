"""``pypto new``: a complete package for a pass or a backend, to be changed from there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template

import click

from pypto_core import __version__
from pypto_core.cli.output import emit_json, json_option
from pypto_core.diagnostics import UserError

_SUFFIX = ".tmpl"


@click.group("new")
def command() -> None:
    """Write a package for a pass or a backend: code, tests, conformance and README, ready to install."""


_directory = click.option(
    "--directory",
    "-d",
    type=click.Path(path_type=Path),
    help="where the package goes; by default a folder of its name here",
)


@command.command("pass")
@click.argument("name")
@_directory
@json_option
def new_pass(name: str, directory: Path | None, as_json: bool) -> int:
    """A package with the pass NAME, written like AcmeFuseScale."""
    if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", name):
        raise _unfit(name, "a pass", "AcmeFuseScale: letters and digits, the first one a capital")
    module = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
    return _create("pass", module, {"pass_name": name, "module": module}, directory, as_json)


@command.command("backend")
@click.argument("name")
@_directory
@json_option
def new_backend(name: str, directory: Path | None, as_json: bool) -> int:
    """A package with the backend NAME, written like acme1."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise _unfit(name, "a backend", "acme1: small letters, digits and _, the first one a letter")
    return _create("backend", name, {"title": name.replace("_", " ").title()}, directory, as_json)


def _unfit(name: str, what: str, form: str) -> UserError:
    return UserError(
        f"'{name}' is no name for {what}", code="PT860", remedy=f"choose a name of the form {form}"
    )


def _create(kind: str, name: str, more: Mapping[str, str], directory: Path | None, as_json: bool) -> int:
    distribution = f"pypto-plugin-{name.replace('_', '-')}"
    words = {
        "name": name,
        "distribution": distribution,
        "package": distribution.replace("-", "_"),
        "version": _series(__version__, 0),
        "next_version": _series(__version__, 1),
        "module": name,
        **more,
    }
    target = directory or Path(words["distribution"])
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UserError(
            f"'{target}' is there already",
            code="PT861",
            remedy="choose another folder with --directory, or move it out of the way",
        )
    paths = _write(files("pypto_core.cli").joinpath("templates", kind), target, words)
    steps = [f"cd {target}", "pip install -e '.[test]'", "pytest"]
    if as_json:
        emit_json({"kind": kind, "directory": str(target), "files": [str(p) for p in paths], "next": steps})
        return 0
    for path in paths:
        click.echo(f"wrote {path}")
    click.echo("\nnext:")
    for step in steps:
        click.echo(f"  {step}")
    return 0


def _series(version: str, step: int) -> str:
    """The ``major.minor`` of a version, or of the ``step``-th series after it."""
    major, minor = version.split(".")[:2]
    return f"{major}.{int(minor) + step}"


def _write(template: Traversable, target: Path, words: Mapping[str, str]) -> list[Path]:
    """Fill in every file below ``template``; names are filled in as well: ``package`` and ``module``."""
    written: list[Path] = []
    for entry in sorted(template.iterdir(), key=lambda e: e.name):
        name = entry.name.removesuffix(_SUFFIX)
        if entry.is_dir():
            written += _write(entry, target / (words["package"] if name == "package" else name), words)
            continue
        name = name.replace("module", words["module"]) if name in ("module.py", "test_module.py") else name
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(Template(entry.read_text("utf-8")).substitute(words), "utf-8")
        written.append(path)
    return written
