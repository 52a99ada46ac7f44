"""Short builders for programs written by hand in tests: no parser, no source text, any state of the IR."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pypto_core.ir import (
    INDEX_ONE,
    INDEX_ZERO,
    AssignStmt,
    Call,
    DataType,
    EvalStmt,
    Expr,
    ForKind,
    ForStmt,
    Function,
    FunctionType,
    GlobalVar,
    IfStmt,
    IterArg,
    MakeTuple,
    MemorySpace,
    ParamDirection,
    Program,
    ReturnStmt,
    Stmt,
    TensorType,
    TileType,
    TileView,
    TupleType,
    Type,
    Var,
    WhileStmt,
    YieldStmt,
    as_dims,
    as_expr,
    implicit_layout,
    scalar_type,
    seq,
)
from pypto_core.ops import create_call, op_ref

Value = Expr | int | float
INDEX = scalar_type(DataType.INDEX)
BOOL = scalar_type(DataType.BOOL)


def scalar(name: str, dtype: DataType = DataType.INDEX) -> Var:
    """A scalar variable."""
    return Var(name, scalar_type(dtype))


def tensor(name: str, shape: Iterable[int | Expr], dtype: DataType = DataType.FP32) -> Var:
    """A tensor variable."""
    return Var(name, TensorType(tuple(shape), dtype))


def tile_type(
    shape: Iterable[int | Expr],
    dtype: DataType = DataType.FP32,
    space: MemorySpace | None = MemorySpace.Vec,
    **view: Any,
) -> TileType:
    """A tile type; ``view`` are fields of TileView, those not given as the space implies them."""
    extents = as_dims(shape)
    stored = None
    if view:
        blayout, slayout, fractal = implicit_layout(extents, space)
        fields: dict[str, Any] = {"blayout": blayout, "slayout": slayout, "fractal": fractal, **view}
        stored = TileView(**fields)
    return TileType(extents, dtype, None, stored, space)


def tile(name: str, shape: Iterable[int | Expr], dtype: DataType = DataType.FP32, **parts: Any) -> Var:
    """A tile variable; ``parts`` as of :func:`tile_type`."""
    return Var(name, tile_type(shape, dtype, **parts))


def dims(*values: Value) -> MakeTuple:
    """A shape or offset."""
    return MakeTuple(tuple(as_expr(v) for v in values))


def op(name: str, *args: Value, **options: Any) -> Call:
    """A call of an operator, its type deduced."""
    return create_call(name, [as_expr(a) for a in args], options)


def raw_op(name: str, args: Sequence[Value], kind: Type, *, notes: Mapping[str, Any] | None = None) -> Call:
    """A call of an operator with a type of the caller's choice, for states that deduction would refuse."""
    return Call(op_ref(name), tuple(as_expr(a) for a in args), {}, notes or {}, type=kind)


def call(
    callee: Function | str, *args: Value, kind: Type | None = None, notes: Mapping[str, Any] | None = None
) -> Call:
    """A call of a function; its type is what the callee returns unless ``kind`` says otherwise."""
    if kind is None:
        assert isinstance(callee, Function), "a call by name needs a type"
        returned = callee.return_types
        kind = returned[0] if len(returned) == 1 else TupleType(returned)
    name = callee if isinstance(callee, str) else callee.name
    return Call(GlobalVar(name), tuple(as_expr(a) for a in args), {}, notes or {}, type=kind)


def let(name: str, value: Expr) -> AssignStmt:
    """``name = value`` with a fresh variable of the value's type."""
    return AssignStmt(Var(name, value.type), value)


def do(expr: Expr) -> EvalStmt:
    """An expression for its effect."""
    return EvalStmt(expr)


def give(*values: Value) -> YieldStmt:
    """A yield."""
    return YieldStmt(tuple(as_expr(v) for v in values))


def ret(*values: Value) -> ReturnStmt:
    """A return."""
    return ReturnStmt(tuple(as_expr(v) for v in values))


def loop(
    stop: Value,
    body: Callable[..., Iterable[Stmt]],
    *,
    start: Value = INDEX_ZERO,
    step: Value = INDEX_ONE,
    carries: Mapping[str, Expr] | None = None,
    kind: ForKind = ForKind.Sequential,
    attrs: Mapping[str, Any] | None = None,
    var: str = "i",
) -> ForStmt:
    """A counted loop. ``body(i, *carries)`` gives its statements, a yield last when there are carries."""
    index = Var(var, INDEX)
    args = tuple(IterArg(name, init.type, init) for name, init in (carries or {}).items())
    results = tuple(Var(f"{arg.name_hint}_out", arg.type) for arg in args)
    inner = seq(body(index, *args))
    return ForStmt(
        index, as_expr(start), as_expr(stop), as_expr(step), args, inner, results, kind, attrs or {}
    )


def repeat(
    condition: Callable[..., Expr], body: Callable[..., Iterable[Stmt]], carries: Mapping[str, Expr]
) -> WhileStmt:
    """A while loop. ``condition(*carries)`` and ``body(*carries)`` as of :func:`loop`."""
    args = tuple(IterArg(name, init.type, init) for name, init in carries.items())
    results = tuple(Var(f"{arg.name_hint}_out", arg.type) for arg in args)
    return WhileStmt(condition(*args), args, seq(body(*args)), results)


def branch(
    condition: Expr,
    then: Iterable[Stmt],
    otherwise: Iterable[Stmt] | None = None,
    results: Iterable[Var] = (),
) -> IfStmt:
    """An if."""
    return IfStmt(condition, seq(then), None if otherwise is None else seq(otherwise), tuple(results))


def function(
    name: str,
    params: Sequence[Var | tuple[Var, ParamDirection]],
    stmts: Iterable[Stmt],
    *,
    returns: Iterable[Type] = (),
    kind: FunctionType = FunctionType.Opaque,
    **parts: Any,
) -> Function:
    """A function; a parameter paired with a direction is not In."""
    pairs = [p if isinstance(p, tuple) else (p, ParamDirection.In) for p in params]
    return Function(
        name,
        tuple(var for var, _ in pairs),
        tuple(returns),
        seq(stmts),
        tuple(direction for _, direction in pairs),
        kind,
        **parts,
    )


def kernel(
    name: str, params: Sequence[Var | tuple[Var, ParamDirection]], stmts: Iterable[Stmt], **parts: Any
) -> Function:
    """An InCore function."""
    return function(name, params, stmts, kind=FunctionType.InCore, **parts)


def program(*functions: Function, name: str = "Program") -> Program:
    """A program."""
    return Program(name, functions)
