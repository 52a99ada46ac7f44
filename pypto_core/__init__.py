"""The kernel of a tile compiler for Ascend NPUs: IR, language, solver and plugin host.

The names below are imported when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

# Type checkers take a variable of this name for true; typing itself takes longer to import than we may.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from pypto_core import ir
    from pypto_core import language as pl
    from pypto_core.host import load_host
    from pypto_core.run import PassContext, compile

    __version__: str

__all__ = ["PassContext", "__version__", "compile", "ir", "load_host", "pl"]

_HOMES = {
    "PassContext": ("pypto_core.run", "PassContext"),
    "compile": ("pypto_core.run", "compile"),
    "ir": ("pypto_core.ir", ""),
    "load_host": ("pypto_core.host", "load_host"),
    "pl": ("pypto_core.language", ""),
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            value: Any = version("pypto-core")
        except PackageNotFoundError:  # run from a source tree that nobody installed
            value = "0+source"
    elif name in _HOMES:
        from importlib import import_module

        module, attribute = _HOMES[name]
        value = import_module(module)
        value = getattr(value, attribute) if attribute else value
    else:
        raise AttributeError(f"module 'pypto_core' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
