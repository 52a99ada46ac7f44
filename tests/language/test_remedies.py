"""Every error of the language says what to do: none is raised without a remedy."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pypto_core
import pypto_core.diagnostics as diagnostics
from pypto_core.language.block import _REFUSED as REFUSED_STATEMENTS

KERNEL = Path(pypto_core.__file__).parent
ERRORS = {
    name
    for name in diagnostics.__all__
    if isinstance(found := getattr(diagnostics, name), type)
    and issubclass(found, diagnostics.DiagnosticError)
    and not issubclass(found, diagnostics.InternalError)
}


def raised(tree: ast.AST) -> Iterator[tuple[int, ast.expr | None]]:
    """Line and remedy of each error that is made: ``ctx.fail(Class, message, node, remedy)`` or ``Class(…)``."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        func = node.func
        name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
        named = next((k.value for k in node.keywords if k.arg == "remedy"), None)
        if name == "fail" and node.args and getattr(node.args[0], "id", "") in ERRORS:
            yield node.lineno, node.args[3] if len(node.args) > 3 else named
        elif name in ERRORS and not any(k.arg == "diagnostics" for k in node.keywords):
            yield node.lineno, named


def ways(remedy: ast.expr) -> Iterator[ast.expr]:
    """The remedies that an expression chooses from."""
    if isinstance(remedy, ast.IfExp):
        yield from ways(remedy.body)
        yield from ways(remedy.orelse)
    else:
        yield remedy


def test_every_error_has_a_remedy() -> None:
    without: list[str] = []
    found = 0
    for package in ("language", "ir", "ops", "text"):
        for path in sorted((KERNEL / package).glob("*.py")):
            for line, remedy in raised(ast.parse(path.read_text(encoding="utf-8"))):
                found += 1
                if remedy is None or any(isinstance(r, ast.Constant) and not r.value for r in ways(remedy)):
                    without.append(f"{package}/{path.name}:{line}")
    assert found > 300
    assert without == []


def test_every_statement_that_is_refused_has_a_remedy() -> None:
    assert len(REFUSED_STATEMENTS) > 10
    assert [kind.__name__ for kind, (_, remedy) in REFUSED_STATEMENTS.items() if not remedy] == []
