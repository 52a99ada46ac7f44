"""Short ways to write operands, shared by the tests of the operator tables."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from pypto_core.ir import (
    Call,
    CompactMode,
    ConstInt,
    DataType,
    Expr,
    MakeTuple,
    MemorySpace,
    PadValue,
    TensorLayout,
    TensorType,
    TensorView,
    TileLayout,
    TileType,
    TileView,
    Type,
    Var,
    scalar_type,
)
from pypto_core.ops import create_call, dims_text

LETTERS = {"r": TileLayout.row_major, "c": TileLayout.col_major, "n": TileLayout.none_box}


def dims(*values: Any) -> tuple[Expr, ...]:
    return tuple(v if isinstance(v, Expr) else ConstInt(v) for v in values)


@attrs.frozen
class Kit:
    """Builders of operands and calls."""

    def tuple(self, *values: Any) -> MakeTuple:
        return MakeTuple(dims(*values))

    def scalar(self, name: str = "s", dtype: DataType = DataType.INDEX) -> Var:
        return Var(name, scalar_type(dtype))

    def tile(
        self,
        *shape: Any,
        dtype: DataType = DataType.FP32,
        space: str | None = "Vec",
        valid: Any = None,
        layout: str | None = None,
        fractal: int = 512,
        pad: PadValue = PadValue.null,
        compact: bool = False,
    ) -> Var:
        """``layout``: two letters, of r (row_major), c (col_major), n (none_box)."""
        where = None if space is None else MemorySpace[space]
        plain = TileType(dims(*shape), dtype, None, None, where)
        view = plain.view
        b, s = (LETTERS[x] for x in layout) if layout else (view.blayout, view.slayout)
        new = TileView(
            valid_shape=() if valid is None else dims(*valid),
            blayout=b,
            slayout=s,
            fractal=fractal if layout else view.fractal,
            pad=pad,
            compact=CompactMode.normal if compact else CompactMode.null,
        )
        return Var("t", TileType(dims(*shape), dtype, None, new, where))

    def tensor(
        self,
        *shape: Any,
        dtype: DataType = DataType.FP32,
        valid: Any = None,
        layout: str = "ND",
        stride: Any = (),
    ) -> Var:
        view = TensorView(
            layout=TensorLayout[layout],
            valid_shape=() if valid is None else dims(*valid),
            stride=dims(*stride),
        )
        return Var("x", TensorType(dims(*shape), dtype, None, view))

    def call(self, name: str, /, *args: Any, **kwargs: Any) -> Call:
        """Numbers become INDEX constants, lists become tuples."""
        made = [
            a if isinstance(a, Expr) else self.tuple(*a) if isinstance(a, list) else ConstInt(a) for a in args
        ]
        return create_call(name, made, kwargs)

    def of(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """The type of a call."""
        return self.call(name, *args, **kwargs).type

    def show(self, kind: Type) -> str:
        """A tile or tensor type in short: ``[64, 64] fp32 Vec r/n/512 valid [8, 64] zero compact``."""
        assert isinstance(kind, TileType | TensorType)
        text = f"{dims_text(kind.shape)} {kind.dtype}"
        if isinstance(kind, TensorType):
            view = kind.tensor_view
            if view is not None and view.layout is not TensorLayout.ND:
                text += f" {view.layout.name}"
            if view is not None and view.valid_shape:
                text += f" valid {dims_text(view.valid_shape)}"
            return text + (f" {view.pad.name}" if view is not None and view.pad is not PadValue.null else "")
        view = kind.view
        short = {v: k for k, v in LETTERS.items()}
        space = kind.memory_space.name if kind.memory_space is not None else "?"
        text += f" {space} {short[view.blayout]}/{short[view.slayout]}/{view.fractal}"
        if view.valid_shape:
            text += f" valid {dims_text(view.valid_shape)}"
        if view.pad is not PadValue.null:
            text += f" {view.pad.name}"
        return text + (" compact" if view.compact is CompactMode.normal else "")


@pytest.fixture(scope="session")
def kit() -> Kit:
    return Kit()
