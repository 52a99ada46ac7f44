"""Bytes that rings pin in each memory of a function.

The planner can't use a pinned byte for anything else, so rings have to fit beside each other: those that the author
declared and those of all loops, whether they nest or follow one another.
"""

from __future__ import annotations

from collections.abc import Sequence

from pypto_core.contract import Backend
from pypto_core.ir import (
    Function,
    MemorySpace,
    TileType,
    Var,
    conservative_acc_rows,
    defined_vars,
    physical_bytes,
    static_shape,
)
from pypto_plugin_slots.decline import Decline

_MOST = (1 << 64) - 1


class Budget:
    """What is pinned so far, starting with the function's own declarations."""

    def __init__(self, function: Function, backend: Backend | None) -> None:
        self.backend = backend
        self.acc_rows = backend.acc_row_alignment if backend is not None else conservative_acc_rows
        self.pinned: dict[MemorySpace, int] = {}
        self._seed(function)

    def size(self, kind: TileType) -> int | None:
        """Bytes of one slot; None when an extent is not a positive constant or 64 bits do not hold the size."""
        shape = static_shape(kind.shape)
        if shape is None or any(extent <= 0 for extent in shape):
            return None
        size = physical_bytes(kind, self.acc_rows)
        return size if size <= _MOST else None

    def take(self, kinds: Sequence[TileType], slots: int) -> tuple[Decline, ...]:
        """Pin a ring of ``slots`` for each tile, all or none; the reasons when they don't fit."""
        wanted: dict[MemorySpace, list[int]] = {}
        for kind in kinds:
            size = self.size(kind)
            assert size is not None and kind.memory_space is not None
            wanted.setdefault(kind.memory_space, []).append(size)
        reasons = tuple(
            reason
            for space, sizes in wanted.items()
            if (reason := self._overflow(space, sizes, slots)) is not None
        )
        if not reasons:
            for space, sizes in wanted.items():
                self.pinned[space] = self.pinned.get(space, 0) + sum(sizes) * slots
        return reasons

    def _seed(self, function: Function) -> None:
        declared: dict[Var, tuple[MemorySpace, int, int]] = {}
        for var in defined_vars(function.body):
            kind = var.type
            if not isinstance(kind, TileType) or kind.memref is None or not kind.memref.is_pinned:
                continue
            size = self.size(kind)
            if kind.memory_space is None or size is None:
                continue
            base = kind.memref.base
            space, known, slots = declared.get(base, (kind.memory_space, 0, 1))
            declared[base] = (space, max(known, size), max(slots, kind.memref.slot_count))
        for space, size, slots in declared.values():
            total = self.pinned.get(space, 0) + size * slots
            if total <= _MOST:
                self.pinned[space] = total

    def _overflow(self, space: MemorySpace, sizes: Sequence[int], slots: int) -> Decline | None:
        added, pinned = sum(sizes) * slots, self.pinned.get(space, 0)
        # A space without a stated capacity is not judged, but a ring has to have a size at all.
        capacity = self.backend.capacity(space) if self.backend is not None else 0
        if pinned + added <= (capacity or _MOST):
            return None
        fitting = (max(capacity or _MOST, pinned) - pinned) // sum(sizes)
        return Decline(
            code="PH-LS-012", gate="capacity of the memory",
            because=f"its rings need {added} bytes of {space.name}, where {pinned} of {capacity or _MOST} are taken",
            facts=(
                ("memory", space.name),
                ("capacity", f"{capacity or _MOST} bytes"),
                ("pinned before", f"{pinned} bytes"),
                ("wanted", f"{slots} slots x ({' + '.join(map(str, sizes))}) = {added} bytes"),
            ),
            remedy=f"{fitting} stages fit; or make the loaded tiles smaller"
            if fitting >= 2 else "load smaller tiles, or declare fewer and smaller allocations in this function",
        )  # fmt: skip
