"""How long an operator keeps its pipe busy, in core cycles, by the rates of the backend.

Transfers take what the path between their two memories takes, matrix products and drains what the cost model says,
vector operators the vector rates; elements that are not valid are neither moved nor computed. An operator of another
plugin takes what its own ``cycles`` says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from pypto_core.contract import Backend, BlockPosition, OpExecutor
from pypto_core.diagnostics import DiagnosticError, InternalError, UserError
from pypto_core.ir import Call, MemorySpace, PipeType
from pypto_plugin_simulator.trace import Step

SCALAR_CYCLES = 1.0
"""One element read or written by the scalar unit. Assumed: no figure is published, and none of it is hidden."""

_PAYLOAD = {"store": 0, "assemble": 1, "insert": 1, "tpush_to_aiv": 0, "tpush_to_aic": 0}
"""Operand that a transfer carries, where it is not the result, or the destination, as a whole."""


@attrs.frozen(eq=False)
class CostContext:
    """What the ``cycles`` of a foreign operator sees: the call, where it ran, and how to complain."""

    call: Call
    block: BlockPosition

    def error(self, message: str, *, remedy: str = "", **facts: object) -> UserError:
        """An error at the call."""
        return UserError(message, code="SIM-042", span=self.call.span, facts=facts, remedy=remedy)


def cycles_of(backend: Backend, step: Step, executors: Mapping[str, OpExecutor] | None = None) -> float:
    """Cycles that ``step`` takes on its pipe.

    ``executors``: those of other plugins by operator; one with ``cycles`` is asked. Raises UserError for a transfer
    that the machine does not have.
    """
    executor = (executors or {}).get(step.op)
    own = executor.load_cycles() if executor is not None else None
    if own is not None:
        return _foreign(own, step)
    if step.pipe is PipeType.M:
        return _product(backend, step)
    if step.pipe is PipeType.S:
        return SCALAR_CYCLES
    if step.pipe is PipeType.V and not _is_move(step):
        return _vector(backend, step)
    return _transfer(backend, step)


def _foreign(cycles: Callable[..., float], step: Step) -> float:
    try:
        taken = float(cycles(CostContext(step.call, step.block), *step.operands, **step.call.kwargs))
    except DiagnosticError as error:
        raise error.located(step.span) from error.__cause__
    except Exception as error:
        raise InternalError(
            f"the cycles of {step.op} failed: {type(error).__name__}: {error}", code="SIM-007", span=step.span
        ) from error
    if not (math.isfinite(taken) and taken >= 0):
        raise UserError(
            f"{step.op} can't take {taken} cycles", code="SIM-042", span=step.span,
            remedy="the cycles of an executor are a finite number, not below zero",
        )  # fmt: skip
    return taken


def _bare(step: Step) -> str:
    return step.op.rpartition(".")[2]


def _is_move(step: Step) -> bool:
    return _bare(step) in ("move", "copy", "extract", "assemble", "insert")


def _is_array(value: Any) -> bool:
    return hasattr(value, "valid") and hasattr(value, "dtype")


def _arrays(step: Step) -> list[Any]:
    return [value for value in (*step.operands, step.result) if _is_array(value)]


def _product(backend: Backend, step: Step) -> float:
    """A matrix product: its extents are those of the two operands in L0, wherever they stand in the call."""
    left, right = (_operand_in(step, space) for space in (MemorySpace.Left, MemorySpace.Right))
    if left is None or right is None:
        raise UserError(
            f"{step.op} takes its operands from Left and Right, and they lie elsewhere",
            code="SIM-042", span=step.span, facts={"spaces": ", ".join(s.name for s in step.spaces if s)},
            remedy="time the compiled program",
        )  # fmt: skip
    *batch, m, k = left.valid
    n = right.valid[-1]
    if 0 in (*batch, m, n, k):
        return 0.0
    width = max(1, left.dtype.bits // 8)
    return math.prod(batch) * backend.cost_model.mad_cycles(m, n, k, width, backend.fractal_alignment)


def _operand_in(step: Step, space: MemorySpace) -> Any:
    for value, where in zip(step.operands, step.spaces, strict=True):
        if where is space and _is_array(value):
            return value
    return None


def _vector(backend: Backend, step: Step) -> float:
    """As many elements as the largest tile has, of the widest element among all tiles."""
    arrays = _arrays(step)
    elements = max((math.prod(a.valid) for a in arrays), default=0)
    width = max((a.dtype.bits for a in arrays), default=8) // 8
    return backend.vector.cycles(step.op, elements, max(1, width))


def _transfer(backend: Backend, step: Step) -> float:
    """A transfer of what is valid. Other cores are reached by whatever path the pipe has from here, or to here."""
    index = _PAYLOAD.get(_bare(step))
    arrays = _arrays(step)
    if not arrays:
        raise _no_transfer(step)
    payload = step.operands[index] if index is not None else arrays[-1]
    source = step.spaces[index or 0] if step.spaces else None
    target = step.target if step.target is not None else step.spaces[-1]
    if 0 in payload.valid:
        return 0.0
    if _bare(step).startswith(("tpush_", "tpop_")):
        source, target = _crossing(backend, step, source, target)
    if source is None or target is None:
        raise _no_transfer(step)
    rows, cols = math.prod(payload.valid[:-1]), payload.valid[-1]
    if payload.dtype.bits < 8:
        cols = math.ceil(cols * payload.dtype.bits / 8)
    return backend.transfer_cycles(source, target, rows, cols, max(1, payload.dtype.bits // 8))


def _crossing(
    backend: Backend, step: Step, source: MemorySpace | None, target: MemorySpace | None
) -> tuple[MemorySpace, MemorySpace]:
    for path in backend.paths:
        if path.pipe is step.pipe and (path.src is source or (source is None and path.dst is target)):
            return path.src, path.dst
    raise UserError(
        f"{backend.title} has no path for {step.op}", code="SIM-042", span=step.span,
        remedy="describe the path in the backend",
    )  # fmt: skip


def _no_transfer(step: Step) -> UserError:
    return UserError(
        f"{step.op} runs on {step.pipe.name if step.pipe else 'no pipe'}, and it is not clear what it moves",
        code="SIM-042", span=step.span, remedy="give its executor `cycles`",
    )  # fmt: skip
