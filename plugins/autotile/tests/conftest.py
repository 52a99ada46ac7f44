"""A kit for the pass: kernels from text, the pass in a context, and a checker that every test runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import attrs
import pytest

from pypto_core.contract import Backend
from pypto_core.diagnostics import Diagnostic
from pypto_core.host import Host, load_host
from pypto_core.ir import (
    AssignStmt,
    Call,
    ForKind,
    ForStmt,
    Function,
    MemorySpace,
    Program,
    Stmt,
    TileType,
    assert_structural_equal,
    flatten,
    regions,
    static_shape,
    walk,
)
from pypto_core.language import parse
from pypto_core.run import PassContext
from pypto_core.testing import assert_same_behaviour
from pypto_core.text import print_program
from pypto_core.verify import STRUCTURAL, verify_or_raise
from pypto_plugin_autotile.auto_tile import auto_tile_matmul_l0
from pypto_plugin_autotile.options import AutoTileOptions

REQUIRED = ("SSAForm", "SplitIncoreOrch", "IncoreTileOps", "TileOps2D", "NormalizedStmtStructure")
CHECKED = (
    *REQUIRED,
    *STRUCTURAL,
    "NoNestedCalls",
    "TileTypeCoherence",
    "AssignTypeSymmetry",
    "AccCompactValid",
)

# Sizes of the machines as their manuals give them, so that the checker does not believe the backend values.
SIZES = {
    "910b": {"Left": 65536, "Right": 65536, "Acc": 131072, "Bias": 1024, "Mat": 524288},
    "a5": {"Left": 65536, "Right": 65536, "Acc": 262144, "Bias": 4096, "Mat": 524288},
}
LEFT_ALONE = "left untouched"
HEAD = """
import pypto_core.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.{kind})
    def main(self, {params}) -> {result}:
{body}
"""


def tensor(rows: object, cols: object, dtype: str) -> str:
    return f"pl.Tensor[[{rows}, {cols}], pl.{dtype}]"


def acc_rows(backend: str, rows: int, dtype: Any) -> int:
    step = 32 if backend == "910b" and dtype.name == "INT32" else 16
    return -(-rows // step) * step


def bytes_of(kind: TileType, backend: str) -> int:
    """Bytes of a tile, worked out from nothing but its shape."""
    shape = static_shape(kind.shape)
    assert shape is not None, kind
    rows, cols = shape
    if kind.memory_space is MemorySpace.Acc:
        rows = acc_rows(backend, rows, kind.dtype)
    return rows * cols * kind.dtype.bits // 8


def located(body: Stmt, loops: tuple[ForStmt, ...] = ()) -> Iterator[tuple[Stmt, tuple[ForStmt, ...]]]:
    for stmt in flatten(body):
        yield stmt, loops
        inner = (*loops, stmt) if isinstance(stmt, ForStmt) else loops
        for region in regions(stmt):
            yield from located(region, inner)


def check_l0(program: Program, backend: str) -> None:
    """Every value in L0 fits its memory as often as its own loop copies it, and so do operands still to be moved."""
    for function in program:
        for stmt, loops in located(function.body):
            if isinstance(stmt, AssignStmt) and isinstance(stmt.var.type, TileType):
                _check_value(stmt, loops, backend)
            if isinstance(stmt, AssignStmt) and isinstance(stmt.value, Call):
                _check_product(stmt.value, backend)


def _check_value(stmt: AssignStmt, loops: tuple[ForStmt, ...], backend: str) -> None:
    kind = stmt.var.type
    assert isinstance(kind, TileType)
    room = SIZES[backend].get(kind.memory_space.name if kind.memory_space is not None else "")
    if room is None or kind.memory_space is MemorySpace.Mat:
        return
    inner = loops[-1] if loops else None
    copies = 1
    if inner is not None and inner.kind is ForKind.Pipeline:
        if kind.memory_space is MemorySpace.Acc:
            copies = 2 if inner.attrs.get("pipeline_double_buffer_c") else 1
        elif kind.memory_space is MemorySpace.Bias:
            copies = 2 ** sum(loop.kind is ForKind.Pipeline for loop in loops)
        else:
            copies = inner.attrs["pipeline_stages"]
    need = copies * bytes_of(kind, backend)
    assert need <= room, f"{stmt.var.name_hint}: {kind!r} needs {need} of {room} bytes"
    if kind.memory_space is not MemorySpace.Bias:
        rows, cols = static_shape(kind.shape) or (0, 0)
        assert rows % 16 == 0 and cols % 16 == 0, f"{stmt.var.name_hint}: {kind!r} is not boxed"


def _check_product(call: Call, backend: str) -> None:
    first = {"tile.matmul": 0, "tile.matmul_acc": 1, "tile.matmul_bias": 0}.get(call.name)
    if first is None:
        return
    for arg, space in zip(call.args[first : first + 2], ("Left", "Right"), strict=True):
        kind = arg.type
        assert isinstance(kind, TileType)
        shape = static_shape(kind.shape) or (0, 0)
        assert shape[0] * shape[1] * kind.dtype.bits // 8 <= SIZES[backend][space], (
            f"{kind!r} exceeds {space}"
        )
    assert isinstance(call.type, TileType)
    assert bytes_of(call.type, backend) <= SIZES[backend]["Acc"], f"{call.type!r} exceeds L0C"


@attrs.frozen(eq=False)
class Tiled:
    """What the pass made of a program."""

    before: Program
    after: Program
    hints: tuple[Diagnostic, ...]

    @property
    def main(self) -> Function:
        return self.after["main"]

    @property
    def codes(self) -> list[str]:
        return [hint.code for hint in self.hints]

    @property
    def text(self) -> str:
        return print_program(self.after, concise=True)

    def stmts(self) -> list[tuple[Stmt, tuple[ForStmt, ...]]]:
        return list(located(self.main.body))

    def loops(self) -> list[ForStmt]:
        return [stmt for stmt, _ in self.stmts() if isinstance(stmt, ForStmt)]

    def calls(self, name: str) -> list[Call]:
        return [node for node in walk(self.main.body) if isinstance(node, Call) and node.name == name]


class Kit:
    """Shorthands of the tests."""

    def __init__(self, host: Host) -> None:
        self.host = host

    def backend(self, name: str) -> Backend:
        return self.host.backend(name)

    def program(self, params: Iterable[str], result: str, body: str, kind: str = "InCore") -> Program:
        lines = "\n".join("        " + line for line in body.strip("\n").splitlines())
        return parse(HEAD.format(kind=kind, params=", ".join(params), result=result, body=lines))

    def plain(
        self, M: int, N: int, K: int, dtype: str = "BF16", use: str = "", kind: str = "InCore"
    ) -> Program:
        """Load both operands, multiply, store; ``use`` replaces the last two statements."""
        out = tensor(M, N, self.result(dtype))
        body = self.loads(M, N, K) + (
            use or "c = pl.matmul(lhs, rhs)\nres = pl.store(c, [0, 0], out)\nreturn res"
        )
        params = (f"a: {tensor(M, K, dtype)}", f"b: {tensor(K, N, dtype)}", f"out: pl.Out[{out}]")
        return self.program(params, out, body, kind)

    @staticmethod
    def result(dtype: str) -> str:
        return "INT32" if dtype == "INT8" else "FP32"

    @staticmethod
    def loads(M: int, N: int, K: int) -> str:
        return (
            f"lhs = pl.load(a, [0, 0], [{M}, {K}], target_memory=pl.Mem.Mat)\n"
            f"rhs = pl.load(b, [0, 0], [{K}, {N}], target_memory=pl.Mem.Mat)\n"
        )

    def tile(
        self,
        program: Program,
        backend: str,
        planner: str = "pypto",
        *,
        check: bool | None = True,
        settled: bool = True,
        **options: Any,
    ) -> Tiled:
        """Run the pass; its input and output are verified, the output reads back from its text, and its L0 values are
        checked.

        ``check`` None checks unless a hint says that a product was left alone. ``settled``: whether a second run has
        to find nothing to do. The clones of a split-K chain are chains again, and the boundary one has extents of
        its own, for which the chooser may like another tile.
        """
        switches = AutoTileOptions(
            **{k: options.pop(k) for k in ("k_only_fallback", "mark_pipelines") if k in options}
        )
        context = PassContext(
            backend=self.backend(backend),
            planner=planner,
            host=self.host,
            options=options,
            pass_options=switches,
        )
        with context:
            verify_or_raise(program, CHECKED)
            after = auto_tile_matmul_l0(program, context)
            verify_or_raise(after, CHECKED, context.backend)
            assert_structural_equal(parse(print_program(after)), after)
            tiled = Tiled(program, after, tuple(context.log))
            if check is None:
                check = not any(LEFT_ALONE in hint.message for hint in tiled.hints)
            if check:
                check_l0(after, backend)
            if check and settled:
                assert auto_tile_matmul_l0(after, context) is after, "a second run finds nothing to do"
            elif check:
                again = auto_tile_matmul_l0(after, context)
                verify_or_raise(again, CHECKED, context.backend)
                check_l0(again, backend)
        return tiled

    def same(self, tiled: Tiled, **parts: Any) -> None:
        """Both programs compute the same, bit by bit."""
        assert_same_behaviour(tiled.before, tiled.after, host=self.host, **parts)

    def expect(self, tiled: Tiled, params: Iterable[str], result: str, body: str) -> None:
        """The result is exactly this program."""
        assert_structural_equal(tiled.main, self.program(params, result, body)["main"])


@pytest.fixture(scope="session")
def kit() -> Kit:
    return Kit(load_host())
