"""Functions that make kernels. Their text is read for the arguments of a call, as a module's is, and not executed."""

from __future__ import annotations

import ast
from typing import Any

import attrs

from pypto_core.diagnostics import ParserTypeError, UnsupportedFeatureError
from pypto_core.language.context import Context
from pypto_core.language.environment import Opaque

MAX_CALLS, MAX_DEPTH = 200, 20
"""How many calls of such functions are read for one text, and how many within each other."""


@attrs.frozen(eq=False)
class Factory(Opaque):
    """A Python function in whose body kernels are decorated."""

    node: ast.FunctionDef

    @property
    def makes_program(self) -> bool:
        """Whether one of its classes is decorated."""
        return any(isinstance(n, ast.ClassDef) and n.decorator_list for n in self.node.body)


def factory_of(node: ast.FunctionDef) -> Opaque:
    """What a plain function is to those who read the text."""
    parts = (ast.ClassDef, ast.FunctionDef)
    made = any(isinstance(n, parts) and n.decorator_list for n in node.body)
    calls = not node.decorator_list and any(isinstance(n, ast.Return) for n in node.body)
    what = "a Python function"
    return Factory(what, node) if made and calls else Opaque(what)


def arguments_of(ctx: Context, node: ast.FunctionDef, call: ast.Call | None) -> dict[str, Any]:
    """Parameter → value in a call; without one, the defaults.

    Raises ParserTypeError for arguments that don't fit the parameters, and UnsupportedFeatureError for ``*`` and
    ``**``.
    """
    params = node.args
    positional = [*params.posonlyargs, *params.args]
    every = [*positional, *params.kwonlyargs]
    known = [p.arg for p in every]
    if params.vararg or params.kwarg or (call and any(isinstance(a, ast.Starred) for a in call.args)):
        raise ctx.fail(
            UnsupportedFeatureError,
            f"'{node.name}' is read for arguments that are written out",
            call or node,
            "give every parameter a name, and one value per parameter",
        )
    given: dict[str, ast.expr] = {}
    if call is not None:
        if len(call.args) > len(positional):
            raise ctx.fail(
                ParserTypeError,
                f"'{node.name}' takes {len(positional)} arguments, not {len(call.args)}",
                call,
                "parameters: " + ", ".join(known),
            )
        given = {p.arg: a for p, a in zip(positional, call.args, strict=False)}
        for keyword in call.keywords:
            name = keyword.arg
            if name is None or name not in known or name in given:
                raise ctx.fail(
                    ParserTypeError,
                    f"'{node.name}' can't take the argument '{name or '**'}' here",
                    keyword,
                    "parameters: " + ", ".join(known),
                )
            given[name] = keyword.value
    defaults = dict(zip([p.arg for p in reversed(positional)], reversed(params.defaults), strict=False))
    defaults |= {
        p.arg: d for p, d in zip(params.kwonlyargs, params.kw_defaults, strict=True) if d is not None
    }
    missing = [name for name in known if name not in given and name not in defaults]
    if missing:
        raise ctx.fail(
            ParserTypeError,
            f"'{node.name}' needs the argument '{missing[0]}'",
            call or node,
            f"give it a default, or write a line such as PROGRAM = {node.name}({', '.join(f'{n}=…' for n in known)})",
        )
    return {name: ctx.expr(given.get(name) or defaults[name]) for name in known}
