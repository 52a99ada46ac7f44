"""PTO text: refused, in one sentence and at the operator."""

from __future__ import annotations

from pypto_core.contract import EmitContext, OpEmitter
from pypto_core.diagnostics import UserError
from pypto_core.ir import Call, Var
from pypto_plugin_distributed.ops import OPS


def refuse(ctx: EmitContext, call: Call, result: Var | None) -> None:
    """Raise the error for an operator that has no text."""
    raise UserError(
        f"'{call.name}' reaches other devices, which has no PTO text here",
        code="PT390",
        span=call.span,
        remedy='run the planned program on the simulator: compile(…, goal="AllocatedMemoryAddr")',
    )


EMITTERS = tuple(OpEmitter("pto", op.name, refuse) for op in OPS)
"""One for each operator of this plugin."""
