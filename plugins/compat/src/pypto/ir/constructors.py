"""Building nodes with PyPTO's arguments: the span comes last and by position, numbers are taken for constants."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pypto.arithmetic import index, operand
from pypto_core import ir as kernel
from pypto_core.diagnostics import UNKNOWN_SPAN, Span
from pypto_core.ir import (
    PTR,
    UNKNOWN,
    DataType,
    Expr,
    ForKind,
    FunctionIRStage,
    FunctionType,
    GlobalVar,
    Level,
    Op,
    ParamDirection,
    Stmt,
    Type,
    scalar_type,
)


def global_var(name: str) -> GlobalVar:
    """``GlobalVar(name)``: the reference to a function; a key of ``program.functions`` will do as a name."""
    return GlobalVar(str(name))


def var(name_hint: str, type: Type, span: Span = UNKNOWN_SPAN) -> Expr:
    """``Var(name_hint, type, span)``."""
    return kernel.Var(name_hint, type, span=span)


def iter_arg(name_hint: str, type: Type, initValue: Any, span: Span = UNKNOWN_SPAN) -> Expr:
    """``IterArg(name_hint, type, initValue, span)``."""
    entry = operand(initValue, kernel.Var(name_hint, type), span)
    return kernel.IterArg(name_hint, type, entry, span=span)


def mem_ref(
    base: Any = None,
    byte_offset: Any = None,
    size: int = 0,
    span: Span = UNKNOWN_SPAN,
    is_pinned: bool = False,
    slots: int = 1,
    slot: Any = None,
) -> Expr:
    """``MemRef(base, byte_offset, size, span, …)``, or a declaration: ``MemRef(["name",] [span,] slots=1)``."""
    if isinstance(base, Span):  # MemRef(span[, slots])
        span, base, byte_offset, slots = base, None, None, byte_offset or slots
    elif isinstance(byte_offset, Span):  # MemRef("name", span[, slots])
        span, byte_offset, size, slots = byte_offset, None, 0, size or slots
    declared = byte_offset is None
    owner = base if isinstance(base, kernel.Var) else kernel.Var(base or "", PTR, span=span)
    return kernel.MemRef(
        owner,
        operand(0 if declared else byte_offset),
        size,
        is_pinned or declared,
        slots,
        None if slot is None else index(slot),
        span=span,
    )


def _sorted_out(rest: Sequence[Any]) -> tuple[list[Any], Type | None, Span]:
    """Positional arguments after the operands: option maps in order, the type, the span."""
    maps: list[Any] = [item for item in rest if isinstance(item, Mapping)]
    kinds = [item for item in rest if isinstance(item, Type)]
    spans = [item for item in rest if isinstance(item, Span)]
    if len(maps) + len(kinds) + len(spans) != len(rest) or len(maps) > 2 or len(kinds) > 1 or len(spans) > 1:
        raise TypeError("a call takes kwargs, attrs, a type and a span after its arguments")
    return maps, kinds[0] if kinds else None, spans[0] if spans else UNKNOWN_SPAN


def call(
    op: Op | str,
    args: Iterable[Expr],
    *rest: Any,
    kwargs: Mapping[str, Any] | None = None,
    attrs: Mapping[str, Any] | None = None,
    type: Type | None = None,
    span: Span | None = None,
) -> Expr:
    """``Call(op, args[, kwargs[, attrs]][, type], span)``; without a type it is the unknown one."""
    maps, kind, at = _sorted_out(rest)
    first, second = [*maps, None, None][:2]
    return kernel.Call(
        global_var(op) if isinstance(op, str) else op,
        args,  # type: ignore[arg-type]
        kwargs or first or {},
        attrs or second or {},
        type=type or kind or UNKNOWN,
        span=span or at,
    )


def submit(
    op: GlobalVar,
    args: Iterable[Expr],
    deps: Iterable[Expr] = (),
    *rest: Any,
    kwargs: Mapping[str, Any] | None = None,
    attrs: Mapping[str, Any] | None = None,
    type: Type | None = None,
    span: Span | None = None,
    core_num: Any = None,
    sync_start: bool = False,
    allow_early_resolve: bool = False,
    predicate: Expr | None = None,
) -> Expr:
    """``Submit(op, args, deps[, kwargs, attrs], type, span, core_num=None, …)``."""
    maps, kind, at = _sorted_out(rest)
    first, second = [*maps, None, None][:2]
    return kernel.Submit(
        op,
        args,  # type: ignore[arg-type]
        deps,  # type: ignore[arg-type]
        kwargs or first or {},
        attrs or second or {},
        None if core_num is None else index(core_num),
        sync_start,
        allow_early_resolve,
        predicate,
        type=type or kind or UNKNOWN,
        span=span or at,
    )


def make_tuple(elements: Iterable[Any], span: Span = UNKNOWN_SPAN) -> Expr:
    """``MakeTuple(elements, span)``."""
    return kernel.MakeTuple(
        tuple(index(e) if isinstance(e, int) else operand(e) for e in elements), span=span
    )


def tuple_get_item(tuple: Expr, index: int, span: Span = UNKNOWN_SPAN) -> Expr:
    """``TupleGetItemExpr(tuple, index, span)``."""
    return kernel.TupleGetItemExpr(tuple, index, span=span)


def const_int(value: int, dtype: DataType = DataType.INT64, span: Span = UNKNOWN_SPAN) -> Expr:
    """``ConstInt(value, dtype, span)``."""
    return kernel.ConstInt(value, dtype, span=span)


def const_float(value: float, dtype: DataType = DataType.FP32, span: Span = UNKNOWN_SPAN) -> Expr:
    """``ConstFloat(value, dtype, span)``."""
    return kernel.ConstFloat(float(value), dtype, span=span)


def const_bool(value: bool, span: Span = UNKNOWN_SPAN) -> Expr:
    """``ConstBool(value, span)``."""
    return kernel.ConstBool(bool(value), span=span)


def binary(cls: type) -> Callable[..., Expr]:
    """The constructor of a binary node."""

    def build(left: Expr, right: Expr, dtype: DataType, span: Span = UNKNOWN_SPAN) -> Expr:
        return cls(left, right, scalar_type(dtype), span=span)

    build.__doc__ = (
        f"``{cls.__name__}(left, right, dtype, span)``: ``dtype`` is the element type of the result."
    )
    return build


def unary(cls: type) -> Callable[..., Expr]:
    """The constructor of a unary node."""

    def build(operand: Expr, dtype: DataType, span: Span = UNKNOWN_SPAN) -> Expr:
        return cls(operand, scalar_type(dtype), span=span)

    build.__doc__ = f"``{cls.__name__}(operand, dtype, span)``: ``dtype`` is the element type of the result."
    return build


def assign(var: Any, value: Expr, span: Span = UNKNOWN_SPAN, leading_comments: Iterable[str] = ()) -> Stmt:
    """``AssignStmt(var, value, span)``."""
    return kernel.AssignStmt(var, value, span=span, leading_comments=leading_comments)  # type: ignore[arg-type]


def eval_(expr: Expr, span: Span = UNKNOWN_SPAN, leading_comments: Iterable[str] = ()) -> Stmt:
    """``EvalStmt(expr, span)``."""
    return kernel.EvalStmt(expr, span=span, leading_comments=leading_comments)  # type: ignore[arg-type]


def seq(stmts: Iterable[Stmt], span: Span = UNKNOWN_SPAN) -> Stmt:
    """``SeqStmts(stmts, span)``, as given: neither flattened nor unwrapped."""
    return kernel.SeqStmts(tuple(stmts), span=span)


def leaving(cls: type) -> Callable[..., Stmt]:
    """The constructor of a statement that hands values on."""

    def build(value: Any = (), span: Span = UNKNOWN_SPAN) -> Stmt:
        if isinstance(value, Span):
            value, span = (), value
        return cls((value,) if isinstance(value, Expr) else tuple(value), span=span)

    build.__doc__ = f"``{cls.__name__}([value,] span)``: ``value`` is a list."
    return build


def bare(cls: type) -> Callable[..., Stmt]:
    """The constructor of a statement without parts."""

    def build(span: Span = UNKNOWN_SPAN) -> Stmt:
        return cls(span=span)

    build.__doc__ = f"``{cls.__name__}(span)``."
    return build


def for_(
    loop_var: Any,
    start: Any,
    stop: Any,
    step: Any,
    iter_args: Iterable[Any],
    body: Stmt,
    return_vars: Iterable[Any],
    span: Span = UNKNOWN_SPAN,
    kind: ForKind = ForKind.Sequential,
    attrs: Mapping[str, Any] | None = None,
) -> Stmt:
    """``ForStmt(loop_var, start, stop, step, iter_args, body, return_vars, span, kind=Sequential, attrs=None)``."""
    bounds = (index(start), index(stop), index(step))
    return kernel.ForStmt(
        loop_var, *bounds, tuple(iter_args), body, tuple(return_vars), kind, attrs or {}, span=span
    )


def while_(
    condition: Expr,
    iter_args: Iterable[Any],
    body: Stmt,
    return_vars: Iterable[Any],
    span: Span = UNKNOWN_SPAN,
) -> Stmt:
    """``WhileStmt(condition, iter_args, body, return_vars, span)``."""
    return kernel.WhileStmt(condition, tuple(iter_args), body, tuple(return_vars), span=span)


def if_(
    condition: Expr,
    then_body: Stmt,
    else_body: Stmt | None = None,
    return_vars: Iterable[Any] = (),
    span: Span = UNKNOWN_SPAN,
) -> Stmt:
    """``IfStmt(condition, then_body, else_body, return_vars, span)``."""
    return kernel.IfStmt(condition, then_body, else_body, tuple(return_vars), span=span)


def inline(body: str, language: str = "python", span: Span = UNKNOWN_SPAN) -> Stmt:
    """``InlineStmt(body, language, span)``."""
    return kernel.InlineStmt(body, language, span=span)


def scope(cls: type, expressions: tuple[str, ...] = ()) -> Callable[..., Stmt]:
    """The constructor of a scope; ``expressions`` are the fields that take numbers as constants."""

    def build(*, body: Stmt, name_hint: str = "", span: Span = UNKNOWN_SPAN, **fields: Any) -> Stmt:
        for name in expressions:
            if name in fields:
                fields[name] = index(fields[name])
        return cls(body, name_hint=name_hint, span=span, **fields)

    build.__doc__ = f"``{cls.__name__}(…, name_hint='', body=…, span=…)``: fields by name."
    return build


def function(
    name: str,
    params: Iterable[Any],
    return_types: Iterable[Type],
    body: Stmt,
    span: Span = UNKNOWN_SPAN,
    type: FunctionType = FunctionType.Opaque,
    level: Level | None = None,
    role: Any = None,
    attrs: Mapping[str, Any] | None = None,
    requires_runtime_binding: bool = False,
    ir_stage: FunctionIRStage = FunctionIRStage.Functional,
) -> Any:
    """``Function(name, params, return_types, body, span, type=Opaque, …)``; a parameter may be (Var, direction)."""
    pairs: list[Any] = [p if isinstance(p, tuple) else (p, ParamDirection.In) for p in params]
    return kernel.Function(
        name,
        tuple(var for var, _ in pairs),
        tuple(return_types),
        body,
        param_directions=tuple(direction for _, direction in pairs),
        func_type=type,
        level=level,
        role=role,
        attrs=attrs or {},
        requires_runtime_binding=requires_runtime_binding,
        ir_stage=ir_stage,
        span=span,
    )


def program(functions: Any, name: str = "", span: Span = UNKNOWN_SPAN) -> Any:
    """``Program(functions, name, span)``: functions in a list, or in a map by name."""
    return kernel.Program(name, functions, span=span)
