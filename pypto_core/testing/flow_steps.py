"""Steps of a random program that are loops and branches, in SSA form or with plain reassignment."""

from __future__ import annotations

from collections.abc import Callable

from pypto_core.ir import (
    INDEX_ONE,
    INDEX_ZERO,
    PIPELINE_STAGES,
    AssignStmt,
    BreakStmt,
    ContinueStmt,
    DataType,
    Expr,
    ForKind,
    ForStmt,
    IfStmt,
    IterArg,
    Stmt,
    TileType,
    Var,
    WhileStmt,
    YieldStmt,
    add,
    and_,
    const_index,
    eq,
    floormod,
    lt,
    min_,
    scalar_type,
    seq,
)
from pypto_core.ops import create_call
from pypto_core.testing.drawing import STATE_LIMIT, Block, Drawing, Number
from pypto_core.testing.features import Feature
from pypto_core.testing.tile_steps import derived, operands

_INDEX = scalar_type(DataType.INDEX)
Fill = Callable[[Drawing], None]
"""Writes statements into the current block."""


def scalar(d: Drawing) -> None:
    """Compute an integer; some are kept small, to be carried or assigned again."""
    value, low, high = d.integer()
    if d.chance(0.4):
        var = d.let("s", floormod(value, STATE_LIMIT))
        d.block.numbers.append(Number(var, 0, STATE_LIMIT - 1, state=d.plain))
    else:
        d.block.numbers.append(Number(d.let("s", value), low, high))


def small(d: Drawing) -> Expr:
    """An integer in [0, 16)."""
    value, low, high = d.integer()
    return value if low >= 0 and high is not None and high < STATE_LIMIT else floormod(value, STATE_LIMIT)


def reassign(d: Drawing) -> None:
    """Assign a visible variable again."""
    states = [n.var for n in d.block.numbers if n.state]
    if states and d.chance(0.3):
        d.write(AssignStmt(d.pick(states), small(d)))
        return
    tiles = [t for t in d.block.tiles if not isinstance(t, IterArg)]
    if tiles:
        var = d.pick(tiles)
        value = derived(d, var)
        if value is not var:
            d.write(AssignStmt(var, value))


class _Carried:
    """The values that a loop or a branch hands on, while its parts are being written."""

    def __init__(self, d: Drawing, stores: bool, *, ssa: bool) -> None:
        self.d = d
        block = d.block
        pool = list(dict.fromkeys(block.tiles))
        count = min(len(pool), d.rng.randrange(3)) if ssa else 0
        self.tiles: list[Var] = d.rng.sample(pool, count)
        self.scalars = [d.number()] if ssa and d.chance(0.4) else []
        handed = d.has(Feature.CHAINED_STORES) and not d.plain and stores
        self.outs = sorted(block.outs) if handed else []

    @property
    def inits(self) -> list[tuple[str, Expr]]:
        block = self.d.block
        return [
            *(("c", tile) for tile in self.tiles),
            *(("k", floormod(number.var, STATE_LIMIT)) for number in self.scalars),
            *((name, block.outs[name]) for name in self.outs),
        ]

    def enter(self, args: tuple[Var, ...]) -> None:
        """Inside of a loop the carries stand for the values."""
        block = self.d.block
        tiles, rest = args[: len(self.tiles)], args[len(self.tiles) :]
        block.tiles = [t for t in block.tiles if t not in self.tiles] + list(tiles)
        block.numbers += [Number(v, 0, STATE_LIMIT - 1) for v in rest[: len(self.scalars)]]
        block.outs.update(zip(self.outs, rest[len(self.scalars) :], strict=True))

    def hand_on(self, like: tuple[Var, ...] | None = None) -> None:
        """Write the yield of the current region."""
        d = self.d
        values: list[Expr] = []
        for i, tile in enumerate(self.tiles):
            source = like[i] if like is not None else tile
            others = d.like(source)
            start = d.pick(others) if others and d.chance(0.5) else source
            value = derived(d, start)
            values.append(value if isinstance(value, Var) else d.let("y", value))
        for _ in self.scalars:
            value = small(d)
            values.append(value if isinstance(value, Var) or d.chance(0.5) else d.let("s", value))
        values += [d.block.outs[name] for name in self.outs]
        if values:
            d.block.stmts.append(YieldStmt(tuple(values)))

    def leave(self, results: tuple[Var, ...]) -> None:
        """After the statement its results are visible."""
        block = self.d.block
        block.tiles += results[: len(self.tiles)]
        rest = results[len(self.tiles) :]
        block.numbers += [Number(v, 0, STATE_LIMIT - 1) for v in rest[: len(self.scalars)]]
        block.outs.update(zip(self.outs, rest[len(self.scalars) :], strict=True))


