"""Hook implementations: what this distribution registers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypto_core.host import PluginInfo, hookimpl

if TYPE_CHECKING:
    from pypto_core.contract import CodePage, Command, OpEmitter, Target


@hookimpl
def pypto_plugin() -> PluginInfo:
    """Who this is and which plugin API it was written for."""
    return PluginInfo(
        name="pto",
        requires_api=">=1,<2",
        summary="writes placed programs as PTO text, and checks such text",
        docs="plugins/pto/README.md",
    )


@hookimpl
def pypto_targets() -> tuple[Target, ...]:
    """The target ``pto``."""
    from pypto_plugin_pto.target import TARGET

    return (TARGET,)


@hookimpl
def pypto_emitters() -> tuple[OpEmitter, ...]:
    """The recipes of the built-in operators."""
    from pypto_plugin_pto.catalogue import emitters

    return emitters()


@hookimpl
def pypto_commands() -> tuple[Command, ...]:
    """``pypto check``."""
    from pypto_core.contract import Command

    return (
        Command(
            "check",
            "pypto_plugin_pto.checker.cli:command",
            "check PTO text: grammar, tiles, levels, names and types",
        ),
    )


@hookimpl
def pypto_codes() -> tuple[CodePage, ...]:
    """What the errors of this plugin mean."""
    from pypto_plugin_pto.codes import PAGES

    return PAGES
