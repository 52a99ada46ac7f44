"""MemRefs in annotations: declarations by name, and resolved places in memory.

``buf`` or ``pl.MemRef("buf", slots=2)`` declares; ``pl.MemRef(base, offset, size)`` is resolved. Either may be
subscripted with a slot. Allocations have a namespace of their own in each function.
"""

from __future__ import annotations

import ast
from typing import Any

from pypto_core.diagnostics import Note, ParserTypeError
from pypto_core.ir import ConstInt, DataType, Expr, MemorySpace, MemRef, PtrType, Var
from pypto_core.language.annotations import MemRef as Declared
from pypto_core.language.context import Context
from pypto_core.language.errors import value_text
from pypto_core.language.parse_expr import integer

ZERO_OFFSET = ConstInt(0, DataType.INT64)


def is_memref(ctx: Context, node: ast.expr) -> bool:
    """Whether a part of an annotation is a MemRef, possibly subscripted."""
    if type(node) is ast.Subscript:
        node = node.value
    if type(node) is ast.Call:
        return ctx.path_of(node.func) == "MemRef"
    return type(node) is ast.Name and declared_value(ctx, node) is not None


def declared_value(ctx: Context, node: ast.Name) -> Declared | None:
    """The declared allocation that a name stands for, or None."""
    if node.id in ctx.names:
        return None
    value = ctx.env.get(node.id)
    return value if isinstance(value, Declared) else None


def memref(ctx: Context, node: ast.expr, space: MemorySpace) -> MemRef:
    """Read a MemRef; ``space`` is that of the tile it is bound to."""
    slot = None
    inner = node
    if type(node) is ast.Subscript:
        slot, inner = node.slice, node.value
    if type(inner) is ast.Name:
        value = declared_value(ctx, inner)
        assert value is not None
        return _declared_by_name(ctx, inner, value, slot, space)
    assert type(inner) is ast.Call
    options = {k.arg: k.value for k in inner.keywords}
    slots = _slots(ctx, options.pop("slots", None))
    pinned = _flag(ctx, options.pop("pinned", None))
    for key, value in (("offset", 1), ("size", 2)):
        if key in options and len(inner.args) == value:
            inner.args.append(options.pop(key))
    if options:
        key = next(iter(options))
        raise ctx.fail(
            ParserTypeError,
            f"pl.MemRef has no argument '{key}'",
            inner,
            "arguments: name, slots; or base, offset, size",
        )
    if len(inner.args) == 1:
        return _declaration(ctx, inner, _text(ctx, inner.args[0]), slots, slot, space)
    if len(inner.args) == 3:
        return _resolved(ctx, inner, slots, slot, pinned)
    raise ctx.fail(
        ParserTypeError,
        "pl.MemRef takes a name, or base, offset and size",
        inner,
        'write pl.MemRef("buf", slots=2), or declare buf = pl.MemRef(slots=2) above the kernel',
    )


def _slots(ctx: Context, node: ast.expr | None) -> int:
    if node is None:
        return 1
    value = ctx.expr(node)
    if type(value) is not int or value < 1:
        raise ctx.fail(
            ParserTypeError,
            f"slots must be a positive integer, not {value_text(value)}",
            node,
            "a MemRef needs at least one slot",
        )
    return value


def _flag(ctx: Context, node: ast.expr | None) -> bool:
    if node is None:
        return False
    value = ctx.expr(node)
    if not isinstance(value, bool):
        raise ctx.fail(
            ParserTypeError,
            f"pinned must be True or False, not {value_text(value)}",
            node,
            "write pinned=True, or leave it out",
        )
    return value


def _text(ctx: Context, node: ast.expr) -> str:
    if type(node) is ast.Constant and isinstance(node.value, str) and node.value:
        return node.value
    raise ctx.fail(
        ParserTypeError,
        "the name of a declared allocation must be a string literal",
        node,
        'write pl.MemRef("buf"), or use the name of a declaration above the kernel',
    )


