"""Structural equality and hash.

Definitions are mapped to each other, names, spans and comments don't count, options and notes are compared without
regard to order. INT64 and INDEX count as one type. MemRefs inside types are compared only on request: a comparison
that leaves them out says nothing about placement.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any, ClassVar, cast
from zlib import crc32

from pypto_core.diagnostics import UserError
from pypto_core.ir.depth import too_deep
from pypto_core.ir.dtypes import DataType
from pypto_core.ir.expr import Call, ConstFloat, ConstInt, MemRef, Op, Var
from pypto_core.ir.function import Program
from pypto_core.ir.node import DEFINE, IGNORE, MAP, NODES, PLAIN, FieldInfo, Node, fields_of
from pypto_core.ir.types import ScalarType, Type

_MERGED = {DataType.INT64: DataType.INDEX}


def structural_equal(
    a: Any, b: Any, *, enable_auto_mapping: bool = False, compare_memref: bool = False
) -> bool:
    """Whether two nodes or types are equal up to the names of what they define.

    ``enable_auto_mapping`` also maps free variables to each other on first use; otherwise a free variable equals
    only itself. ``compare_memref`` includes the MemRefs inside types. Raises UserError (PT213) for what is nested too
    deeply to compare.
    """
    return a is b or _Comparer(enable_auto_mapping, compare_memref).same(a, b)


def types_equal(a: Type, b: Type, *, compare_memref: bool = False) -> bool:
    """Whether two types are equal; variables in them by identity."""
    return a is b or _Comparer(False, compare_memref).same(a, b)


def assert_structural_equal(
    a: Any, b: Any, *, enable_auto_mapping: bool = False, compare_memref: bool = False
) -> None:
    """Raise a ValueError that says where and why two nodes differ."""
    if a is b:
        return
    comparer = _Comparer(enable_auto_mapping, compare_memref)
    if not comparer.same(a, b):
        path = "".join(reversed(comparer.path)).lstrip(".") or "."
        raise UserError(
            f"structures differ at {path}",
            code="PT410",
            facts={"left": comparer.left, "right": comparer.right, "Reason": comparer.reason},
            remedy="look at the two places: everything before the path's end is equal",
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

    def same(self, a: Any, b: Any) -> bool:
        """The whole comparison."""
        try:
            return self.equal(a, b)
        except RecursionError:
            raise too_deep(a, "compare") from None

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
                # True is not 1, but a tuple of a subclass is what its items are.
                alike = type(x) is type(y) or isinstance(x, tuple)
                ok = (x == y and alike) or self.fail(x, y, f"{x!r} is not {y!r}")
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
    """A hash that agrees with :func:`structural_equal`; stable between processes of one Python version."""
    try:
        return _Hasher(enable_auto_mapping).hash(node)
    except RecursionError:
        raise too_deep(node, "hash") from None


class _Hasher:
    """One hash. Everything becomes a tuple of integers, which is what Python hashes quickly and alike everywhere."""

    def __init__(self, auto: bool) -> None:
        self.auto = auto
        self.numbers: dict[Var, int] = {}
        self.closed_types: dict[int, tuple[Type, int]] = {}

    def hash(self, node: Any) -> int:
        return _HASHERS[node.__class__](self, node)

    def fields(self, node: Any) -> int:
        name, parts = _hashed_parts(node.__class__)
        return hash((name, *[part(self, get(node)) for get, part in parts]))

    def use(self, var: Var) -> int:
        number = self.numbers.get(var)
        if number is not None:
            return number
        return self.define(var) if self.auto else hash((_code("free"), var.unique_id))

    def define(self, var: Var | None) -> int:
        if var is None:
            return 0
        # Numbered by position, so that equal structures number their definitions alike.
        position, init = len(self.numbers), self.optional(getattr(var, "init_value", None))
        self.numbers[var] = number = hash((position, self.hash(var.type), init))
        return number

    def definitions(self, variables: tuple[Var, ...]) -> int:
        return hash(tuple(map(self.define, variables)))

    def const_int(self, node: ConstInt) -> int:
        return hash((node.value, _merged_code(node.dtype)))

    def const_float(self, node: ConstFloat) -> int:
        return hash((_code(repr(float(node.value))), node.dtype.value))

    def op(self, node: Op) -> int:
        return hash((_code(node.__class__.__name__), _code(node.name)))

    def program(self, node: Program) -> int:
        functions = node.functions.items()
        return hash(tuple([(_code(name), _Hasher(self.auto).hash(function)) for name, function in functions]))

    def optional(self, node: Any) -> int:
        return 0 if node is None else self.hash(node)

    def sequence(self, nodes: tuple[Any, ...]) -> int:
        return hash(tuple([_HASHERS[node.__class__](self, node) for node in nodes]))

    def map(self, values: Mapping[str, Any]) -> int:
        return hash(tuple([(_code(key), self.plain(values[key])) for key in sorted(values)])) if values else 0

    def scalar(self, kind: ScalarType) -> int:
        return hash((_code("scalar"), _merged_code(kind.dtype)))

    def type(self, kind: Type) -> int:
        known = self.closed_types.get(id(kind))
        if known is not None:
            return known[1]
        result = self.fields(kind)
        if next(_type_vars(kind), None) is None:
            self.closed_types[id(kind)] = (kind, result)
        return result

    def placed(self, node: Any) -> int:
        """A part of a type that may be a MemRef; hashes say nothing about placement."""
        return 0 if node is None or isinstance(node, MemRef) else self.hash(node)

    def plain(self, value: Any) -> int:
        if isinstance(value, Node | Type):
            return self.hash(value)
        if isinstance(value, tuple):
            return hash(tuple(map(self.plain, cast("tuple[Any, ...]", value))))
        return hash((_code(type(value).__name__), _code(getattr(value, "name", None) or repr(value))))


class _Hashers(dict[type, Callable[[_Hasher, Any], int]]):
    """class → the method that hashes it: that of the first row that it belongs to."""

    rows: ClassVar[tuple[tuple[type, Callable[[_Hasher, Any], int]], ...]] = (
        (ScalarType, _Hasher.scalar),
        (Type, _Hasher.type),
        (Var, _Hasher.use),
        (ConstInt, _Hasher.const_int),
        (ConstFloat, _Hasher.const_float),
        (Op, _Hasher.op),
        (Program, _Hasher.program),
        (object, _Hasher.fields),
    )

    def __missing__(self, cls: type) -> Callable[[_Hasher, Any], int]:
        self[cls] = found = next(method for base, method in self.rows if issubclass(cls, base))
        return found


_HASHERS = _Hashers()


@cache
def _hashed_parts(
    cls: type,
) -> tuple[int, tuple[tuple[Callable[[Any], Any], Callable[[Any, Any], int]], ...]]:
    """The code of a class and, for each field that counts, how it is read and hashed."""
    counted = [field for field in fields_of(cls) if field.role != IGNORE]
    return _code(cls.__name__), tuple([(field.get, _part_hasher(cls, field)) for field in counted])


def _part_hasher(cls: type, field: FieldInfo) -> Callable[[Any, Any], int]:
    if field.role == DEFINE:
        return _Hasher.definitions if field.kind == NODES else _Hasher.define
    if field.kind == NODES:
        return _Hasher.sequence
    if field.kind == MAP:
        return _Hasher.map
    if field.kind == PLAIN:
        return _Hasher.plain
    return _Hasher.placed if issubclass(cls, Type) else _Hasher.optional


def _merged_code(dtype: DataType) -> int:
    return DataType.INDEX.value if dtype is DataType.INT64 else dtype.value


def _type_vars(kind: Type) -> Any:
    from pypto_core.ir.visitor import type_vars  # visitor sits beside this module and needs none of it

    return type_vars(kind)


@lru_cache(maxsize=4096)
def _code(text: str) -> int:
    return crc32(text.encode())
