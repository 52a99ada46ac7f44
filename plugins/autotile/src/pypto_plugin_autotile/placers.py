"""Where the windows of a grid go: straight to the output tensor, or into one tile in Mat that products read."""

from __future__ import annotations

from typing import Protocol

import attrs

from pypto_core.ir import AssignStmt, Call, DataType, Expr, MemorySpace, TileType, Var
from pypto_plugin_autotile.emit import Emitter, dims, shifted
from pypto_plugin_autotile.match import store_offsets, tile_type
from pypto_plugin_autotile.plan import Plan


class Placer(Protocol):
    """A chain of values, each with one more window in it."""

    def begin(self, out: Emitter) -> Var:
        """The value with no window in it."""
        ...

    def place(
        self, out: Emitter, window: Var, row: Expr | int, col: Expr | int, chain: Var, step: int
    ) -> Var:
        """``chain`` with ``window`` at ``row``, ``col``."""
        ...

    def finish(self, out: Emitter, chain: Var) -> Var:
        """What stands for the whole result."""
        ...


@attrs.frozen
class DirectStore:
    """Stores each window to the tensor that the whole result was stored to, with the same options and notes."""

    store: AssignStmt

    @property
    def call(self) -> Call:
        """The original store."""
        assert isinstance(self.store.value, Call)
        return self.store.value

    def begin(self, out: Emitter) -> Var:
        """The tensor."""
        target = self.call.args[2]
        assert isinstance(target, Var)
        return target

    def place(
        self, out: Emitter, window: Var, row: Expr | int, col: Expr | int, chain: Var, step: int
    ) -> Var:
        """One store."""
        offsets = store_offsets(self.call)
        assert offsets is not None
        *lead, top, left = offsets
        args: list[Expr] = [window, dims(*lead, shifted(top, row), shifted(left, col)), chain]
        if len(self.call.args) > 3:
            args.append(dims(*(1 for _ in lead), *tile_type(window).valid_shape))
        name = f"{self.begin(out).name_hint}_t{step}"
        here = Emitter(self.store.span, self.call.span, out.stmts)
        return here.let(name, "tile.store", args, self.call.kwargs, self.call.attrs)

    def finish(self, out: Emitter, chain: Var) -> Var:
        """The last tensor of the chain."""
        return chain


@attrs.frozen
class MatScratch:
    """Assembles the windows into one tile in Mat, which is what its readers take operands from anyway.

    ``valid``: the extents that hold data when not all of ``shape`` does.
    """

    name: str
    shape: tuple[int, int]
    dtype: DataType
    valid: tuple[Expr, Expr] | None = None

    def begin(self, out: Emitter) -> Var:
        """The tile, of undefined content."""
        options = {"dtype": self.dtype, "target_memory": MemorySpace.Mat}
        return out.let(f"{self.name}_mat", "tile.create", (dims(*self.shape),), options)

    def place(
        self, out: Emitter, window: Var, row: Expr | int, col: Expr | int, chain: Var, step: int
    ) -> Var:
        """One write, which narrows the elements on its way when the tile's are narrower."""
        args = (chain, window, dims(row, col))
        return out.let(f"{self.name}_mat_t{step}", "tile.assemble", args)

    def finish(self, out: Emitter, chain: Var) -> Var:
        """The tile, of which no more is valid than of the product."""
        if self.valid is None:
            return chain
        return out.let(f"{self.name}_mat_valid", "tile.set_validshape", (chain, *self.valid))


def scratch_for(plan: Plan, dtype: DataType) -> MatScratch:
    """The scratch of a product."""
    return scratch_of(plan.product.var, plan.product.type, (plan.M, plan.N), dtype)


def scratch_of(source: Var, kind: TileType, shape: tuple[int, int], dtype: DataType) -> MatScratch:
    """The scratch that takes the place of ``source`` in Mat."""
    rows, cols = kind.valid_shape
    return MatScratch(source.name_hint, shape, dtype, None if kind.is_fully_valid else (rows, cols))
