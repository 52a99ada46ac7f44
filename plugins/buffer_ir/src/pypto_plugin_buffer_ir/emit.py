"""How the operators on buffers are written as PTO text: one instruction each, on handles that say all there is."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from pypto_core.contract import EmitContext, OpEmitter, Operand, Recipe, names_of, types_of
from pypto_core.ir import (
    RUNTIME_EXTENT,
    BufferType,
    Call,
    DataType,
    Expr,
    MakeTuple,
    ScalarType,
    Var,
    add,
)
from pypto_plugin_buffer_ir import ops
from pypto_plugin_buffer_ir.elementwise import BUFFER_RECIPES
from pypto_plugin_buffer_ir.elementwise import Recipe as Row

TARGET = "pto"


@attrs.frozen(eq=False)
class Part(Operand):
    """A window: rows and columns ``at`` of ``whole``; ``narrow``: it has fewer columns than that."""

    whole: Operand
    at: tuple[Expr, Expr]
    narrow: bool


def _elements(ctx: EmitContext, arg: Expr) -> tuple[Expr, ...]:
    if isinstance(arg, MakeTuple):
        return arg.elements
    raise ctx.error("offsets and extents have to be written out where they are used")


def _kind(expr: Expr) -> BufferType:
    assert isinstance(expr.type, BufferType)
    return expr.type


def _name(result: Var | None) -> str:
    return result.name_hint if result is not None else ""


def _write(ctx: EmitContext, native: str, ins: Sequence[Operand], out: Operand, after: str = "") -> None:
    ctx.line(f"{native} ins({names_of(ins)} : {types_of(ins)}) outs({out.name} : {out.type}){after}")


# -- handles


def alloc(ctx: EmitContext, call: Call, result: Var | None) -> None:
    """``pto.alloc_tile``: an operand for each extent that the type leaves open, and an address if there is one."""
    kind = call.type
    assert isinstance(kind, BufferType)
    type_ = ctx.type_of(kind)
    parts = [f"addr = {ctx.scalar(address, DataType.INT64).name} " for address in call.args[1:]]
    extents = iter(_elements(ctx, call.args[0]))
    for word, valid in zip(("valid_row", "valid_col"), kind.valid_shape, strict=True):
        if valid == RUNTIME_EXTENT:
            parts.append(f"{word} = {ctx.index(next(extents)).name} ")
    ctx.bind(result, ctx.value(f"pto.alloc_tile {''.join(parts)}: {type_}", type_, _name(result)))


def subview(ctx: EmitContext, call: Call, result: Var | None) -> None:
    """``pto.subview``."""
    source, whole, kind = ctx.operand(call.args[0]), _kind(call.args[0]), call.type
    assert isinstance(kind, BufferType)
    row, col = _elements(ctx, call.args[1])
    rows, cols = kind.shape
    valid = ""
    if len(call.args) > 2:
        valid = f" valid [{names_of([ctx.index(e) for e in _elements(ctx, call.args[2])])}]"
    type_ = ctx.type_of(kind)
    value = ctx.value(
        f"pto.subview {source.name}[{ctx.index(row).name}, {ctx.index(col).name}] sizes [{rows}, {cols}]{valid} : "
        f"{source.type} -> {type_}",
        type_,
        _name(result),
    )
    narrow = cols != whole.shape[1]
    if isinstance(source, Part):
        row, col = add(source.at[0], row), add(source.at[1], col)
        narrow, source = narrow or source.narrow, source.whole
    ctx.bind(result, Part(value.name, value.type, source, (row, col), narrow))


def reshape(ctx: EmitContext, call: Call, result: Var | None) -> None:
    """``pto.treshape``."""
    source, type_ = ctx.operand(call.args[0]), ctx.type_of(call.type)
    text = f"pto.treshape {source.name} : {source.type} -> {type_}"
    ctx.bind(result, ctx.value(text, type_, _name(result)))


def set_validshape(ctx: EmitContext, call: Call, result: Var | None) -> None:
    """``pto.set_validshape``, which sets both extents."""
    kind = _kind(call.args[0])
    if kind.valid_shape != (RUNTIME_EXTENT, RUNTIME_EXTENT):
        raise ctx.error(
            "the instruction sets both extents, so the buffer has to leave both open", buffer=repr(kind)
        )
    target = ctx.operand(call.args[0])
    rows, cols = (ctx.index(e) for e in _elements(ctx, call.args[1]))
    ctx.line(f"pto.set_validshape {target.name}, {rows.name}, {cols.name} : {target.type}")


# -- transfers


def load(ctx: EmitContext, call: Call, result: Var | None) -> None:
    """``pto.tload`` of a window."""
    tensor, offsets, valid, target = call.args
    window = ctx.partition(tensor, _elements(ctx, offsets), _elements(ctx, valid))
    _write(ctx, "pto.tload", [window], ctx.operand(target))


def store(ctx: EmitContext, call: Call, result: Var | None) -> None:
    """``pto.tstore`` into a window."""
    source, offsets, valid, tensor = call.args
    window = ctx.partition(tensor, _elements(ctx, offsets), _elements(ctx, valid))
    _write(ctx, "pto.tstore", [ctx.operand(source)], window)


def copy(ctx: EmitContext, call: Call, result: Var | None) -> None:
    """``pto.tmov``; the assembler moves no window with fewer columns than the buffer around it: those are inserted
    and extracted.
    """
    source, target = ctx.operand(call.args[0]), ctx.operand(call.args[1])
    if isinstance(target, Part) and target.narrow:
        place = [ctx.index(e) for e in target.at]
        _write(ctx, "pto.tinsert", [source, *place], target.whole)
    elif isinstance(source, Part) and source.narrow:
        place = [ctx.index(e) for e in source.at]
        _write(ctx, "pto.textract", [source.whole, *place], target)
    else:
        _write(ctx, "pto.tmov", [source], target)


def extract(ctx: EmitContext, call: Call, result: Var | None) -> None:
    """``pto.textract``, out of the buffer itself where the source is a part of one."""
    source, row, col, target = call.args
    origin = ctx.operand(source)
    if isinstance(origin, Part):
        row, col = add(origin.at[0], row), add(origin.at[1], col)
        origin = origin.whole
    _write(ctx, "pto.textract", [origin, ctx.index(row), ctx.index(col)], ctx.operand(target))


# -- computation


def matmul(ctx: EmitContext, call: Call, result: Var | None) -> None:
    """``pto.tmatmul``."""
    _check_product(ctx, call)
    left, right, target = (ctx.operand(a) for a in call.args)
    _write(ctx, "pto.tmatmul", [left, right], target)


def matmul_acc(ctx: EmitContext, call: Call, result: Var | None) -> None:
    """``pto.tmatmul.acc``, which names its accumulator twice."""
    _check_product(ctx, call)
    left, right, target = (ctx.operand(a) for a in call.args)
    _write(ctx, "pto.tmatmul.acc", [target, left, right], target)


def _check_product(ctx: EmitContext, call: Call) -> None:
    """Refuse elements that the machine's matrix unit does not multiply."""
    backend, dtype = ctx.backend, _kind(call.args[0]).dtype
    accepted = [pair[0] for pair in backend.matmul_dtypes] if backend is not None else []
    if backend is not None and accepted and dtype not in accepted:
        raise ctx.error(
            f"the matrix unit of {backend.title} multiplies no {dtype} elements",
            remedy="convert both operands with pl.cast before they are moved to Left and Right",
            accepted=", ".join(d.text for d in accepted),
        )


