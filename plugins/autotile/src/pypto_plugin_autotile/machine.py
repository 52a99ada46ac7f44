"""What the rewrites ask of the machine and of the planner."""

from __future__ import annotations

import attrs

from pypto_core.contract import Backend
from pypto_core.ir import MemorySpace, TileLayout, TileType, physical_bytes, round_up
from pypto_core.run import PassContext
from pypto_plugin_autotile.options import PLANNER_OPTION, AutoTileOptions

STACKING_PLANNER = "pypto"
"""The planner that stacks buffers of one use after those of another and can't split a freed one."""


@attrs.frozen(kw_only=True)
class Machine:
    """The backend (None when no machine is chosen), the planner and the switches.

    ``double_buffer_c``: the chooser may use two accumulators. ``opted_in``: they were asked for by option.
    """

    backend: Backend | None
    planner: str
    double_buffer_c: bool
    opted_in: bool
    options: AutoTileOptions

    @classmethod
    def of(cls, ctx: PassContext) -> Machine:
        """What a context says."""
        options = ctx.pass_options if isinstance(ctx.pass_options, AutoTileOptions) else AutoTileOptions()
        opted_in = options.enable_l0c_double_buffer or bool(ctx.option(PLANNER_OPTION, False))
        return cls(
            backend=ctx.backend,
            planner=ctx.planner,
            double_buffer_c=ctx.planner != STACKING_PLANNER or opted_in,
            opted_in=opted_in,
            options=options,
        )

    @property
    def stacks_buffers(self) -> bool:
        """Whether the planner can't put several small buffers where a large one was."""
        return self.planner == STACKING_PLANNER

    def capacity(self, space: MemorySpace) -> int:
        """Bytes of a memory; 0 when unknown."""
        return self.backend.capacity(space) if self.backend is not None else 0

    def bytes_of(self, kind: TileType) -> int:
        """Bytes a static tile occupies, the accumulator's padding rows included."""
        return physical_bytes(kind, self.backend.acc_row_alignment) if self.backend else physical_bytes(kind)

    def allocated_bytes(self, kind: TileType) -> int:
        """Bytes a planner sets aside for a tile: its size, rounded up to the memory's alignment."""
        spec = None
        if self.backend is not None and kind.memory_space is not None:
            spec = self.backend.memory(kind.memory_space)
        return round_up(self.bytes_of(kind), spec.alignment if spec is not None else 32)


def box_alignment(kind: TileType) -> tuple[int, int] | None:
    """Rows and columns that a tile's physical extents are multiples of; None for tiles without boxes.

    A box is 512 bytes, 1,024 in the accumulator, 32 for block scales; its 16 rows or columns hold 32 bytes each.
    """
    view = kind.view
    if view.slayout is TileLayout.none_box:
        return None
    if view.fractal == 1024:
        return 16, 16
    across = view.slayout is TileLayout.row_major
    if view.fractal == 32:
        return (16, 2) if across else (2, 16)
    if view.fractal != 512 or 256 % kind.dtype.bits:
        return None
    inner = 256 // kind.dtype.bits
    return (16, inner) if across else (inner, 16)
