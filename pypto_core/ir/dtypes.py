"""Element types: codes, widths and classes.

The codes are those of the public serialised form; four-bit types are stored two to a byte, everything else is
rounded up to whole bytes, INDEX is 64 bits wide.
"""

from __future__ import annotations

import enum


class DataType(enum.Enum):
    """An element type; ``value`` is its serialised code."""

    BOOL = 0x00
    INT4 = 0x10
    INT8 = 0x11
    INT16 = 0x12
    INT32 = 0x13
    INT64 = 0x14
    INDEX = 0x15
    UINT4 = 0x20
    UINT8 = 0x21
    UINT16 = 0x22
    UINT32 = 0x23
    UINT64 = 0x24
    FP4 = 0x30
    FP8E4M3FN = 0x31
    FP8E5M2 = 0x32
    FP16 = 0x33
    FP32 = 0x34
    FP64 = 0x35
    FP8E8M0 = 0x36
    BF16 = 0x40
    HF4 = 0x41
    HF8 = 0x42
    TASK_ID = 0x50

    bits: int
    is_float: bool
    is_int: bool
    is_signed: bool

    __hash__ = object.__hash__

    def storage_bytes(self, elements: int) -> int:
        """Bytes that ``elements`` packed elements take."""
        if self.bits == 4:
            return (elements + 1) // 2
        return elements * ((self.bits + 7) // 8)

    @property
    def element_bytes(self) -> int:
        """Bytes of one element; 1 for the four-bit types, whose pairs share a byte."""
        return (self.bits + 7) // 8

    @property
    def text(self) -> str:
        """Lower-case name as messages show it: ``fp32``, ``bfloat16``, ``index``."""
        return "bfloat16" if self is DataType.BF16 else self.name.lower()

    def __str__(self) -> str:
        return self.text


_BITS = {
    "BOOL": 1, "INT4": 4, "INT8": 8, "INT16": 16, "INT32": 32, "INT64": 64, "INDEX": 64,
    "UINT4": 4, "UINT8": 8, "UINT16": 16, "UINT32": 32, "UINT64": 64,
    "FP4": 4, "FP8E4M3FN": 8, "FP8E5M2": 8, "FP16": 16, "FP32": 32, "FP64": 64, "FP8E8M0": 8,
    "BF16": 16, "HF4": 4, "HF8": 8, "TASK_ID": 64,
}  # fmt: skip

for _dtype in DataType:
    _dtype.bits = _BITS[_dtype.name]
    _dtype.is_float = _dtype.name.startswith(("FP", "BF", "HF"))
    _dtype.is_int = _dtype.name.startswith(("INT", "UINT")) or _dtype is DataType.INDEX
    _dtype.is_signed = _dtype.is_int and not _dtype.name.startswith("U")


def int_range(dtype: DataType) -> tuple[int, int]:
    """Least and greatest value of an integer type (both inclusive)."""
    if dtype.is_signed:
        half = 1 << (dtype.bits - 1)
        return -half, half - 1
    return 0, (1 << dtype.bits) - 1
