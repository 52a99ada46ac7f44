"""Random kernels drawn from the table of rules and a little beyond it: in bounds, terminating, the same for a seed.

Numbers ``n`` and ``m`` are 0 to 3 at run time. What deduction refuses is simply not written down, so that whatever is
drawn is a kernel that somebody could write.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from random import Random
from typing import Any

import attrs

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    ConstInt,
    DataType,
    Expr,
    Function,
    FunctionType,
    ParamDirection,
    Program,
    TensorType,
    Var,
    YieldStmt,
    add,
    cast,
    gt,
    mul,
    static_shape,
    types_equal,
)
from pypto_core.testing import build as b
from pypto_plugin_buffer_ir.elementwise import RECIPES

FP16, FP32, BF16, INT32 = DataType.FP16, DataType.FP32, DataType.BF16, DataType.INT32
EXTENT = 64
SHAPES = ((8, 64), (16, 64), (16, 32), (32, 32), (32, 64))
MOST = 3
"""The greatest value of a number at run time."""
BEYOND = ("tile.row_max", "tile.cast", "tile.rsqrt", "tile.fillpad")


@attrs.define(eq=False)
class Scope:
    """What a region sees: statements, tiles, the output, whether it is inside a loop or arm."""

    stmts: list[Any]
    tiles: list[Var]
    out: Var
    numbers: list[Expr]
    depth: int = 0


class Draw:
    """Writes one kernel.

    ``beyond``: chance in a hundred that a step leaves the table on purpose.
    """

    def __init__(self, rng: Random, size: int, beyond: int) -> None:
        self.rng, self.budget, self.beyond = rng, size, beyond
        self.dtype = rng.choices((FP32, FP16, INT32, BF16), (6, 1, 1, 1))[0]
        kind = TensorType((EXTENT, EXTENT), self.dtype)
        self.sources = [Var("a", kind), Var("b", kind)]
        self.output = Var("o", kind)
        self.n, self.m = b.scalar("n"), b.scalar("m")
        self.here = Scope([], [], self.output, [self.n, self.m])
        self.count = 0
        # Extents that are known at run time and control flow are the two halves of what is selected.
        self.dynamic = rng.random() < 0.35

    # -- choices

    def chance(self, percent: float) -> bool:
        return self.rng.random() * 100 < percent

    def pick(self, values: Any) -> Any:
        return self.rng.choice(list(values))

    def strange(self) -> bool:
        return self.chance(self.beyond)

    def name(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def tile(self) -> Var | None:
        return self.pick(self.here.tiles) if self.here.tiles else None

    def offset(self, room: int, unit: int) -> Expr:
        """A multiple of ``unit`` up to ``room``, constant or known at run time."""
        most = room // unit
        if most >= 1 and self.chance(40):
            factor = max(1, most // MOST)
            if factor * MOST <= most:
                return mul(self.pick(self.here.numbers), unit * factor)
        return ConstInt(self.rng.randint(0, most) * unit)

    def extents(self, rows: int, cols: int, dynamic: int) -> tuple[Any, Any] | None:
        """A rectangle inside: None for all of it."""
        if self.chance(dynamic * 3 if self.dynamic else self.beyond / 2):
            n, m = self.pick(self.here.numbers), self.pick(self.here.numbers)
            return mul(n, max(rows // 4, 1)), (mul(m, cols // 4) if self.chance(50) else ConstInt(cols))
        if self.chance(15):
            return ConstInt(self.rng.randint(1, rows)), ConstInt(self.rng.randint(1, cols))
        return None

    # -- statements

    def add(self, name: str, *args: Any, stem: str = "t", **options: Any) -> Var | None:
        """One more tile; nothing when the operator refuses."""
        try:
            stmt = b.let(self.name(stem), b.op(name, *args, **options))
        except UserError:
            return None
        self.here.stmts.append(stmt)
        self.here.tiles.append(stmt.var)
        self.budget -= 1
        return stmt.var

    def load(self) -> None:
        rows, cols = self.pick(SHAPES)
        offsets = b.dims(self.offset(EXTENT - rows, 8), self.offset(EXTENT - cols, 16))
        valid = self.extents(rows, cols, 15)
        extra = () if valid is None else (b.dims(*valid),)
        self.add("tile.load", self.pick(self.sources), offsets, b.dims(rows, cols), *extra)

    def full(self) -> None:
        if self.dtype is FP32 or self.strange():
            self.add("tile.full", b.dims(*self.pick(SHAPES)), 0.5 * self.rng.randint(-3, 3), dtype=self.dtype)

    def elementwise(self) -> None:
        first = self.tile()
        if first is None:
            return
        if self.strange():
            self.add(self.pick(BEYOND), first, **({"target_type": FP32} if self.chance(30) else {}))
            return
        fitting = [r for r in RECIPES.values() if first.type.dtype in r.dtypes or self.strange()]
        if not fitting:
            return
        recipe = self.pick(fitting)
        if recipe.name == "full":
            return
        kinds = [is_scalar for _, is_scalar in recipe.inputs]
        args: list[Any] = [first]
        if kinds[1:] == [True]:
            args.append(self.pick([2.0, -0.5, 0.25, *([cast(self.n, FP32)] if self.chance(20) else [])]))
        elif len(kinds) == 2:
            args.append(self.pick(self.alike(first)))
        self.add(recipe.tile_op, *args)

    def alike(self, tile: Var) -> list[Var]:
        """The tiles of one shape, element type and rectangle; now and then any."""
        if self.strange():
            return self.here.tiles
        return [t for t in self.here.tiles if types_equal(t.type, tile.type)]

    def slice(self) -> None:
        source = self.tile()
        shape = None if source is None else static_shape(source.type.shape)
        if shape is None or shape[0] < 8 or shape[1] < 16:
            return
        rows, cols = self.pick([r for r in (4, 8, 16) if r <= shape[0]]), self.pick([16, 32, shape[1]])
        if cols > shape[1]:
            return
        unit = 1 if self.strange() else 16
        offsets = b.dims(self.offset(shape[0] - rows, 1), self.offset(shape[1] - cols, unit))
        # What is claimed beyond what a source holds would be read without having been written.
        valid = self.extents(rows, cols, 10) if source.type.is_fully_valid else None
        extra = () if valid is None else (b.dims(*valid),)
        self.add("tile.slice", source, b.dims(rows, cols), offsets, *extra, stem="w")

    def assemble(self) -> None:
        target, source = self.tile(), self.tile()
        if target is None or source is None:
            return
        whole, part = static_shape(target.type.shape), static_shape(source.type.shape)
        if part[0] > whole[0] or part[1] > whole[1]:
            return
        offsets = b.dims(self.offset(whole[0] - part[0], 1), self.offset(whole[1] - part[1], 16))
        self.add("tile.assemble", target, source, offsets, stem="c")

    def shift(self) -> None:
        """A tile of which one part is written from another."""
        target = self.tile()
        shape = None if target is None else static_shape(target.type.shape)
        if shape is None or shape[0] < 16:
            return
        rows = self.pick([4, 8])
        source = self.add(
            "tile.slice", target, b.dims(rows, shape[1]), b.dims(self.offset(shape[0] - rows, 1), 0), stem="w"
        )
        if source is not None:
            to = b.dims(self.offset(shape[0] - rows, 1), 0)
            self.add("tile.assemble", target, source, to, stem="c")

    def relabel(self) -> None:
        source = self.tile()
        shape = None if source is None else static_shape(source.type.shape)
        if shape is None:
            return
        if self.chance(50):
            dims = self.pick([(shape[0] * 2, shape[1] // 2), (shape[0] // 2, shape[1] * 2)])
            if min(dims) > 0:
                self.add("tile.reshape", source, b.dims(*dims), stem="v")
        else:
            self.add("tile.reinterpret_view", source, dtype=self.pick((FP32, INT32, FP16)), stem="v")

    def narrow(self) -> None:
        source = self.tile()
        shape = None if source is None or not source.type.is_fully_valid else static_shape(source.type.shape)
        valid = None if shape is None else self.extents(*shape, 30)
        if source is not None and valid is not None:
            self.add("tile.set_validshape", source, *valid, stem="s")
            if not self.strange():
                self.here.tiles = [t for t in self.here.tiles if t is not source]

    def copy(self) -> None:
        source = self.tile()
        if source is not None:
            self.add("tile.move", source, target_memory=source.type.memory_space, stem="k")

    def store(self) -> None:
        fitting = [
            t
            for t in self.here.tiles
            if t.type.dtype is self.dtype and max(static_shape(t.type.shape)) <= EXTENT
        ]
        if not fitting:
            return
        source = self.pick(fitting[-4:])
        rows, cols = static_shape(source.type.shape)
        offsets = b.dims(self.offset(EXTENT - rows, 8), self.offset(EXTENT - cols, 16))
        stmt = b.let(self.name("o"), b.op("tile.store", source, offsets, self.here.out))
        self.here.stmts.append(stmt)
        self.here.out = stmt.var
        self.budget -= 1

    # -- control flow

    @contextmanager
    def region(self) -> Any:
        outer = self.here
        self.here = Scope([], list(outer.tiles), outer.out, list(outer.numbers), outer.depth + 1)
        try:
            yield self.here
        finally:
            self.here = outer

    def whole(self, tiles: list[Var]) -> list[Var]:
        """Tiles that are no windows; now and then all."""
        return tiles if self.strange() else [t for t in tiles if not t.name_hint.startswith(("w", "v"))]

    def carried(self, most: int) -> list[Var]:
        """Tiles that a loop or branch hands on."""
        tiles = self.whole(self.here.tiles)
        return self.rng.sample(tiles, min(len(tiles), self.rng.randint(0, most)))

    def same(self, tile: Var, among: list[Var]) -> Var:
        fitting = [t for t in self.whole(among) if types_equal(t.type, tile.type)]
        return self.pick(fitting[-3:] or [tile])

    def branch(self) -> None:
        kept = self.carried(2)
        arms = []
        for _ in range(2):
            with self.region() as scope:
                self.fill(self.rng.randint(0, 3))
                values = [scope.out, self.number(), *(self.same(t, scope.tiles) for t in kept)]
                arms.append([*scope.stmts, YieldStmt(tuple(values))])
        kinds = [self.output.type, self.n.type, *(t.type for t in kept)]
        results = [Var(self.name("r"), kind) for kind in kinds]
        condition = gt(self.pick(self.here.numbers), self.rng.randint(0, 2))
        self.here.stmts.append(b.branch(condition, arms[0], arms[1], results))
        self.leave(results)

    def number(self) -> Expr:
        return self.pick([self.n, self.m, ConstInt(self.rng.randint(0, MOST))])

    def leave(self, results: list[Var]) -> None:
        self.here.out = results[0]
        self.here.numbers.append(results[1])
        self.here.tiles += results[2:]
        self.budget -= 1

    def loop(self) -> None:
        carried = self.carried(3)
        inits = {self.name("o"): self.here.out, self.name("q"): self.number()}
        inits |= {self.name("x"): t for t in carried}

        def body(i: Expr, out: Var, number: Expr, *tiles: Var) -> list[Any]:
            with self.region() as scope:
                scope.out, scope.numbers = out, [*scope.numbers, number, i]
                scope.tiles = [*scope.tiles, *tiles]
                self.fill(self.rng.randint(1, 4))
                values = [self.same(t, [*tiles, *scope.tiles]) for t in tiles]
                return [*scope.stmts, YieldStmt((scope.out, self.number(), *values))]

        stop = self.pick([self.n, self.m, ConstInt(2), ConstInt(0)])
        step = ConstInt(self.pick([1, 1, 2]))
        stmt = b.loop(stop, body, step=step, carries=inits, var=self.name("i"))
        self.here.stmts.append(stmt)
        self.leave(list(stmt.return_vars))

    def while_loop(self) -> None:
        carried = self.carried(1)
        inits = {
            self.name("o"): self.here.out,
            self.name("j"): ConstInt(0),
            **{self.name("x"): t for t in carried},
        }

        def body(out: Var, number: Expr, *tiles: Var) -> list[Any]:
            with self.region() as scope:
                scope.out, scope.tiles = out, [*scope.tiles, *tiles]
                self.fill(self.rng.randint(1, 3))
                values = [self.same(t, [*tiles, *scope.tiles]) for t in tiles]
                return [*scope.stmts, YieldStmt((scope.out, add(number, 1), *values))]

        stmt = b.repeat(lambda out, number, *tiles: gt(self.m, number), body, inits)
        self.here.stmts.append(stmt)
        self.leave(list(stmt.return_vars))

    # -- all of it

    def fill(self, count: int) -> None:
        steps: list[tuple[int, Callable[[], None]]] = [
            (6, self.load), (1, self.full), (10, self.elementwise), (3, self.slice), (2, self.assemble),
            (2, self.shift), (2, self.relabel), (2, self.narrow), (1, self.copy), (3, self.store),
        ]  # fmt: skip
        if self.here.depth < 2 and (not self.dynamic or self.strange()):
            steps += [(2, self.branch), (2, self.loop), (1, self.while_loop)]
        floor = max(0, self.budget - count)
        tries = 4 * count + 4
        while self.budget > floor and tries:
            tries -= 1
            self.rng.choices([s for _, s in steps], [w for w, _ in steps])[0]()

    def kernel(self) -> Function:
        """The function."""
        self.load()
        self.fill(self.budget)
        self.store()
        self.store()
        self.here.stmts.append(b.ret(self.here.out))
        params = [*self.sources, (self.output, ParamDirection.InOut), self.n, self.m]
        return b.function("k", params, self.here.stmts, returns=[self.output.type], kind=FunctionType.InCore)


def drawn(seed: int, size: int = 14, beyond: int = 3) -> Program:
    """The program of a seed."""
    return b.program(Draw(Random(seed), size, beyond).kernel(), name=f"drawn_{seed}_{size}_{beyond}")
