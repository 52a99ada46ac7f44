"""Random programs: well typed, in bounds, terminating, the same for the same seed.

The machine below runs programs on the integers alone: a tile is the set of its elements that were written. That is
enough to see every access out of bounds, every read of what nobody wrote, and every endless loop.
"""

from __future__ import annotations

import collections
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st

from pypto_core.ir import (
    Add,
    And,
    AssignStmt,
    BinaryExpr,
    BreakStmt,
    Call,
    ConstBool,
    ConstFloat,
    ConstInt,
    ContinueStmt,
    Eq,
    EvalStmt,
    Expr,
    FloorDiv,
    FloorMod,
    ForKind,
    ForStmt,
    Function,
    FunctionType,
    Ge,
    GlobalVar,
    IfStmt,
    Lt,
    MakeTuple,
    Max,
    Min,
    Mul,
    Ne,
    Not,
    Or,
    Program,
    ReturnStmt,
    Stmt,
    Sub,
    TensorType,
    TileType,
    Var,
    WhileStmt,
    YieldStmt,
    flatten,
    static_shape,
    structural_equal,
    walk,
    walk_stmts,
)
from pypto_core.language import parse_program
from pypto_core.testing import ALL_FEATURES, PLAIN_FEATURES, SSA_FEATURES, Feature, programs, random_program
from pypto_core.text import dumps, loads, print_program
from pypto_core.verify import STRUCTURAL, verify_properties

_OPERATORS: dict[type, Any] = {
    Add: lambda a, b: a + b,
    Sub: lambda a, b: a - b,
    Mul: lambda a, b: a * b,
    FloorDiv: lambda a, b: a // b,
    FloorMod: lambda a, b: a % b,
    Min: min,
    Max: max,
    Eq: lambda a, b: a == b,
    Ne: lambda a, b: a != b,
    Lt: lambda a, b: a < b,
    Ge: lambda a, b: a >= b,
    And: lambda a, b: a and b,
    Or: lambda a, b: a or b,
}


class _Leave(Exception):
    """A break or continue."""