def _declared_by_name(
    ctx: Context, node: ast.Name, value: Declared, slot: ast.expr | None, space: MemorySpace
) -> MemRef:
    name = value.name or node.id
    if not value.is_declaration:
        raise ctx.fail(
            ParserTypeError,
            f"'{node.id}' is a resolved MemRef, not a declaration",
            node,
            'declare the allocation by its name alone: buf = pl.MemRef("buf")',
        )
    if not isinstance(name, str):
        raise ctx.fail(
            ParserTypeError,
            "the name of a declared allocation must be a string",
            node,
            'write pl.MemRef("buf")',
        )
    if not value.name:
        other = ctx.places.setdefault(id(value), node.id)
        if other != node.id:
            raise ctx.fail(
                ParserTypeError,
                f"the allocation '{node.id}' is also referenced as '{other}'",
                node,
                'use one name, or give it one: pl.MemRef("name")',
            )
    holder = ctx.declarations.setdefault(name, value)
    if holder is not value:
        raise ctx.fail(
            ParserTypeError,
            f"two declared allocations both resolve to the name '{name}'",
            node,
            "give each a name of its own",
        )
    if value.index is not None:
        raise ctx.fail(
            ParserTypeError, f"'{node.id}' already names one slot", node, "subscript it in the annotation"
        )
    return _declaration(ctx, node, name, value.slots, slot, space)


def _declaration(
    ctx: Context, node: ast.expr, name: str, slots: int, slot: ast.expr | None, space: MemorySpace
) -> MemRef:
    span = ctx.span(node)
    known = ctx.slots.setdefault(name, (slots, space, span))
    if known[:2] != (slots, space):
        what = "how many slots it has" if known[0] != slots else "its memory space"
        facts = {"here": f"{slots} slots in {space.name}", "before": f"{known[0]} slots in {known[1].name}"}
        raise ctx.fail(
            ParserTypeError,
            f"the users of allocation '{name}' disagree on {what}",
            node,
            "all users of one allocation share its slots and its memory space",
            facts,
            [Note(message="first used here", span=known[2])],
        )
    index = None if slot is None else _slot(ctx, slot, slots, name)
    return MemRef(ctx.base(name), ZERO_OFFSET, 0, True, slots, index, span=span)


def _slot(ctx: Context, node: ast.expr, slots: int, name: str) -> Expr:
    if slots == 1:
        raise ctx.fail(
            ParserTypeError,
            f"allocation '{name}' has a single slot and takes no subscript",
            node,
            "declare it with slots=2, or leave the subscript out",
        )
    index = integer(ctx, node, "a slot")
    if isinstance(index, ConstInt) and not 0 <= index.value < slots:
        raise ctx.fail(
            ParserTypeError,
            f"slot {index.value} is out of range",
            node,
            f"use an index from 0 to {slots - 1}",
            {"slots": slots},
        )
    return index


def _resolved(ctx: Context, node: ast.Call, slots: int, slot: ast.expr | None, pinned: bool) -> MemRef:
    base = _base(ctx, node.args[0])
    offset: Any = ctx.expr(node.args[1])
    if type(offset) is int:
        offset = ZERO_OFFSET if offset == 0 else ConstInt(offset, DataType.INT64)
    elif not isinstance(offset, Expr):
        raise ctx.fail(
            ParserTypeError,
            f"a byte offset must be an integer, not {value_text(offset)}",
            node.args[1],
            "write a number of bytes, e.g. 0",
        )
    size = ctx.expr(node.args[2])
    if type(size) is not int or size < 0:
        raise ctx.fail(
            ParserTypeError,
            f"a size in bytes must be an integer, not {value_text(size)}",
            node.args[2],
            "write the bytes of the tile as a constant, e.g. 16384",
        )
    index = None if slot is None else integer(ctx, slot, "a slot")
    return MemRef(base, offset, size, pinned, slots, index, span=ctx.span(node))


def _base(ctx: Context, node: ast.expr) -> Var:
    if type(node) is ast.Constant and isinstance(node.value, str):
        return ctx.base(node.value)
    if type(node) is not ast.Name:
        raise ctx.fail(
            ParserTypeError, "the base of a MemRef must be a name", node, "use the result of pl.tile.alloc"
        )
    var = ctx.names.get(node.id)
    if isinstance(var, Var):
        if isinstance(var.type, PtrType):
            return var
        if node.id not in ctx.bases:
            raise ctx.fail(
                ParserTypeError, f"'{node.id}' is no allocation", node, "use the result of pl.tile.alloc"
            )
    return ctx.base(node.id)
