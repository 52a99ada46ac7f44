"""Random Vec kernels: scratch, masks, transposes, windows, single elements, pipelines with carries."""

from __future__ import annotations

from random import Random
from typing import Any

from pypto_core.ir import (
    PIPELINE_STAGES,
    CastMode,
    ConstFloat,
    DataType,
    ForKind,
    MemorySpace,
    PadValue,
    ParamDirection,
    Var,
    eq,
    floormod,
    lt,
    min_,
    static_shape,
)
from pypto_core.testing import build as b

N = 16
ROWS = 256
VEC = {"target_memory": MemorySpace.Vec}
Stmts = list[Any]


class Maker:
    """Makes one kernel; every tile in ``pool`` is N x N, FP32 and filled."""

    def __init__(self, rng: Random, size: int) -> None:
        self.rng, self.left, self.number = rng, size, 0
        self.x, self.out = b.tensor("x", [ROWS, N]), b.tensor("out", [ROWS, N])

    def let(self, out: Stmts, name: str, *args: Any, **options: Any) -> Any:
        self.number += 1
        stmt = b.let(f"t{self.number}", b.op(f"tile.{name}", *args, **options))
        out.append(stmt)
        return stmt.var

    def created(self, out: Stmts, rows: int = N, cols: int = N) -> Any:
        return self.let(out, "create", b.dims(rows, cols), dtype=DataType.FP32, **VEC)

    def load(self, out: Stmts, index: Any = None) -> Any:
        row: Any = self.rng.randrange(ROWS - N)
        if index is not None and self.rng.random() < 0.7:
            row = floormod(index, ROWS - N)
        return self.let(out, "load", self.x, b.dims(row, 0), b.dims(N, N), **VEC)

    def step(self, out: Stmts, pool: list[Var], index: Any) -> None:
        """One or a few statements; what they compute goes into the pool."""
        ways = [
            self.plain, self.plain, self.plain, self.with_scratch, self.choice, self.narrow, self.transposed,
            self.windows, self.reduced, self.padded, self.elements, self.stored,
        ]  # fmt: skip
        made = self.rng.choice(ways)(out, pool, index)
        if made is not None:
            pool.append(made)

    def plain(self, out: Stmts, pool: list[Var], index: Any) -> Any:
        x, y = self.rng.choice(pool), self.rng.choice(pool)
        name = self.rng.choice(
            ["add", "sub", "maximum", "minimum", "neg", "abs", "relu", "recip", "adds", "load"]
        )
        if name == "load":
            return self.load(out, index)
        if name == "adds":
            return self.let(out, name, x, ConstFloat(1.5, DataType.FP32))
        return self.let(out, name, *((x, y) if name in ("add", "sub", "maximum", "minimum") else (x,)))

    def with_scratch(self, out: Stmts, pool: list[Var], index: Any) -> Any:
        x, y, tmp = self.rng.choice(pool), self.rng.choice(pool), self.created(out)
        if self.rng.random() < 0.5:
            return self.let(out, "rem", x, self.let(out, "adds", self.let(out, "abs", y), 1.0), tmp)
        line = self.let(out, "col_sum", x, tmp)
        return self.let(out, "col_expand_sub", y, line)

    def choice(self, out: Stmts, pool: list[Var], index: Any) -> Any:
        x, y, z = (self.rng.choice(pool) for _ in range(3))
        mask = self.let(out, "cmp", x, y, cmp_type=self.rng.randrange(6))
        return self.let(out, "sel", mask, y, z, self.created(out))

    def narrow(self, out: Stmts, pool: list[Var], index: Any) -> Any:
        half = self.let(
            out, "cast", self.rng.choice(pool), target_type=self.rng.choice([DataType.FP16, DataType.BF16]),
            mode=CastMode.rint,
        )  # fmt: skip
        return self.let(out, "cast", half, target_type=DataType.FP32, mode=CastMode.round)

    def transposed(self, out: Stmts, pool: list[Var], index: Any) -> Any:
        return self.let(out, "transpose", self.rng.choice(pool), 0, 1)

    def windows(self, out: Stmts, pool: list[Var], index: Any) -> Any:
        target, source, half = self.rng.choice(pool), self.rng.choice(pool), N // 2
        row: Any = self.rng.choice([0, 2, half])
        if index is not None and self.rng.random() < 0.5:
            row = floormod(index, half)
        shape = b.dims(half, self.rng.choice([half, N]))
        part = self.let(out, "slice", source, shape, b.dims(row, 0))
        if self.rng.random() < 0.5:
            part = self.let(out, "neg", part)
        return self.let(out, "assemble", target, part, b.dims(self.rng.choice([0, half]), 0))

    def reduced(self, out: Stmts, pool: list[Var], index: Any) -> Any:
        x, tmp = self.rng.choice(pool), self.created(out)
        line = self.let(out, self.rng.choice(["row_max", "row_sum", "row_min"]), x, tmp)
        flat = self.let(out, "reshape", line, b.dims(1, N))
        more = self.let(out, "adds", flat, 0.5)
        return self.let(out, "col_expand_mul", self.rng.choice(pool), more)

    def padded(self, out: Stmts, pool: list[Var], index: Any) -> Any:
        rows: Any = self.rng.randrange(1, N) if index is None else min_(floormod(index, 7), N)
        valid = b.dims(rows, N)
        tile = self.let(
            out, "load", self.x, b.dims(self.rng.randrange(ROWS - N), 0), b.dims(N, N), valid, **VEC
        )
        filled = self.let(out, "fillpad", tile, pad_value=PadValue.zero)
        return self.let(out, "add", self.rng.choice(pool), filled)  # without the note of a padding

    def elements(self, out: Stmts, pool: list[Var], index: Any) -> Any:
        x, own = self.rng.choice(pool), self.let(out, "neg", self.rng.choice(pool))
        number = self.let(out, "read", x, b.dims(self.rng.randrange(N), self.rng.randrange(N)))
        out.append(b.do(b.op("tile.write", own, b.dims(self.rng.randrange(N), 3), number)))
        return own

    def stored(self, out: Stmts, pool: list[Var], index: Any) -> Any:
        row: Any = self.rng.randrange(ROWS - N) if index is None else floormod(index, ROWS - N)
        out.append(b.do(b.op("tile.store", self.rng.choice(pool), b.dims(row, 0), self.out)))

    def body(self, pool: list[Var], depth: int, index: Any) -> Stmts:
        out: Stmts = []
        for _ in range(self.rng.randrange(1, 7)):
            if self.left <= 0:
                break
            self.left -= 1
            turn = self.rng.random()
            if depth < 2 and turn < 0.2:
                self.loop(out, pool, depth)
            elif depth < 2 and turn < 0.32:
                self.branch(out, pool, depth, index)
            else:
                self.step(out, pool, index)
        return out

    def branch(self, out: Stmts, pool: list[Var], depth: int, index: Any) -> None:
        arms: list[Stmts] = []
        count = self.rng.randrange(1, 3)
        for _ in range(2):
            inner = list(pool)
            stmts = self.body(inner, depth + 1, index)
            arms.append([*stmts, b.give(*(self.rng.choice(inner[-4:]) for _ in range(count)))])
        condition = lt(self.rng.randrange(2), 1) if index is None else eq(floormod(index, 2), 0)
        results = []
        for _ in range(count):
            self.number += 1
            results.append(Var(f"p{self.number}", pool[0].type))
        out.append(b.branch(condition, *arms, results))
        pool += results

    def loop(self, out: Stmts, pool: list[Var], depth: int) -> None:
        carries = {f"k{self.number}_{i}": self.rng.choice(pool) for i in range(self.rng.randrange(3))}

        def inside(i: Var, *args: Var) -> Stmts:
            inner = [*pool, *args]
            stmts = self.body(inner, depth + 1, i)
            recent = inner[len(pool) :]
            return [*stmts, *([b.give(*(self.rng.choice(recent) for _ in args))] if args else [])]

        stages = self.rng.choice([0, 0, 2, 3])
        options = {"kind": ForKind.Pipeline, "attrs": {PIPELINE_STAGES: stages}} if stages else {}
        self.number += 1
        stmt = b.loop(self.rng.randrange(5), inside, carries=carries, var=f"i{self.number}", **options)
        out.append(stmt)
        pool += stmt.return_vars


def wide_kernel(rng: Random, size: int) -> Any:
    """A kernel of about ``size`` steps, that stores some of what it computed last."""
    maker = Maker(rng, size)
    out: Stmts = []
    pool = [maker.load(out), maker.load(out)]
    while maker.left > 0:
        out += maker.body(pool, 0, None)
    for place, tile in enumerate(pool[-3:]):
        assert static_shape(tile.type.shape) == (N, N)
        out.append(b.do(b.op("tile.store", tile, b.dims(N * place, 0), maker.out)))
    return b.program(b.kernel("k", [maker.x, (maker.out, ParamDirection.InOut)], [*out, b.ret()]))
