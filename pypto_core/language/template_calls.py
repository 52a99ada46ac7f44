"""Calls of kernels that are read for the arguments of the call: one function for each kind of arguments."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from pypto_core.diagnostics import ParserTypeError
from pypto_core.language.context import Context
from pypto_core.language.functions import Callee, Entry, Given
from pypto_core.language.specialise import entry_for
from pypto_core.language.templates import Template


def template_callee(
    ctx: Context,
    template: Template,
    nodes: Sequence[ast.expr],
    keywords: Sequence[ast.keyword],
    node: ast.AST,
) -> Callee:
    """``template`` as something to call with these arguments, which are read here and kept in the callee."""
    parts = _by_name(ctx, template, nodes, keywords, node)
    values = {name: ctx.expr(without_no_dep(ctx, part)) for name, part in parts.items()}
    entry = _shared_entry(ctx, template, values)
    callee = ctx.pull_entry(entry, node)
    kept = {param.name_hint for param in entry.params}
    given = [Given(part, values[name]) for name, part in parts.items() if name in kept]
    return attrs.evolve(callee, given=tuple(given))


def _by_name(
    ctx: Context,
    template: Template,
    nodes: Sequence[ast.expr],
    keywords: Sequence[ast.keyword],
    node: ast.AST,
) -> dict[str, ast.expr]:
    names = [arg.arg for arg in template.parameters]
    by_name: dict[str, ast.expr] = dict(zip(names, nodes, strict=False))
    problem = f"takes {len(names)} arguments, not {len(nodes)}" if len(nodes) > len(names) else ""
    for keyword in keywords:
        key = str(keyword.arg)
        if key in by_name or key not in names:
            problem = f"has no parameter '{key}'" if key not in names else f"is given '{key}' twice"
        by_name[key] = keyword.value
    missing = [name for name in names if name not in by_name and name not in template.defaults]
    if missing:
        problem = problem or f"needs '{missing[0]}' as well"
    if problem:
        raise ctx.fail(
            ParserTypeError,
            f"'{template.name}' {problem}",
            node,
            "give each parameter once",
            {"parameters": ", ".join(names)},
        )
    return {name: by_name[name] for name in names if name in by_name}


def without_no_dep(ctx: Context, node: ast.expr) -> ast.expr:
    """The argument inside of ``pl.no_dep(x)``; any other argument as it is."""
    if type(node) is ast.Call and ctx.path_of(node.func) == "no_dep" and len(node.args) == 1:
        return node.args[0]
    return node


def _shared_entry(ctx: Context, template: Template, values: Mapping[str, Any]) -> Entry:
    """The function for these arguments: the same one for all calls that need no other."""
    made = ctx.session.specialisations
    name, count = template.name, 1
    while any(entry.name == name for entry in made.values()):
        count += 1
        name = f"{template.name}_{count}"
    entry = entry_for(template, ctx.session, values, name)
    assert entry.specialised is not None
    entry.specialised.called = True
    entry.session.read_signature(entry)
    constants = tuple((name, repr(entry.env.get(name))) for name in sorted(entry.specialised.constants))
    return made.setdefault((template, _shown(entry), constants), entry)


def _shown(entry: Entry) -> tuple[str, ...]:
    from pypto_core.text import print_type  # only for kernels that call specialised ones

    return tuple(f"{var.name_hint}: {print_type(var.type)}" for var in entry.params)
