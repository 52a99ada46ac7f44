"""The names of :mod:`pypto.ir`, under which the compiled core has them."""

from __future__ import annotations

from typing import Any

from pypto import ir
from pypto.ir.buffers import create_internal_op_call

_create_internal_op_call = create_internal_op_call


def __getattr__(name: str) -> Any:
    return getattr(ir, name)


def __dir__() -> list[str]:
    return dir(ir)
