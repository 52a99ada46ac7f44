"""The rules of the repository that no linter states: imports, plugin folders, sizes and names."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
KERNEL = ROOT / "pypto_core"
PLUGINS = sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml"))
PACKAGES = sorted(path.parent.name for path in KERNEL.glob("*/__init__.py"))
CODE_FOLDERS = ("pypto_core", "plugins", "tests", "benchmarks", "examples", "scripts")
HEAVY = ("dask", "matplotlib", "ml_dtypes", "networkx", "numpy", "ortools")
# A distribution's import name where it is not the distribution's own.
IMPORT_NAMES = {"attrs": {"attr", "attrs"}, "pypto-core": {"pypto_core"}}
# The one plugin that is known by another name: it exists for the package that it brings beside its own.
OTHER_DISTRIBUTIONS = {"compat": "pypto-compat"}
FURTHER_PACKAGES = {"compat": {"pypto"}}
FOREIGN_NAME = re.compile(
    r"910b|(?<![\d.])950(?!\d)|(?<![a-z0-9])a5(?![a-z0-9])|pypto_plugin_", re.IGNORECASE
)


def sources(*folders: str | Path) -> list[Path]:
    """Every Python file below the folders of the repository, generated ones aside."""
    found = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    return [
        path for path in found if not {"__pycache__", "build", "dist"} & set(path.relative_to(ROOT).parts)
    ]


def shown(path: Path) -> str:
    """A path as messages show it."""
    return str(path.relative_to(ROOT))


def parsed(path: Path) -> ast.Module:
    """A source file's tree."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=shown(path))


def project(folder: Path) -> dict[str, Any]:
    """The pyproject.toml of a folder."""
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))


def kernel_import_faults(tree: ast.Module) -> Iterator[str]:
    """What a plugin's module takes from the kernel without being offered it."""
    aliases: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "pypto_core":
            yield from _from_import_faults(node, aliases)
        elif isinstance(node, ast.Import):
            for name in node.names:
                if name.name.split(".")[0] == "pypto_core":
                    if name.name.count(".") > 1:
                        yield f"line {node.lineno}: import {name.name} reaches into a package"
                    elif name.asname:
                        aliases[name.asname] = name.name
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in aliases:
            module = aliases[node.value.id]
            if not offered(module, node.attr):
                yield f"line {node.lineno}: {node.value.id}.{node.attr} is not in {module}.__all__"


def _from_import_faults(node: ast.ImportFrom, aliases: dict[str, str]) -> Iterator[str]:
    module = node.module or ""
    if module.count(".") > 1:
        yield f"line {node.lineno}: from {module} import reaches into a package"
        return
    for name in node.names:
        if module == "pypto_core" and name.name in PACKAGES:
            aliases[name.asname or name.name] = f"pypto_core.{name.name}"
        elif not offered(module, name.name):
            yield f"line {node.lineno}: {name.name} is not in {module}.__all__"


def offered(module: str, name: str) -> bool:
    """Whether a kernel package offers a name, or has it as a package of its own."""
    return name in getattr(importlib.import_module(module), "__all__", ()) or (
        module == "pypto_core" and name in PACKAGES
    )


def top_level_imports(tree: ast.Module) -> set[str]:
    """First parts of the absolute imports that run when the module is loaded, type-checking blocks aside."""
    found: set[str] = set()
    pending: list[ast.stmt] = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import):
            found |= {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add((node.module or "").split(".")[0])
        elif isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.dump(node.test):
            pending += [*node.body, *node.orelse]
        elif isinstance(node, ast.Try):
            pending += [*node.body, *node.orelse, *node.finalbody]
    return found


def import_names(requirements: list[str]) -> set[str]:
    """The import names that a list of requirements brings."""
    names = [re.split(r"[\s<>=!~;\[]", requirement, maxsplit=1)[0] for requirement in requirements]
    return {found for name in names for found in IMPORT_NAMES.get(name, {name.replace("-", "_")})}


@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda path: path.name)
def test_plugins_take_only_what_the_kernel_offers(plugin: Path) -> None:
    faults = [
        f"{shown(path)}: {fault}"
        for path in sources(plugin / "src")
        for fault in kernel_import_faults(parsed(path))
    ]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("from pypto_core.diagnostics.span import Span", "reaches into a package"),
        ("import pypto_core.diagnostics.span", "reaches into a package"),
        (
            "from pypto_core.diagnostics import not_offered",
            "not_offered is not in pypto_core.diagnostics.__all__",
        ),
        ("from pypto_core import diagnostics as d\nd._hidden()", "d._hidden is not in"),
        ("import pypto_core.diagnostics as d\nd._hidden()", "d._hidden is not in"),
    ],
)
def test_the_import_rule_sees_each_way_round_it(source: str, fault: str) -> None:
    assert any(fault in found for found in kernel_import_faults(ast.parse(source)))


def test_the_import_rule_allows_what_is_offered() -> None:
    lines = [
        "import attrs",
        "from pypto_core import diagnostics as d",
        "from pypto_core.diagnostics import Span",
    ]
    source = "\n".join([*lines, "d.Span"])
    assert list(kernel_import_faults(ast.parse(source))) == []


