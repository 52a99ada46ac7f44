"""Loops and branches of a kernel: what is carried is memory, a tile, or an accumulator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    INDEX_ZERO,
    ConstInt,
    Eq,
    Expr,
    ForStmt,
    IfStmt,
    IterArg,
    MakeTuple,
    PadValue,
    Stmt,
    TensorType,
    TileType,
    Var,
    WhileStmt,
    YieldStmt,
    and_,
    base_name,
    bounds_of,
    last_yield,
    make_binary,
    prove_lt,
    replace,
    seq,
)
from pypto_plugin_tensor.kernel import name_of
from pypto_plugin_tensor.matrix import accumulator, is_zero
from pypto_plugin_tensor.values import Fresh, Global, Slot, Tile, Value, flat

if TYPE_CHECKING:
    from pypto_plugin_tensor.convert import Converter

_SCALARS: dict[type, tuple[str, ...]] = {ForStmt: ("start", "stop", "step"), WhileStmt: ("condition",)}


def region(kernel: Converter, body: Stmt | None, tail: tuple[Var, ...] | None = None) -> Stmt:
    """The converted statements of a region, with the values that it yields as what ``tail`` holds."""
    stmts, _ = _region(kernel, body, tail)
    return seq(stmts)


def _region(
    kernel: Converter,
    body: Stmt | None,
    targets: tuple[Var, ...] | None,
    head: Slot | None = None,
    meets: Sequence[Expr] = (),
) -> tuple[list[Stmt], tuple[Expr, ...]]:
    """``meets``: what the yielded values have to be of one type with."""
    outer, kernel.out = kernel.out, head if head is not None else []
    kernel.block(body)
    tail = last_yield(body)
    values: tuple[Expr, ...] = ()
    if tail is not None and targets is not None:
        values = tuple(_handed(kernel, v, t) for v, t in zip(tail.values, targets, strict=True))
        if meets:
            values = tuple(_padded_as(kernel, v, m) for v, m in zip(values, meets, strict=True))
        kernel.put(YieldStmt(values, span=tail.span))
    stmts = flat(kernel.out)
    kernel.out = outer
    return stmts, values


def _handed(kernel: Converter, value: Expr, target: Var) -> Expr:
    """A value on its way into a carry or result."""
    if not isinstance(target.type, TensorType):
        return kernel.scalar(value)
    found = kernel.value(value)
    if _is_memory(kernel, target):
        assert isinstance(found, Global)
        return found.var
    if target in kernel.accumulators:
        return _in_accumulator(kernel, found, value)
    return kernel.tile(found, name_of(value), value.span)


def _padded_as(kernel: Converter, value: Expr, other: Expr) -> Expr:
    """A tile under the padding of what it meets: on chip what is computed of a filled tile counts as filled."""
    have, wanted = value.type, other.type
    if not (isinstance(have, TileType) and isinstance(wanted, TileType) and isinstance(value, Var)):
        return value
    pad = wanted.view.pad
    if have.view.pad is pad or not have.is_fully_valid:
        return value
    like, span = name_of(value), value.span
    if pad is not PadValue.null:
        return kernel.emit("tile.fillpad", [value], {"pad_value": pad}, like=like, span=span)
    options = {"dtype": have.dtype, "target_memory": have.memory_space}
    room = kernel.emit("tile.create", [MakeTuple(have.shape)], options, like=like, span=span)
    origin = MakeTuple((INDEX_ZERO,) * len(have.shape))
    return kernel.emit("tile.assemble", [room, value, origin], like=like, span=span)


def _is_memory(kernel: Converter, var: Var) -> bool:
    """Whether a carry or result is one tensor in global memory throughout."""
    place = kernel.storage.of(var)
    root = None if place is None else kernel.values.get(place.root)
    return place is not None and place.whole and place.root is not var and isinstance(root, Global)


def _in_accumulator(kernel: Converter, value: Value, expr: Expr) -> Var:
    if isinstance(value, Fresh):
        return accumulator(kernel, value, name_of(expr), expr.span)
    assert isinstance(value, Tile)
    return value.var


def _entered(kernel: Converter, arg: IterArg, kind: TensorType) -> tuple[Expr, Value]:
    """What a carry starts with, and what it is inside."""
    init = _handed(kernel, arg.init_value, arg)
    new = IterArg(arg.name_hint, init.type, init, span=arg.span)
    if isinstance(init.type, TensorType):
        kernel.storage.places[new] = kernel.storage.places[arg]
        return init, Global(kind=init.type, var=new)
    return init, Tile(kind=kind, var=new)


def loop(kernel: Converter, stmt: ForStmt | WhileStmt) -> None:
    """A loop: its carries become what they hold."""
    args: list[IterArg] = []
    head: Slot = []
    for old in stmt.iter_args:
        if not isinstance(old.type, TensorType):
            init = kernel.scalar(old.init_value)
            new = old if init is old.init_value else IterArg(old.name_hint, old.type, init, span=old.span)
            if new is not old:
                kernel.scalars[old] = new
            args.append(new)
            continue
        init, value = _entered(kernel, old, kernel.kind(old.type))
        value.slot = []
        head.append(value.slot)
        kernel.values[old] = value
        assert isinstance(value, Global | Tile) and isinstance(value.var, IterArg)
        args.append(value.var)
        _starts_from_zero(kernel, stmt, old, value.var)
    if isinstance(stmt, ForStmt):
        _bound(kernel, stmt)
    stmts, yielded = _region(kernel, stmt.body, stmt.iter_args, head, args)
    _check_sums(kernel, stmt, args, yielded)
    results = tuple(_result(var, arg) for var, arg in zip(stmt.return_vars, args, strict=True))
    parts: dict[str, Any] = {k: kernel.scalar(getattr(stmt, k)) for k in _SCALARS[type(stmt)]}
    parts |= {"iter_args": tuple(args), "body": seq(stmts, stmt.body.span), "return_vars": results}
    kernel.put(replace(stmt, **parts, leading_comments=()))
    _publish(kernel, stmt.return_vars, results)


def _result(old: Var, like: Var) -> Var:
    """The variable of a result that has come to be of the type of ``like``."""
    if old.type is like.type or not isinstance(old.type, TensorType):
        return old
    return Var(old.name_hint, like.type, span=old.span)


def _publish(kernel: Converter, olds: tuple[Var, ...], news: tuple[Var, ...]) -> None:
    """What the results are behind the loop or branch."""
    for old, new in zip(olds, news, strict=True):
        if not isinstance(old.type, TensorType):
            continue
        kind = kernel.kind(old.type)
        if isinstance(new.type, TensorType):
            kernel.storage.places[new] = kernel.storage.places[old]
            kernel.define(old, Global(kind=kind, var=new))
        else:
            kernel.define(old, Tile(kind=kind, var=new))


def branch(kernel: Converter, stmt: IfStmt) -> None:
    """A branch: where two tensors meet, they are one memory, or tiles."""
    condition = kernel.scalar(stmt.condition)
    then_stmts, ways = _region(kernel, stmt.then_body, stmt.return_vars)
    else_stmts, others = (
        _region(kernel, stmt.else_body, stmt.return_vars, meets=ways)
        if stmt.else_body is not None
        else ([], ())
    )
    results = tuple(_result(var, _typed(way)) for var, way in zip(stmt.return_vars, ways, strict=True))
    _meeting_sums(kernel, stmt, results, ways, others)
    kernel.put(
        replace(
            stmt,
            condition=condition,
            then_body=seq(then_stmts, stmt.then_body.span),
            else_body=None if stmt.else_body is None else seq(else_stmts, stmt.else_body.span),
            return_vars=results,
            leading_comments=(),
        )
    )
    _publish(kernel, stmt.return_vars, results)


def _typed(value: Expr) -> Var:
    return value if isinstance(value, Var) else Var("", value.type)


def _bound(kernel: Converter, stmt: ForStmt) -> None:
    """What is known of the counter: extents that depend on it have a greatest value."""
    low = bounds_of(kernel.scalar(stmt.start), kernel.bounds)[0]
    high = bounds_of(kernel.scalar(stmt.stop), kernel.bounds)[1]
    if isinstance(stmt.step, ConstInt) and stmt.step.value > 0:
        kernel.bounds[stmt.loop_var] = (low, None if high is None else high - 1)


# -- sums that start from a tensor of zeros


def _starts_from_zero(kernel: Converter, stmt: ForStmt | WhileStmt, old: IterArg, new: IterArg) -> None:
    """Nothing can be written into the accumulator but products: the first one of a sum takes the place of the zeros."""
    if old not in kernel.accumulators:
        return
    origin = kernel.values.get(old.init_value) if isinstance(old.init_value, Var) else None
    outer = kernel.first_trips.get(new.init_value) if isinstance(new.init_value, Var) else None
    zeros = isinstance(origin, Fresh) and origin.fill is not None
    if not zeros and outer is None:
        return
    if isinstance(origin, Fresh) and not is_zero(origin):
        raise _not_zero(old)
    if not isinstance(stmt, ForStmt) or prove_lt(stmt.start, stmt.stop, kernel.bounds) is not True:
        raise UserError(
            f"the sum '{base_name(old.name_hint)}' starts from zeros, and its loop may have no trip at all",
            code="PT375",
            span=stmt.span,
            remedy="give the loop constant bounds, or begin the sum with pl.matmul ahead of the loop",
        )
    first = make_binary(Eq, stmt.loop_var, kernel.scalar(stmt.start), stmt.span)
    kernel.first_trips[new] = first if outer is None else and_(outer, first)


def _not_zero(arg: IterArg) -> UserError:
    return UserError(
        f"the sum '{base_name(arg.name_hint)}' starts from a value that can't be put into the accumulator",
        code="PT373",
        span=arg.span,
        remedy="let it start from zeros, and add the value to the result",
    )


def _check_sums(kernel: Converter, stmt: Stmt, args: list[IterArg], yielded: tuple[Expr, ...]) -> None:
    for arg, value in zip(args, yielded, strict=False):
        if arg in kernel.first_trips and isinstance(value, Var) and value in kernel.first_trips:
            raise _perhaps_not(arg, stmt)


def _meeting_sums(
    kernel: Converter,
    stmt: IfStmt,
    results: tuple[Var, ...],
    ways: tuple[Expr, ...],
    others: tuple[Expr, ...],
) -> None:
    for result, one, other in zip(results, ways, others, strict=False):
        open_ = [v for v in (one, other) if isinstance(v, Var) and v in kernel.first_trips]
        if open_:
            raise _perhaps_not(result, stmt)


def _perhaps_not(var: Var, stmt: Stmt) -> UserError:
    return UserError(
        f"the sum '{base_name(var.name_hint)}' starts from zeros, and not every way adds a product to it",
        code="PT375",
        span=stmt.span,
        remedy="begin the sum with pl.matmul, or let each trip add a product",
    )


__all__ = ["branch", "loop", "region"]
