"""The pass: kernels one by one, each as a whole or not at all."""

from __future__ import annotations

from typing import Any

from pypto_core.diagnostics import Diagnostic, VerificationError
from pypto_core.ir import BUFFER_IR_SELECTED, Function, FunctionIRStage, Program, map_functions, replace
from pypto_plugin_buffer_ir.legalise.check import storage_problems
from pypto_plugin_buffer_ir.lower.accumulators import place_accumulators
from pypto_plugin_buffer_ir.lower.statements import Statements
from pypto_plugin_buffer_ir.lower.storage import index_storage
from pypto_plugin_buffer_ir.lower.writer import Writer
from pypto_plugin_buffer_ir.selection import wants_buffer_ir
from pypto_plugin_buffer_ir.verify import verify_function


def lower_tile_to_buffer(program: Program, ctx: Any) -> Program:
    """Convert every kernel that selection chose, or every one when selection never ran.

    The input is not changed, whatever happens: an error leaves nothing behind. Raises UserError (PT365) for what has
    no form on buffers and VerificationError (PT366) for storage that overlaps.
    """
    addressed = "planner:ptoas" not in ctx.capabilities

    def change(function: Function) -> Function:
        return lower_function(function, addressed) if wants_buffer_ir(function) else function

    return map_functions(program, change)


def lower_function(function: Function, addressed: bool) -> Function:
    """One kernel; ``addressed``: its allocations have addresses.

    In a kernel that selection chose, tiles may share an allocation of which no one of them tells the start: selection
    comes before the sharing and can't foresee it. Elsewhere that is refused.
    """
    _require(
        list(storage_problems(function, addressed)), f"the storage of kernel '{function.name}' is not legal"
    )
    index = index_storage(function)
    writer = Writer(index, addressed, anchored=BUFFER_IR_SELECTED not in function.attrs)
    body = Statements(writer).body(function.body)
    if not addressed:
        body = place_accumulators(body, writer.carried)
    made = replace(function, body=body, ir_stage=FunctionIRStage.Buffer)
    _require(list(verify_function(made)), f"kernel '{function.name}' can't be written as buffers")
    return made


def _require(problems: list[Diagnostic], message: str) -> None:
    if problems:
        head = Diagnostic(code="PT366", message=message, span=problems[0].span)
        raise VerificationError(diagnostics=(head, *problems))
