"""Random kernels of the matrix unit: operands by move or extract, sums over K in loops, all forms of ``init_cond``."""

from __future__ import annotations

from random import Random
from typing import Any

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    ConstBool,
    ConstInt,
    DataType,
    Expr,
    FunctionType,
    MemorySpace,
    ParamDirection,
    Program,
    TensorType,
    Var,
    YieldStmt,
    eq,
    gt,
    mul,
)
from pypto_core.testing import build as b

S = MemorySpace
FP16, BF16, FP32 = DataType.FP16, DataType.BF16, DataType.FP32
INT8, INT32 = DataType.INT8, DataType.INT32
DEPTH, WIDTH = 128, 64


class CubeDraw:
    """Writes one kernel."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.dtype = rng.choice((FP16, BF16, FP32, INT8))
        self.sum = INT32 if self.dtype is INT8 else FP32
        stored = INT32 if self.dtype is INT8 else rng.choice((FP32, FP32, FP16, BF16))
        self.x = Var("a", TensorType((WIDTH, DEPTH), self.dtype))
        self.y = Var("b", TensorType((DEPTH, WIDTH), self.dtype))
        self.out = Var("o", TensorType((WIDTH, WIDTH), stored))
        self.n = b.scalar("n")
        self.rows, self.cols = rng.choice((16, 32, 64)), rng.choice((32, 64))
        self.part = rng.choice((32, 64))
        self.valid_rows = self.rows if rng.random() < 0.6 else rng.randint(1, self.rows)
        self.stmts: list[Any] = []
        self.count = 0

    def let(self, name: str, *args: Any, **options: Any) -> Var:
        self.count += 1
        stmt = b.let(f"t{self.count}", b.op(name, *args, **options))
        self.stmts.append(stmt)
        return stmt.var

    def operands(self, k: Expr) -> tuple[Var, Var]:
        """Both factors of one product, the part of K that begins at ``k`` times the part's extent."""
        at = mul(k, self.part)
        if self.rng.random() < 0.5:
            x = self.let("tile.load", self.x, b.dims(0, 0), b.dims(self.rows, DEPTH), b.dims(self.valid_rows, DEPTH),
                         target_memory=S.Mat)  # fmt: skip
            y = self.let("tile.load", self.y, b.dims(0, 0), b.dims(DEPTH, self.cols), target_memory=S.Mat)
            left = self.let("tile.extract", x, 0, at, b.dims(self.rows, self.part), target_memory=S.Left)
            right = self.let("tile.extract", y, at, 0, b.dims(self.part, self.cols), target_memory=S.Right)
            return left, right
        x = self.let("tile.load", self.x, b.dims(0, at), b.dims(self.rows, self.part),
                     b.dims(self.valid_rows, self.part), target_memory=S.Mat)  # fmt: skip
        y = self.let("tile.load", self.y, b.dims(at, 0), b.dims(self.part, self.cols), target_memory=S.Mat)
        return self.let("tile.move", x, target_memory=S.Left), self.let("tile.move", y, target_memory=S.Right)

    def sum_by_condition(self) -> Var:
        """An accumulator that starts anew in its first trip."""
        start = self.let("tile.create", b.dims(self.rows, self.cols), dtype=self.sum, target_memory=S.Acc)
        if self.valid_rows != self.rows:
            start = self.let("tile.set_validshape", start, self.valid_rows, self.cols)

        def body(k: Expr, acc: Var) -> list[Any]:
            outer, self.stmts = self.stmts, []
            left, right = self.operands(k)
            self.let("tile.matmul_acc", acc, left, right, eq(k, 0))
            inner, self.stmts = self.stmts, outer
            return [*inner, YieldStmt((inner[-1].var,))]

        stmt = b.loop(DEPTH // self.part, body, carries={"acc": start}, var="k")
        self.stmts.append(stmt)
        return stmt.return_vars[0]

    def sum_by_branch(self) -> Var:
        """A first trip of its own form."""
        self.valid_rows = self.rows
        start = self.let("tile.create", b.dims(self.rows, self.cols), dtype=self.sum, target_memory=S.Acc)

        def body(k: Expr, acc: Var) -> list[Any]:
            outer, self.stmts = self.stmts, []
            left, right = self.operands(k)
            product = b.let("first", b.op("tile.matmul", left, right))
            more = b.let("more", b.op("tile.matmul_acc", acc, left, right))
            result = Var("acc_next", acc.type)
            arms = [[stmt, YieldStmt((stmt.var,))] for stmt in (product, more)]
            inner, self.stmts = self.stmts, outer
            return [*inner, b.branch(eq(k, 0), *arms, [result]), YieldStmt((result,))]

        stmt = b.loop(DEPTH // self.part, body, carries={"acc": start}, var="k")
        self.stmts.append(stmt)
        return stmt.return_vars[0]

    def straight(self) -> Var:
        """A product and perhaps some more added to it, of which some fill a part of it only."""
        partly, self.valid_rows = self.valid_rows, self.rows
        left, right = self.operands(ConstInt(0))
        acc = self.let("tile.matmul", left, right)
        self.valid_rows = partly if self.rng.random() < 0.5 else self.rows
        for _ in range(self.rng.randint(0, 2)):
            left, right = self.operands(ConstInt(self.rng.randint(0, DEPTH // self.part - 1)))
            condition = self.rng.choice([(), (ConstBool(False),), (ConstBool(True),), (gt(self.n, 1),)])
            acc = self.let("tile.matmul_acc", acc, left, right, *condition)
        return acc

    def program(self, name: str) -> Program:
        """The kernel."""
        acc = self.rng.choice((self.sum_by_condition, self.sum_by_branch, self.straight, self.straight))()
        self.stmts.append(b.let("o_1", b.op("tile.store", acc, b.dims(0, 0), self.out)))
        self.stmts.append(b.ret(self.stmts[-1].var))
        params = [self.x, self.y, (self.out, ParamDirection.InOut), self.n]
        kernel = b.function("k", params, self.stmts, returns=[self.out.type], kind=FunctionType.InCore)
        return b.program(kernel, name=name)


def drawn_cube(seed: int) -> Program:
    """The program of a seed, the next one whose operators accept each other."""
    for number in range(seed * 1000, seed * 1000 + 1000):
        try:
            return CubeDraw(Random(number)).program(f"cube_{seed}")
        except UserError:
            continue
    raise AssertionError("no kernel of the matrix unit can be written")
