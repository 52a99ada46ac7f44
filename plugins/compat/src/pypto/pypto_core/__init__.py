"""The modules that PyPTO's compiled core has: ``passes``, ``ir``, ``backend``, ``codegen``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pypto_core.ir import DataType

if TYPE_CHECKING:
    from pypto.pypto_core import backend, codegen, ir, passes, testing

_MODULES = ("backend", "codegen", "ir", "passes", "testing")

__all__ = ["DataType", "backend", "codegen", "ir", "passes", "testing"]


def __getattr__(name: str) -> Any:
    """The modules, when they are first used."""
    if name in _MODULES:
        return import_module(f"pypto.pypto_core.{name}")
    raise AttributeError(f"module 'pypto.pypto_core' has no attribute {name!r}")
