"""The kinds of thing that can be registered: which hook brings them and which names they take up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from pypto_core.contract import (
    Backend,
    CodePage,
    Command,
    Engine,
    OpEmitter,
    OpExecutor,
    Pass,
    Planner,
    Property,
    ReportSection,
    Target,
)
from pypto_core.ops import OpDef


@attrs.frozen
class Kind:
    """One kind.

    ``label``: one of them, as messages say it; ``field``: the host's registry of them; ``names``: all names a
    value takes up, its own first. No two values of a kind may share one.
    """

    label: str
    field: str
    hook: str
    type: type
    names: Callable[[Any], tuple[str, ...]]


def _own_name(value: Any) -> tuple[str, ...]:
    return (value.name,)


def _pass_names(value: Pass) -> tuple[str, ...]:
    return (value.name, *(run for run in value.contract.runs if run != value.name))


def _backend_names(value: Backend) -> tuple[str, ...]:
    folded = [alias.lower() for alias in value.aliases if alias.lower() != value.name.lower()]
    return (value.name.lower(), *dict.fromkeys(folded))


def emitter_name(target: str, op: str) -> str:
    """The one name of an emitter: operator and target."""
    return f"{op} for {target}"


def _emitter_names(value: OpEmitter) -> tuple[str, ...]:
    return (emitter_name(value.target, value.op),)


KINDS: tuple[Kind, ...] = (
    Kind("property", "properties", "pypto_properties", Property, _own_name),
    Kind("operator", "operators", "pypto_ops", OpDef, _own_name),
    Kind("pass", "passes", "pypto_passes", Pass, _pass_names),
    Kind("backend", "backends", "pypto_backends", Backend, _backend_names),
    Kind("planner", "planners", "pypto_planners", Planner, _own_name),
    Kind("target", "targets", "pypto_targets", Target, _own_name),
    Kind("emitter", "emitters", "pypto_emitters", OpEmitter, _emitter_names),
    Kind("executor", "executors", "pypto_executors", OpExecutor, lambda value: (value.op,)),
    Kind("engine", "engines", "pypto_engines", Engine, _own_name),
    Kind("command", "commands", "pypto_commands", Command, _own_name),
    Kind("report section", "report_sections", "pypto_report_sections", ReportSection, _own_name),
    Kind("code", "codes", "pypto_codes", CodePage, lambda value: (value.code,)),
)
