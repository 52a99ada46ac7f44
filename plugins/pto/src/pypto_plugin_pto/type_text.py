"""Types as PTO text: element types, tile buffers, views of global memory."""

from __future__ import annotations

from functools import cache, reduce

import attrs

from pypto_core.contract import Backend
from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    INDEX_ONE,
    RUNTIME_EXTENT,
    BufferType,
    CompactMode,
    DataType,
    Expr,
    MemorySpace,
    TensorType,
    TileLayout,
    TileType,
    TileView,
    as_dims,
    box_shape,
    floordiv,
    mul,
    round_up,
    static_dim,
    stored_extents,
)
from pypto_plugin_pto.alignment import misaligned

_NAMED: dict[DataType, str] = {
    DataType.BOOL: "i1",
    DataType.INDEX: "index",
    DataType.FP16: "f16",
    DataType.FP32: "f32",
    DataType.BF16: "bf16",
    DataType.FP8E4M3FN: "f8E4M3FN",
    DataType.FP8E5M2: "f8E5M2",
    DataType.FP8E8M0: "!pto.f8E8M0",
    DataType.HF8: "!pto.hif8",
    DataType.FP4: "!pto.f4E2M1x2",
}

_SCALED = "isa.mx_matmul"

LOCATIONS: dict[MemorySpace, str] = {
    MemorySpace.Vec: "vec",
    MemorySpace.Mat: "mat",
    MemorySpace.Left: "left",
    MemorySpace.Right: "right",
    MemorySpace.Acc: "acc",
    MemorySpace.Bias: "bias",
    MemorySpace.LeftScale: "scaling",
    MemorySpace.RightScale: "scaling",
}
"""What the assembler calls each memory."""


@cache
def element(dtype: DataType) -> str:
    """The element type; unsigned integers by their own names."""
    if dtype in _NAMED:
        return _NAMED[dtype]
    if dtype.is_int and dtype.bits >= 8:
        return f"{'' if dtype.is_signed else 'u'}i{dtype.bits}"
    raise UserError(
        f"PTO text has no element type {dtype}",
        code="PTO-003",
        remedy="convert the values to a type that the assembler knows, for example pl.FP32 or pl.INT32",
    )


@cache
def register(dtype: DataType) -> str:
    """The type that a scalar is computed in: integers without a sign, as arithmetic takes no others."""
    return f"i{dtype.bits}" if dtype.is_int and not dtype.is_signed else element(dtype)


@attrs.frozen
class Extents:
    """Rows and columns of a tile as the assembler counts them, and what is valid of them."""

    rows: int
    cols: int
    valid_rows: Expr
    valid_cols: Expr

    @property
    def valid(self) -> tuple[Expr, Expr]:
        """Valid rows and columns."""
        return self.valid_rows, self.valid_cols


def flat_extents(kind: TileType) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    """The extents of a tile on two axes, and what is valid of them: one of rank 1 is a row, leading axes count as rows,
    as a load of several axes fills them.
    """
    shape, valid = kind.shape, kind.valid_shape
    if len(shape) != 2 and shape:
        shape = (reduce(mul, shape[:-1], INDEX_ONE), shape[-1])
        valid = (reduce(mul, valid[:-1], INDEX_ONE), valid[-1])
    return shape, valid


