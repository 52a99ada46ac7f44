"""Hook implementations: this distribution offers names to import, and pages of what its checks find."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypto_core.host import PluginInfo, hookimpl
from pypto_plugin_compat.guard import refuse_beside_another

if TYPE_CHECKING:
    from pypto_core.contract import CodePage


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


@hookimpl
def pypto_codes() -> tuple[CodePage, ...]:
    """What the diagnostic checks find, and what to do about it."""
    from pypto_plugin_compat.codes import PAGES

    return PAGES
