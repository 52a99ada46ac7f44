"""The names of programs over several devices: ``import pypto_core.language.distributed as pld``.

The types are the kernel's own, the operators those that plugins register under ``pld``: ``pld.window``,
``pld.system.notify``, ``pld.tensor.put``. Like those of ``pl`` they mean something in kernels alone.
"""

from __future__ import annotations

from pypto_core.ir import NotifyOp, WaitCmp
from pypto_core.language.annotations import Form, Word
from pypto_core.language.surface import OpNamespace, operator_at

DistributedTensor, WindowBuffer, CommCtx = (
    Form("pld.DistributedTensor"),
    Form("pld.WindowBuffer"),
    Form("pld.CommCtx"),
)
system, tensor, tile = OpNamespace("pld.system"), OpNamespace("pld.tensor"), OpNamespace("pld.tile")

__all__ = [
    "CommCtx",
    "DistributedTensor",
    "NotifyOp",
    "WaitCmp",
    "WindowBuffer",
    "system",
    "tensor",
    "tile",
]


def __getattr__(name: str) -> Word:
    """Operators that stand in no group: ``pld.window``, ``pld.world_size``."""
    if name.startswith("__"):
        raise AttributeError(name)
    return operator_at(f"pld.{name}")


def __dir__() -> list[str]:
    """The names of the module and its operators."""
    return sorted({*__all__, *(name for name in dir(OpNamespace("pld")) if "." not in name)})
