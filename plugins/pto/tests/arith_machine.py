"""A small machine that executes the arithmetic of emitted functions: what the text means, in plain integers.

Registers wrap at their width and division truncates, as the dialect defines it. Only scalars, loops, branches and
stores of scalars are understood.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

WIDTHS = {"index": 64, "i64": 64, "i32": 32, "i16": 16, "i8": 8, "i1": 1}


def signed(value: int, type_: str) -> int:
    """The number that the low bits stand for; a truth value is 0 or 1."""
    bits = WIDTHS[type_]
    low = value & ((1 << bits) - 1)
    return low - (1 << bits) if bits > 1 and low >> (bits - 1) else low


def _quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_OPS: dict[str, Callable[[int, int], int]] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "divsi": _quotient,
    "remsi": lambda a, b: a - b * _quotient(a, b),
    "floordivsi": lambda a, b: a // b,
    "minsi": min,
    "maxsi": max,
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
    "shli": lambda a, b: a << b,
    "shrsi": lambda a, b: a >> b,
}
_UNSIGNED: dict[str, Callable[[int, int], int]] = {
    "divui": lambda a, b: a // b,
    "remui": lambda a, b: a % b,
    "minui": min,
    "maxui": max,
    "shrui": lambda a, b: a >> b,
}
_ORDER: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "slt": lambda a, b: a < b,
    "sle": lambda a, b: a <= b,
    "sgt": lambda a, b: a > b,
    "sge": lambda a, b: a >= b,
}
_BINARY = re.compile(r"(%\S+) = arith\.(\w+) (%\S+), (%\S+) : (\w+)\Z")
_COMPARE = re.compile(r"(%\S+) = arith\.cmpi (\w+), (%\S+), (%\S+) : (\w+)\Z")
_CAST = re.compile(r"(%\S+) = (?:arith|builtin)\.(\w+) (%\S+) : (\w+) to (\w+)\Z")
_CONSTANT = re.compile(r"(%\S+) = arith\.constant (-?\d+) : (\w+)\Z")
_SELECT = re.compile(r"(%\S+) = arith\.select (%\S+), (%\S+), (%\S+) : (\w+)\Z")
_STORE = re.compile(r"pto\.store_scalar (%\S+), %\S+\[(%\S+)\] : ")
_FOR = re.compile(
    r"(?:(%\S+) = )?scf\.for (%\S+) = (%\S+) to (%\S+) step (%\S+)(?: iter_args\((%\S+) = (%\S+)\).*)? \{\Z"
)
_IF = re.compile(r"scf\.if (%\S+) \{\Z")
_YIELD = re.compile(r"scf\.yield (%\S+) : ")


class Machine:
    """Runs one function; ``stored`` are the numbers written, with their place, in order."""

    def __init__(self, text: str, arguments: Sequence[int]) -> None:
        lines = [line.strip() for line in text.splitlines()]
        self.lines = [line for line in lines if line and not line.startswith("//")]
        begin = next(i for i, line in enumerate(self.lines) if line.startswith("func.func"))
        names = re.findall(r"(%\w+): (i\d+|u?i\d+|index)\b", self.lines[begin])
        self.values = {name: signed(v, t.lstrip("u")) for (name, t), v in zip(names, arguments, strict=True)}
        self.stored: list[tuple[int, int]] = []
        self.yielded = 0
        self._block(begin + 1)

    def _block(self, at: int) -> int:
        """Run lines up to the closing brace; its number is returned."""
        while not self.lines[at].startswith("}"):
            at = self._line(at) + 1
        return at

    def _skip(self, at: int) -> int:
        depth = 0
        while True:
            line = self.lines[at]
            if line.startswith("}") and not depth:
                return at
            depth += line.endswith("{") - line.startswith("}")
            at += 1

    def _line(self, at: int) -> int:
        line = self.lines[at]
        if line.endswith("{"):
            return self._region(at, line)
        if found := _YIELD.match(line):
            self.yielded = self.values[found[1]]
        elif found := _STORE.match(line):
            self.stored.append((self.values[found[2]], self.values[found[1]]))
        elif line != "return" and "make_tensor_view" not in line:
            self._compute(line)
        return at

    def _region(self, at: int, line: str) -> int:
        if found := _IF.match(line):
            other = self._skip(at + 1)
            end = self._skip(other + 1) if "else" in self.lines[other] else other
            if self.values[found[1]]:
                self._block(at + 1)
            elif end != other:
                self._block(other + 1)
            return end
        found = _FOR.match(line)
        assert found, line
        result, variable, start, stop, step, inner, init = found.groups()
        carried = self.values[init] if init else 0
        for i in range(self.values[start], self.values[stop], self.values[step]):
            self.values[variable] = i
            if inner:
                self.values[inner] = carried
            self._block(at + 1)
            carried = self.yielded if inner else 0
        if result:
            self.values[result] = carried
        return self._skip(at + 1)

    def _compute(self, line: str) -> None:
        values = self.values
        if found := _CONSTANT.match(line):
            name, number, type_ = found.groups()
            values[name] = signed(int(number), type_)
        elif found := _SELECT.match(line):
            name, condition, a, b, _ = found.groups()
            values[name] = values[a] if values[condition] else values[b]
        elif found := _COMPARE.match(line):
            name, order, a, b, _ = found.groups()
            values[name] = int(_ORDER[order](values[a], values[b]))
        elif found := _CAST.match(line):
            self._cast(*found.groups())
        else:
            found = _BINARY.match(line)
            assert found, line
            name, op, a, b, type_ = found.groups()
            if op in _OPS:
                result = _OPS[op](values[a], values[b])
            else:
                mask = (1 << WIDTHS[type_]) - 1
                result = _UNSIGNED[op](values[a] & mask, values[b] & mask)
            values[name] = signed(result, type_)

    def _cast(self, name: str, op: str, source: str, have: str, want: str) -> None:
        value = self.values[source]
        if op == "extui":
            value &= (1 << WIDTHS[have]) - 1
        assert op in ("extsi", "extui", "trunci", "index_cast", "unrealized_conversion_cast"), op
        self.values[name] = signed(value, want.lstrip("u"))
