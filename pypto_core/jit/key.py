"""The name of a result: everything that decides what a kernel compiles to, as one digest.

Text alone goes into it, in a fixed order: no hash of Python, no identity, no version of the interpreter. Two processes
that would compile the same thing ask for the same name.
"""

from __future__ import annotations

import enum
import hashlib
import json
from collections.abc import Mapping
from typing import Any, cast

from pypto_core.host import installed_state
from pypto_core.ir import SEMANTICS_VERSION, Expr, Function, Program
from pypto_core.language.annotations import MemRef
from pypto_core.language.environment import Environment, Name, Opaque
from pypto_core.language.functions import Entry, Options, called_by
from pypto_core.language.templates import Template
from pypto_core.language.vocabulary import adir
from pypto_core.run import PassContext
from pypto_core.text import dumps, print_expr, print_type

FORMAT = 1
"""Of the key: another number makes every earlier result a stranger."""


class Unnameable(Exception):
    """Something takes part in a compilation that has no text of its own; the result can't be kept."""


def result_key(template: Template, entry: Entry, context: PassContext, goal: str, emit: bool) -> str:
    """The digest for one kernel, read for its arguments as far as its head, and one compilation.

    Raises Unnameable when an option is of a kind that can't be written down.
    """
    host, machine = context.host, context.backend
    assert host is not None
    parts = {
        "format": FORMAT,
        "semantics": SEMANTICS_VERSION,
        "installed": installed_state(host),
        "kernels": kernel_rows(template),
        "parameters": parameter_rows(entry),
        "backend": None if machine is None else repr(machine),
        "planner": context.planner,
        "options": {name: plain(value) for name, value in sorted(dict(context.options).items())},
        "goal": goal,
        "emit": emit,
        "verification": context.verification.name,
        "disabled": sorted(context.disabled_diagnostics),
    }
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def parameter_rows(entry: Entry) -> list[Any]:
    """What the arguments made of the parameters: types with open extents by name, and constants."""
    assert entry.specialised is not None
    pairs = zip(entry.params, entry.directions, strict=True)
    typed = [[var.name_hint, way.name, print_type(var.type)] for var, way in pairs]
    constants = [[name, plain(entry.env.get(name))] for name in sorted(entry.specialised.constants)]
    return [typed, constants]


def kernel_rows(template: Template) -> list[Any]:
    """Source and captured values of a kernel and of all that it calls, each once, in order of discovery."""
    order: dict[int, Template] = {}
    _collect(template, order)
    place = {key: at for at, key in enumerate(order)}
    return [_kernel_row(kernel, place) for kernel in order.values()]


def _collect(template: Template, order: dict[int, Template]) -> None:
    pending = [template]
    while pending:
        kernel = pending.pop()
        if id(kernel) in order:
            continue
        order[id(kernel)] = kernel
        env = kernel.environment()
        pending += [v for name in reversed(kernel.mentioned) if isinstance(v := env.get(name), Template)]


def _kernel_row(kernel: Template, place: Mapping[int, int]) -> list[Any]:
    env = kernel.environment()
    # Where it stands counts too: results hold positions in the source.
    return [
        kernel.source.filename,
        kernel.node.lineno,
        kernel.text,
        _options(kernel.options),
        [[name, found] for name in kernel.mentioned if (found := _captured(env, name, place)) is not None],
        [[name, plain(value)] for name, value in sorted(kernel.defaults.items())],
    ]


def _options(options: Options) -> list[Any]:
    parts = [options.type, options.level, options.role, options.stage]
    return [[plain(part) for part in parts], plain(dict(options.attrs)), options.requires_runtime_binding]


def _captured(env: Environment, name: str, place: Mapping[int, int]) -> Any:
    value = env.get(name)
    if isinstance(value, Template):
        return ["kernel", place[id(value)]]
    # None for what is not there, and for what no kernel can use.
    return None if isinstance(value, Opaque) else ["value", plain(value)]


def plain(value: Any) -> Any:
    """A value as text that differs for different values; raises Unnameable for kinds that have no such text."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, enum.Enum):
        return ["member", type(value).__qualname__, value.name]
    if isinstance(value, int | float):
        return [type(value).__name__, repr(value)]
    if isinstance(value, list | tuple):
        return ["list", [plain(item) for item in cast("list[Any]", value)]]
    if isinstance(value, Mapping):
        return ["dict", [[key, plain(item)] for key, item in cast("dict[str, Any]", value).items()]]
    if isinstance(value, Expr):
        return ["extent", print_expr(value), print_type(value.type)]
    if isinstance(value, Program):
        return ["program", hashlib.sha256(dumps(value, sources=False)).hexdigest()]
    if isinstance(value, Function):
        bodies = [dumps(part, sources=False) for part in (value, *called_by(value))]
        return ["function", hashlib.sha256(b"".join(bodies)).hexdigest()]
    if isinstance(value, Name):
        return ["word", value.path]
    if value is adir:
        return ["word", "adir"]
    if isinstance(value, MemRef):
        return ["place", plain(value.name), value.slots, plain(value.index)]
    if isinstance(value, type) and issubclass(value, enum.Enum):
        members = cast("Mapping[str, Any]", cast("Any", value).__members__)
        return ["enum", [[name, str(member.value)] for name, member in members.items()]]
    raise Unnameable(type(cast("object", value)).__name__)
