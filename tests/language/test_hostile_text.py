"""Texts that nobody writes by accident: numbers of any size, names of a megabyte, marks before the first line."""

from __future__ import annotations

from pathlib import Path

import pytest

import pypto_core.language as pl
from pypto_core.diagnostics import ParserTypeError, UndefinedVariableError
from pypto_core.ir import DataType, int_range

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


INTEGERS = [dtype for dtype in DataType if dtype.is_int]


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_typed_constants_keep_to_their_range(dtype: DataType) -> None:
    low, high = int_range(dtype)
    for inside in (low, high):
        read(f"y = pl.const({inside}, pl.{dtype.name})")
    for outside in (low - 1, high + 1, 1 << 20_000):
        with pytest.raises(ParserTypeError):
            read(f"y = pl.const({outside if outside < 1 << 99 else hex(outside)}, pl.{dtype.name})")


def test_what_is_shown_of_a_megabyte_is_what_a_person_reads() -> None:
    with pytest.raises(UndefinedVariableError) as caught:
        read("y = " + "x" * 1_000_000)
    shown = caught.value.render()
    assert len(shown) < 6000 and "(996" in shown


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
