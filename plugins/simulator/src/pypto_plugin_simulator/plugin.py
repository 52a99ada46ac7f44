"""Hook implementations: what this distribution registers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypto_core.host import PluginInfo, hookimpl

if TYPE_CHECKING:
    from pypto_core.contract import CodePage, Command, Engine, OpExecutor, ReportSection


@hookimpl
def pypto_plugin() -> PluginInfo:
    """Who this is and which plugin API it was written for."""
    return PluginInfo(
        name="simulator",
        requires_api=">=1,<2",
        summary="runs programs on the host with the number formats of the machine",
        docs="plugins/simulator/README.md",
    )


@hookimpl
def pypto_executors() -> tuple[OpExecutor, ...]:
    """The meanings of the built-in operators."""
    from pypto_plugin_simulator.catalogue import executors

    return executors()


@hookimpl
def pypto_engines() -> tuple[Engine, ...]:
    """The engines of this distribution."""
    from pypto_core.contract import Engine

    return (
        Engine(
            "values",
            "tensors and tiles as logical values, whatever memory they will lie in",
            "pypto_plugin_simulator.values:run",
        ),
        Engine(
            "bytes",
            "planned tiles in the bytes of their memories, where every read is checked",
            "pypto_plugin_simulator.machine:run",
            placed=True,
        ),
        Engine(
            "time",
            "a run on bytes, then its operators on the pipes of the machine: times and races",
            "pypto_plugin_simulator.timing.engine:run",
            placed=True,
        ),
    )


@hookimpl
def pypto_commands() -> tuple[Command, ...]:
    """``pypto profile``."""
    from pypto_core.contract import Command

    return (
        Command(
            "profile",
            "pypto_plugin_simulator.command:command",
            "how busy the pipes of the machine are while a kernel runs",
        ),
    )


@hookimpl
def pypto_report_sections() -> tuple[ReportSection, ...]:
    """Where the time of a simulated run goes."""
    from pypto_core.contract import ReportSection

    return (
        ReportSection(
            "timeline",
            "Timeline",
            "pypto_plugin_simulator.timing.section:report_section",
            media="text/html",
        ),
    )


@hookimpl
def pypto_codes() -> tuple[CodePage, ...]:
    """What the simulator's errors mean."""
    from pypto_plugin_simulator.codes import PAGES

    return PAGES
