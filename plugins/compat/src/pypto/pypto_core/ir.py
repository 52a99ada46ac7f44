"""The names of :mod:`pypto.ir`, under which the compiled core has them."""

from __future__ import annotations

from typing import Any

from pypto import ir


def __getattr__(name: str) -> Any:
    return getattr(ir, name)


def __dir__() -> list[str]:
    return dir(ir)
