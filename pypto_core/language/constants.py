"""Which names of a Python function can stand for constants while it is read for known arguments: told from the syntax.

A name is a constant where every reader of it sees one value. That is so for a name that is assigned once, or several
times in a row. One that branches set is a constant if the branches are decided while the function is read; one that is
assigned several times and in a loop is a variable.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

import attrs

from pypto_core.language.lifetimes import Names, assigned


@attrs.frozen(eq=False)
class Assignment:
    """One place where a name is set. ``value`` is None for parameters, loop variables and the like.

    ``tests``: the conditions that it depends on. ``repeated``: it stands in a loop, or is a loop's own.
    """

    value: ast.expr | None
    tests: tuple[ast.expr, ...] = ()
    repeated: bool = False


Assignments = dict[str, list[Assignment]]


def assignments_of(function: ast.FunctionDef) -> Assignments:
    """All places where names of a function are set, by name."""
    found: Assignments = {}
    arguments = function.args
    for arg in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        found.setdefault(arg.arg, []).append(Assignment(None))
    for stmt, tests, repeated in _statements(function.body, (), False):
        own = isinstance(stmt, ast.For)
        for name, value in _set_by(stmt):
            found.setdefault(name, []).append(Assignment(value, tests, repeated or own))
            if own:  # each trip sets it again
                found[name].append(Assignment(None, tests, True))
    return found


def _set_by(stmt: ast.stmt) -> Iterator[tuple[str, ast.expr | None]]:
    value = stmt.value if isinstance(stmt, ast.Assign | ast.AnnAssign) else None
    return ((name, value) for name in sorted(assigned(stmt)))


def _statements(
    stmts: Sequence[ast.stmt], tests: tuple[ast.expr, ...], repeated: bool
) -> Iterator[tuple[ast.stmt, tuple[ast.expr, ...], bool]]:
    for stmt in stmts:
        yield stmt, tests, repeated
        inner = (*tests, stmt.test) if isinstance(stmt, ast.If) else tests
        loops = repeated or isinstance(stmt, ast.For | ast.While)
        yield from _statements(getattr(stmt, "body", ()), inner, loops)
        yield from _statements(getattr(stmt, "orelse", ()), inner, loops)


def constant_names(found: Assignments, fixed: Names) -> Names:
    """The names that may stand for a constant, when the parameters in ``fixed`` do."""
    known = _known_names(found, fixed)
    return frozenset(name for name, places in found.items() if _may_be(places, found, known))


def _may_be(places: list[Assignment], found: Assignments, known: Names) -> bool:
    if len(places) == 1:
        return True
    return not any(place.repeated for place in places) and all(
        _is_known(test, found, known) for place in places for test in place.tests
    )


def _known_names(found: Assignments, fixed: Names) -> Names:
    """Names whose values are made of constants alone: the most that agree with each other."""
    known = frozenset(
        name
        for name, places in found.items()
        if not any(place.repeated or (place.value is None and name not in fixed) for place in places)
    )
    while True:
        kept = frozenset(
            name
            for name in known
            if all(p.value is None or _is_known(p.value, found, known) for p in found[name])
        )
        if kept == known:
            return known
        known = kept


_MADE_OF_PARTS = (
    ast.UnaryOp, ast.BinOp, ast.BoolOp, ast.Compare, ast.Subscript, ast.List, ast.Tuple,
    ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context,
)  # fmt: skip


def _is_known(node: ast.AST, found: Assignments, known: Names) -> bool:
    """Whether an expression is made of literals, known names, and what types tell."""
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.Name):  # what the function never sets comes from around it
        return node.id in known or node.id not in found
    if isinstance(node, ast.Attribute):
        return node.attr in ("shape", "dtype") or _is_known(node.value, found, known)
    return isinstance(node, _MADE_OF_PARTS) and all(
        _is_known(part, found, known) for part in ast.iter_child_nodes(node)
    )
