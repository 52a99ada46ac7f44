"""Picking and sorting elements of tensors: by index along the last axis, by a mask that repeats, by merging lists."""

from __future__ import annotations

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    INDEX_ONE,
    INDEX_ZERO,
    AssignStmt,
    Call,
    DataType,
    Expr,
    ForStmt,
    IterArg,
    MakeTuple,
    TensorType,
    Var,
    YieldStmt,
    const_index,
    is_const,
    min_,
    scalar_type,
    seq,
)
from pypto_core.ops import create_call
from pypto_plugin_tensor.kernel import MAT, VEC, Kernel, name_of, tile_type
from pypto_plugin_tensor.shapes import dims, physical
from pypto_plugin_tensor.values import Global, Tile, Value, Window, flat


def gather(kernel: Kernel, var: Var, call: Call) -> Value:
    """``tensor.gather``: the instruction counts the elements of a tile, so each row is a tile of its own."""
    kind = call.type
    assert isinstance(kind, TensorType)
    kind = kernel.kind(kind)
    source = kernel.tile(kernel.value(call.args[0]), name_of(call.args[0]), call.span)
    if len(call.args) == 1:
        options = {k: v for k, v in call.kwargs.items() if k in ("mask_pattern", "output_dtype")}
        tile = kernel.emit(
            "tile.gather_mask", [source], options, like=var.name_hint, var=var.name_hint, span=call.span
        )
        return Tile(kind=kind, var=tile)
    index = kernel.tile(kernel.value(call.args[1]), name_of(call.args[1]), call.span)
    if len(kind.shape) != 2 or call.kwargs.get("dim", -1) not in (-1, 1):
        raise UserError(
            "elements are picked along the last axis of a matrix",
            code="PT374",
            span=call.span,
            facts={"input": repr(call.args[0].type), "dim": call.kwargs.get("dim", -1)},
            remedy="transpose the tensor, or loop over its other axes",
        )
    if is_const(kind.shape[0], 1) and is_const(tile_type(source).shape[0], 1):
        scratch = kernel.scratch(index, call.span)
        args = [source, index, scratch]
        return Tile(
            kind=kind,
            var=kernel.emit("tile.gather", args, like=var.name_hint, var=var.name_hint, span=call.span),
        )
    return Tile(kind=kind, var=_row_by_row(kernel, var, call, kind, source, index))


def _row_by_row(kernel: Kernel, var: Var, call: Call, kind: TensorType, source: Var, index: Var) -> Var:
    span, like = call.span, var.name_hint
    rows, columns = physical(kind, name_of(var), span, kernel.bounds)
    made = {"dtype": kind.dtype, "target_memory": VEC}
    start = kernel.emit("tile.create", [dims((rows, columns))], made, like=like, span=span, role="tmp")
    carry = IterArg(kernel.names.fresh(like, "iter"), start.type, start, span=span)
    row = Var(kernel.names.fresh("row", "idx"), scalar_type(DataType.INDEX), span=span)
    outer, kernel.out = kernel.out, []
    place = MakeTuple((row, INDEX_ZERO))
    width = tile_type(source).shape[-1]
    line = kernel.emit("tile.slice", [source, dims((1, width)), place], like=name_of(source), span=span)
    picks = kernel.emit("tile.slice", [index, dims((1, columns)), place], like=name_of(index), span=span)
    found = kernel.emit("tile.gather", [line, picks, kernel.scratch(picks, span)], like=like, span=span)
    part = create_call("tile.assemble", [carry, found, place], {}, span)
    new = Var(kernel.names.fresh(like, "tile"), part.type, span=span)
    kernel.put(AssignStmt(new, part, span=span))
    kernel.put(YieldStmt((new,), span=span))
    body, kernel.out = seq(flat(kernel.out), span), outer
    result = Var(var.name_hint, start.type, span=span)
    kernel.put(ForStmt(row, INDEX_ZERO, const_index(rows), INDEX_ONE, (carry,), body, (result,), span=span))
    return result


def gather_row(kernel: Kernel, var: Var, call: Call) -> Value:
    """``tensor.gather_row``: rows come straight out of memory, into a copy of what the destination holds."""
    kind = call.type
    assert isinstance(kind, TensorType)
    source = kernel.value(call.args[1])
    if not isinstance(source, Global):
        raise UserError(
            f"rows are picked from whole tensors in memory, and '{name_of(call.args[1])}' is none",
            code="PT376",
            span=call.span,
            remedy="pass the whole tensor, or write what is computed to a tensor in a kernel of its own",
        )
    onto = kernel.tile(kernel.value(call.args[0]), name_of(call.args[0]), call.span)
    args: list[Expr] = [onto, source.var]
    if tile_type(onto).memory_space is MAT:
        args += _indices_in_memory(kernel, call)
    else:
        args.append(kernel.tile(kernel.value(call.args[2]), name_of(call.args[2]), call.span))
        args += [kernel.scalar(a) for a in call.args[3:]]
    tile = kernel.emit("tile.gather_row", args, like=var.name_hint, var=var.name_hint, span=call.span)
    return Tile(kind=kernel.kind(kind), var=tile)


def _indices_in_memory(kernel: Kernel, call: Call) -> list[Expr]:
    """The tensor of the indices, how much of the destination is written, and where in the tensor the first index is."""
    value = kernel.value(call.args[2])
    if not isinstance(value, Global | Window):
        raise UserError(
            f"rows for a tile in L1 are picked by indices in memory, and '{name_of(call.args[2])}' is computed on chip",
            code="PT376",
            span=call.span,
            remedy="write the indices to a tensor in a kernel of its own",
        )
    window = kernel.window_of(value, value.kind)
    if not all(is_const(d, 1) for d in window.extents[:-1]):
        raise UserError(
            "the indices of rows for a tile in L1 lie in one row",
            code="PT376",
            span=call.span,
            facts={"indices": repr(value.kind)},
            remedy="take one row of them: indices[i : i + 1, :]",
        )
    into = call.args[0].type
    assert isinstance(into, TensorType)
    given = call.args[3] if len(call.args) > 3 else None
    rows, columns = (
        kernel.scalar(d) for d in (given.elements if isinstance(given, MakeTuple) else into.shape)
    )
    return [window.base, dims((min_(rows, value.kind.valid_shape[-1]), columns)), dims(window.offsets)]


def merge(kernel: Kernel, var: Var, call: Call) -> Value:
    """``tensor.mrgsort_format2``: the instruction wants a scratch tile as large as the result."""
    kind = call.type
    assert isinstance(kind, TensorType)
    lists: list[Expr] = [kernel.tile(kernel.value(a), name_of(a), call.span) for a in call.args]
    shape = physical(kind, name_of(var), call.span, kernel.bounds)
    room = {"dtype": kind.dtype, "target_memory": VEC}
    scratch = kernel.emit("tile.create", [dims(shape)], room, like=var.name_hint, span=call.span, role="tmp")
    args = [*lists, scratch]
    tile = kernel.emit("tile.mrgsort_format2", args, like=var.name_hint, var=var.name_hint, span=call.span)
    return Tile(kind=kernel.kind(kind), var=tile)
