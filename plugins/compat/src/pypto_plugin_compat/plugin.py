"""Hook implementations: this distribution registers nothing, it only offers names to import."""

from __future__ import annotations

from pypto_core.host import PluginInfo, hookimpl
from pypto_plugin_compat.guard import refuse_beside_another


@hookimpl
def pypto_plugin() -> PluginInfo:
    """Who this is; an ImportError when another distribution brings a package ``pypto`` too."""
    refuse_beside_another()
    return PluginInfo(
        name="compat",
        requires_api=">=1,<2",
        summary="import names of the PyPTO C++ compiler: import pypto.language as pl",
        docs="plugins/compat/README.md",
    )
