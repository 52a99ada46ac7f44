"""How a tile has to be laid out: the rule that the assembler applies to every tile type."""

from __future__ import annotations


def box(slayout: str, fractal: int, element_bytes: int) -> tuple[int, int] | None:
    """(rows, columns) of a box in elements; None for a tile without boxes."""
    if slayout == "none_box":
        return None
    if fractal == 1024:
        return 16, 16
    if fractal == 32:
        return 16, 2
    inner = max(1, 32 // element_bytes)
    return (16, inner) if slayout == "row_major" else (inner, 16)


def misaligned(
    location: str,
    rows: int,
    cols: int,
    element_bytes: int,
    blayout: str,
    slayout: str,
    fractal: int,
) -> str | None:
    """What is wrong with a tile's extents; None when they are as they should be.

    Without boxes a row (a column, when stored by columns) is a multiple of 32 bytes. With boxes the columns are whole
    boxes, and so are the rows outside of Vec, except for scales and single rows.
    """
    inner = box(slayout, fractal, element_bytes)
    if inner is None:
        along, what = (cols, "row") if blayout == "row_major" else (rows, "column")
        size = along * element_bytes
        return None if size % 32 == 0 else f"a {what} takes {size} bytes, which is no multiple of 32"
    if cols % inner[1]:
        return f"{cols} columns are no multiple of the {inner[1]} of a box"
    if rows % inner[0] and not (location == "vec" or fractal == 32 or rows == 1):
        return f"{rows} rows are no multiple of the {inner[0]} of a box"
    return None
