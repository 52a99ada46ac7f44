"""Random kernels of Vec tiles: windows, operators in place, nested loops with carries that change places, branches."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

from pypto_core.ir import (
    DataType,
    MemorySpace,
    ParamDirection,
    Stmt,
    TileType,
    Var,
    add,
    eq,
    floormod,
    lt,
    static_shape,
)
from pypto_core.testing import build as b

ROWS, COLS = 4, 8
SHAPES = ((ROWS, COLS), (2 * ROWS, COLS), (ROWS, 2 * COLS))


class Maker:
    """Makes one kernel; ``visible`` are the tiles in scope, innermost region last."""

    def __init__(self, rng: Random, size: int, *, windows: bool = True, halves: bool = False) -> None:
        self.rng, self.left = rng, size
        self.windows, self.halves = windows, halves
        self.number = 0
        self.source = b.tensor("source", [64, 2 * COLS])
        self.out = b.tensor("out", [64, 2 * COLS])
        self.stored = 0

    def name(self, stem: str) -> str:
        self.number += 1
        return f"{stem}{self.number}"

    def like(self, pool: list[Var], shape: Any = None, dtype: Any = None) -> Var | None:
        fitting = [
            v
            for v in pool
            if (shape is None or static_shape(v.type.shape) == shape)
            and (dtype is None or v.type.dtype is dtype)
        ]
        return self.rng.choice(fitting) if fitting else None

    def load(self, index: Var | None = None) -> Any:
        h, w = self.rng.choice(SHAPES)
        row: Any = self.rng.randrange(0, 64 - 2 * ROWS)
        if index is not None and self.rng.random() < 0.5:
            row = index
        return b.let(
            self.name("l"),
            b.op("tile.load", self.source, b.dims(row, 0), b.dims(h, w), target_memory=MemorySpace.Vec),
        )

    def simple(self, pool: list[Var], index: Var | None) -> list[Stmt]:
        rng = self.rng
        choice = rng.random()
        if choice < 0.2 or not pool:
            return [self.load(index)]
        x = rng.choice(pool)
        shape = static_shape(x.type.shape)
        if choice < 0.45:
            y = self.like(pool, shape, x.type.dtype) or x
            return [b.let(self.name("e"), b.op(rng.choice(["tile.add", "tile.sub", "tile.maximum"]), x, y))]
        if choice < 0.6:
            names = ["tile.neg", "tile.abs"] + (["tile.recip"] if x.type.dtype is DataType.FP32 else [])
            return [b.let(self.name("u"), b.op(rng.choice(names), x))]
        if choice < 0.72 and self.windows:
            return self.window(pool, x, index)
        if choice < 0.84 and self.windows:
            return self.assembled(pool, x)
        if choice < 0.9 and self.halves:
            other = DataType.FP16 if x.type.dtype is DataType.FP32 else DataType.FP32
            return [b.let(self.name("c"), b.op("tile.cast", x, target_type=other))]
        return [self.store(x)]

    def window(self, pool: list[Var], x: Var, index: Var | None) -> list[Stmt]:
        h, w = static_shape(x.type.shape)
        if h * w == ROWS * COLS and self.rng.random() < 0.5 and x.name_hint[0] != "w":
            return (
                [b.let(self.name("v"), b.op("tile.reshape", x, b.dims(w, h)))]
                if False
                else [b.let(self.name("a"), x)]
            )
        if h > ROWS or w > COLS:
            row: Any = self.rng.randrange(0, h - ROWS + 1)
            if index is not None and h > ROWS and self.rng.random() < 0.4:
                row = floormod(index, ROWS)
            col = self.rng.randrange(0, w - COLS + 1)
            return [b.let(self.name("w"), b.op("tile.slice", x, b.dims(ROWS, COLS), b.dims(row, col)))]
        return [b.let(self.name("a"), x)]

    def assembled(self, pool: list[Var], x: Var) -> list[Stmt]:
        big = [
            v for v in pool if static_shape(v.type.shape) != (ROWS, COLS) and v.type.dtype is DataType.FP32
        ]
        small = self.like(pool, (ROWS, COLS), DataType.FP32)
        if not big or small is None:
            return [self.load()]
        target = self.rng.choice(big)
        h, w = static_shape(target.type.shape)
        at = b.dims(self.rng.randrange(0, h - ROWS + 1), self.rng.randrange(0, w - COLS + 1))
        return [b.let(self.name("s"), b.op("tile.assemble", target, small, at))]

    def store(self, x: Var) -> Stmt:
        kind = x.type
        if kind.dtype is not DataType.FP32:
            return b.let(self.name("u"), b.op("tile.neg", x))
        self.stored += 1
        row = self.rng.randrange(0, 64 - 2 * ROWS)
        return b.do(b.op("tile.store", x, b.dims(row, 0), self.out))

    def body(self, pool: list[Var], depth: int, index: Var | None) -> list[Stmt]:
        """Statements; ``pool`` grows by what they define."""
        out: list[Stmt] = []
        for _ in range(self.rng.randrange(1, 7)):
            if self.left <= 0:
                break
            self.left -= 1
            choice = self.rng.random()
            if depth < 3 and choice < 0.14 and pool:
                out.append(self.loop(pool, depth, index))
            elif depth < 3 and choice < 0.2 and pool:
                out.append(self.repeat(pool, depth))
            elif depth < 3 and choice < 0.36 and pool:
                out.append(self.branch(pool, depth, index))
            else:
                made = self.simple(pool, index)
                out += made
                pool += [s.var for s in made if hasattr(s, "var")]
        return out

    def picks(self, pool: list[Var], most: int) -> list[Var]:
        return [self.rng.choice(pool) for _ in range(self.rng.randrange(1, most + 1))]

    def yields(self, pool: list[Var], kinds: list[TileType], extra: list[Var]) -> list[Var]:
        """A value of each type, with a liking for what is new and for carries in other places."""
        out: list[Var] = []
        for kind in kinds:
            shape = static_shape(kind.shape)
            recent = self.like(pool[-4:], shape, kind.dtype)
            swapped = self.like(extra, shape, kind.dtype)
            anything = self.like(pool, shape, kind.dtype)
            options = [v for v in (recent, swapped, anything) if v is not None]
            out.append(self.rng.choice(options))
        return out

    def loop(self, pool: list[Var], depth: int, index: Var | None) -> Stmt:
        inits = self.picks(pool, 3)
        carries = {self.name("k"): v for v in inits}

        def body(i: Var, *args: Var) -> list[Stmt]:
            inner = [*pool, *args]
            stmts = self.body(inner, depth + 1, i)
            return [*stmts, b.give(*self.yields(inner, [a.type for a in args], list(args)))]

        stmt = b.loop(self.rng.randrange(0, 4), body, carries=carries, var=self.name("i"))
        pool += stmt.return_vars
        return stmt

    def repeat(self, pool: list[Var], depth: int) -> Stmt:
        inits = self.picks(pool, 2)
        turns = self.rng.randrange(0, 3)
        carries: dict[str, Any] = {self.name("n"): b.dims(0).elements[0]}
        carries.update({self.name("k"): v for v in inits})

        def body(n: Var, *args: Var) -> list[Stmt]:
            inner = [*pool, *args]
            stmts = self.body(inner, depth + 1, None)
            more = b.let(self.name("n"), add(n, 1))
            return [*stmts, more, b.give(more.var, *self.yields(inner, [a.type for a in args], list(args)))]

        stmt = b.repeat(lambda n, *args: lt(n, turns), body, carries)
        pool += [v for v in stmt.return_vars if isinstance(v.type, TileType)]
        return stmt

    def branch(self, pool: list[Var], depth: int, index: Var | None) -> Stmt:
        condition: Any = eq(floormod(index, 2), 0) if index is not None else lt(self.rng.randrange(2), 1)
        kinds = [v.type for v in self.picks(pool, 2)]
        arms = []
        for _ in range(2):
            inner = list(pool)
            stmts = self.body(inner, depth + 1, index)
            arms.append([*stmts, b.give(*self.yields(inner, kinds, []))])
        results = [Var(self.name("p"), kind) for kind in kinds]
        stmt = b.branch(condition, arms[0], arms[1], results)
        pool += results
        return stmt


def kernel(rng: Random, size: int, **options: Any) -> Any:
    """A kernel that stores much of what it computes."""
    maker = Maker(rng, size, **options)
    pool: list[Var] = []
    stmts: list[Stmt] = [maker.load(), maker.load()]
    pool += [s.var for s in stmts]
    while maker.left > 0:
        stmts += maker.body(pool, 0, None)
    for var in rng.sample(pool, min(3, len(pool))):
        if var.type.dtype is DataType.FP32:
            stmts.append(maker.store(var))
    return b.kernel("k", [maker.source, (maker.out, ParamDirection.Out)], [*stmts, b.ret()])


def inputs(function: Any, seed: int = 0) -> dict[Any, np.ndarray]:
    """Arrays for its two tensors."""
    rng = np.random.default_rng(seed)
    return {
        param: rng.integers(-9, 10, size=static_shape(param.type.shape)).astype(np.float32)
        for param in function.params
    }
