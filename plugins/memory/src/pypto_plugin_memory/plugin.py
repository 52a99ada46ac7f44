"""Hook implementations: what this distribution registers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypto_core.host import PluginInfo, hookimpl

if TYPE_CHECKING:
    from pypto_core.contract import CodePage, Command, Pass, Planner, Property, ReportSection


@hookimpl
def pypto_plugin() -> PluginInfo:
    """Who this is and which plugin API it was written for."""
    return PluginInfo(
        name="memory",
        requires_api=">=1,<2",
        summary="MemRefs, shared storage, lifetimes and addresses",
        docs="plugins/memory/README.md",
    )


@hookimpl
def pypto_properties() -> tuple[Property, ...]:
    """What holds of storage once these passes have run."""
    from pypto_plugin_memory.passes import PROPERTIES

    return PROPERTIES


@hookimpl
def pypto_passes() -> tuple[Pass, ...]:
    """The passes from tiles to addresses."""
    from pypto_plugin_memory.passes import PASSES

    return PASSES


@hookimpl
def pypto_planners() -> tuple[Planner, ...]:
    """Who may decide where tiles lie."""
    from pypto_plugin_memory.planners.table import PLANNERS

    return PLANNERS


@hookimpl
def pypto_commands() -> tuple[Command, ...]:
    """``pypto memory``."""
    from pypto_core.contract import Command

    return (
        Command("memory", "pypto_plugin_memory.command:command", "what lies where in each memory, and when"),
    )


@hookimpl
def pypto_report_sections() -> tuple[ReportSection, ...]:
    """The memory map."""
    from pypto_core.contract import ReportSection

    return (
        ReportSection(
            "memory", "Memory map", "pypto_plugin_memory.command:report_section", media="image/svg+xml"
        ),
    )


@hookimpl
def pypto_codes() -> tuple[CodePage, ...]:
    """What the errors and hints of this plugin mean."""
    from pypto_plugin_memory.codes import PAGES

    return PAGES
