"""Tile types: both ways of writing them, their fields, and what makes one wrong."""

from __future__ import annotations

import re
from functools import cache

import attrs

from pypto_plugin_pto.alignment import misaligned
from pypto_plugin_pto.checker.lexer import Fault, Token, whole_number

LOCATIONS = frozenset({"vec", "mat", "left", "right", "acc", "bias", "scaling"})
_FRACTALS = (32, 512, 1024)
_LONG_KEYS = ("loc", "dtype", "rows", "cols", "v_row", "v_col", "blayout", "slayout", "fractal", "pad")
_SHORT = re.compile(r"(\w+),([0-9]+)x([0-9]+)x([^,]+)((?:,\w+=[^,]+)*)\Z", re.ASCII)
TYPE, ALIGNMENT, RING = "PTO-104", "PTO-105", "PTO-108"


@attrs.frozen
class TileFields:
    """A tile type taken apart. ``valid``: extents that the type states; None is one that an operand gives."""

    location: str
    dtype: str
    rows: int
    cols: int
    valid: tuple[int | None, int | None]
    blayout: str
    slayout: str
    fractal: int
    pad: int
    compact: int

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.rows, self.cols

    @property
    def bytes(self) -> int:
        """Bytes of the whole tile."""
        return self.rows * self.cols * element_bytes(self.dtype)

    @property
    def boxed(self) -> bool:
        """Whether elements are grouped in boxes."""
        return self.slayout != "none_box"


class _WrongTypeError(Exception):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def is_tile(text: str) -> bool:
    """Whether a type is one tile."""
    return text.startswith("!pto.tile_buf")


def is_window(text: str) -> bool:
    """Whether a type is a window of global memory."""
    return text.startswith("!pto.partition_tensor_view")


@cache
def element_bits(dtype: str) -> int:
    """Width of an element type; packed four-bit pairs are a byte."""
    if dtype == "index":
        return 64
    if dtype == "i1" or "f4E" in dtype or "hif8" in dtype or "f8E" in dtype:
        return 8
    found = re.search(r"[0-9]{1,4}\Z", dtype)
    return int(found[0]) if found else 8