def elementwise(row: Row) -> Recipe:
    """The operator's instruction."""

    def write(ctx: EmitContext, call: Call, result: Var | None) -> None:
        *inputs, target = call.args
        dtype = _kind(target).dtype
        ins = [ctx.scalar(a, dtype) if isinstance(a.type, ScalarType) else ctx.operand(a) for a in inputs]
        after = ""
        if call.kwargs.get("high_precision"):
            after = f" {{precisionType = #pto<{row.precision}_precision high_precision>}}"
        _write(ctx, row.native, ins, ctx.operand(target), after)

    return write


def query(name: str) -> Recipe:
    """A number that the runtime passes to the kernel."""

    def write(ctx: EmitContext, call: Call, result: Var | None) -> None:
        ctx.bind(result, ctx.position(name))

    return write


_RECIPES: dict[str, Recipe] = {
    ops.ALLOC: alloc,
    ops.SUBVIEW: subview,
    ops.RESHAPE: reshape,
    ops.SET_VALIDSHAPE: set_validshape,
    ops.LOAD: load,
    ops.STORE: store,
    ops.COPY: copy,
    ops.EXTRACT: extract,
    ops.MATMUL: matmul,
    ops.MATMUL_ACC: matmul_acc,
    **{name: query(name.partition("get_")[2]) for name in ops.QUERIES},
    **{name: elementwise(row) for name, row in BUFFER_RECIPES.items()},
}

EMITTERS: tuple[OpEmitter, ...] = tuple(OpEmitter(TARGET, name, recipe) for name, recipe in _RECIPES.items())
"""One per operator."""
