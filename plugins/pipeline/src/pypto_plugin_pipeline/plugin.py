"""Hook implementations: what this distribution registers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypto_core.host import PluginInfo, hookimpl

if TYPE_CHECKING:
    from pypto_core.contract import CodePage, Pass, Property


@hookimpl
def pypto_plugin() -> PluginInfo:
    """Who this is and which plugin API it was written for."""
    return PluginInfo(
        name="pipeline",
        requires_api=">=1,<2",
        summary="pipelined loops by replication, and the order of loads and stores in them",
        docs="plugins/pipeline/README.md",
    )


@hookimpl
def pypto_properties() -> tuple[Property, ...]:
    """What is left of pipelined loops."""
    from pypto_plugin_pipeline.passes import PROPERTIES

    return PROPERTIES


@hookimpl
def pypto_passes() -> tuple[Pass, ...]:
    """The passes that resolve pipelined loops."""
    from pypto_plugin_pipeline.passes import PASSES

    return PASSES


@hookimpl
def pypto_codes() -> tuple[CodePage, ...]:
    """What the errors of this plugin mean."""
    from pypto_plugin_pipeline.codes import PAGES

    return PAGES
