"""Rules about accumulators and what leaves them: AccCompactValid, AccToGmStoreValid, AtomicAddDtypeValid."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pypto_core.diagnostics import Diagnostic
from pypto_core.ir import (
    AtomicType,
    Call,
    CompactMode,
    DataType,
    MemorySpace,
    Program,
    Stmt,
    TensorType,
    TileType,
    prove_eq,
    round_up,
    static_dim,
)
from pypto_core.ops import extent_text
from pypto_core.verify.rules import place, rule
from pypto_core.verify.scan import scan

if TYPE_CHECKING:
    from pypto_core.contract import Backend

_COMPACT = rule("AccCompactValid")
_TO_GM = rule("AccToGmStoreValid")
_ATOMIC = rule("AtomicAddDtypeValid")

# Operators that write an accumulator, with the place of the left operand.
_WRITES_ACC = {
    "tile.matmul": 0,
    "tile.matmul_acc": 1,
    "tile.matmul_bias": 0,
    "tile.gemv": 0,
    "tile.gemv_acc": 1,
    "tile.gemv_bias": 0,
}
_FRACTAL_ROWS = 16
# What the pipe out of the accumulator can write, on every backend.
_GM_DTYPES = (DataType.INT32, DataType.FP32, DataType.FP16, DataType.BF16)


def _calls(program: Program) -> Iterator[tuple[Call, Stmt]]:
    for function in program:
        for call, stmt in scan(function).calls:
            if isinstance(call, Call):
                yield call, stmt


def verify_acc_compact_valid(program: Program, backend: object = None) -> Iterator[Diagnostic]:
    """Find accumulators that are written and read at different pitches.

    A multiplication writes its columns of boxes at a pitch of the left operand's valid rows, rounded up to 16. Readers
    recompute that pitch for a compact tile and take the physical rows otherwise. 1: valid rows that may give another
    pitch than the physical rows in a tile that is not compact. 2: a left operand whose known rows give a pitch that is
    provably not the one at which the result is read.
    """
    for call, stmt in _calls(program):
        left = _WRITES_ACC.get(call.op.name)
        kind = call.type
        if left is None or not isinstance(kind, TileType) or len(kind.shape) != 2:
            continue
        yield from _compact(call, kind, left, stmt)


def _compact(call: Call, kind: TileType, left: int, stmt: Stmt) -> Iterator[Diagnostic]:
    rows, valid = kind.shape[0], kind.valid_shape[0]
    compact = kind.view.compact is not CompactMode.null
    physical, written = _pitch(static_dim(rows)), None
    # A few rows less than whole boxes leave the pitch as it is.
    same_pitch = physical is not None and physical in (_FRACTAL_ROWS, _pitch(static_dim(valid)))
    if not compact and not same_pitch and prove_eq(valid, rows) is not True:
        yield _COMPACT.error(
            1,
            f"the accumulator of '{call.op.name}' may hold fewer rows than it has, but is not compact",
            place(call.span, stmt.span),
            remedy="start the accumulation from tile.create(…, target_memory=Acc, compact=True) "
            "narrowed with tile.set_validshape",
            facts={"rows": extent_text(rows), "valid rows": extent_text(valid)},
        )
        return
    operand = call.args[left].type if left < len(call.args) else None
    if isinstance(operand, TileType) and len(operand.shape) == 2:
        written = _pitch(static_dim(operand.valid_shape[0]))
    read = _pitch(static_dim(valid)) if compact else physical
    if written is not None and read is not None and written != read:
        yield _COMPACT.error(
            2,
            f"'{call.op.name}' writes its accumulator at a pitch of {written} rows and it is read at {read}",
            place(call.span, stmt.span),
            remedy="narrow the accumulator to the left operand's valid rows and declare it compact",
            facts={"valid rows of the left operand": extent_text(call.args[left].type.valid_shape[0])},  # type: ignore[union-attr]
        )


def _pitch(rows: int | None) -> int | None:
    return None if rows is None else round_up(max(rows, 1), _FRACTAL_ROWS)


def verify_acc_to_gm_store_valid(program: Program, backend: Backend | None = None) -> Iterator[Diagnostic]:
    """Find stores out of the accumulator to an element type that its pipe can't write (1).

    With a backend, its table of pairs decides; without one, the types that every backend can write.
    """
    for call, stmt in _calls(program):
        if call.op.name != "tile.store" or len(call.args) < 3:
            continue
        tile, target = call.args[0].type, call.args[2].type
        if not (isinstance(tile, TileType) and isinstance(target, TensorType)):
            continue
        if tile.memory_space is not MemorySpace.Acc:
            continue
        allowed = _GM_DTYPES
        if backend is not None and backend.acc_to_gm:
            allowed = tuple(to for src, to in backend.acc_to_gm if src is tile.dtype)
        if target.dtype not in allowed:
            yield _TO_GM.error(
                1,
                f"an accumulator of {tile.dtype} can't be stored to a tensor of {target.dtype}",
                place(call.span, stmt.span),
                remedy="store to a tensor of a type that the pipe can write, or move the tile to Vec and cast it",
                facts={"allowed": ", ".join(d.text for d in allowed) or "none"},
            )


def verify_atomic_add_dtype_valid(program: Program, backend: Backend | None = None) -> Iterator[Diagnostic]:
    """Find atomic additions in an element type that the backend can't add atomically (1); needs a backend."""
    if backend is None:
        return
    for call, stmt in _calls(program):
        if call.kwargs.get("atomic") is not AtomicType.Add:
            continue
        target = next((a.type for a in reversed(call.args) if isinstance(a.type, TensorType)), None)
        if target is not None and target.dtype not in backend.atomic_add_dtypes:
            yield _ATOMIC.error(
                1,
                f"{backend.title} has no atomic addition of {target.dtype}",
                place(call.span, stmt.span),
                remedy="add in another type, or without atomic=",
                facts={"allowed": ", ".join(d.text for d in backend.atomic_add_dtypes) or "none"},
            )
