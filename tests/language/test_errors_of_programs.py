# ruff: noqa: E501 - texts of kernels
"""Wrong signatures, calls between functions and decorators: what is said about them, and where."""

from __future__ import annotations

import pytest

import pypto_core.language as pl
from pypto_core.diagnostics import DiagnosticError

SIGNATURES: list[tuple[str, str, int, int]] = [
    ("def f(a):\n    pass", "parameter 'a' needs a type", 2, 7),
    ("def f(a: int):\n    pass", "not a type of the kernel language", 2, 10),
    ("def f(a: pl.INT32):\n    pass", "is an element type", 2, 10),
    ("def f(a: pl.Ptr):\n    pass", "a parameter can't be of type pl.Ptr", 2, 10),
    ("def f(*a: pl.Scalar[pl.INDEX]):\n    pass", "a fixed number of parameters", 2, 8),
    ("def f(a: pl.Scalar[pl.INDEX] = 3):\n    pass", "have no defaults", 2, 32),
    (
        "def f(a: pl.Out[pl.Out[pl.Scalar[pl.INDEX]]]):\n    pass",
        "only stand around the type of a parameter",
        2,
        17,
    ),
    (
        'def f(a: pl.Tile[[8, 8], pl.FP32, pl.MemRef("x"), pl.Mem.Vec]):\n    pass',
        "can't be bound to a declared",
        2,
        10,
    ),
    ("def f(a: pl.Tile[[8, 7], pl.FP4, pl.Mem.Vec]):\n    pass", "must be even", 2, 10),
    ("def f() -> pl.Scalar[pl.INDEX]:\n    pass", "says that it returns something and has no return", 2, 12),
    (
        "def f(a: pl.Scalar[pl.INDEX]) -> pl.Scalar[pl.INDEX]:\n    return a, a",
        "2 returned values, the annotation says 1",
        3,
        5,
    ),
    (
        "def f(a: pl.Tensor[[8, 8], pl.FP32]) -> pl.Tensor[[8, 9], pl.FP32]:\n    return a",
        "not of the annotated type",
        3,
        5,
    ),
    (
        "def f(n: pl.Scalar[pl.INDEX]):\n    if n > 2:\n        return n\n    return",
        "0 returned values here, 1 elsewhere",
        5,
        5,
    ),
    ('def f():\n    pl.func_attr({"split": 1})', "'split' must be a member", 3, 5),
    ("def f():\n    pl.func_attr(3)", "a dictionary is needed", 3, 18),
]


@pytest.mark.parametrize(
    ("text", "fragment", "line", "column"), SIGNATURES, ids=[s[1][:30] for s in SIGNATURES]
)
def test_wrong_functions(text: str, fragment: str, line: int, column: int) -> None:
    with pytest.raises(DiagnosticError) as caught:
        pl.parse("@pl.function\n" + text)
    assert fragment in caught.value.message
    assert (caught.value.span.begin_line, caught.value.span.begin_column) == (line, column)


PROGRAMS: list[tuple[str, str, int, int]] = [
    ("x = self.g(n)", "the program has no function 'g'", 5, 13),
    ("x = self.k(n)", "'k' takes 2 arguments, not 1", 5, 13),
    ("x = self.k(a, n)", "argument 'b' of 'k' has the wrong type", 5, 23),
    ("x = self.k(a, c)", "argument 'b' of 'k' has the wrong shape", 5, 23),
    ("x = self.k(a, d)", "argument 'b' of 'k' has the wrong element type", 5, 23),
    ("x = self.k(a, b=a, c=a)", "'k' has no parameter 'c'", 5, 28),
    ("x, y = self.k(a, a)", "can't be unpacked into 2 names", 5, 16),
    ("x = self.nothing(n)", "this call returns nothing", 5, 13),
    ("x = self.again(n)", "'again' calls itself and does not say", 14, 16),
    ("x = self.k", "'self.k' is a function, not a value", 5, 13),
]


@pytest.mark.parametrize(("line", "fragment", "row", "column"), PROGRAMS, ids=[p[1][:30] for p in PROGRAMS])
def test_wrong_calls(line: str, fragment: str, row: int, column: int) -> None:
    text = f"""@pl.program
class P:
    @pl.function
    def main(self, a: pl.Tensor[[8, 8], pl.FP32], c: pl.Tensor[[8, 9], pl.FP32], d: pl.Tensor[[8, 8], pl.FP16], n: pl.Scalar[pl.INDEX]):
        {line}
    @pl.function
    def k(a: pl.Tensor[[8, 8], pl.FP32], b: pl.Tensor[[8, 8], pl.FP32]):
        return a
    @pl.function
    def nothing(n: pl.Scalar[pl.INDEX]):
        pass
"""
    if "again" in line:
        text += """    @pl.function
    def again(self, n: pl.Scalar[pl.INDEX]):
        return self.again(n + 1)
"""
    with pytest.raises(DiagnosticError) as caught:
        pl.parse(text)
    assert fragment in caught.value.message
    assert (caught.value.span.begin_line, caught.value.span.begin_column) == (row, column)


DECORATORS: list[tuple[str, str]] = [
    ("@pl.function(typ=pl.FunctionType.InCore)\ndef f():\n    pass", "pl.function has no argument 'typ'"),
    ("@pl.function(type=pl.Level.HOST)\ndef f():\n    pass", "type must be a FunctionType"),
    ("@pl.function(pl.FunctionType.InCore)\ndef f():\n    pass", "takes named arguments"),
    ("@pl.function\n@staticmethod\ndef f():\n    pass", "a kernel has one decorator"),
    ("@pl.jit.extern\ndef f():\n    pass", "there is no @pl.jit.extern"),
    ("@pl.jit\nclass P:\n    pass", "pl.jit decorates functions"),
    ("@pl.jit(level=1)\ndef f():\n    pass", "pl.jit has no argument 'level'"),
    ("@pl.jit\ndef f(x: pl.Tensor):\n    return x", "nothing says what 'x' is"),
    ("@pl.program\nclass P:\n    @pl.jit\n    def f(self):\n        pass", "is decorated with @pl.function"),
    ("@pl.jit\ndef f():\n    pass\n@pl.jit.inline\ndef f():\n    pass", "two functions are called 'f'"),
    ("@pl.program\nclass P(Base):\n    @pl.function\n    def f():\n        pass", "no base classes"),
    ("@pl.program\nclass P:\n    X = 1", "has no functions"),
    ("@pl.program\nclass P:\n    def f(self):\n        pass", "'f' is no kernel"),
    (
        "@pl.program(strict=True)\nclass P:\n    @pl.function\n    def f():\n        pass",
        "has no argument 'strict'",
    ),
    (
        "@pl.program\nclass P:\n    @pl.function\n    def f():\n        pass\n    @pl.function\n    def f():\n        pass",
        "two functions",
    ),
    (
        "@pl.function(type=pl.FunctionType.InCore, role=pl.Role.Orchestrator)\ndef f():\n    pass",
        "can't have role",
    ),
]


@pytest.mark.parametrize(("text", "fragment"), DECORATORS, ids=[d[1][:30] for d in DECORATORS])
def test_wrong_decorations(text: str, fragment: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        pl.parse(text)
    assert fragment in caught.value.message
    assert caught.value.span.is_valid
