"""Kernels as text, planned in tiles, written as buffers, and run in all three forms."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

import pypto_core.language as pl
from pypto_core.contract import load_reference
from pypto_core.host import load_host
from pypto_core.ir import Call, EvalStmt, Program, walk, walk_stmts
from pypto_core.run import PassContext, compile
from pypto_plugin_buffer_ir.lower import lower_tile_to_buffer

check_text = load_reference("pypto_plugin_pto.checker:check_text", "the checker of PTO text")
PLANNERS = ("pypto", "dsa_rp", "ptoas")
HEAD = """
import pypto_core.language as pl
from pypto_core.contract import load_reference
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, {params}):
"""
FP32_64 = "a: pl.Tensor[[64, 64], pl.FP32], o: pl.Out[pl.Tensor[[64, 64], pl.FP32]], n: pl.Scalar[pl.INDEX]"
"""One square tensor in, one out, and a number."""


def source(body: str, params: str = FP32_64) -> Program:
    """The program with one kernel ``k``."""
    text = HEAD.format(params=params) + textwrap.indent(textwrap.dedent(body).strip("\n"), " " * 8) + "\n"
    return pl.parse(text)


def planned(program: Program, planner: str) -> Program:
    """The program in tiles, each with its place."""
    return compile(
        program, backend="910b", planner=planner, emit=False, verification="BASIC", enable_buffer_ir=False
    ).program


def in_buffers(program: Program, planner: str) -> Program:
    """A planned program with its kernels on buffers."""
    return lower_tile_to_buffer(program, SimpleNamespace(capabilities=frozenset({f"planner:{planner}"})))


def lowered(body: str, planner: str = "pypto", params: str = FP32_64) -> Program:
    """From text to buffers."""
    return in_buffers(planned(source(body, params), planner), planner)


def calls(program: Program, name: str = "k") -> list[Call]:
    """All calls of a kernel in order."""
    found = []
    for stmt in walk_stmts(program[name].body):
        value = stmt.expr if isinstance(stmt, EvalStmt) else getattr(stmt, "value", None)
        if isinstance(value, Call):
            found.append(value)
    return found


def names(program: Program) -> list[str]:
    """The operators of kernel ``k`` in order, without ``buffer.``."""
    return [c.op.name.removeprefix("buffer.") for c in calls(program)]


def counted(program: Program, cls: type) -> int:
    """How many nodes of a class the kernel holds."""
    return sum(isinstance(node, cls) for node in walk(program["k"].body))


def run(program: Program, inputs: Mapping[str, Any], engine: str = "values") -> np.ndarray:
    """What output ``o`` holds afterwards."""
    arrays = {name: np.copy(value) for name, value in inputs.items()}
    return load_host().engine(engine).load()(program, arrays).outputs["o"]


def text_of(program: Program, planner: str) -> str:
    """The one module of a program."""
    host = load_host()
    context = PassContext(
        planner=planner, backend=host.backend("910b"), host=host, options={"emit_source_loc": False}
    )
    with context:
        [artifact] = host.target("pto").load()(program, context)
    text = str(artifact.data)
    report = check_text(text, artifact.name)
    assert report.ok, "\n".join(f"{d.span}: {d.message}" for d in report.errors) + "\n" + text
    assert report.level == (2 if planner == "ptoas" else 3)
    return text


def arrays(seed: int = 0, shape: tuple[int, int] = (64, 64), dtype: Any = np.float32) -> dict[str, Any]:
    """Small whole numbers, which every element type holds exactly, and an output full of a sentinel."""
    rng = np.random.default_rng(seed)
    return {"a": rng.integers(-4, 5, shape).astype(dtype), "o": np.full(shape, 77, dtype)}


def assert_same(body: str, planner: str, cases: list[Mapping[str, Any]], params: str = FP32_64) -> Program:
    """The kernel does on buffers what its text says, whatever engine runs it, and is written as good PTO text."""
    program = source(body, params)
    buffers = in_buffers(planned(program, planner), planner)
    for case in cases:
        want = run(program, case)
        for engine in ("values", "bytes"):
            np.testing.assert_array_equal(
                run(buffers, case, engine), want, err_msg=f"{engine} {planner} {case}"
            )
    assert ("addr =" in text_of(buffers, planner)) == (planner != "ptoas")
    return buffers
