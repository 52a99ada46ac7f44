"""The operators on buffers, and calls of them.

Every destination is the last buffer operand. "Write" means the active region of the destination, not all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pypto_core.diagnostics import UNKNOWN_SPAN, OpError, Span
from pypto_core.ir import (
    UNKNOWN,
    ArgEffect,
    Call,
    CoreType,
    DataType,
    Expr,
    MakeTuple,
    Type,
    replace,
    scalar_type,
    types_equal,
)
from pypto_core.ops import (
    OMIT,
    BufferAccess,
    BufferEffect,
    BufferResult,
    BufferUse,
    Kind,
    OpDef,
    Param,
    create_call,
    op_of,
    type_text,
)
from pypto_plugin_buffer_ir import checks
from pypto_plugin_buffer_ir.elementwise import BUFFER_RECIPES, Recipe

ALLOC, SUBVIEW, RESHAPE = "buffer.alloc", "buffer.subview", "buffer.reshape"
LOAD, STORE, COPY, EXTRACT = "buffer.load", "buffer.store", "buffer.copy", "buffer.extract"
SET_VALIDSHAPE, MATMUL, MATMUL_ACC = "buffer.set_validshape", "buffer.matmul", "buffer.matmul_acc"
QUERIES = ("buffer.get_block_idx", "buffer.get_block_num", "buffer.get_subblock_idx")
VIEWS = frozenset({SUBVIEW, RESHAPE})

_NO, _R, _W, _RW = BufferAccess.NONE, BufferAccess.READ, BufferAccess.WRITE, BufferAccess.READ_WRITE
_SOURCE, _OUT, _UPDATE = BufferEffect(_R, _R), BufferEffect(_W, _R), BufferEffect(_RW, _R)
_LOOK, _SET = BufferEffect(_NO, _R), BufferEffect(_NO, _W)


def _buffer(name: str) -> Param:
    return Param(name, Kind.BUFFER)


def _dims(name: str, **rules: Any) -> Param:
    return Param(name, Kind.DIMS, **rules)


def _index(name: str, **rules: Any) -> Param:
    return Param(name, Kind.INDEX, **rules)


def _tensor(name: str) -> Param:
    return Param(name, Kind.TENSOR)


def _void(
    name: str, params: tuple[Param, ...], deduce: Any, effects: tuple[BufferEffect | None, ...], summary: str,
    core: CoreType | None = None,
) -> OpDef:  # fmt: skip
    written = {
        i: ArgEffect.ReadWrite if effect.data.reads else ArgEffect.Write
        for i, effect in enumerate(effects)
        if effect is not None and (effect.data.writes or effect.metadata.writes)
    }
    return OpDef(
        name=name,
        params=params,
        deduce=deduce,
        summary=summary,
        effects=written,
        core=core,
        pure=False,
        buffer=BufferUse(effects=effects),
    )


def _unknown(args: tuple[Expr, ...], options: Mapping[str, Any]) -> Type:
    return UNKNOWN


def _index_type(args: tuple[Expr, ...], options: Mapping[str, Any]) -> Type:
    return scalar_type(DataType.INDEX)


def _elementwise(recipe: Recipe) -> OpDef:
    buffers = sum(not is_scalar for _, is_scalar in recipe.inputs)
    params: list[Param] = []
    for _, is_scalar in recipe.inputs:
        name = "scalar" if is_scalar else "src" if buffers == 1 else ("lhs", "rhs")[len(params)]
        params.append(Param(name, Kind.SCALAR if is_scalar else Kind.BUFFER))
    params.append(_buffer("dst"))
    if recipe.precision:
        params.append(Param("high_precision", Kind.FLAG, default=OMIT))
    return _void(
        recipe.buffer_op,
        tuple(params),
        checks.elementwise(recipe),
        (*(None if is_scalar else _SOURCE for _, is_scalar in recipe.inputs), _OUT),
        f"what {recipe.tile_op} computes, into its destination",
        CoreType.VECTOR,
    )


_DEFINITIONS = (
    OpDef(
        name=ALLOC,
        params=(_dims("valid_shape"), _index("address", default=OMIT)),
        deduce=_unknown,
        summary="storage: at a byte address of its memory, or wherever the assembler puts it",
        pure=False,
        buffer=BufferUse(effects=(None, None), result=BufferResult.ALLOCATE, check_type=checks.alloc),
    ),
    OpDef(
        name=SUBVIEW,
        params=(_buffer("src"), _dims("offsets"), _dims("valid_shape", default=OMIT)),
        deduce=_unknown,
        summary="a window that keeps the row pitch of its source",
        buffer=BufferUse(
            effects=(_LOOK, None, None), result=BufferResult.ALIAS, alias_arg=0, check_type=checks.subview
        ),
    ),
    OpDef(
        name=RESHAPE,
        params=(_buffer("src"),),
        deduce=_unknown,
        summary="the same bytes under another descriptor",
        buffer=BufferUse(
            effects=(_LOOK,), result=BufferResult.ALIAS, alias_arg=0, check_type=checks.reshape
        ),
    ),
    *(
        OpDef(
            name=name,
            params=(),
            deduce=_index_type,
            summary=f"what tile.{name.partition('.')[2]} tells",
            buffer=BufferUse(result=BufferResult.VALUE),
        )
        for name in QUERIES
    ),
)  # fmt: skip

_TRANSFERS = (
    _void(
        SET_VALIDSHAPE, (_buffer("buffer"), _dims("valid_shape")), checks.set_validshape, (_SET, None),
        "state which extents hold data from here on",
    ),
    _void(
        LOAD, (_tensor("tensor"), _dims("offsets"), _dims("valid_shape"), _buffer("dst")), checks.load,
        (_SOURCE, None, None, _OUT), "copy a window of a tensor into a buffer",
    ),
    _void(
        STORE, (_buffer("src"), _dims("offsets"), _dims("valid_shape"), _tensor("tensor")), checks.store,
        (_SOURCE, None, None, _OUT), "copy a buffer into a window of a tensor",
    ),
    _void(COPY, (_buffer("src"), _buffer("dst")), checks.copy, (_SOURCE, _OUT), "copy a buffer into another"),
    _void(
        EXTRACT, (_buffer("src"), _index("row"), _index("col"), _buffer("dst")), checks.extract,
        (_SOURCE, None, None, _OUT), "copy a part of a buffer, of the size of the destination",
    ),
    _void(
        MATMUL, (_buffer("lhs"), _buffer("rhs"), _buffer("dst")), checks.product(MATMUL),
        (_SOURCE, _SOURCE, _OUT), "matrix product", CoreType.CUBE,
    ),
    _void(
        MATMUL_ACC, (_buffer("lhs"), _buffer("rhs"), _buffer("dst")), checks.product(MATMUL_ACC),
        (_SOURCE, _SOURCE, _UPDATE), "matrix product, added to the destination", CoreType.CUBE,
    ),
)  # fmt: skip

OPS: tuple[OpDef, ...] = (*_DEFINITIONS, *_TRANSFERS, *(_elementwise(r) for r in BUFFER_RECIPES.values()))
"""All of them."""


def define(name: str, args: Iterable[Expr], kind: Type, span: Span = UNKNOWN_SPAN) -> Call:
    """A call of an operator whose result type is stated: ``buffer.alloc``, ``subview`` or ``reshape``."""
    call = replace(create_call(name, args, span=span), type=kind)
    _check_stated(call)
    return call


def written(
    name: str, args: Iterable[Expr], kwargs: Mapping[str, Any] | None = None, span: Span = UNKNOWN_SPAN
) -> Call:
    """A call of any other operator."""
    return create_call(name, args, kwargs, span)


def pair(dims: Iterable[Expr]) -> MakeTuple:
    """Offsets or extents as an operand."""
    return MakeTuple(tuple(dims))


def check_call(call: Call) -> None:
    """Hold an existing call against its operator's contract; raises OpError.

    Nothing is deduced anew for calls that state their type: what is stored is what counts.
    """
    again = create_call(call.op.name, call.args, call.kwargs, call.span)
    op = op_of(call)
    if op is not None and op.buffer is not None and op.buffer.states_type:
        _check_stated(call)
    elif not types_equal(again.type, call.type):
        raise OpError(
            f"{call.op.name} results in {type_text(again.type)}, not {type_text(call.type)}", span=call.span
        )


def _check_stated(call: Call) -> None:
    op = op_of(call)
    assert op is not None and op.buffer is not None and op.buffer.check_type is not None
    try:
        op.buffer.check_type(call.args, call.kwargs, call.type)
    except OpError as error:
        raise error.located(call.span) from None
