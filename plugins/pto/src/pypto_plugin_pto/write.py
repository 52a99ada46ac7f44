"""From a program to its modules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pypto_core.contract import Artifact, OpEmitter
from pypto_core.ir import Function, FunctionType, Program, flatten, is_incore_type
from pypto_plugin_pto.calls import calls_of
from pypto_plugin_pto.catalogue import emitters
from pypto_plugin_pto.emission import Emission
from pypto_plugin_pto.sides import KIND_NAMES, core_of
from pypto_plugin_pto.statements import Statements
from pypto_plugin_pto.target import TARGET_NAME, places_buffers
from pypto_plugin_pto.text import symbol

DEFAULT_ARCH = "a2a3"
MEDIA = "text/x-pto"


def emit(program: Program, ctx: Any) -> Iterator[Artifact]:
    """One module for each function that runs on a device core, or for the halves of one mixed kernel.

    Functions of the host are not written, nor are those that are declared with ``...`` and bound when the program runs;
    each module names them in a comment.
    """
    recipes = recipes_of(ctx)
    modules = modules_of(program)
    if not modules:
        ctx.warn(
            "PTO-020",
            f"there is nothing to write: no function of program '{program.name}' runs on a device core and has a body",
            facts={"functions": ", ".join(f"{f.name} ({f.func_type.name})" for f in program)},
            remedy="write a kernel under @pl.function(type=pl.FunctionType.InCore)",
        )
    left_out = [
        f"// {f.name} ({f.func_type.name}) "
        + ("has its body elsewhere" if _is_bound_elsewhere(f) else "runs on the host and is not written here")
        for f in program
        if not _is_written(f)
    ]
    for name, functions in modules.items():
        text = module_text(functions, ctx, recipes)
        yield Artifact(f"{name}.pto", "".join([line + "\n" for line in left_out]) + text, MEDIA)


def modules_of(program: Program) -> dict[str, list[Function]]:
    """The device functions by the module they belong to, which has the name of the group that launches them.

    Functions share a module when one group calls them, or when one imports a buffer that the other reserves.
    """
    device = {f.name: f for f in program if _is_written(f)}
    leader = {name: name for name in device}

    def find(name: str) -> str:
        while leader[name] != name:
            name = leader[name]
        return name

    titles: dict[str, str] = {}
    for function in program:
        called = [n for n in _references(function) if n in device]
        grouped = function.func_type is FunctionType.Group
        linked = called if grouped else [function.name, *called] if function.name in device else []
        for name in linked[1:]:
            first, second = sorted((find(linked[0]), find(name)))
            leader[second] = first
        if grouped and called:
            titles[called[0]] = function.name
    modules: dict[str, list[Function]] = {}
    names = {find(member): title for member, title in titles.items()}
    for name, function in device.items():
        modules.setdefault(names.get(find(name), find(name)), []).append(function)
    return dict(sorted(modules.items()))


def _is_written(function: Function) -> bool:
    return is_incore_type(function.func_type) and not _is_bound_elsewhere(function)


def _is_bound_elsewhere(function: Function) -> bool:
    return function.requires_runtime_binding and not flatten(function.body)


def _references(function: Function) -> list[str]:
    """Functions that are called, or whose reserved buffer is imported, in order."""
    return [str(call.kwargs.get("peer_func", call.op.name)) for call in calls_of(function.body)]


def recipes_of(ctx: Any) -> Mapping[str, OpEmitter]:
    """The recipes of the host, or those of this plugin when there is no host."""
    if ctx.host is not None:
        return ctx.host.emitters_of(TARGET_NAME)
    return {e.op: e for e in emitters()}


def module_text(functions: list[Function], ctx: Any, recipes: Mapping[str, OpEmitter]) -> str:
    """The module with these functions."""
    arch = ctx.backend.pto_target_arch if ctx.backend is not None else DEFAULT_ARCH
    lines = [f'module attributes {{pto.target_arch = "{arch}"}} {{']
    for function in functions:
        lines += function_lines(function, ctx, recipes)
    lines.append("}")
    return "\n".join(lines) + "\n"


def function_lines(function: Function, ctx: Any, recipes: Mapping[str, OpEmitter]) -> list[str]:
    """One function, indented as a member of its module."""
    core = core_of(function)
    emission = Emission(function, ctx, recipes, not places_buffers(ctx.capabilities))
    Statements(emission).function(function.body)
    kind = (
        f" attributes {{pto.kernel_kind = #pto.kernel_kind<{KIND_NAMES[core]}>}}" if core is not None else ""
    )
    head = f"  func.func {symbol(function.name)}({emission.signature.declarations()}){kind} {{"
    return [*_comments(function), head, *emission.text.lines(), "  }"]


def _comments(function: Function) -> list[str]:
    return [f"  // {line.strip()}" for comment in function.leading_comments for line in comment.splitlines()]
