"""What a batch of products is among tensors and among tiles: which operators make, look at and write it."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import attrs

from pypto_core.diagnostics import Span, UserError
from pypto_core.ir import (
    INDEX_ONE,
    Call,
    Expr,
    MakeTuple,
    MemorySpace,
    TensorType,
    TileLayout,
    TileType,
    Var,
    implicit_layout,
    static_shape,
)
from pypto_core.ops import create_call
from pypto_plugin_tensor.shapes import dims

Index = tuple[int, ...]
Shaped = TensorType | TileType


@attrs.frozen(eq=False, kw_only=True)
class Level:
    """``products``: operators that multiply, and which argument is the left operand. ``made``: those that make what
    is added to. ``per_matrix``: those that do with each matrix what they do with the batch. ``written``: which
    argument of ``write`` is the source.
    """

    name: str
    kind: type[Shaped]
    products: dict[str, int]
    made: frozenset[str]
    per_matrix: tuple[str, ...]
    write: str
    written: int

    @property
    def window(self) -> str:
        """The operator that takes a window."""
        return f"{self.name}.slice"

    @property
    def insert(self) -> str:
        """The operator that puts a part into a whole."""
        return f"{self.name}.assemble"

    @property
    def reshape(self) -> str:
        """The operator that looks at something under another shape."""
        return f"{self.name}.reshape"

    @property
    def set_valid(self) -> str:
        """The operator that says how much holds data."""
        return f"{self.name}.set_validshape"

    def is_batch(self, call: Call) -> bool:
        """Whether a call multiplies more than one pair of axes."""
        return call.name in self.products and rank_of(call) > 2

    def plain(self, name: str) -> str:
        """The product of two matrices for that of a batch."""
        return name.replace("batch_", "")

    def empty(self, kind: Shaped, span: Span) -> Call:
        """Room for all matrices of a batch."""
        shape = dims(kind.shape)
        if self.kind is TensorType:
            return create_call("tensor.create", [shape], {"dtype": kind.dtype}, span)
        options = {"dtype": kind.dtype, "target_memory": MemorySpace.Vec}
        return create_call("tile.create", [shape], options, span)

    def readable(self, part: Var) -> list[Call]:
        """What makes a matrix something that can be put into that room."""
        kind = part.type
        if not isinstance(kind, TileType) or kind.memory_space is not MemorySpace.Acc:
            return []
        blayout, _, _ = implicit_layout(kind.shape, MemorySpace.Vec)
        options = {"target_memory": MemorySpace.Vec, "blayout": blayout, "slayout": TileLayout.none_box}
        return [create_call("tile.move", [part], options, part.span)]

    def by_role(self, call: Call) -> Sequence[Expr]:
        """The arguments of a write: the target, the source, the offset, and what else there is."""
        if self.write == "tensor.assemble":
            return call.args
        source, offset, target, *rest = call.args
        return (target, source, offset, *rest)

    def write_args(self, target: Expr, part: Var, place: MakeTuple, rest: Sequence[Expr]) -> list[Expr]:
        """The arguments of the write of one matrix. A store says its extents in the axes of the tensor."""
        if self.write == "tensor.assemble":
            return [target, part, place, *rest]
        extents = rest[0].elements if rest and isinstance(rest[0], MakeTuple) else shaped(part).valid_shape
        lead = len(place.elements) - 2
        return [part, place, target, MakeTuple((*(INDEX_ONE for _ in range(lead)), *extents[-2:]))]


TENSORS = Level(
    name="tensor",
    kind=TensorType,
    products={"tensor.matmul": 0, "tensor.matmul_acc": 1},
    made=frozenset({"tensor.create", "tensor.full"}),
    per_matrix=("tensor.cast", "tensor.set_validshape"),
    write="tensor.assemble",
    written=1,
)
TILES = Level(
    name="tile",
    kind=TileType,
    products={"tile.batch_matmul": 0, "tile.batch_matmul_acc": 1},
    made=frozenset({"tile.create"}),
    per_matrix=(),
    write="tile.store",
    written=0,
)


def shaped(expr: Expr) -> Shaped:
    """The type of a tensor or tile."""
    kind = expr.type
    assert isinstance(kind, TensorType | TileType)
    return kind


def rank_of(expr: Expr) -> int:
    """The axes of a tensor or tile, 0 for anything else."""
    return len(expr.type.shape) if isinstance(expr.type, TensorType | TileType) else 0


def batch_of(expr: Expr) -> Index:
    """The extents ahead of the last two axes.

    Raises UserError (PT377) when they are not known at compile time.
    """
    batch = static_shape(shaped(expr).shape[:-2])
    if batch is None or not prod(batch):
        raise UserError(
            "this product is of a batch whose size is not known at compile time",
            code="PT377",
            span=expr.span,
            facts={"product": repr(expr.type)},
            remedy="loop over the leading axes, and multiply the matrices a[i : i + 1, :, :] of each trip",
        )
    return batch


__all__ = ["TENSORS", "TILES", "Index", "Level", "batch_of", "rank_of", "shaped"]
