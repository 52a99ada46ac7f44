"""The state of a program that is being generated: what is visible, and how names and choices are made."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from random import Random
from typing import TypeVar

import attrs

from pypto_core.ir import (
    AssignStmt,
    DataType,
    EvalStmt,
    Expr,
    Function,
    Stmt,
    TileType,
    Var,
    add,
    and_,
    const_index,
    eq,
    floordiv,
    floormod,
    ge,
    lt,
    max_,
    min_,
    mul,
    ne,
    not_,
    or_,
    shapes_equal,
    sub,
    types_equal,
)
from pypto_core.testing.features import Feature

T = TypeVar("T")

STATE_LIMIT = 16
"""Scalars that are carried or assigned again stay in [0, 16), so that every iteration may index with them."""


@attrs.frozen
class Number:
    """An INDEX variable and what is known of its value; ``high`` None is unbounded.

    ``state``: a step may assign it again. ``fixed``: nothing does, so that types may depend on it.
    """

    var: Var
    low: int
    high: int | None
    state: bool = False
    fixed: bool = True


@attrs.define
class Block:
    """What is visible at a place, and the statements written there so far."""

    numbers: list[Number]
    tiles: list[Var]
    outs: dict[str, Var]
    stmts: list[Stmt] = attrs.field(factory=list[Stmt])
    may_store: bool = True
    in_loop: bool = False

    def inner(self) -> Block:
        """A region that sees the same."""
        return Block(
            list(self.numbers),
            list(self.tiles),
            dict(self.outs),
            may_store=self.may_store,
            in_loop=self.in_loop,
        )


@attrs.define
class Drawing:
    """A program under way. ``budget``: statements still to be written."""

    rng: Random
    features: frozenset[Feature]
    budget: int
    dtype: DataType
    shape: tuple[int, int]
    block: Block
    sources: list[Var]
    inlines: list[Function] = attrs.field(factory=list[Function])
    factors: list[Var] = attrs.field(factory=list[Var])
    depth: int = 0
    _names: dict[str, int] = attrs.field(factory=dict[str, int], init=False)

    def has(self, feature: Feature) -> bool:
        """Whether the program may contain it."""
        return feature in self.features

    @property
    def plain(self) -> bool:
        """Whether variables may be assigned again."""
        return Feature.REASSIGN in self.features

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.rng.random() < probability

    def pick(self, items: Sequence[T]) -> T:
        """One of several."""
        return items[self.rng.randrange(len(items))]

    def name(self, base: str) -> str:
        """A name not used before."""
        number = self._names.get(base, 0)
        self._names[base] = number + 1
        return f"{base}{number}"

    def let(self, base: str, value: Expr) -> Var:
        """Assign to a fresh variable."""
        var = Var(self.name(base), value.type)
        self.write(AssignStmt(var, value))
        return var

    def do(self, expr: Expr) -> None:
        """Evaluate for the effect."""
        self.write(EvalStmt(expr))

    def write(self, stmt: Stmt) -> None:
        """Add a statement to the current block."""
        self.block.stmts.append(stmt)
        self.budget -= 1

    def add_tile(self, value: Expr, base: str = "t") -> Var:
        """Assign a tile and remember it."""
        var = self.let(base, value)
        self.block.tiles.append(var)
        return var

    @contextmanager
    def region(self, *, loop: bool = False) -> Generator[Block]:
        """Write into a region of the current block; yields the region."""
        outer = self.block
        self.block = outer.inner()
        self.block.in_loop = loop or outer.in_loop
        self.depth += 1
        try:
            yield self.block
        finally:
            self.block, self.depth = outer, self.depth - 1

    def number(self) -> Number:
        """Some visible integer."""
        return self.pick(self.block.numbers)

    def index_below(self, limit: int) -> Expr:
        """An integer in [0, limit)."""
        if limit <= 1 or self.chance(0.2):
            return const_index(self.rng.randrange(max(limit, 1)))
        known = self.number()
        if known.low >= 0 and known.high is not None and known.high < limit:
            return known.var
        return floormod(known.var, limit)

    def integer(self) -> tuple[Expr, int, int | None]:
        """An integer expression with its bounds."""
        a, b, c = self.number(), self.number(), self.rng.randrange(1, 8)
        kind = self.rng.randrange(7)
        if kind == 0:
            high = None if a.high is None or b.high is None else a.high + b.high
            return add(a.var, b.var), a.low + b.low, high
        if kind == 1:
            return add(mul(a.var, c), 1), a.low * c + 1, None if a.high is None else a.high * c + 1
        if kind == 2:
            return sub(a.var, c), a.low - c, None if a.high is None else a.high - c
        if kind == 3:
            return floordiv(a.var, c), a.low // c, None if a.high is None else a.high // c
        if kind == 4:
            return floormod(a.var, c + 1), 0, c
        if kind == 5:
            return min_(a.var, c), min(a.low, c), c if a.high is None else min(a.high, c)
        return max_(a.var, c), max(a.low, c), None if a.high is None else max(a.high, c)

    def condition(self) -> Expr:
        """A BOOL expression."""
        number, c = self.number().var, self.rng.randrange(5)
        made = self.pick((lt, ge, eq, ne))(floormod(number, self.rng.randrange(2, 5)), c % 3)
        if self.chance(0.2):
            made = self.pick((and_, or_))(made, lt(self.number().var, c))
        return not_(made) if self.chance(0.15) else made

    def like(self, wanted: Var) -> list[Var]:
        """The visible tiles of the same type."""
        return [t for t in self.block.tiles if types_equal(t.type, wanted.type)]

    def partners(self, lhs: Var) -> list[Var]:
        """The visible tiles that may stand to the right of ``lhs``: defined wherever it is."""
        kind = lhs.type
        assert isinstance(kind, TileType)
        return [
            tile
            for tile in self.block.tiles
            if isinstance(tile.type, TileType)
            and tile.type.dtype is kind.dtype
            and shapes_equal(tile.type.shape, kind.shape)
            and (tile.type.is_fully_valid or shapes_equal(tile.type.valid_shape, kind.valid_shape))
        ]
