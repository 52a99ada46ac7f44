"""From the arguments of a Python call to what a kernel is read for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from pypto_core.diagnostics import UserError
from pypto_core.jit.arrays import described, is_array, number_of
from pypto_core.language.environment import Opaque, captured
from pypto_core.language.templates import Template


@attrs.frozen(eq=False)
class Bound:
    """Arguments by parameter: ``given`` as the language takes them, ``arrays`` as the caller passed them."""

    given: Mapping[str, Any]
    arrays: Mapping[str, Any]


def bind(template: Template, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Bound:
    """The arguments of a call, which may leave some out.

    Raises UserError: PT830 for a value that no kernel can take, PT831 for too many arguments or unknown names.
    """
    given: dict[str, Any] = {}
    arrays: dict[str, Any] = {}
    for name, value in named(template, args, kwargs).items():
        plain = number_of(value)
        if is_array(plain):
            arrays[name] = plain
            given[name] = described(plain, name)
            continue
        found = captured(plain)
        if isinstance(found, Opaque):
            raise UserError(
                f"'{name}' is {found.what}, which a kernel can't take",
                code="PT830",
                remedy="pass arrays, numbers, strings, element types, enum members or lists of them",
            )
        given[name] = found
    return Bound(given, arrays)


def named(template: Template, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments by the name of their parameter. Raises UserError (PT831) for those that have none."""
    names = [arg.arg for arg in template.parameters]
    problem = ""
    if len(args) > len(names):
        problem = f"takes {len(names)} arguments, and {len(args)} are given"
    found = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name in found:
            problem = f"is given '{name}' twice"
        elif name not in names:
            problem = f"has no parameter '{name}'"
        found[name] = value
    if problem:
        raise UserError(
            f"'{template.name}' {problem}",
            code="PT831",
            span=template.source.span(template.node),
            facts={"parameters": ", ".join(names) or "none"},
        )
    return found