class Machine:
    """Runs a function; tiles are boolean arrays of what was written."""

    def __init__(self, program: Program, fuel: int = 50_000) -> None:
        self.program, self.fuel = program, fuel
        self.env: dict[Var, Any] = {}

    def run(self, function: Function, args: list[Any]) -> tuple[Any, ...]:
        outer = self.env
        self.env = dict(zip(function.params, args, strict=True))
        kind, values = self.block(function.body)
        self.env = outer
        assert kind == "return"
        return values

    def block(self, body: Stmt | None) -> tuple[str, tuple[Any, ...]]:
        for stmt in flatten(body):
            self.fuel -= 1
            assert self.fuel > 0, "it does not end"
            if isinstance(stmt, AssignStmt):
                self.bind(stmt.var, self.value(stmt.value))
            elif isinstance(stmt, EvalStmt):
                self.value(stmt.expr)
            elif isinstance(stmt, YieldStmt):
                return "yield", tuple(self.value(v) for v in stmt.values)
            elif isinstance(stmt, ReturnStmt):
                return "return", tuple(self.value(v) for v in stmt.values)
            elif isinstance(stmt, IfStmt):
                way = self.block(stmt.then_body if self.value(stmt.condition) else stmt.else_body)
                if way[0] in ("break", "continue"):
                    return way
                self.bind_all(stmt.return_vars, way[1])
            elif isinstance(stmt, BreakStmt):
                return "break", ()
            elif isinstance(stmt, ContinueStmt):
                return "continue", ()
            elif isinstance(stmt, ForStmt):
                start, stop, step = (self.value(e) for e in (stmt.start, stmt.stop, stmt.step))
                self.loop(stmt, [(stmt.loop_var, i) for i in range(start, stop, step)])
            else:
                assert isinstance(stmt, WhileStmt)
                self.loop(stmt, None)
        return "end", ()

    def loop(self, stmt: ForStmt | WhileStmt, trips: list[tuple[Var, int]] | None) -> None:
        values = tuple(self.value(arg.init_value) for arg in stmt.iter_args)
        left = list(trips or ())
        while True:
            self.bind_all(stmt.iter_args, values)
            if isinstance(stmt, WhileStmt):
                if not self.value(stmt.condition):
                    break
            elif left:
                var, number = left.pop(0)
                self.bind(var, number)
            else:
                break
            kind, given_back = self.block(stmt.body)
            assert kind != "return"
            if kind == "break":
                break
            if stmt.iter_args:
                assert kind == "yield"
                values = given_back
        self.bind_all(stmt.return_vars, values)

    def bind_all(self, variables: tuple[Var, ...], values: tuple[Any, ...]) -> None:
        for var, value in zip(variables, values, strict=True):
            self.bind(var, value)

    def bind(self, var: Var, value: Any) -> None:
        if isinstance(var.type, TileType):
            valid = self.extents(var.type)
            assert value.shape == static_shape(var.type.shape)
            assert value[: valid[0], : valid[1]].all() or not value.any(), (
                "the type promises what nobody wrote"
            )
        self.env[var] = value

    def extents(self, kind: TileType | TensorType) -> tuple[int, int]:
        rows, cols = (self.value(e) for e in kind.valid_shape)
        assert 0 <= rows <= self.value(kind.shape[0]) and 0 <= cols <= self.value(kind.shape[1])
        return rows, cols

    def value(self, expr: Expr) -> Any:
        if isinstance(expr, Var):
            return self.env[expr]
        if isinstance(expr, ConstInt | ConstBool | ConstFloat):
            return expr.value
        if isinstance(expr, MakeTuple):
            return tuple(self.value(e) for e in expr.elements)
        if isinstance(expr, BinaryExpr):
            return _OPERATORS[type(expr)](self.value(expr.left), self.value(expr.right))
        if isinstance(expr, Not):
            return not self.value(expr.operand)
        assert isinstance(expr, Call)
        args = [self.value(a) for a in expr.args]
        if isinstance(expr.op, GlobalVar):
            (result,) = Machine(self.program, self.fuel).run(self.program[expr.op.name], args)
            return result
        return self.op(expr, args)

    def op(self, call: Call, args: list[Any]) -> Any:
        name, kind = call.op.name.removeprefix("tile."), call.type
        if name == "store":
            tile, offset, out = args
            rows, cols = self.extents(call.args[0].type)  # type: ignore[arg-type]
            assert tile[:rows, :cols].all(), "a store of what nobody wrote"
            self.inside(offset, (rows, cols), out.shape)
            out[offset[0] : offset[0] + rows, offset[1] : offset[1] + cols] = True
            return out
        assert isinstance(kind, TileType)
        shape = static_shape(kind.shape)
        assert shape is not None
        made = np.zeros(shape, bool)
        if name == "create":
            return made
        rows, cols = self.extents(kind)
        if name == "load":
            self.inside(args[1], shape, args[0].shape)
        elif name == "slice":
            self.inside(args[2], shape, args[0].shape)
            part = args[0][args[2][0] : args[2][0] + shape[0], args[2][1] : args[2][1] + shape[1]]
            return part.copy()
        elif name in ("set_validshape", "move"):
            return args[0].copy()
        elif name == "fillpad":
            made[:] = True
            return made
        else:
            self.operands_written(call, args, rows, cols)
        made[:rows, :cols] = True
        return made

    def operands_written(self, call: Call, args: list[Any], rows: int, cols: int) -> None:
        """Everything that decides a valid element of the result was written."""
        name = call.op.name
        tiles = [(a, v) for a, v in zip(call.args, args, strict=True) if isinstance(a.type, TileType)]
        for i, (arg, value) in enumerate(tiles):
            assert isinstance(arg.type, TileType)
            if "matmul" in name or name.startswith(("tile.row_", "tile.col_")):
                if i == 1 and name.startswith("tile.row_") and "expand" not in name:
                    continue  # scratch
                r, c = self.extents(arg.type)
                assert value[:r, :c].all()
            else:
                assert value[:rows, :cols].all(), f"{name} reads what nobody wrote"

    @staticmethod
    def inside(offset: tuple[int, ...], extent: tuple[int, ...], shape: tuple[int, ...]) -> None:
        for o, e, s in zip(offset, extent, shape, strict=True):
            assert o >= 0 and o + e <= s, f"[{o}, {o + e}) is outside [0, {s})"


def run(program: Program, numbers: int) -> None:
    main = program["main"]
    args: list[Any] = []
    for i, param in enumerate(main.params):
        kind = param.type
        args.append(
            np.ones(static_shape(kind.shape) or (), bool)
            if isinstance(kind, TensorType)
            else (numbers + 3 * i) % 10
        )
    Machine(program).run(main, args)


_OWN = {
    "ssa": (
        SSA_FEATURES,
        ("SSAForm", "NoNestedCalls", "NormalizedStmtStructure", "UnrollResolved", "StructuredCtrlFlow"),
    ),
    "plain": (PLAIN_FEATURES, ("NoNestedCalls", "UnrollResolved", "InlineFunctionsEliminated")),
    "all": (ALL_FEATURES, ()),
}
_ALWAYS = (
    "AssignTypeSymmetry",
    "TileTypeCoherence",
    "TileOps2D",
    "AccCompactValid",
    "AccToGmStoreValid",
    "IncoreTileOps",
)


@pytest.mark.parametrize("form", _OWN)
def test_programs_verify(form: str) -> None:
    features, own = _OWN[form]
    for seed in range(110):
        program = random_program(seed, 5 + seed % 50, features)
        found = verify_properties(program, (*STRUCTURAL, *_ALWAYS, *own))
        assert found == [], f"seed {seed}: {found[0]}"


@pytest.mark.parametrize("form", _OWN)
def test_programs_run_in_bounds_and_end(form: str) -> None:
    features, _ = _OWN[form]
    for seed in range(70):
        for numbers in (0, 5):
            run(random_program(seed, 5 + seed % 50, features), numbers)