def loop(d: Drawing, fill: Fill) -> None:
    """A counted loop."""
    kind, attrs = _loop_kind(d)
    constant = kind is not ForKind.Sequential or not d.has(Feature.DYNAMIC) or d.chance(0.5)
    start, step = d.rng.randrange(2), d.rng.randrange(1, 3)
    trips = d.rng.randrange(1, 4)
    last = start + step * trips
    stop: Expr = const_index(last) if constant else _dynamic_stop(d)
    stores = d.block.may_store and d.chance(0.5)
    carries = d.has(Feature.CARRIES) and kind is not ForKind.Unroll and (not d.plain or d.chance(0.4))
    carried = _Carried(d, stores and kind is not ForKind.Unroll, ssa=carries)
    index = Var(d.name("i"), _INDEX)
    args = tuple(IterArg(d.name(name), init.type, init) for name, init in carried.inits)
    leaks: list[Var] = []
    with d.region(loop=True) as body:
        body.may_store = stores and (bool(carried.outs) or d.plain or not d.has(Feature.CHAINED_STORES))
        body.numbers.append(Number(index, start, last - 1 if constant else None))
        carried.enter(args)
        known = len(body.tiles)
        fill(d)
        leaks = body.tiles[known:]
        if d.has(Feature.BREAK) and kind is ForKind.Sequential and not args and d.chance(0.5):
            _leave_early(d)
            fill(d)
        carried.hand_on(args)
    results = tuple(Var(d.name("r"), arg.type) for arg in args)
    d.write(
        ForStmt(
            index,
            const_index(start) if start or step > 1 else INDEX_ZERO,
            stop,
            const_index(step) if step > 1 else INDEX_ONE,
            args,
            seq(body.stmts),
            results,
            kind,
            attrs,
        )
    )
    carried.leave(results)
    if d.has(Feature.LEAKS) and d.plain and constant:
        _leak(d, leaks, body)


def _loop_kind(d: Drawing) -> tuple[ForKind, dict[str, int]]:
    if d.has(Feature.PIPELINE) and d.chance(0.2):
        return ForKind.Pipeline, {PIPELINE_STAGES: d.rng.randrange(1, 4)}
    if d.has(Feature.UNROLL) and d.chance(0.25):
        return ForKind.Unroll, {}
    return ForKind.Sequential, {}


def _dynamic_stop(d: Drawing) -> Expr:
    bound = d.number()
    if bound.high is not None and bound.high <= 8 and d.chance(0.5):
        return bound.var
    return min_(bound.var, d.rng.randrange(2, 6))


def _leave_early(d: Drawing) -> None:
    way: Stmt = BreakStmt() if d.chance(0.5) else ContinueStmt()
    d.write(IfStmt(d.condition(), way))


def _leak(d: Drawing, made: list[Var], body: Block) -> None:
    """Make a tile of a region visible after it; only those written on every way, whose type is known outside."""
    top = {stmt.var for stmt in body.stmts if isinstance(stmt, AssignStmt)}
    outside = [t for t in made if t in top and isinstance(t.type, TileType) and t.type.is_fully_valid]
    if outside and d.chance(0.6):
        d.block.tiles.append(d.pick(outside))