def element_bytes(dtype: str) -> int:
    """Bytes of an element."""
    return max(1, element_bits(dtype) // 8)


def tile_fields(token: Token) -> TileFields:
    """The fields of the tile type at a token; raises Fault when it is none or a wrong one."""
    try:
        return _fields(token.text)
    except _WrongTypeError as error:
        raise Fault(error.code, str(error), token) from None


@cache
def _fields(text: str) -> TileFields:
    flat = re.sub(r"\s+", "", text)
    if not (flat.startswith("!pto.tile_buf<") and flat.endswith(">")):
        raise _WrongTypeError(TYPE, "a tile type looks like !pto.tile_buf<vec, 16x64xf32>")
    inner = flat[len("!pto.tile_buf<") : -1]
    values = _long(inner) if inner.startswith("loc=") else _short(inner)
    return _judged(values)


def _long(inner: str) -> dict[str, str]:
    parts = [part.partition("=") for part in inner.split(",")]
    names = tuple(name for name, _, _ in parts)
    if names not in (_LONG_KEYS, (*_LONG_KEYS, "compact")):
        raise _WrongTypeError(
            TYPE, f"the keys of a tile type are {', '.join(_LONG_KEYS)} in this order, then perhaps compact"
        )
    return {name: value for name, _, value in parts}


def _short(inner: str) -> dict[str, str]:
    found = _SHORT.match(inner)
    if found is None:
        raise _WrongTypeError(TYPE, "a tile type looks like !pto.tile_buf<vec, 16x64xf32, valid=?x?>")
    location, rows, cols, dtype, rest = found.groups()
    values = {"loc": location, "rows": rows, "cols": cols, "dtype": dtype, "v_row": rows, "v_col": cols,
              "blayout": "row_major", "slayout": "none_box", "fractal": "512", "pad": "0"}  # fmt: skip
    for pair in filter(None, rest.split(",")):
        name, _, value = pair.partition("=")
        if name == "valid" and "x" in value:
            values["v_row"], _, values["v_col"] = value.partition("x")
        elif name in ("blayout", "slayout", "fractal", "pad", "compact"):
            values[name] = value
        else:
            raise _WrongTypeError(TYPE, f"a tile type has no key '{name}'")
    return values


def _number(values: dict[str, str], name: str) -> int:
    text = values.get(name, "0")
    number = whole_number(text)
    if number is None or number < 0:
        raise _WrongTypeError(TYPE, f"'{name}' of a tile type is a number, not '{text[:40]}'")
    return number


def _valid(values: dict[str, str], name: str, extent: int) -> int | None:
    if values[name] == "?":
        return None
    number = _number(values, name)
    if number > extent:
        raise _WrongTypeError(TYPE, f"the valid extent {number} is more than the {extent} there are")
    return number


def _judged(values: dict[str, str]) -> TileFields:
    if values["loc"] not in LOCATIONS:
        raise _WrongTypeError(TYPE, f"there is no memory '{values['loc']}': {', '.join(sorted(LOCATIONS))}")
    rows, cols = _number(values, "rows"), _number(values, "cols")
    if not rows or not cols:
        raise _WrongTypeError(TYPE, "a tile has at least one row and one column")
    blayout, slayout = values["blayout"], values["slayout"]
    if blayout not in ("row_major", "col_major") or slayout not in ("none_box", "row_major", "col_major"):
        raise _WrongTypeError(TYPE, f"there is no layout {blayout}, {slayout}")
    fractal, pad, compact = (_number(values, n) for n in ("fractal", "pad", "compact"))
    if fractal not in _FRACTALS or pad > 3 or compact > 2:
        raise _WrongTypeError(
            TYPE,
            f"fractal is one of {_FRACTALS}, pad is 0 to 3 and compact 0 to 2: not {fractal}, {pad}, {compact}",
        )
    valid = (_valid(values, "v_row", rows), _valid(values, "v_col", cols))
    wrong = misaligned(values["loc"], rows, cols, element_bytes(values["dtype"]), blayout, slayout, fractal)
    if wrong is not None:
        raise _WrongTypeError(ALIGNMENT, wrong)
    return TileFields(
        values["loc"], values["dtype"], rows, cols, valid, blayout, slayout, fractal, pad, compact
    )


def ring_of(token: Token) -> tuple[Token, int]:
    """(type of a slot, number of slots) of a ring type."""
    found = re.match(r"!pto\.multi_tile_buf<(.*),\s*count=([0-9]{1,9})>\Z", token.text, re.S)
    if found is None:
        raise Fault(TYPE, "a ring looks like !pto.multi_tile_buf<!pto.tile_buf<...>, count=2>", token)
    inner = found[1].strip()
    slot = Token("type", inner if inner.startswith("!") else f"!pto.tile_buf<{inner}>", token.at)
    count = int(found[2])
    if not 2 <= count <= 16:
        raise Fault(RING, f"a ring has 2 to 16 slots, not {count}", token)
    fields = tile_fields(slot)
    if fields.location not in ("vec", "mat", "acc"):
        raise Fault(RING, f"a ring lies in vec, mat or acc, not in {fields.location}", token)
    return slot, count


@cache
def canonical(text: str) -> object:
    """Equal for equal types, however they are written."""
    if is_tile(text):
        try:
            fields = _fields(text)
        except _WrongTypeError:
            return text
        # The assembler gives tiles in Left the order of its machine, whatever is written.
        return attrs.evolve(fields, blayout="") if fields.location == "left" else fields
    return re.sub(r"\s+", "", text)


def window_shape(text: str) -> tuple[tuple[int | None, ...], str]:
    """(extents, element type) of a window or view of global memory; ((), "") when it has no such form."""
    found = re.match(r"!pto\.(?:partition_tensor_view|tensor_view)<((?:(?:\?|[0-9]{1,18})x)+)(.+)>\Z", text)
    if found is None:
        return (), ""
    dims = tuple(None if d == "?" else int(d) for d in found[1].rstrip("x").split("x"))
    return dims, found[2].strip()
