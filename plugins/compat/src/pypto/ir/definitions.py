"""Operators by name, of the kernel and of every installed plugin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pypto_core.diagnostics import OpError
from pypto_core.ops import OpDef, active_registry, find_op


def definition(name: str) -> OpDef:
    """The operator of that name, of whatever is installed; raises InvalidOperationError for any other name."""
    return find_op(name) or active_registry()[name]


def check_options(op: OpDef, options: Mapping[str, Any]) -> None:
    """Raise OpError, a ValueError, for an option that the operator does not have."""
    for name in options:
        if name not in op.option_table:
            raise OpError(
                f"Unknown kwarg '{name}' for operator '{op.name}'",
                facts={"options": ", ".join(op.option_table) or "none"},
                remedy="leave it out",
            )
