"""The names of programs over several devices: ``import pypto.language.distributed as pld``.

Those of :mod:`pypto_core.language.distributed`, whichever of the two a kernel imports.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_kernel = import_module("pypto_core.language.distributed")
globals().update({name: getattr(_kernel, name) for name in _kernel.__all__})

__all__ = [*_kernel.__all__]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """Operators that stand in no group."""
    return getattr(_kernel, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(_kernel)})
