"""What the kernel's classes learn when ``pypto`` is imported: PyPTO's spellings of attributes, and operators.

Each row adds a name that the class did not have. The rows that replace one leave its value as it was for the kernel:
``Span.is_valid`` and the class of an element type can be called too, lists of nodes equal lists, and functions of a
program are found by references too (:mod:`pypto.views`). So does comparing
expressions with ``==``, see :data:`pypto.arithmetic.OPERATORS`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import attrs

from pypto import arithmetic
from pypto.views import FieldView, functions, items
from pypto_core.diagnostics import DiagnosticError, InternalError, Span, UserError
from pypto_core.ir import (
    ARG_DIRECTIONS,
    MEMREF,
    PTR,
    SPLIT,
    UNKNOWN,
    VOID,
    ArrayType,
    AtomicType,
    Call,
    CastMode,
    ClusterScopeStmt,
    CommDomainScopeStmt,
    ConstBool,
    CoreType,
    DataType,
    Expr,
    ForStmt,
    Function,
    GlobalVar,
    HierarchyScopeStmt,
    IfStmt,
    InCoreScopeStmt,
    IterArg,
    MemRef,
    Node,
    Op,
    PipeType,
    Program,
    ReturnStmt,
    RuntimeScopeStmt,
    ScopeKind,
    ScopeStmt,
    SeqStmts,
    SplitAivScopeStmt,
    SpmdScopeStmt,
    Stmt,
    Submit,
    TensorType,
    TileType,
    TileView,
    Type,
    WhileStmt,
    YieldStmt,
    replace,
    structural_equal,
    structural_hash,
    types_equal,
)


class Truth(int):
    """True or False that can be called as well: ``dtype.is_float`` and ``dtype.is_float()``."""

    def __call__(self) -> bool:
        """The truth value."""
        return bool(self)

    def __repr__(self) -> str:
        return repr(bool(self))

    __str__ = __repr__


TRUE, FALSE = Truth(1), Truth(0)


@attrs.frozen
class Spelling:
    """One name that a class learns. ``replaces``: the class has it already, with the same truth value."""

    owner: type
    name: str
    value: Any = attrs.field(repr=False)
    replaces: bool = False


def teach(spellings: Iterable[Spelling]) -> None:
    """Add the names; raises InternalError for one that a class has already, unless the row says so."""
    for spelling in spellings:
        known = vars(spelling.owner).get(spelling.name)
        if known is spelling.value:
            continue
        if known is not None and not spelling.replaces:
            raise InternalError(
                f"{spelling.owner.__name__}.{spelling.name} exists already",
                remedy="report it: pypto-compat and pypto-core don't fit each other",
            )
        setattr(spelling.owner, spelling.name, spelling.value)


def _python(node: Any, prefix: str = "pl", concise: bool = False, format: bool = True,
            explicit_layout: bool = False) -> str:  # fmt: skip
    """The source text; ``format`` is accepted and changes nothing, as the text is formatted in any case."""
    from pypto.ir.text import python_print  # the printer is loaded when something is printed

    return python_print(node, prefix, concise, format, explicit_layout)


def _concise(node: Any) -> str:
    return _python(node, concise=True)


def _same_as(node: Any, other: object) -> bool:
    return node is other


def _list_of(field: str) -> property:
    return property(lambda node: list(getattr(node, field)))


def _renamed(field: str) -> property:
    return property(operator.attrgetter(field))


_SCOPE_KINDS: Mapping[type, ScopeKind] = MappingProxyType(
    {
        InCoreScopeStmt: ScopeKind.InCore,
        ClusterScopeStmt: ScopeKind.Cluster,
        HierarchyScopeStmt: ScopeKind.Hierarchy,
        SpmdScopeStmt: ScopeKind.Spmd,
        RuntimeScopeStmt: ScopeKind.Runtime,
        CommDomainScopeStmt: ScopeKind.CommDomain,
        SplitAivScopeStmt: ScopeKind.SplitAiv,
    }
)


def _slot(ref: MemRef, index: Any) -> MemRef:
    """One slot of a declared allocation; ValueError for a place that was given already."""
    if not ref.is_pinned:
        raise UserError(
            "only a declared allocation takes a slot by subscript",
            code="PT001",
            remedy='declare it by its name alone: ir.MemRef("name", slots=2)',
        )
    return replace(ref, slot_index=arithmetic.index(index))


def _text(span: Span) -> str:
    """``file:line:column``."""
    return str(span)


def _statement(node: SeqStmts, index: int) -> Any:
    """One of the statements."""
    return node.stmts[index]


def _option_names(op: Op) -> list[str]:
    from pypto_core.ops import find_op  # the tables are loaded when the first operator is needed

    found = find_op(op.name)
    return [] if found is None else [param.name for param in found.options]


def _has_option(op: Op, name: str) -> bool:
    return name in _option_names(op)


def _global_var(program: Program, name: str) -> GlobalVar | None:
    return GlobalVar(name) if name in program.functions else None


def _directions(call: Any) -> list[Any]:
    return list(call.attrs.get(ARG_DIRECTIONS, ()))


def _effective_view(tile: TileType) -> TileView:
    """The view with nothing left out: the layout of the space, and the valid extents."""
    return replace(tile.view, valid_shape=tile.valid_shape)


def _shares_memref(kind: TensorType | TileType, other: TensorType | TileType) -> bool:
    """Whether both types lie in the same bytes of one allocation."""
    mine, theirs = kind.memref, other.memref
    return mine is not None and theirs is not None and structural_equal(mine, theirs)


def _type_eq(kind: Type, other: object) -> Any:
    return types_equal(kind, other) if isinstance(other, Type) else NotImplemented


def _type_hash(kind: Type) -> int:
    return structural_hash(kind)


def _singleton(value: Type) -> staticmethod[[], Type]:
    return staticmethod(lambda: value)


_C_TYPES: Mapping[str, str] = MappingProxyType(
    {
        "BOOL": "bool", "INT8": "int8_t", "INT16": "int16_t", "INT32": "int32_t", "INT64": "int64_t",
        "INDEX": "int64_t", "UINT8": "uint8_t", "UINT16": "uint16_t", "UINT32": "uint32_t", "UINT64": "uint64_t",
        "FP16": "half", "FP32": "float", "FP64": "double", "BF16": "bfloat16_t",
    }
)  # fmt: skip


def _c_type(dtype: DataType) -> str:
    """The C type of an element; ``unknown`` for those that C has no name for."""
    return _C_TYPES.get(dtype.name, "unknown")


def _dtype_spellings() -> Iterable[Spelling]:
    methods: dict[str, Callable[[DataType], Any]] = {
        "code": lambda dtype: dtype.value,
        "get_bit": lambda dtype: dtype.bits,
        "get_byte": lambda dtype: dtype.element_bytes,
        "is_signed_int": lambda dtype: bool(dtype.is_signed),
        "is_unsigned_int": lambda dtype: bool(dtype.is_int and not dtype.is_signed),
        "to_string": lambda dtype: dtype.text,
        "to_c_type_string": _c_type,
    }
    for name, method in methods.items():
        yield Spelling(DataType, name, method)
    yield Spelling(DataType, "DEFAULT_CONST_INT", DataType.INT64)
    yield Spelling(DataType, "DEFAULT_CONST_FLOAT", DataType.FP32)


def _teach_dtype_classes() -> None:
    # The kernel keeps these on the members, as plain booleans.
    for dtype in DataType:
        for name in ("is_float", "is_int"):
            setattr(dtype, name, TRUE if getattr(dtype, name) else FALSE)


def _span_spellings() -> Iterable[Spelling]:
    valid = vars(Span)["is_valid"].fget

    def is_valid(span: Span) -> Truth:
        """Whether the span names a file and a line."""
        return TRUE if valid(span) else FALSE

    yield Spelling(Span, "is_valid", property(is_valid), replaces=True)
    yield Spelling(Span, "to_string", _text)


def _type_spellings() -> Iterable[Spelling]:
    yield Spelling(Type, "__str__", _concise)
    yield Spelling(Type, "as_python", _python)
    yield Spelling(Type, "__eq__", _type_eq)
    yield Spelling(Type, "__hash__", _type_hash)
    yield Spelling(TileType, "get_effective_tile_view", _effective_view)
    yield Spelling(TileType, "shares_memref_with", _shares_memref)
    yield Spelling(TensorType, "shares_memref_with", _shares_memref)
    yield Spelling(ArrayType, "shape", property(lambda kind: (arithmetic.index(kind.extent),)))
    for value in (PTR, MEMREF, UNKNOWN, VOID):
        yield Spelling(type(value), "get", _singleton(value))


def _node_spellings() -> Iterable[Spelling]:
    yield Spelling(Node, "__str__", _concise)
    yield Spelling(Node, "as_python", _python)
    yield Spelling(Node, "same_as", _same_as)
    yield Spelling(IterArg, "initValue", _renamed("init_value"))
    for field in ("base", "byte_offset", "size", "is_pinned", "slot_count", "slot_index"):
        yield Spelling(MemRef, f"{field}_", _renamed(field))
    yield Spelling(MemRef, "__getitem__", _slot)
    yield Spelling(MemRef, "name_hint", _renamed("name"))
    yield Spelling(ConstBool, "dtype", DataType.BOOL)
    yield Spelling(YieldStmt, "value", _list_of("values"))
    yield Spelling(ReturnStmt, "value", _list_of("values"))
    yield Spelling(SeqStmts, "__getitem__", _statement)
    yield Spelling(Call, "arg_directions", property(_directions))
    yield Spelling(Submit, "arg_directions", property(_directions))
    yield Spelling(Op, "get_attr_keys", _option_names)
    yield Spelling(Op, "has_attr", _has_option)
    yield Spelling(Function, "split", property(lambda node: node.attrs.get(SPLIT)))
    yield Spelling(Program, "get_global_var", _global_var)
    yield Spelling(ScopeStmt, "scope_kind", property(lambda node: _SCOPE_KINDS[type(node)]))
    for name, function in arithmetic.OPERATORS.items():
        yield Spelling(Expr, name, function)
    for owner, truth in arithmetic.TRUTHS.items():
        yield Spelling(owner, "__bool__", truth)


def _view_spellings() -> Iterable[Spelling]:
    lists: Mapping[type, Iterable[str]] = {
        ForStmt: ("iter_args", "return_vars"),
        WhileStmt: ("iter_args", "return_vars"),
        IfStmt: ("return_vars",),
        Function: ("params", "param_directions", "return_types"),
        Stmt: ("leading_comments",),
    }
    for owner, names in lists.items():
        for name in names:
            yield Spelling(owner, name, FieldView(vars(owner)[name], items), replaces=True)
    yield Spelling(Program, "functions", FieldView(vars(Program)["functions"], functions), replaces=True)


def _error_spellings() -> Iterable[Spelling]:
    yield Spelling(DiagnosticError, "hint", property(_remedy))
    yield Spelling(DiagnosticError, "source_lines", property(_source_lines))


def _remedy(error: DiagnosticError) -> str:
    """The way out."""
    return error.diagnostics[0].remedy


def _source_lines(error: DiagnosticError) -> list[str]:
    """The text that the place is in; without one, the line alone where it can be had."""
    span = error.span
    if span.source is not None:
        return list(span.source.lines)
    text = span.line_text()
    return [] if text is None else [text]


def _number(member: Any) -> int:
    return member.value


def _equals_number(member: Any, other: object) -> Any:
    if member is other:
        return True
    return member.value == other if type(other) is int else NotImplemented


def _enum_spellings() -> Iterable[Spelling]:
    for owner in (AtomicType, CastMode, CoreType, PipeType):
        yield Spelling(owner, "__int__", _number)
        yield Spelling(owner, "__index__", _number)
        yield Spelling(owner, "__eq__", _equals_number)


_GROUPS = (
    _span_spellings,
    _dtype_spellings,
    _type_spellings,
    _node_spellings,
    _view_spellings,
    _error_spellings,
    _enum_spellings,
)


def teach_all() -> None:
    """Teach all of them; nothing happens when they were taught before."""
    if "same_as" in vars(Node):
        return
    for group in _GROUPS:
        teach(group())
    _teach_dtype_classes()