def while_loop(d: Drawing, fill: Fill) -> None:
    """A while loop that counts to a bound."""
    bound = min_(d.number().var, d.rng.randrange(1, 5)) if d.has(Feature.DYNAMIC) else const_index(3)
    if d.plain and d.chance(0.5):
        counter = d.let("w", const_index(0))
        with d.region(loop=True) as body:
            body.numbers.append(Number(counter, 0, 4, fixed=False))
            fill(d)
            d.write(AssignStmt(counter, add(counter, 1)))
        d.write(WhileStmt(lt(counter, bound), (), seq(body.stmts), ()))
        return
    stores = d.block.may_store and d.chance(0.5)
    carried = _Carried(d, stores, ssa=d.has(Feature.CARRIES))
    inits = [("w", INDEX_ZERO), *carried.inits]
    args = tuple(IterArg(d.name(name), init.type, init) for name, init in inits)
    condition = lt(args[0], bound)
    if d.chance(0.2):
        condition = and_(condition, lt(d.number().var, 100))
    with d.region(loop=True) as body:
        body.may_store = stores and (bool(carried.outs) or d.plain or not d.has(Feature.CHAINED_STORES))
        body.numbers.append(Number(args[0], 0, 4))
        carried.enter(args[1:])
        fill(d)
        following = d.let("w", add(args[0], 1))
        carried.hand_on(args[1:])
        last = body.stmts.pop() if len(args) > 1 else YieldStmt()
        assert isinstance(last, YieldStmt)
        body.stmts.append(YieldStmt((following, *last.values)))
    results = tuple(Var(d.name("r"), arg.type) for arg in args)
    d.write(WhileStmt(condition, args, seq(body.stmts), results))
    d.block.numbers.append(Number(results[0], 0, None))
    carried.leave(results[1:])


def branch(d: Drawing, fill: Fill) -> None:
    """An if, with phis unless variables are assigned again instead."""
    condition = d.condition()
    phis = not d.plain or d.chance(0.3)
    carried = _Carried(d, d.block.may_store, ssa=phis)
    both = bool(carried.inits) or d.chance(0.5)
    bodies: list[Block] = []
    shared = _shared(d) if d.plain and d.has(Feature.LEAKS) and both and not carried.inits else None
    for _ in range(2 if both else 1):
        with d.region() as body:
            fill(d)
            if shared is not None:
                d.write(AssignStmt(shared, derived(d, d.pick(d.like(shared)))))
            carried.hand_on()
        bodies.append(body)
    results = tuple(Var(d.name("p"), init.type) for _, init in carried.inits)
    otherwise = seq(bodies[1].stmts) if both else None
    d.write(IfStmt(condition, seq(bodies[0].stmts), otherwise, results))
    carried.leave(results)
    if shared is not None:
        d.block.tiles.append(shared)


def _shared(d: Drawing) -> Var | None:
    """Half of the time a variable that both branches are the first to assign; its type is that of a tile outside."""
    whole = [t for t in d.block.tiles if isinstance(t.type, TileType) and t.type.is_fully_valid]
    if not whole or d.chance(0.5):
        return None
    return Var(d.name("z"), d.pick(whole).type)


def accumulate(d: Drawing, acc: Expr) -> Expr:
    """Add the products of further steps of K to an accumulator."""
    row = d.index_below(4)
    if not d.has(Feature.LOOPS) or not d.has(Feature.CARRIES):
        lhs, rhs = operands(d, const_index(1), row)
        return d.let("acc", create_call("tile.matmul_acc", (acc, lhs, rhs)))
    index = Var(d.name("k"), _INDEX)
    arg = IterArg(d.name("c"), acc.type, acc)
    with d.region(loop=True) as body:
        lhs, rhs = operands(d, index, row)
        extra = (eq(index, 2),) if d.chance(0.3) else ()
        following = d.let("acc", create_call("tile.matmul_acc", (arg, lhs, rhs, *extra)))
        body.stmts.append(YieldStmt((following,)))
    result = Var(d.name("r"), acc.type)
    d.write(
        ForStmt(
            index,
            const_index(1),
            const_index(d.rng.randrange(2, 5)),
            INDEX_ONE,
            (arg,),
            seq(body.stmts),
            (result,),
        )
    )
    return result
