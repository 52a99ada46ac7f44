# ruff: noqa: E501 - texts of kernels
"""Texts: what of a module's text is read, that nothing of it is executed, and that no text brings the parser down."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pypto_core.language as pl
from pypto_core.diagnostics import DiagnosticError, ParserError, ParserSyntaxError, UserError
from pypto_core.ir import (
    ConstInt,
    DataType,
    Function,
    FunctionType,
    Program,
    Var,
    flatten,
    static_shape,
    structural_equal,
)
from pypto_core.language.source import MAX_BLOCK_DEPTH, MAX_EXPRESSION_DEPTH

KERNEL = """
@pl.function(type=pl.FunctionType.InCore)
def kern(a: pl.Tensor[[64, 64], pl.FP32], out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
    t = pl.load(a, [0, 0], [64, 64])
    pl.store(t, [0, 0], out)
"""
PROGRAM = """
@pl.program
class Prog:
    @pl.function(type=pl.FunctionType.InCore)
    def kern(n: pl.Scalar[pl.INDEX]):
        x = n + 1
"""


@pytest.mark.parametrize(
    "line",
    [
        "import pypto_core.language as pl",
        "import pypto.language as pl",
        "from pypto import language as pl",
        "from pypto_core import language as pl",
        "",  # pl needs no import
    ],
)
def test_imports_of_the_language(line: str) -> None:
    found = pl.parse(line + KERNEL)
    assert isinstance(found, Function)
    assert found.func_type is FunctionType.InCore


def test_another_name_for_the_language() -> None:
    found = pl.parse("import pypto_core.language as lang" + KERNEL.replace("pl.", "lang."))
    assert isinstance(found, Function)


def test_names_imported_one_by_one() -> None:
    text = """
from pypto.language import FP32, Mem, Tensor, Tile, function, load, tile
from pypto.language import range as loop
from pypto.ir import MemorySpace

@function
def kern(a: Tensor[[64, 64], FP32]):
    for i in loop(4):
        t: Tile[[16, 64], FP32, Mem.Vec] = load(a, [i * 16, 0], [16, 64], target_memory=MemorySpace.Vec)
        u = tile.exp(t)
"""
    found = pl.parse(text)
    (loop,) = flatten(found.body)
    assert [s.value.name for s in flatten(loop.body)] == ["tile.load", "tile.exp"]


def test_constants() -> None:
    text = """
'''A docstring.'''
import torch
from collections import OrderedDict
ROWS = 16
COLS: int = ROWS * 2 + 32 // 4 - 1 % 2
A, B = 1, (2, 3)
SHAPE = [ROWS, COLS]
DT = pl.FP16
SPACE = pl.Mem.Mat
M = pl.dynamic("M")
HALF = M // 2
EPS = 1e-6
ring = pl.MemRef(slots=2)
TABLE = {"a": 1}
device = torch.device("cpu")

def helper():
    return open("/etc/passwd")

class Config:
    pass

@pl.function
def kern(a: pl.Tensor[[M, HALF], DT]):
    t: pl.Tile[SHAPE, DT, SPACE] = pl.load(a, [A, B[1]], SHAPE, target_memory=SPACE)
    u: pl.Tile[[ROWS, COLS], pl.FP32, ring[A], pl.Mem.Vec] = pl.cast(t, pl.FP32)
    v = pl.add(u, EPS)

if __name__ == "__main__":
    print(kern)
"""
    found = pl.parse(text)
    t, u, v = flatten(found.body)
    assert static_shape(t.var.type.shape) == (16, 39)
    assert [o.value for o in t.value.args[1].elements] == [1, 3]
    assert (u.var.type.memref.name, u.var.type.memref.slot_index.value) == ("ring", 1)
    assert v.value.args[1].value == 1e-6
    assert found.params[0].type.shape[1].left is found.params[0].type.shape[0]


def test_a_constant_given_again() -> None:
    text = """
A = 64
B = A * 2
A = 128
@pl.program
class P:
    C = A
    D = C + 1
    C = 7
    @pl.function
    def main(self, n: pl.Scalar[pl.INDEX]):
        x = [A, B, C, D]
"""
    (stmt,) = flatten(pl.parse(text)["main"].body)
    assert [e.value for e in stmt.value.elements] == [128, 128, 7, 129]


@pytest.mark.parametrize("name", ["helper", "torch", "Config", "TABLE", "device"])
def test_names_that_mean_nothing_in_a_kernel(name: str) -> None:
    text = f"""
import torch
TABLE = {{"a": 1}}
device = torch.device("cpu")
def helper():
    return 1
class Config:
    pass
@pl.function
def kern(n: pl.Scalar[pl.INDEX]):
    x = n + {name}
"""
    with pytest.raises(ParserError, match=f"'{name}' is "):
        pl.parse(text)


def test_nothing_is_executed(tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    text = f"""
import os
import antigravity_that_does_not_exist
X = open({str(witness)!r}, "w").write("x")
Y = [os.system("touch {witness}") for _ in [1]]
@pl.function
def kern(n: pl.Scalar[pl.INDEX]):
    x = n
"""
    assert isinstance(pl.parse(text), Function)
    assert not witness.exists()
    assert "antigravity_that_does_not_exist" not in sys.modules


def test_statements_that_would_have_to_be_executed() -> None:
    for line in ("print('x')", "for i in range(3):\n    pass", "with open('x') as f:\n    pass", "X[0] = 1"):
        with pytest.raises(ParserError, match="only constants and kernels|only names can be given"):
            pl.parse(line + KERNEL)


def test_one_of_everything_is_wanted() -> None:
    with pytest.raises(ValueError, match="a program's text is a string, not a bytes"):
        pl.parse(KERNEL.encode())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="holds no program and no function"):
        pl.parse("X = 1")
    with pytest.raises(ValueError, match="holds several functions"):
        pl.parse(KERNEL + KERNEL.replace("kern", "kern2"))
    with pytest.raises(ValueError, match="holds several programs"):
        pl.parse(PROGRAM + PROGRAM.replace("Prog", "Prog2"))
    with pytest.raises(ValueError, match="holds functions and no program"):
        pl.parse_program(KERNEL)
    with pytest.raises(ParserSyntaxError, match="two functions are called 'kern'"):
        pl.parse(KERNEL + KERNEL)


def test_functions_beside_a_program_are_pulled_in_when_called() -> None:
    text = """
@pl.function
def used(n: pl.Scalar[pl.INDEX]):
    return deep(n)

@pl.inline
def deep(n: pl.Scalar[pl.INDEX]):
    return n + 1

@pl.function
def unused(n: pl.Scalar[pl.INDEX]):
    return n

@pl.program
class Prog:
    @pl.function
    def main(self, n: pl.Scalar[pl.INDEX]):
        x = used(n)
        return x
"""
    program = pl.parse_program(text)
    assert list(program.functions) == ["deep", "main", "used"]
    assert program["deep"].func_type is FunctionType.Inline


def test_open_extents_of_a_lone_function() -> None:
    text = """
@pl.function
def kern(a: pl.Tensor[[ROWS, 64], pl.FP32], n: pl.Scalar[pl.INDEX]):
    x = ROWS // 2
    t = pl.load(a, [0, 0], [64, 64], valid_shape=[n, 64])
"""
    found = pl.parse(text)
    rows = found.params[0].type.shape[0]
    assert isinstance(rows, Var) and rows.name_hint == "ROWS"
    assert flatten(found.body)[0].value.left is rows
    assert pl.parse(text).params[0].type.shape[0] is rows
    with pytest.raises(ParserError, match="'ROWS' is not defined"):
        pl.parse("@pl.program\nclass P:\n" + "".join(f"    {part}\n" for part in text.splitlines()))


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text(PROGRAM)
    program = pl.loads_program(path)
    assert isinstance(program, Program) and program.name == "Prog"
    assert program["kern"].span.filename == str(path)
    assert structural_equal(pl.loads(str(path)), program)
    with pytest.raises(ValueError, match="can't be read"):
        pl.loads(tmp_path / "missing.py")
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="no UTF-8"):
        pl.loads(path)


def test_an_open_extent_used_before_a_type_mentions_it() -> None:
    found = pl.parse(
        "@pl.function\ndef kern(a: pl.Tensor[[64, 64], pl.FP32]):\n    x = LATER // 2\n"
        "    t: pl.Tile[[64, 64], pl.FP32, pl.Mem.Vec, pl.TileView(valid_shape=[LATER, 64])] = pl.load(a, [0, 0], [64, 64])\n"
    )
    first, second = flatten(found.body)
    assert first.value.left is second.var.type.valid_shape[0]


def test_lines_are_those_of_python() -> None:
    text = "# a\x0cb\x1cc\u2028d\r\n@pl.function\r\ndef kern(n: pl.Scalar[pl.INDEX]):\r\n    x = n # ü\x0c\r\n    y = ü\r\n"
    with pytest.raises(ParserError) as caught:
        pl.parse(text)
    assert (caught.value.span.begin_line, caught.value.span.begin_column) == (5, 9)
    assert caught.value.span.line_text() == "    y = ü"


def test_syntax_errors_point_at_the_place() -> None:
    with pytest.raises(ParserSyntaxError) as caught:
        pl.parse("x = 1\nx = = 2\n", "bad.py")
    assert (caught.value.span.begin_line, caught.value.span.begin_column) == (2, 5)
    assert "x = = 2" in caught.value.render()


def test_columns_count_characters() -> None:
    text = "@pl.function\ndef kern(größe: pl.Scalar[pl.INDEX]):\n    größer = größe + fehlt\n"
    with pytest.raises(ParserError) as caught:
        pl.parse(text)
    assert caught.value.span.begin_column == "    größer = größe + fehlt".index("fehlt") + 1


def body_with(expression: str) -> str:
    return f"@pl.function\ndef kern(n: pl.Scalar[pl.INDEX]):\n    x = {expression}\n"


def test_depth_of_expressions() -> None:
    fits = MAX_EXPRESSION_DEPTH - 20
    assert isinstance(pl.parse(body_with("-" * fits + "n")), Function)
    for expression in (
        "-" * 2000 + "n",
        "(" * 150 + "n" + ")" * 150 + " + n" * 500,
        " + ".join(["n"] * 5000),
        "pl.min(" * 190 + "-" * 20 + "n" + ", 1)" * 190,
        "n" + "[0]" * 3000,
    ):
        with pytest.raises(ParserError, match="nested too deeply|not Python|too many nested"):
            pl.parse(body_with(expression))


def test_depth_of_blocks() -> None:
    def nested(depth: int) -> str:
        lines = ["@pl.function", "def kern(n: pl.Scalar[pl.INDEX]):"]
        lines += [" " * (i + 1) + f"for i{i} in pl.range(2):" for i in range(depth)]
        return "\n".join([*lines, " " * (depth + 1) + "x = n", ""])

    assert isinstance(pl.parse(nested(MAX_BLOCK_DEPTH - 2)), Function)
    with pytest.raises(ParserSyntaxError, match="blocks are nested too deeply"):
        pl.parse(nested(MAX_BLOCK_DEPTH + 2))
    with pytest.raises(ParserSyntaxError, match="not Python|nested too deeply"):
        pl.parse(nested(500))
    chain = "@pl.function\ndef kern(n: pl.Scalar[pl.INDEX]):\n    if n > 0:\n        x = n\n"
    chain += "".join(f"    elif n > {i}:\n        x = n\n" for i in range(1, 3000))
    with pytest.raises(ParserSyntaxError, match="nested too deeply"):
        pl.parse(chain)


def test_length_of_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pypto_core.language.source.MAX_TEXT", 1000)
    with pytest.raises(ParserSyntaxError, match="the text is too long"):
        pl.parse(KERNEL * 20)


def test_the_collector_is_switched_on_again() -> None:
    assert gc.isenabled()
    pl.parse(KERNEL)
    assert gc.isenabled()
    with pytest.raises(ParserError):
        pl.parse(body_with("missing"))
    assert gc.isenabled()
    gc.disable()
    try:
        pl.parse(KERNEL)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_constants_that_would_take_forever() -> None:
    for line in ("X = 10 ** 10 ** 10", "X = 1 << 10 ** 12"):
        text = line + "\n@pl.function\ndef kern(n: pl.Scalar[pl.INDEX]):\n    x = n + X\n"
        with pytest.raises(ParserError, match="'X' is no constant"):
            pl.parse(text)


PIECES = [
    "pl", ".", "tile", "load", "Tile", "Tensor", "Scalar", "[", "]", "(", ")", "64", ",", ":", "=", "t", "a", "n", "FP32",
    "INDEX", "yield_", "range", "for", "in", "if", "else", "with", "at", "not", "-", "*", "'x'", "None", "\n    ",
    "\n        ", "MemRef", "const", "cast", "min", "return", "self", "{", "}", "True", "0.5", "==", "and", "init_values",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=40))
@settings(max_examples=1500)
def test_random_statements_are_read_or_refused(pieces: list[str]) -> None:
    text = (
        "@pl.function\ndef kern(a: pl.Tensor[[64, 64], pl.FP32], n: pl.Scalar[pl.INDEX]):\n"
        "    t = pl.load(a, [0, 0], [64, 64])\n    " + " ".join(pieces) + "\n    pass\n"
    )
    try:
        found = pl.parse(text)
    except DiagnosticError as error:
        assert error.span.is_valid or isinstance(error, UserError)
        error.render()
    else:
        assert isinstance(found, Function)


@given(st.text(max_size=200))
@settings(max_examples=300)
def test_random_texts_are_refused(text: str) -> None:
    with pytest.raises(DiagnosticError):
        pl.parse(text)


def test_a_literal_is_an_index_constant() -> None:
    found = pl.parse(body_with("3"))
    value = flatten(found.body)[0].value
    assert isinstance(value, ConstInt) and value.dtype is DataType.INDEX
