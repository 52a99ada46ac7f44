"""Rules about tiles: rank, memory space, canonical views."""

from __future__ import annotations

from collections.abc import Iterator

from pypto_core.diagnostics import Diagnostic, Span
from pypto_core.ir import (
    Call,
    CompactMode,
    Expr,
    ForStmt,
    IfStmt,
    MakeTuple,
    PadValue,
    Program,
    TileType,
    WhileStmt,
    implicit_layout,
    last_yield,
    shapes_equal,
)
from pypto_core.ops import op_of, type_text
from pypto_core.verify.incore import first_unlowered, incore_calls, incore_stmts
from pypto_core.verify.rules import Rule, place, rule, shown
from pypto_core.verify.scan import scan

_FLAT = rule("TileOps2D")
_SPACE = rule("TileMemoryInferred")
_COHERENT = rule("TileTypeCoherence")
_ANY_RANK = frozenset({"tile.load", "tile.store", "tile.reshape", "tile.reinterpret_view"})


def unlowered(program: Program, which: Rule, number: int) -> Iterator[Diagnostic]:
    """One finding when a kernel still works on tensors: nothing can be said of its tiles then."""
    found = first_unlowered(program)
    if found is not None:
        function, call, stmt = found
        yield which.error(
            number,
            f"kernel code of function '{function.name}' still works on tensors: '{call.op.name}'",
            place(call.span, stmt.span),
            remedy="run ConvertTensorToTileOps first",
        )


def verify_tile_ops_2d(program: Program, backend: object = None) -> Iterator[Diagnostic]:
    """Find tile operators of kernels that are not two-dimensional.

    1 a result or 2 an operand of more than two axes (loads, stores and reshapes may have them); 3 a transpose
    without its scratch operand; 4 an assemble whose offset has not two elements; 5 tensor operators to be lowered.
    """
    yield from unlowered(program, _FLAT, 5)
    for function in program:
        reading = scan(function)
        inside = None if function.is_incore else incore_stmts(function, reading)
        for call, stmt in reading.calls:
            if (inside is None or stmt in inside) and isinstance(call, Call):
                yield from _flat(call, place(call.span, stmt.span))


def _flat(call: Call, span: Span) -> Iterator[Diagnostic]:
    name = call.op.name
    if not name.startswith("tile."):
        return
    remedy = "run FlattenTileNdTo2D"
    if name not in _ANY_RANK:
        if _rank(call) > 2:
            yield _FLAT.error(1, f"'{name}' results in a tile of {_rank(call)} axes", span, remedy=remedy)
        for i, arg in enumerate(call.args):
            if _rank(arg) > 2:
                yield _FLAT.error(2, f"argument {i} of '{name}' has {_rank(arg)} axes", span, remedy=remedy)
    if name == "tile.transpose" and len(call.args) != 4:
        message = f"'{name}' has {len(call.args)} operands instead of 4: it lacks its scratch tile"
        yield _FLAT.error(3, message, span, remedy=remedy)
    if name == "tile.assemble":
        offset = call.args[2] if len(call.args) > 2 else None
        if not (isinstance(offset, MakeTuple) and len(offset.elements) == 2):
            yield _FLAT.error(4, f"the offset of '{name}' must have two elements", span, remedy=remedy)


def _rank(expr: Expr) -> int:
    kind = expr.type
    return len(kind.shape) if isinstance(kind, TileType) else 0


def verify_tile_memory_inferred(program: Program, backend: object = None) -> Iterator[Diagnostic]:
    """Find tiles of InCore kernels whose memory space is not settled.

    1 a variable, carry or result without a space; 2 an operand in a space that its operator does not take; 3 a carry
    or result whose values lie in different spaces; 4 tensor operators to be lowered.
    """
    yield from unlowered(program, _SPACE, 4)
    for function in program:
        reading = scan(function)
        inside = incore_stmts(function, reading)
        if inside is not None and not inside:
            continue
        for var, stmt in reading.defs.items():
            kind = var.type
            if not isinstance(kind, TileType) or kind.memory_space is not None:
                continue
            if inside is None or stmt in inside:
                yield _SPACE.error(
                    1,
                    f"tile {shown(var)} has no memory space",
                    place(var.span, stmt.span),
                    remedy="run InferTileMemorySpace, or name the space in the annotation",
                    facts={"function": function.name},
                )
        for stmt in reading.of(ForStmt, WhileStmt, IfStmt):
            if inside is None or stmt in inside:
                yield from _one_space(stmt)
    for _, call, stmt in incore_calls(program):
        if isinstance(call, Call):
            yield from _operand_spaces(call, place(call.span, stmt.span))


def _operand_spaces(call: Call, span: Span) -> Iterator[Diagnostic]:
    op = op_of(call)
    if op is None or op.memory is None:
        return
    for param, arg, allowed in zip(op.operands, call.args, op.memory.inputs, strict=False):
        kind = arg.type
        if allowed is None or not isinstance(kind, TileType) or kind.memory_space is None:
            continue
        if kind.memory_space not in allowed:
            yield _SPACE.error(
                2,
                f"operand '{param.name}' of '{op.name}' lies in {kind.memory_space.name}",
                span,
                remedy=f"move it first: pl.move(…, target_memory=pl.Mem.{allowed[0].name})",
                facts={"allowed": ", ".join(space.name for space in allowed)},
            )


def _one_space(stmt: ForStmt | WhileStmt | IfStmt) -> Iterator[Diagnostic]:
    groups: list[list[Expr]] = [[var] for var in stmt.return_vars]
    bodies = (stmt.then_body, stmt.else_body) if isinstance(stmt, IfStmt) else (stmt.body,)
    if not isinstance(stmt, IfStmt):
        for group, arg in zip(groups, stmt.iter_args, strict=False):
            group += [arg, arg.init_value]
    for body in bodies:
        last = last_yield(body)
        for group, value in zip(groups, last.values if last is not None else (), strict=False):
            group.append(value)
    for var, group in zip(stmt.return_vars, groups, strict=True):
        spaces = dict.fromkeys(
            kind.memory_space for kind in (value.type for value in group) if isinstance(kind, TileType)
        )
        names = [space.name for space in spaces if space is not None]
        if len(names) > 1:
            yield _SPACE.error(
                3,
                f"the values of {shown(var)} lie in different memory spaces",
                stmt.span,
                remedy="move the yielded value into the space of the result before the yield",
                facts={"spaces": ", ".join(names)},
            )


def verify_tile_type_coherence(program: Program, backend: object = None) -> Iterator[Diagnostic]:
    """Find tile types that store a view which says no more than the implicit one (1)."""
    for function in program:
        for seen in scan(function).types:
            kind = seen.type
            if isinstance(kind, TileType) and kind.tile_view is not None and _says_nothing(kind):
                yield _COHERENT.error(
                    1,
                    f"the tile type of '{seen.name}' stores a view that equals the implicit one",
                    place(seen.span, function.span),
                    remedy="build the type with TileType(…), which drops such a view",
                    facts={"function": function.name, "type": type_text(kind)},
                )


def _says_nothing(kind: TileType) -> bool:
    view = kind.tile_view
    assert view is not None
    return (
        (not view.valid_shape or shapes_equal(view.valid_shape, kind.shape))
        and not view.stride
        and view.start_offset is None
        and view.pad is PadValue.null
        and view.compact is CompactMode.null
        and view.layout == implicit_layout(kind.shape, kind.memory_space)
    )
