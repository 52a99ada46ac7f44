"""Hook implementations: what this distribution registers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypto_core.host import PluginInfo, hookimpl

if TYPE_CHECKING:
    from pypto_core.contract import CodePage, Command, Pass, ReportSection


@hookimpl
def pypto_plugin() -> PluginInfo:
    """Who this is and which plugin API it was written for."""
    return PluginInfo(
        name="autotile",
        requires_api=">=1,<2",
        summary="splits matrix products into tiles that fit L0, by a cost model of the machine",
        docs="plugins/autotile/README.md",
    )


@hookimpl
def pypto_passes() -> tuple[Pass, ...]:
    """The one pass."""
    from pypto_plugin_autotile.passes import PASSES

    return PASSES


@hookimpl
def pypto_commands() -> tuple[Command, ...]:
    """``pypto tile``."""
    from pypto_core.contract import Command

    return (
        Command(
            "tile",
            "pypto_plugin_autotile.command:command",
            "the L0 tile that a matrix product gets, and why not another one",
        ),
        Command("sweep", "pypto_plugin_autotile.sweep:command", "the L0 tiles of many products at once"),
    )


@hookimpl
def pypto_report_sections() -> tuple[ReportSection, ...]:
    """Why each product got its tile."""
    from pypto_core.contract import ReportSection

    return (ReportSection("tiles", "Tile choices", "pypto_plugin_autotile.section:report_section"),)


@hookimpl
def pypto_codes() -> tuple[CodePage, ...]:
    """Pages of the hints PH-AT-003 to PH-AT-011 and of this plugin's errors."""
    from pypto_plugin_autotile.codes import PAGES

    return PAGES
