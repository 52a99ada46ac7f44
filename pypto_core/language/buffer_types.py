"""Descriptors of buffers as annotations: ``pl.BufferType([16, 64], pl.FP32, pl.Mem.Vec, valid_shape=[-1, -1])``."""

from __future__ import annotations

import ast
from typing import Any

from pypto_core.diagnostics import ParserTypeError
from pypto_core.ir import (
    BufferType,
    CompactMode,
    ConstInt,
    DataType,
    MemorySpace,
    MultiBufferType,
    PadValue,
    TileLayout,
    Type,
)
from pypto_core.language.context import Context
from pypto_core.language.environment import items_of
from pypto_core.language.errors import did_you_mean, value_text

BUFFER_FORMS = ("BufferType", "MultiBufferType")
"""Names under ``pl`` that are called to write a descriptor."""

_FIELDS: tuple[tuple[str, type], ...] = (
    ("shape", tuple), ("dtype", DataType), ("memory_space", MemorySpace), ("valid_shape", tuple),
    ("blayout", TileLayout), ("slayout", TileLayout), ("fractal", int), ("pad", PadValue), ("compact", CompactMode),
)  # fmt: skip


def buffer_type(ctx: Context, node: ast.Call, path: str) -> Type:
    """The type that a call of ``pl.<path>`` in an annotation stands for."""
    return _one(ctx, node) if path == "BufferType" else _several(ctx, node)


def _one(ctx: Context, node: ast.Call) -> BufferType:
    names = [name for name, _ in _FIELDS]
    if len(node.args) > len(names):
        raise ctx.fail(
            ParserTypeError,
            f"pl.BufferType takes {len(names)} arguments",
            node.args[len(names)],
            "arguments: " + ", ".join(names),
        )
    parts: dict[str, Any] = {}
    written = [*zip(names, node.args, strict=False), *((str(k.arg), k.value) for k in node.keywords)]
    for name, part in written:
        if name not in names or name in parts:
            raise ctx.fail(
                ParserTypeError,
                f"pl.BufferType has no argument '{name}'"
                if name not in names
                else f"'{name}' is given twice",
                part,
                did_you_mean(name, names, "arguments: " + ", ".join(names)),
            )
        parts[name] = _field(ctx, name, dict(_FIELDS)[name], part)
    missing = [name for name in names[:3] if name not in parts]
    if missing:
        raise ctx.fail(
            ParserTypeError,
            f"pl.BufferType needs its {missing[0]}",
            node,
            "write pl.BufferType([16, 64], pl.FP32, pl.Mem.Vec)",
        )
    return BufferType(**parts)


def _field(ctx: Context, name: str, wanted: type, node: ast.expr) -> Any:
    value = ctx.expr(node)
    if wanted is tuple:
        items = items_of(value)
        numbers = [v.value if isinstance(v, ConstInt) else v for v in items] if items is not None else [None]
        if all(type(v) is int for v in numbers):
            return tuple(numbers)
    elif isinstance(value, wanted) and not isinstance(value, bool):
        return value
    what = "a list of numbers" if wanted is tuple else f"a {wanted.__name__}"
    raise ctx.fail(
        ParserTypeError,
        f"{name} of a buffer must be {what}, not {value_text(value)}",
        node,
        "its extents are constants: -1 stands for a valid extent that is known at run time"
        if wanted is tuple
        else f"write {what} in place, as in a printed program",
    )


def _several(ctx: Context, node: ast.Call) -> MultiBufferType:
    inner = node.args[0] if len(node.args) == 2 and not node.keywords else None
    if not (isinstance(inner, ast.Call) and ctx.path_of(inner.func) == "BufferType"):
        raise ctx.fail(
            ParserTypeError,
            "pl.MultiBufferType needs the type of a slot and the number of slots",
            node,
            "write pl.MultiBufferType(pl.BufferType([16, 64], pl.FP32, pl.Mem.Vec), 2)",
        )
    count = ctx.expr(node.args[1])
    if type(count) is not int:
        raise ctx.fail(
            ParserTypeError,
            f"a number of slots is needed here, not {value_text(count)}",
            node.args[1],
            "write a positive constant, e.g. pl.MultiBufferType(pl.BufferType([16, 64], pl.FP32, pl.Mem.Vec), 2)",
        )
    return MultiBufferType(_one(ctx, inner), count)
