"""Texts that nobody writes by accident: numbers of any size, names of a megabyte, marks before the first line."""

from __future__ import annotations

import gc
import time
from pathlib import Path

import pytest

import pypto_core.language as pl
from pypto_core.diagnostics import (
    ParserError,
    ParserSyntaxError,
    ParserTypeError,
    UndefinedVariableError,
    UserError,
)
from pypto_core.ir import ConstInt, DataType, Function, TensorType, collector_paused

TEMPLATE = """import pypto_core.language as pl

@pl.function
def k(n: pl.Scalar[pl.INDEX]) -> pl.Scalar[pl.INDEX]:
    {body}
    return n
"""


def read(body: str) -> object:
    return pl.parse(TEMPLATE.format(body=body))


@pytest.mark.parametrize("number", ["9" * 4000, "0x" + "f" * 100_000, "-0x" + "f" * 100_000])
def test_a_number_that_python_refuses_to_write_is_named_by_its_size(number: str) -> None:
    with pytest.raises(ParserTypeError, match=r"an integer of \d+ bits does not fit index") as caught:
        read(f"y = n + {number}")
    assert caught.value.span.begin_line == 5


def test_a_typed_constant_can_always_be_written() -> None:
    with pytest.raises(ParserTypeError, match="an integer of 400000 bits is not a constant of type int8"):
        read(f"y = pl.const(0x{'f' * 100_000}, pl.INT8)")
    with pytest.raises(UserError, match="an integer of 20001 bits is not a constant of type int64"):
        pl.const(1 << 20_000, pl.INT64)


def test_what_is_shown_of_a_megabyte_is_what_a_person_reads() -> None:
    with pytest.raises(UndefinedVariableError) as caught:
        read("y = " + "x" * 1_000_000)
    shown = caught.value.render()
    assert len(shown) < 6000 and "(996" in shown


@pytest.mark.parametrize("text", ["1 // 0", "1 % 0", "2 * (3 // 0)", "1 / 0"])
def test_a_constant_that_divides_by_zero_is_none(text: str) -> None:
    source = TEMPLATE.format(body="y = n + N").replace("@pl.function", f"N = {text}\n\n@pl.function")
    with pytest.raises(UndefinedVariableError, match="'N' is no constant .it divides by zero") as caught:
        pl.parse(source)
    assert caught.value.span.begin_line == 7


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "marked.py"
    path.write_bytes(b"\xef\xbb\xbf" + TEMPLATE.format(body="y = n + 1").encode())
    assert pl.loads(path).name == "k"


def test_a_file_name_that_is_no_text_is_shown_escaped(tmp_path: Path) -> None:
    path = tmp_path / "k\udcff.py"
    path.write_text(TEMPLATE.format(body="y = zz"))
    with pytest.raises(UndefinedVariableError) as caught:
        pl.loads(path)
    assert "k\\udcff.py:5:9" in caught.value.render()
    caught.value.render().encode()


@pytest.mark.parametrize(
    ("before", "line", "column"), [("", 1, 1), ("x = 1\r\n", 2, 1), ("x = 1\ny = '\u00e9", 2, 7)]
)
def test_a_null_character_is_found_where_it_is(before: str, line: int, column: int) -> None:
    with pytest.raises(ParserSyntaxError) as caught:
        pl.parse(before + "\0\nz = 3\n")
    [error] = caught.value.diagnostics
    assert (error.span.begin_line, error.span.begin_column) == (line, column)
    assert error.remedy == "remove the null character"


def test_a_path_that_no_file_can_have_is_refused() -> None:
    with pytest.raises(UserError, match="can't be read: embedded null byte"):
        pl.loads("a\0b")


@pytest.mark.parametrize("path", [None, 3, b"k.py", ["k.py"]])
def test_what_is_no_path_is_refused(path: object) -> None:
    with pytest.raises(UserError, match="a path is needed here") as caught:
        pl.loads(path)  # type: ignore[arg-type]
    assert caught.value.diagnostics[0].code == "PT113"


