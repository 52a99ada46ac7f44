"""Layouts of tensors in global memory: what is written for each, and which readings of one tensor are right."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pypto_core.diagnostics import UserError

OUT = "out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]"
COPY = """
x = pl.load({source}, [0, 0], [{window}])
out = pl.store(x, [0, 0], out)
return out
"""


def view_of(text: str, argument: str = "%arg0") -> tuple[str, str]:
    """Strides and layout that a parameter is viewed with."""
    [found] = re.findall(
        rf"make_tensor_view {argument}, .*strides = \[(.*?)\] \{{layout = #pto\.layout<(\w+)>", text
    )
    return found


VIEWS = {
    # annotation → window, strides, layout
    "[[64, 64], pl.FP32]": ("64, 64", "%c64_index, %c1_index", "nd"),
    "[[64, 64], pl.FP32, pl.TensorView(layout=pl.TensorLayout.DN)]": ("64, 64", "%c1_index, %c64_index", "dn"),
    "[[64, 1], pl.FP32]": ("64, 1", "%c1_index, %c64_index", "dn"),
    # A column is one however its strides are told.
    "[[64, 1], pl.FP32, pl.TensorView(stride=[1, 1], layout=pl.TensorLayout.ND)]":
        ("64, 1", "%c1_index, %c64_index", "dn"),
    "[[64, 1], pl.FP32, pl.TensorView(valid_shape=[40, 1], layout=pl.TensorLayout.ND)]":
        ("64, 1", "%c1_index, %c64_index", "dn"),
    # The column of a wider tensor has rows that are not adjacent.
    "[[64, 1], pl.FP32, pl.TensorView(stride=[128, 1], layout=pl.TensorLayout.ND)]":
        ("64, 1", "%c128_index, %c1_index", "nd"),
}  # fmt: skip


@pytest.mark.parametrize(("annotation", "wanted"), list(VIEWS.items()))
def test_a_parameter_is_viewed_as_it_lies(write: Any, annotation: str, wanted: tuple[str, str, str]) -> None:
    window, strides, layout = wanted
    text = write(f"a: pl.Tensor{annotation}, {OUT}", COPY.format(source="a", window=window))
    assert view_of(text) == (strides, layout)


SAME = {
    "its own layout": ("[[64, 64], pl.FP32]", "ND", "64, 64", ("%c64_index, %c1_index", "nd")),
    "a column": ("[[64, 1], pl.FP32]", "DN", "64, 1", ("%c1_index, %c64_index", "dn")),
    "a row": ("[[1, 64], pl.FP32]", "DN", "1, 64", ("%c1_index, %c1_index", "dn")),
}


@pytest.mark.parametrize(("annotation", "layout", "window", "wanted"), list(SAME.values()), ids=list(SAME))
def test_another_layout_with_the_same_order_is_another_view_of_the_pointer(
    write: Any, annotation: str, layout: str, window: str, wanted: tuple[str, str]
) -> None:
    body = f"w = pl.tensor.view(a, pl.TensorLayout.{layout})" + COPY.format(source="w", window=window)
    assert view_of(write(f"a: pl.Tensor{annotation}, {OUT}", body)) == wanted


OTHERS = [
    (
        "a: pl.Tensor[[64, 64], pl.FP32]",
        "pl.tensor.view(a, pl.TensorLayout.DN)",
        "PTO-002",
        "in another order",
    ),
    ("a: pl.Tensor[[64, 64], pl.FP32]", "pl.tensor.view(a, pl.TensorLayout.NZ)", "PTO-019", "the layout NZ"),
    (
        "a: pl.Tensor[[64, 64], pl.FP32, pl.TensorView(layout=pl.TensorLayout.NZ)]",
        "a",
        "PTO-019",
        "the layout NZ",
    ),
]


@pytest.mark.parametrize(("parameter", "source", "code", "message"), OTHERS)
def test_what_would_read_other_elements_is_refused(
    write: Any, parameter: str, source: str, code: str, message: str
) -> None:
    with pytest.raises(UserError) as error:
        write(f"{parameter}, {OUT}", f"w = {source}" + COPY.format(source="w", window="64, 64"))
    [diagnostic] = error.value.diagnostics
    assert diagnostic.code == code and message in diagnostic.message
    assert diagnostic.span.is_valid and diagnostic.remedy
