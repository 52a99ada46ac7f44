"""The text of one function: unique names, constants written once, and sections that are put together at the end.

Constants come to light while the body is written but stand at its head, so each section is a list of lines of its
own.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Generator
from contextlib import contextmanager

from pypto_core.contract import Operand
from pypto_core.diagnostics import InternalError, Span
from pypto_core.ir import DataType
from pypto_plugin_pto.type_text import element, register

_ODD = re.compile(r"[^A-Za-z0-9_.$]")
_UNWRITABLE = re.compile(r'[\x00-\x1f\x7f"\\]')


def quoted(text: str) -> str:
    """A string; quotes, backslashes and control characters by their codes."""
    return f'"{_UNWRITABLE.sub(lambda found: f"{chr(92)}{ord(found[0]):02X}", text)}"'


def symbol(name: str) -> str:
    """The name of a function, whose characters outside of ASCII stand by their codes."""
    return "@" + _ODD.sub(lambda found: f"_u{ord(found[0]):04x}", name)


class Names:
    """Names within a function, each handed out once."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}
        self._number = 0

    def named(self, hint: str) -> str:
        """A name like ``hint``; a number is appended when that is taken."""
        base = _ODD.sub("_", hint)
        if not base or base[0].isdigit():
            base = "_" + base
        name = base
        while name in self._taken:
            self._next[base] = self._next.get(base, 0) + 1
            name = f"{base}_{self._next[base]}"
        self._taken.add(name)
        return "%" + name

    def temporary(self) -> str:
        """The next number."""
        name = f"%{self._number}"
        self._number += 1
        return name


class FunctionText:
    """Sections and constants of a function that is being written."""

    def __init__(self, locations: bool) -> None:
        self.names = Names()
        self.constants: list[str] = []
        self.views: list[str] = []
        self.head: list[str] = []
        self.body: list[str] = []
        self._known: dict[tuple[str, str], Operand] = {}
        self._numbers: dict[tuple[int | float, DataType], Operand] = {}
        self._locations = locations
        self._out: list[str] = self.body
        self._indent: str = "    "
        self._suffix: str = ""

    # -- lines

    def line(self, text: str) -> None:
        """One operation, with the place in the source that it comes from."""
        self._out.append(f"{self._indent}{text}{self._suffix}")

    def bare(self, text: str) -> None:
        """A brace or label, which takes no place."""
        self._out.append(f"{self._indent}{text}")

    def value(self, text: str, type: str, what: str = "") -> Operand:
        """One operation with a result."""
        name = self.names.named(what) if what else self.names.temporary()
        self._out.append(f"{self._indent}{name} = {text}{self._suffix}")
        return Operand(name, type)

    def at(self, span: Span) -> None:
        """What follows comes from there."""
        if not self._locations:
            return
        if span.is_valid:
            self._suffix = f" loc({quoted(span.filename)}:{span.begin_line}:{max(span.begin_column, 1)})"
        else:
            self._suffix = ""

    @contextmanager
    def section(self, lines: list[str]) -> Generator[None]:
        """Write into another section, where nothing has a place in the source."""
        kept = self._out, self._indent, self._suffix
        self._out, self._indent, self._suffix = lines, "    ", ""
        try:
            yield
        finally:
            self._out, self._indent, self._suffix = kept

    @contextmanager
    def block(self) -> Generator[None]:
        """Lines of a nested region."""
        self._indent += "  "
        try:
            yield
        finally:
            self._indent = self._indent[:-2]

    def lines(self) -> list[str]:
        """All sections in order."""
        return [*self.constants, *self.views, *self.head, *self.body]

    # -- constants

    def constant(self, value: int | float | bool, dtype: DataType) -> Operand:
        """A constant in the type that scalars of ``dtype`` are computed in."""
        if dtype.is_float:
            return self._float(float(value), dtype)
        known = self._numbers.get((value, dtype))
        if known is None:
            number = _wrapped(int(value), dtype)
            type = register(dtype)
            name = f"c{number}_{type}" if number >= 0 else f"cn{-number}_{type}"
            known = self._numbers[(value, dtype)] = self.literal(str(number), type, name)
        return known

    def literal(self, text: str, type: str, name: str) -> Operand:
        """``arith.constant`` of that text, once per text and type."""
        known = self._known.get((text, type))
        if known is None:
            with self.section(self.constants):
                known = self.value(f"arith.constant {text} : {type}", type, name)
            self._known[(text, type)] = known
        return known

    def _float(self, value: float, dtype: DataType) -> Operand:
        return self.literal(_float_text(value, dtype), element(dtype), "cst")


def _wrapped(value: int, dtype: DataType) -> int:
    """The number that the low bits of ``value`` stand for in a register, which knows no sign."""
    if dtype is DataType.BOOL:
        return 1 if value else 0
    low = value & ((1 << dtype.bits) - 1)
    return low - (1 << dtype.bits) if low >> (dtype.bits - 1) else low


def _float_text(value: float, dtype: DataType) -> str:
    """A decimal with all digits; infinities and NaN by their bits."""
    if value - value == 0.0:
        return f"{value:.17e}"
    bits: int = struct.unpack("<I", struct.pack("<f", value))[0]
    if dtype is DataType.FP32:
        return f"0x{bits:08X}"
    if dtype is DataType.BF16:
        return f"0x{bits >> 16:04X}"
    if dtype is DataType.FP16:
        return f"0x{int.from_bytes(struct.pack('<e', value), 'little'):04X}"
    raise InternalError(f"no constant {value} of type {dtype}", code="PTO-900")