def test_the_machine_sees_wrong_programs() -> None:
    """A program with one offset moved out of bounds stops the machine."""
    from pypto_core.testing import build as b

    x = b.tensor("x", (32, 32))
    n = b.scalar("n")

    def load(row: Any, rows: Any = 16) -> Expr:
        return b.op("tile.load", x, b.dims(row, 0), b.dims(16, 16), b.dims(rows, 16))

    def ran(*stmts: Stmt) -> None:
        program = b.program(b.kernel("main", [x, n], [*stmts, b.ret()]))
        Machine(program, 100).run(program["main"], [np.ones((32, 32), bool), 17])

    ran(b.let("t", load(16)))
    with pytest.raises(AssertionError, match="outside"):
        ran(b.let("t", load(n)))
    narrow, full = b.let("t", load(0, 8)), b.let("u", load(0))
    with pytest.raises(AssertionError, match="nobody wrote"):
        ran(narrow, full, b.let("s", b.op("tile.add", full.var, narrow.var)))
    with pytest.raises(AssertionError, match="does not end"):
        ran(b.repeat(lambda c: ConstBool(True), lambda c: [b.give(c)], {"c": n}))


def _counts(features: Any, seeds: range) -> collections.Counter[str]:
    seen: collections.Counter[str] = collections.Counter()
    for seed in seeds:
        program = random_program(seed, 40, features)
        for node in walk(program):
            seen[node.op.name if isinstance(node, Call) else type(node).__name__] += 1
            if isinstance(node, ForStmt):
                seen[node.kind.name] += 1
                seen["carry"] += bool(node.iter_args)
                seen["dynamic"] += not isinstance(node.stop, ConstInt)
            elif isinstance(node, IfStmt):
                seen["phi"] += bool(node.return_vars)
    return seen


def test_everything_occurs() -> None:
    seen = _counts(ALL_FEATURES, range(120))
    kinds = (
        "Sequential",
        "Unroll",
        "Pipeline",
        "carry",
        "dynamic",
        "phi",
        "WhileStmt",
        "BreakStmt",
        "ContinueStmt",
    )
    ops = ("load", "store", "add", "exp", "cast", "row_sum", "col_max", "set_validshape", "fillpad", "slice", "move",
           "matmul", "matmul_acc")  # fmt: skip
    for what in (*kinds, *(f"tile.{name}" for name in ops), "helper0"):
        assert seen[what] >= 10, what


def test_what_is_not_wanted_does_not_occur() -> None:
    seen = _counts((), range(60))
    for what in ("ForStmt", "WhileStmt", "IfStmt", "tile.matmul", "tile.cast", "tile.row_sum", "tile.slice"):
        assert seen[what] == 0, what
    assert _counts(ALL_FEATURES - {Feature.PIPELINE}, range(60))[ForKind.Pipeline.name] == 0


def test_a_loop_may_carry_scalars_tiles_and_tensors() -> None:
    kinds: set[str] = set()
    for seed in range(60):
        for stmt in walk_stmts(random_program(seed, 40)["main"].body):
            if isinstance(stmt, ForStmt):
                kinds |= {type(arg.type).__name__ for arg in stmt.iter_args}
    assert kinds == {"ScalarType", "TileType", "TensorType"}


def test_the_same_seed_gives_the_same_program_whatever_the_hash_seed() -> None:
    code = (
        "import sys, zlib; from pypto_core.text import dumps\n"
        "from pypto_core.testing import ALL_FEATURES, random_program as r\n"
        "sys.stdout.write(str([zlib.crc32(dumps(r(s, 40, ALL_FEATURES))) for s in range(5)]))"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(texts) == 1
    assert not structural_equal(random_program(1), random_program(2))


def test_size_is_about_the_number_of_statements() -> None:
    for size in (1, 20, 200):
        sizes = [sum(1 for _ in walk_stmts(random_program(s, size)["main"].body)) for s in range(10)]
        assert size <= max(sizes) and sum(sizes) / 10 <= 3 * size + 40


def test_programs_survive_the_binary_form() -> None:
    for seed in range(60):
        program = random_program(seed, 40, ALL_FEATURES)
        assert structural_equal(loads(dumps(program)), program, compare_memref=True), seed


@pytest.mark.parametrize("form", _OWN)
def test_programs_survive_the_text_form(form: str) -> None:
    for seed in range(40):
        program = random_program(seed, 30, _OWN[form][0])
        text = print_program(program)
        parsed = parse_program(text)
        assert structural_equal(parsed, program), seed
        assert print_program(parsed) == text, seed


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(programs(features=ALL_FEATURES, always={Feature.REASSIGN}), st.integers(0, 9))
def test_the_strategy_gives_programs_that_run(program: Program, numbers: int) -> None:
    assert verify_properties(program, STRUCTURAL) == []
    run(program, numbers)


def test_the_strategy_shrinks() -> None:
    def has_loop(program: Program) -> bool:
        return any(isinstance(s, ForStmt) for s in walk_stmts(program["main"].body))

    least = find(programs(60), has_loop, settings=settings(max_examples=150, database=None))
    assert sum(1 for _ in walk_stmts(least["main"].body)) < 30


def test_the_kind_of_the_kernel() -> None:
    assert random_program(1, kind=FunctionType.Opaque)["main"].func_type is FunctionType.Opaque
