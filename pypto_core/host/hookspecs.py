"""The hooks a plugin may implement.

All of them take no argument and return data; none may register anything by itself. Each is called once by
:func:`pypto_core.host.load_host`, after the plugin's module was imported and its API range was found to match.
What they return is checked, sorted by name and taken in as a whole: a plugin with one bad item is left out
with all of it. The order in which plugins are installed or hooks run therefore means nothing; what runs before
what is said by pass contracts alone.

A plugin module implements the hooks it needs as functions marked with ``hookimpl``. Heavy modules belong behind
``"module:name"`` references, which are imported when they are used.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pluggy

from pypto_core.host.api import PluginInfo

if TYPE_CHECKING:
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

PROJECT = "pypto"

hookimpl = pluggy.HookimplMarker(PROJECT)
"""Marks a function of a plugin module as the implementation of the hook of the same name."""

hookspec = pluggy.HookspecMarker(PROJECT)


@hookspec
def pypto_plugin() -> PluginInfo:
    """Who the plugin is.

    When: first of all, and the only hook called when the API range does not match. Every plugin implements it.
    Return: one PluginInfo, whose ``name`` is the name of the entry point.
    """
    ...


@hookspec
def pypto_properties() -> Iterable[Property]:
    """Facts about programs that passes make, need or destroy.

    When: before the other registrations. By: plugins whose passes produce something new.
    Return: properties with a verifier wherever one can be written. The name carries a prefix of its own
    (``acme.Padded``): bare names belong to the kernel and the plugins of its catalogue, and using one is warned of.
    """
    ...


@hookspec
def pypto_ops() -> Iterable[OpDef]:
    """Operators beyond the built-in ones.

    When: at load; they are known to parser, printer and passes wherever this host is active.
    Return: operator rows with names of the form ``family.name`` that nothing else has.
    """
    ...


@hookspec
def pypto_passes() -> Iterable[Pass]:
    """Passes with their contracts.

    When: at load; a pass's body is imported when it first runs. By: plugins that change programs.
    Return: passes; names and instance ids must be free. Where a pass stands is the solver's decision.
    """
    ...


@hookspec
def pypto_backends() -> Iterable[Backend]:
    """Machines that programs can be compiled for.

    Return: backend values; names and aliases must be free, whatever their case.
    """
    ...


@hookspec
def pypto_planners() -> Iterable[Planner]:
    """Ways to place tiles in memory.

    Return: planners; a planner's name is what ``compile(planner=…)`` takes.
    """
    ...


@hookspec
def pypto_targets() -> Iterable[Target]:
    """What programs can be compiled to.

    Return: targets; a target's name is what ``compile(goal=…)`` takes.
    """
    ...


@hookspec
def pypto_emitters() -> Iterable[OpEmitter]:
    """How operators are written for a target, one recipe per operator and target.

    By: the plugin of the target for the built-in operators, and any plugin with operators of its own.
    Return: emitters; two for one operator and target clash.
    """
    ...


@hookspec
def pypto_executors() -> Iterable[OpExecutor]:
    """What operators compute, for the simulator.

    By: the simulator for the built-in operators, and any plugin with operators of its own.
    Return: executors; two for one operator clash.
    """
    ...


@hookspec
def pypto_engines() -> Iterable[Engine]:
    """Ways to run whole programs on the host.

    When: at load; an engine's module is imported when it first runs. By: simulators.
    Return: engines; names must be free.
    """
    ...


@hookspec
def pypto_commands() -> Iterable[Command]:
    """Subcommands of ``pypto``.

    When: at load; the command's module is imported when the command runs.
    Return: commands; names must be free.
    """
    ...


@hookspec
def pypto_report_sections() -> Iterable[ReportSection]:
    """Parts of the report on a compilation.

    When: at load; rendered when a report is asked for. Return: sections; names must be free.
    """
    ...


@hookspec
def pypto_codes() -> Iterable[CodePage]:
    """Pages for the codes of the plugin's errors and hints.

    When: at load; shown by ``pypto explain CODE``. Return: pages; codes must be free.
    """
    ...
