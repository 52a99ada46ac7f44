"""Kernels that functions of a text make: read for the arguments of a call, and the same as Python makes them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import pypto_core.language as pl
from pypto_core.diagnostics import DiagnosticError, ParserTypeError, UnsupportedFeatureError, UserError
from pypto_core.ir import Function, Program, static_shape, structural_equal

HEAD = "import pypto_core.language as pl\n"
BUILD = """
def build(rows, cols=64, *, dtype=pl.FP32):
    \"\"\"A program for these extents.\"\"\"
    half = cols // 2

    @pl.program
    class Halves:
        @pl.function(type=pl.FunctionType.InCore)
        def halves(
            self, x: pl.Tensor[[rows, cols], dtype], out: pl.Out[pl.Tensor[[rows, half], dtype]]
        ) -> pl.Tensor[[rows, half], dtype]:
            left = pl.load(x, [0, 0], [rows, half])
            return pl.store(pl.add(left, pl.load(x, [0, half], [rows, half])), [0, 0], out)

    return Halves
"""
KERNELS = """
SCALE = 3.0

def kernels(rows, cols):
    @pl.function(type=pl.FunctionType.InCore)
    def double(
        x: pl.Tensor[[rows, cols], pl.FP32], out: pl.Out[pl.Tensor[[rows, cols], pl.FP32]]
    ) -> pl.Tensor[[rows, cols], pl.FP32]:
        return pl.store(pl.mul(pl.load(x, [0, 0], [rows, cols]), 2.0), [0, 0], out)

    @pl.function(type=pl.FunctionType.InCore)
    def scale(
        x: pl.Tensor[[rows, cols], pl.FP32], out: pl.Out[pl.Tensor[[rows, cols], pl.FP32]]
    ) -> pl.Tensor[[rows, cols], pl.FP32]:
        return pl.store(pl.mul(pl.load(x, [0, 0], [rows, cols]), SCALE), [0, 0], out)

    return double, scale


def build(rows: int = 16, cols: int = 32):
    first, second = kernels(rows, cols)

    @pl.program
    class Both:
        @pl.function(type=pl.FunctionType.Orchestration)
        def main(
            self, x: pl.Tensor[[rows, cols], pl.FP32], out: pl.Out[pl.Tensor[[rows, cols], pl.FP32]]
        ) -> pl.Tensor[[rows, cols], pl.FP32]:
            part = pl.create_tensor([rows, cols], dtype=pl.FP32)
            part = first(x, part)
            return second(part, out)

    return Both
"""
CALLS = [
    (BUILD, "PROGRAM = build(16)"),
    (BUILD, "SIZES = [24, 96]\nPROGRAM = build(SIZES[0], SIZES[1] // 2, dtype=pl.FP16)"),
    (BUILD, "PROGRAM = build(cols=80, rows=8)"),
    (KERNELS, "PROGRAM = build()"),
    (KERNELS, "PROGRAM = build(64)"),
]


@pytest.mark.parametrize(("text", "call"), CALLS)
def test_a_call_makes_what_python_makes(tmp_path: Path, text: str, call: str) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(HEAD + text + "\n" + call + "\n", encoding="utf-8")
    spec = importlib.util.spec_from_file_location("made_by_python", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert isinstance(module.PROGRAM, Program)
    assert structural_equal(pl.loads_program(path), module.PROGRAM)


def test_defaults_do_where_nothing_is_called() -> None:
    made = pl.parse(HEAD + KERNELS)
    assert isinstance(made, Program)
    assert structural_equal(made, pl.parse(HEAD + KERNELS + "P = build(16, 32)"), enable_auto_mapping=True)


def test_a_program_of_the_module_goes_first() -> None:
    own = """
@pl.program
class Own:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, n: pl.Scalar[pl.INDEX]):
        m = n + 1
"""
    made = pl.parse(HEAD + BUILD + own + "OTHER = build(16)")
    assert isinstance(made, Program) and made.name == "Own"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("P = build()", "'build' needs the argument 'rows'"),
        ("P = build(1, 2, 3)", "'build' takes 2 arguments, not 3"),
        ("P = build(1, depth=3)", "can't take the argument 'depth'"),
        ("P = build(1, rows=3)", "can't take the argument 'rows'"),
        ("P = build(*[1])", "arguments that are written out"),
        ("", "'build' needs the argument 'rows'"),
    ],
)
def test_arguments_have_to_fit(call: str, message: str) -> None:
    with pytest.raises(DiagnosticError, match=message) as caught:
        pl.parse(HEAD + BUILD + call)
    [found] = caught.value.diagnostics
    assert found.span.is_valid and found.remedy


def test_two_calls_are_two_programs() -> None:
    with pytest.raises(UserError, match="several programs"):
        pl.parse(HEAD + BUILD + "A = build(16)\nB = build(32)")


def test_what_would_have_to_be_executed_is_refused_where_it_stands() -> None:
    text = HEAD + BUILD.replace("    half = cols // 2\n", "    half = cols // 2\n    print(half)\n")
    with pytest.raises(UnsupportedFeatureError, match="only constants and kernels are read here") as caught:
        pl.parse(text + "P = build(16)")
    assert caught.value.span.begin_line == 6


def test_errors_in_the_kernel_point_into_the_factory() -> None:
    with pytest.raises(
        ParserTypeError, match="the annotation's shape is not the value's|divide|extent"
    ) as caught:
        pl.parse(
            HEAD
            + BUILD.replace("left = pl.load(", "left: pl.Tile[[1, 1], pl.FP32] = pl.load(")
            + "P = build(16)"
        )
    assert caught.value.span.begin_line == 13


def test_calls_without_end() -> None:
    loop = """
def build(n):
    @pl.program
    class P:
        @pl.function
        def f(self, n: pl.Scalar[pl.INDEX]):
            m = n + 1
    a = build(n)
    b = build(n)
    return a
"""
    with pytest.raises(UnsupportedFeatureError, match="too many calls"):
        pl.parse(HEAD + loop + "P = build(1)")


def test_a_lone_kernel_and_one_for_any_arguments() -> None:
    made = """
def build(n):
    @pl.{decorator}
    def k(x: pl.Tensor[[n, 64], pl.FP32], out: pl.Out[pl.Tensor[[n, 64], pl.FP32]]):
        pl.store(pl.exp(pl.load(x, [0, 0], [n, 64])), [0, 0], out)

    return k

KERNEL = build(8)
"""
    alone = pl.parse(HEAD + made.format(decorator="function(type=pl.FunctionType.InCore)"))
    assert isinstance(alone, Function) and static_shape(alone.params[0].type.shape) == (8, 64)
    jitted = pl.parse(HEAD + made.format(decorator="jit.incore"))
    assert isinstance(jitted, Program)
    assert static_shape(jitted.functions["k"].params[1].type.shape) == (8, 64)