def conformance(path: Path) -> set[str]:
    """What the suites that third parties run may import: the extra that brings them declares it."""
    if path.parent != KERNEL / "testing" or not path.name.endswith(("_suite.py", "pytest_plugin.py")):
        return set()
    return import_names(project(ROOT)["project"]["optional-dependencies"]["conformance"])


@pytest.mark.parametrize("folder", [ROOT, *PLUGINS], ids=lambda path: path.name if path != ROOT else "kernel")
def test_a_distribution_declares_what_it_imports(folder: Path) -> None:
    declared = import_names(project(folder)["project"]["dependencies"])
    own = "pypto_core" if folder == ROOT else f"pypto_plugin_{folder.name}"
    allowed = declared | {own} | FURTHER_PACKAGES.get(folder.name, set()) | set(sys.stdlib_module_names)
    code = sources("pypto_core") if folder == ROOT else sources(folder / "src")
    faults = {
        shown(path): sorted(top_level_imports(parsed(path)) - allowed - conformance(path)) for path in code
    }
    assert {path: names for path, names in faults.items() if names} == {}


def test_no_print_outside_the_command_line() -> None:
    code = sources("pypto_core", *(plugin / "src" for plugin in PLUGINS))
    faults = [
        f"{shown(path)}:{node.lineno}"
        for path in code
        if KERNEL / "cli" not in path.parents
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert faults == []


def test_no_module_outgrows_one_idea() -> None:
    lengths = {
        shown(path): len(path.read_text(encoding="utf-8").splitlines()) for path in sources(*CODE_FOLDERS)
    }
    assert {path: length for path, length in lengths.items() if length > 600} == {}


def test_no_module_is_a_drawer_for_everything() -> None:
    assert [
        shown(path) for path in sources(*CODE_FOLDERS) if path.stem in ("utils", "util", "helpers", "misc")
    ] == []


def test_the_kernel_names_no_backend_and_no_plugin() -> None:
    faults = [
        f"{shown(path)}:{number}: {line.strip()}"
        for path in sources("pypto_core")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if FOREIGN_NAME.search(line)
    ]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda path: path.name)
def test_a_plugin_folder_has_its_parts(plugin: Path) -> None:
    package = f"pypto_plugin_{plugin.name}"
    metadata = project(plugin)["project"]
    usual = f"pypto-plugin-{plugin.name.replace('_', '-')}"
    assert metadata["name"] == OTHER_DISTRIBUTIONS.get(plugin.name, usual)
    assert metadata["entry-points"]["pypto.plugins"] == {plugin.name: f"{package}.plugin"}
    assert "pypto-core>=0.1,<0.2" in metadata["dependencies"]
    assert metadata["license"] == project(ROOT)["project"]["license"]
    assert metadata["requires-python"] == project(ROOT)["project"]["requires-python"]
    for part in ("README.md", f"src/{package}/plugin.py", f"src/{package}/py.typed"):
        assert (plugin / part).is_file(), f"{plugin.name} has no {part}"
    assert ast.get_docstring(parsed(plugin / "src" / package / "__init__.py"))
    assert list(plugin.glob("tests/**/test_*.py")), f"{plugin.name} has no tests"
    assert metadata["name"] in (plugin / "README.md").read_text(encoding="utf-8")
    brought = {path.name for path in (plugin / "src").iterdir() if path.is_dir()}
    assert brought - FURTHER_PACKAGES.get(plugin.name, set()) == {package}, "a plugin brings one package"


def test_every_folder_under_plugins_is_a_plugin() -> None:
    folders = {path for path in (ROOT / "plugins").iterdir() if path.is_dir() and list(path.rglob("*.py"))}
    assert sorted(folders) == PLUGINS


@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda path: path.name)
def test_a_plugin_module_holds_hooks_alone(plugin: Path) -> None:
    tree = parsed(plugin / "src" / f"pypto_plugin_{plugin.name}" / "plugin.py")
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    assert functions, "no hook is implemented"
    assert [name for name in functions if not name.startswith("pypto_")] == []
    assert [node.name for node in tree.body if isinstance(node, ast.ClassDef)] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_of_the_kernel_documents_what_it_offers(package: str) -> None:
    module = importlib.import_module(f"pypto_core.{package}")
    assert module.__doc__
    names = module.__all__
    assert len(set(names)) == len(names)
    bare = [name for name in names if _undocumented(getattr(module, name))]
    assert bare == []


def _undocumented(thing: object) -> bool:
    if not (inspect.isclass(thing) or inspect.isfunction(thing)):
        return False
    return not (thing.__doc__ or "").strip()


@pytest.mark.parametrize("module", ["pypto_core", "pypto_core.ir", "pypto_core.language", "pypto_core.cli"])
def test_importing_the_kernel_loads_nothing_heavy(module: str) -> None:
    code = f"import {module}, sys; sys.stdout.write(' '.join(sorted(set({HEAVY!r}) & set(sys.modules))))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (loaded.returncode, loaded.stdout) == (0, ""), loaded.stderr
