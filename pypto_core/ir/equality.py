"""Structural equality and hash.

Definitions are mapped to each other, names, spans and comments don't count, options and notes are compared without
regard to order. INT64 and INDEX count as one type. MemRefs inside types are compared only on request: a comparison
that leaves them out says nothing about placement.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast
from zlib import crc32

from pypto_core.diagnostics import UserError
from pypto_core.ir.dtypes import DataType
from pypto_core.ir.expr import Call, ConstFloat, ConstInt, MemRef, Op, Var
from pypto_core.ir.function import Program
from pypto_core.ir.node import DEFINE, IGNORE, MAP, MAYBE, NODE, NODES, PLAIN, Node, fields_of
from pypto_core.ir.types import ScalarType, Type

_MERGED = {DataType.INT64: DataType.INDEX}


def structural_equal(
    a: Any, b: Any, *, enable_auto_mapping: bool = False, compare_memref: bool = False
) -> bool:
    """Whether two nodes or types are equal up to the names of what they define.

    ``enable_auto_mapping`` also maps free variables to each other on first use; otherwise a free variable equals
    only itself. ``compare_memref`` includes the MemRefs inside types.
    """
    return a is b or _Comparer(enable_auto_mapping, compare_memref).equal(a, b)


def types_equal(a: Type, b: Type, *, compare_memref: bool = False) -> bool:
    """Whether two types are equal; variables in them by identity."""
    return a is b or _Comparer(False, compare_memref).equal(a, b)


def assert_structural_equal(
    a: Any, b: Any, *, enable_auto_mapping: bool = False, compare_memref: bool = False
) -> None:
    """Raise a ValueError that says where and why two nodes differ."""
    if a is b:
        return
    comparer = _Comparer(enable_auto_mapping, compare_memref)
    if not comparer.equal(a, b):
        path = "".join(reversed(comparer.path)).lstrip(".") or "."
        raise UserError(
            f"structures differ at {path}",
            code="PT410",
            facts={"left": comparer.left, "right": comparer.right, "Reason": comparer.reason},
        )


class _Comparer:
    """One comparison; ``path`` grows from the difference outwards while the recursion unwinds."""

    def __init__(self, auto: bool, memref: bool) -> None:
        self.auto, self.memref = auto, memref
        self.forward: dict[Var, Var] = {}
        self.backward: dict[Var, Var] = {}
        self.same_types: dict[tuple[int, int, bool], tuple[Type, Type]] = {}
        self.path: list[str] = []
        self.reason, self.left, self.right = "", "", ""

    def equal(self, a: Any, b: Any) -> bool:
        cls = a.__class__
        if cls is not b.__class__:
            return self.fail(a, b, f"{cls.__name__} is not {type(b).__name__}")
        if isinstance(a, Type):
            return self.types(a, b)
        if isinstance(a, Var):
            return self.uses(a, b)
        if cls is ConstInt:
            if a.value == b.value and _MERGED.get(a.dtype, a.dtype) is _MERGED.get(b.dtype, b.dtype):
                return True
            return self.fail(a, b, f"constant {a.value}: {a.dtype} is not {b.value}: {b.dtype}")
        if cls is ConstFloat:
            same = _same_float(a.value, b.value) and a.dtype is b.dtype
            return same or self.fail(a, b, f"constant {a.value}: {a.dtype} is not {b.value}: {b.dtype}")
        if cls is Program:
            return self.programs(a, b)
        return self.fields(a, b, cls)

    def fields(self, a: Any, b: Any, cls: type) -> bool:
        for field in fields_of(cls):
            if field.role == IGNORE:
                continue
            x, y = field.get(a), field.get(b)
            kind = field.kind
            if kind == PLAIN:
                ok = (x == y and type(x) is type(y)) or self.fail(x, y, f"{x!r} is not {y!r}")
            elif field.role == DEFINE:
                ok = self.defs(x, y)
            elif kind == NODES:
                ok = self.sequence(x, y)
            elif kind == MAP:
                ok = self.maps(x, y)
            elif x is None or y is None:
                ok = x is y or self.fail(x, y, "present on one side only")
            elif cls is Call and field.name == "type":
                ok = self.call_types(x, y)
            else:
                ok = self.equal(x, y)
            if not ok:
                self.path.append(f".{field.name}")
                return False
        return True

    def call_types(self, a: Type, b: Type) -> bool:
        """Storage belongs to variables: a MemRef in the type of a call says nothing."""
        compares_memref, self.memref = self.memref, False
        same = self.equal(a, b)
        self.memref = compares_memref
        return same

    def sequence(self, xs: tuple[Any, ...], ys: tuple[Any, ...]) -> bool:
        if len(xs) != len(ys):
            return self.fail(xs, ys, f"{len(xs)} items are not {len(ys)}")
        for i, (x, y) in enumerate(zip(xs, ys, strict=True)):
            if not self.equal(x, y):
                self.path.append(f"[{i}]")
                return False
        return True

    def defs(self, x: Any, y: Any) -> bool:
        if x is None or y is None:
            return x is y or self.fail(x, y, "present on one side only")
        if isinstance(x, Var):
            return self.define(x, y)
        if len(x) != len(y):
            return self.fail(x, y, f"{len(x)} definitions are not {len(y)}")
        for i, (a, b) in enumerate(zip(x, y, strict=True)):
            if not self.define(a, b):
                self.path.append(f"[{i}]")
                return False
        return True

    def define(self, a: Var, b: Var) -> bool:
        if type(a) is not type(b):
            return self.fail(a, b, f"{type(a).__name__} is not {type(b).__name__}")
        if not self.equal(a.type, b.type):
            self.path.append(".type")
            return False
        init = getattr(a, "init_value", None)
        if init is not None and not self.equal(init, b.init_value):  # type: ignore[attr-defined]
            self.path.append(".init_value")
            return False
        self.forward[a], self.backward[b] = b, a
        return True

    def uses(self, a: Var, b: Var) -> bool:
        mapped, back = self.forward.get(a), self.backward.get(b)
        if mapped is not None or back is not None:
            return (mapped is b and back is a) or self.fail(a, b, "they stand for different definitions")
        if self.auto:
            return self.define(a, b)
        return a is b or self.fail(a, b, "free variables are equal only to themselves")

    def types(self, a: Type, b: Type) -> bool:
        if isinstance(a, ScalarType) and isinstance(b, ScalarType):
            x, y = a.dtype, b.dtype
            return _MERGED.get(x, x) is _MERGED.get(y, y) or self.fail(a, b, f"{x} is not {y}")
        key = (id(a), id(b), self.memref)
        if key in self.same_types:
            return True
        before = len(self.forward)
        for field in fields_of(type(a)):
            x, y = field.get(a), field.get(b)
            if not self.memref and MemRef in (x.__class__, y.__class__):
                continue
            if field.kind == PLAIN:
                ok = x == y or self.fail(a, b, f"{field.name}: {x} is not {y}")
            elif field.kind == NODES:
                ok = self.sequence(x, y)
            elif x is None or y is None:
                ok = x is y or self.fail(a, b, f"{field.name} present on one side only")
            else:
                ok = self.equal(x, y)
            if not ok:
                self.path.append(f".{field.name}")
                return False
        if len(self.forward) == before and not self.forward:
            self.same_types[key] = (a, b)
        return True

    def maps(self, x: Mapping[str, Any], y: Mapping[str, Any]) -> bool:
        if x is y and not x:
            return True
        if x.keys() != y.keys():
            return self.fail(x, y, f"keys {sorted(x)} are not {sorted(y)}")
        for key in x:
            if not self.value(x[key], y[key]):
                self.path.append(f"[{key!r}]")
                return False
        return True

    def value(self, x: Any, y: Any) -> bool:
        if isinstance(x, Node | Type):
            return self.equal(x, y)
        if type(x) is not type(y):
            return self.fail(x, y, f"{type(x).__name__} is not {type(y).__name__}")
        if isinstance(x, tuple):
            xs, ys = cast("tuple[Any, ...]", x), cast("tuple[Any, ...]", y)
            same = len(xs) == len(ys) and all(map(self.value, xs, ys))
            return same or self.fail(xs, ys, f"{xs} is not {ys}")
        same = _same_float(x, y) if isinstance(x, float) else x == y
        return same or self.fail(x, y, f"{x!r} is not {y!r}")

    def programs(self, a: Program, b: Program) -> bool:
        if a.functions.keys() != b.functions.keys():
            return self.fail(a, b, f"functions {list(a.functions)} are not {list(b.functions)}")
        for name, function in a.functions.items():
            other = b.functions[name]
            if function is not other and not self.equal(function, other):
                self.path.append(f"['{name}']")
                return False
        return True

    def fail(self, a: Any, b: Any, reason: str) -> bool:
        self.reason, self.left, self.right = reason, _show(a), _show(b)
        return False


def _same_float(x: float, y: float) -> bool:
    """Whether two numbers are the same: a zero equals only a zero of its sign, not-a-number equals itself."""
    return repr(float(x)) == repr(float(y))


def _show(value: Any) -> str:
    span = getattr(value, "span", None)
    place = f" at {span}" if span is not None and span.is_valid else ""
    text = repr(value)
    return (text if len(text) < 200 else text[:200] + "…") + place


def structural_hash(node: Any, *, enable_auto_mapping: bool = False) -> int:
    """A hash that agrees with :func:`structural_equal`; stable between processes."""
    return _Hasher(enable_auto_mapping).hash(node)


class _Hasher:
    def __init__(self, auto: bool) -> None:
        self.auto = auto
        self.numbers: dict[Var, int] = {}
        self.closed_types: dict[int, tuple[Type, int]] = {}

    def hash(self, node: Any) -> int:
        cls = node.__class__
        if isinstance(node, Type):
            return self.type(node)
        if isinstance(node, Var):
            number = self.numbers.get(node)
            if number is None:
                if not self.auto:
                    return _mix("free", node.unique_id)
                return self.define(node)
            return number
        if cls is ConstInt:
            return _mix(node.value, _merged_code(node.dtype))
        if cls is ConstFloat:
            return _mix(repr(float(node.value)), node.dtype.value)
        if isinstance(node, Op):
            return _mix(cls.__name__, node.name)
        if cls is Program:
            return _mix(*(_mix(name, _Hasher(self.auto).hash(f)) for name, f in node.functions.items()))
        return self.fields(node, cls)

    def fields(self, node: Any, cls: type) -> int:
        parts: list[int | str] = [cls.__name__]
        for field in fields_of(cls):
            if field.role == IGNORE:
                continue
            value = field.get(node)
            if field.role == DEFINE:
                items: tuple[Var, ...] = (
                    value if field.kind == NODES else (value,) if value is not None else ()
                )
                parts += [self.define(v) for v in items]
            elif field.kind == NODES:
                parts += [len(value), *[self.hash(v) for v in value]]
            elif field.kind == MAP:
                parts += [_mix(k, self.plain(value[k])) for k in sorted(value)]
            elif field.kind in (NODE, MAYBE):
                parts.append(0 if value is None else self.hash(value))
            else:
                parts.append(self.plain(value))
        return _mix(*parts)

    def define(self, var: Var) -> int:
        init = getattr(var, "init_value", None)
        # Numbered by position, so that equal structures number their definitions alike.
        number = _mix(len(self.numbers), self.hash(var.type), 0 if init is None else self.hash(init))
        self.numbers[var] = number
        return number

    def type(self, kind: Type) -> int:
        known = self.closed_types.get(id(kind))
        if known is not None:
            return known[1]
        if isinstance(kind, ScalarType):
            result = _mix("scalar", _merged_code(kind.dtype))
        else:
            parts: list[int | str] = [type(kind).__name__]
            for field in fields_of(type(kind)):
                value = field.get(kind)
                if isinstance(value, MemRef) or value is None:
                    continue
                parts.append(field.name)
                if field.kind == NODES:
                    parts += [self.hash(v) for v in value]
                else:
                    parts.append(self.hash(value) if isinstance(value, Node | Type) else self.plain(value))
            result = _mix(*parts)
        if next(_type_vars(kind), None) is None:
            self.closed_types[id(kind)] = (kind, result)
        return result

    def plain(self, value: Any) -> int:
        if isinstance(value, Node | Type):
            return self.hash(value)
        if isinstance(value, tuple):
            return _mix(*map(self.plain, cast("tuple[Any, ...]", value)))
        return _mix(type(value).__name__, getattr(value, "name", None) or repr(value))


def _merged_code(dtype: DataType) -> int:
    return DataType.INDEX.value if dtype is DataType.INT64 else dtype.value


def _type_vars(kind: Type) -> Any:
    from pypto_core.ir.visitor import type_vars  # visitor sits beside this module and needs none of it

    return type_vars(kind)


def _mix(*parts: int | str) -> int:
    out = 1469598103934665603
    for part in parts:
        number = crc32(part.encode()) if isinstance(part, str) else part & 0xFFFFFFFFFFFFFFFF
        out = ((out ^ number) * 1099511628211 + (number >> 7)) & 0xFFFFFFFFFFFFFFFF
    return out