def extents_of(kind: TileType) -> Extents:
    """Rows and columns of a tile's storage, see :func:`flat_extents`. Four-bit elements of Vec tiles count by pairs."""
    shape, valid = flat_extents(kind)
    numbers = [static_dim(d) for d in shape]
    if len(numbers) != 2 or None in numbers:
        raise UserError(
            f"a tile of PTO text has two constant extents, not those of {kind!r}",
            code="PTO-004",
            remedy="flatten the tile to two axes and narrow it with valid_shape instead of a runtime extent",
        )
    rows, cols = stored_extents((numbers[0] or 0, numbers[1] or 0), kind.dtype, kind.view)
    if kind.dtype is DataType.FP4 and kind.memory_space is MemorySpace.Vec:
        # Two elements share a carrier byte, which is what Vec tiles are counted in.
        return Extents(rows, cols // 2, valid[0], floordiv(valid[1], 2))
    return Extents(rows, cols, valid[0], valid[1])


def _multiplies(backend: Backend, dtype: DataType) -> bool:
    """Whether a machine works with floats of that width: it multiplies them, or blocks of them with scales."""
    return _SCALED in backend.features or dtype in [pair[0] for pair in backend.matmul_dtypes]


class TypeWriter:
    """Writes types for one machine and remembers what it wrote."""

    def __init__(self, backend: Backend | None) -> None:
        self._backend = backend
        self._left = backend.left_blayout if backend is not None else TileLayout.col_major
        self._known: dict[tuple[object, ...], str] = {}

    def tile(self, kind: TileType, valid: tuple[int | None, int | None] = (None, None)) -> str:
        """A tile buffer. ``valid``: extents that the type itself states; None is one that an operand gives."""
        space, view = kind.memory_space, kind.view
        if space is None or space not in LOCATIONS:
            raise UserError(
                f"PTO text has no tiles in {space.name if space else 'an unknown memory'}",
                code="PTO-004",
                facts={"tile": repr(kind)},
                remedy="run InferTileMemorySpace first, or name the memory in the annotation",
            )
        extents = extents_of(kind)
        blayout = self._left if space is MemorySpace.Left else view.blayout
        key = (
            space, kind.dtype, extents.rows, extents.cols, valid, blayout, view.slayout, view.fractal, view.pad,
            view.compact,
        )  # fmt: skip
        text = self._known.get(key)
        if text is None:
            self._check_element(kind)
            self._check_alignment(kind, extents, blayout)
            rows, cols = ["?" if v is None else str(v) for v in valid]
            compact = "" if view.compact is CompactMode.null else f", compact={view.compact.value}"
            text = self._known[key] = (
                f"!pto.tile_buf<loc={LOCATIONS[space]}, dtype={element(kind.dtype)}, rows={extents.rows}, "
                f"cols={extents.cols}, v_row={rows}, v_col={cols}, blayout={blayout.name}, "
                f"slayout={view.slayout.name}, fractal={view.fractal}, pad={view.pad.value}{compact}>"
            )
        return text

    def buffer(self, kind: BufferType) -> str:
        """A buffer: the tile that its descriptor says, with the valid extents that are constant in it."""
        view = TileView(
            blayout=kind.blayout,
            slayout=kind.slayout,
            fractal=kind.fractal,
            pad=kind.pad,
            compact=kind.compact,
        )
        tile = TileType(as_dims(kind.shape), kind.dtype, None, view, kind.memory_space)
        rows, cols = (None if v == RUNTIME_EXTENT else v for v in kind.valid_shape)
        return self.tile(tile, (rows, cols))

    def _check_element(self, kind: TileType) -> None:
        """Tiles hold numbers of 8 bits and more, and floats of less than 16 where the machine has them."""
        dtype, backend = kind.dtype, self._backend
        if dtype is DataType.BOOL or dtype is DataType.INDEX:
            raise UserError(
                f"PTO text has no tiles of {dtype} elements",
                code="PTO-003",
                facts={"tile": repr(kind)},
                remedy="use pl.UINT8 for truth values and masks, and pl.INT32 for indices",
            )
        narrow = dtype.is_float and dtype.bits < 16
        if backend is not None and narrow and not _multiplies(backend, dtype):
            raise UserError(
                f"{backend.title} has no tiles of {dtype} elements",
                code="PTO-003",
                facts={"tile": repr(kind)},
                remedy="convert the values to pl.FP16 or pl.BF16, or choose a machine that multiplies such elements",
            )

    @staticmethod
    def _check_alignment(kind: TileType, extents: Extents, blayout: TileLayout) -> None:
        view, space = kind.view, kind.memory_space
        assert space is not None
        wrong = misaligned(
            LOCATIONS[space], extents.rows, extents.cols, kind.dtype.element_bytes, blayout.name,
            view.slayout.name, view.fractal,
        )  # fmt: skip
        if wrong is not None:
            tall, wide = box_shape(view, kind.dtype)
            whole = [round_up(extents.rows, tall), round_up(extents.cols, wide)]
            raise UserError(
                f"the assembler takes no tile like this: {wrong}",
                code="PTO-018",
                facts={"tile": repr(kind), "layout": f"{blayout.name}, {view.slayout.name}, {view.fractal}"},
                remedy=f"make it {whole} and narrow it with valid_shape={[extents.rows, extents.cols]}",
            )

    @staticmethod
    def pointer(kind: TensorType) -> str:
        """A pointer to the elements of a tensor."""
        return f"!pto.ptr<{element(kind.dtype)}>"

    @staticmethod
    def tensor_view(rank: int, dtype: DataType) -> str:
        """A view of a whole tensor, whose extents are operands."""
        return f"!pto.tensor_view<{'?x' * rank}{element(dtype)}>"

    @staticmethod
    def partition(sizes: tuple[int | None, ...], dtype: DataType) -> str:
        """A window of a tensor."""
        dims = "".join(["?x" if s is None else f"{s}x" for s in sizes])
        return f"!pto.partition_tensor_view<{dims}{element(dtype)}>"