@pytest.mark.parametrize("what", ["Tensor", "Tile"])
@pytest.mark.parametrize("axes", [33, 300_000])
def test_the_number_of_axes_is_bounded(what: str, axes: int) -> None:
    shape = ", ".join(["1"] * axes)
    started = time.perf_counter()
    with pytest.raises(UserError, match="can't have so many axes") as caught:
        read(f"y: pl.{what}[[{shape}], pl.FP32] = n")
    assert time.perf_counter() - started < 10
    assert caught.value.span.begin_line == 5
    assert ("axes", str(axes)) in [(k, str(v)) for k, v in caught.value.diagnostics[0].facts]
    most = [1] * 32
    kind = TensorType(tuple(map(ConstInt, most)), DataType.FP32)
    assert len(kind.shape) == 32
    with pytest.raises(UserError, match="can't have so many axes"):
        TensorType(tuple(map(ConstInt, [*most, 1])), DataType.FP32)


def test_a_text_that_was_read_leaves_no_garbage() -> None:
    """The tree is freed when the program is there: a large one would otherwise stay until the collector comes."""
    text = "import pypto_core.language as pl\n\n@pl.program\nclass P:\n" + "".join(
        f"    @pl.function\n    def f{i}(self, n: pl.Scalar[pl.INDEX]) -> pl.Scalar[pl.INDEX]:\n        return n\n"
        for i in range(20)
    )
    pl.parse_program(text)
    gc.collect()
    with collector_paused():
        program = pl.parse_program(text)
        assert gc.collect() == 0
    assert len(program.functions) == 20


def test_an_annotation_is_read_again_where_its_names_mean_something_else() -> None:
    source = """import pypto_core.language as pl

N = 16

@pl.function
def k(a: pl.Tensor[[64, 64], pl.FP32], n: pl.Scalar[pl.INDEX]) -> pl.Scalar[pl.INDEX]:
    x: pl.Tile[[16, 16], pl.FP32] = pl.load(a, [0, 0], [16, 16])
    y: pl.Tile[[16, 16], pl.FP32] = pl.load(a, [0, 0], [{rows}, 16])
    z: pl.Scalar[pl.INDEX] = n + N
    {line}
    w: pl.Scalar[pl.INDEX] = n + 2
    return w
"""
    read_one = pl.parse(source.format(rows=16, line="pass"))
    assert isinstance(read_one, Function)
    with pytest.raises(ParserTypeError, match="the annotation's shape is not the value's") as caught:
        pl.parse(source.format(rows=32, line="pass"))
    assert (caught.value.span.begin_line, caught.value.span.begin_column) == (8, 8)
    with pytest.raises(ParserError) as shadowed:
        pl.parse(source.format(rows=16, line="pl = n"))
    assert shadowed.value.span.begin_line == 11


def shown(line: str) -> tuple[str, str]:
    """The line of an undefined name ``q`` as a terminal gets it, and what stands below it."""
    text = f"import pypto_core.language as pl\n@pl.function\ndef f(n: pl.Scalar[pl.INDEX]):\n    {line}\n    return n\n"
    with pytest.raises(UndefinedVariableError) as caught:
        pl.parse(text)
    _, _, source, below, _ = str(caught.value).splitlines()
    return source.partition("| ")[2], below.partition("| ")[2]


def test_a_source_line_can_not_steer_the_terminal() -> None:
    source, below = shown("n = n + q  # \x1b[31m \x07 \x9b \u202e \ttab")
    assert source == "    n = n + q  # \u241b[31m \u2407 \ufffd \ufffd  tab"
    assert below == " " * 12 + "^"


@pytest.mark.parametrize(
    ("line", "ahead", "wide"),
    [("n = n + q", 12, 1), ("\u53d8 = q", 9, 1), ("n = \u53d8\u53d8", 8, 4), ("caf\u00e9 = q", 11, 1)],
)
def test_the_caret_stands_below_wide_characters_too(line: str, ahead: int, wide: int) -> None:
    """A character of an East Asian script takes two columns."""
    assert shown(line)[1] == " " * ahead + "^" * wide
