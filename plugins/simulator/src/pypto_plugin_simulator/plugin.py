"""Hook implementations: what this distribution registers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypto_core.host import PluginInfo, hookimpl

if TYPE_CHECKING:
    from pypto_core.contract import CodePage, Engine, OpExecutor


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
    )


@hookimpl
def pypto_codes() -> tuple[CodePage, ...]:
    """What the simulator's errors mean."""
    from pypto_plugin_simulator.codes import PAGES

    return PAGES
