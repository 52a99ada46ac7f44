"""Expressions: names, constants, operators.

A tree of literals and captured constants is evaluated as Python would; anything with a variable in it becomes an
expression of the IR. Literals are INDEX, FP32 or BOOL until something gives them another type.
"""

from __future__ import annotations

import ast
import enum
import operator
from collections.abc import Callable
from typing import Any

from pypto_core.diagnostics import (
    InvalidOperationError,
    ParserError,
    ParserSyntaxError,
    ParserTypeError,
    UnsupportedFeatureError,
)  # fmt: skip
from pypto_core.ir import (
    Add,
    And,
    BinaryExpr,
    BitAnd,
    BitNot,
    BitOr,
    BitShiftLeft,
    BitShiftRight,
    BitXor,
    ConstBool,
    ConstFloat,
    ConstInt,
    DataType,
    Eq,
    Expr,
    FloatDiv,
    FloorDiv,
    FloorMod,
    Function,
    Ge,
    Gt,
    Le,
    Lt,
    MakeTuple,
    Mul,
    Ne,
    Neg,
    Not,
    Or,
    Pow,
    ScalarType,
    Sub,
    TensorType,
    TileType,
    UnaryExpr,
    make_binary,
    make_unary,
)  # fmt: skip
from pypto_core.language import vocabulary
from pypto_core.language.annotations import MemRef as Declared
from pypto_core.language.comprehension import comprehension
from pypto_core.language.context import Context
from pypto_core.language.environment import Name, items_of
from pypto_core.language.errors import did_you_mean, type_text, value_text
from pypto_core.ops.registry import how_to_get

_op: Any = operator
BINARY: dict[type, tuple[type[BinaryExpr], Callable[[Any, Any], Any], str, str]] = {
    ast.Add: (Add, _op.add, "+", "add"),
    ast.Sub: (Sub, _op.sub, "-", "sub"),
    ast.Mult: (Mul, _op.mul, "*", "mul"),
    ast.Div: (FloatDiv, _op.truediv, "/", "div"),
    ast.FloorDiv: (FloorDiv, _op.floordiv, "//", "div"),
    ast.Mod: (FloorMod, _op.mod, "%", "rem"),
    ast.Pow: (Pow, _op.pow, "**", ""),
    ast.BitAnd: (BitAnd, _op.and_, "&", "and_"),
    ast.BitOr: (BitOr, _op.or_, "|", "or_"),
    ast.BitXor: (BitXor, _op.xor, "^", "xor"),
    ast.LShift: (BitShiftLeft, _op.lshift, "<<", "shl"),
    ast.RShift: (BitShiftRight, _op.rshift, ">>", "shr"),
}
COMPARE: dict[type, tuple[type[BinaryExpr], Callable[[Any, Any], Any]]] = {
    ast.Eq: (Eq, _op.eq),
    ast.NotEq: (Ne, _op.ne),
    ast.Lt: (Lt, _op.lt),
    ast.LtE: (Le, _op.le),
    ast.Gt: (Gt, _op.gt),
    ast.GtE: (Ge, _op.ge),
}
_DIVISIONS = (ast.Div, ast.FloorDiv, ast.Mod)
_MAX_BITS = 256


def constant(ctx: Context, node: ast.Constant) -> Any:
    """A literal."""
    value = node.value
    kind = type(value)
    if kind is int or kind is float or kind is str or kind is bool or value is None:
        return value
    raise ctx.fail(
        UnsupportedFeatureError,
        f"{value!r} is not part of the kernel language",
        node,
        "use numbers and strings",
    )


def attribute(ctx: Context, node: ast.Attribute) -> Any:
    """``pl.FP32``, ``pl.Mem.Vec``, ``x.shape``, ``x.dtype``."""
    path = ctx.path_of(node)
    if path is not None:
        known = ctx.session.paths.get(path)
        if known is None:
            known = ctx.session.paths[path] = _language_value(ctx, node, path)
        return known
    if type(node.value) is ast.Name and node.value.id == "self" and "self" not in ctx.names:
        raise ctx.fail(ParserTypeError, f"'self.{node.attr}' is a function, not a value", node, "call it")
    base = ctx.expr(node.value)
    if isinstance(base, type) and issubclass(base, enum.Enum):
        return _member(ctx, node, base)
    if isinstance(base, Expr) and isinstance(base.type, TensorType | TileType):
        if node.attr == "shape":
            return [d.value if isinstance(d, ConstInt) else d for d in base.type.shape]
        if node.attr == "dtype":
            return base.type.dtype
    if base is vocabulary.adir and node.attr in vocabulary.DIRECTIONS:
        return vocabulary.DIRECTIONS[node.attr]
    raise ctx.fail(
        UnsupportedFeatureError,
        f"{value_text(base)} has no attribute '{node.attr}'",
        node,
        "tensors and tiles have .shape and .dtype; assign other attributes to a constant above the kernel",
    )


def _language_value(ctx: Context, node: ast.Attribute, path: str) -> Any:
    first, _, rest = path.partition(".")
    if first == vocabulary.DISTRIBUTED:
        word, _, rest = rest.partition(".")
        first = f"{first}.{word}"
    value = vocabulary.CONSTANTS.get(first)
    if value is None:
        if first not in vocabulary.NAMES and first not in vocabulary.OP_NAMESPACES and not _is_op(ctx, path):
            raise unknown_word(ctx, node, path)
        return Name(path)
    if not rest:
        return value
    if value is vocabulary.adir and rest in vocabulary.DIRECTIONS:
        return vocabulary.DIRECTIONS[rest]
    if isinstance(value, type):
        return _member(ctx, node, value)
    raise unknown_word(ctx, node, path)


def _is_op(ctx: Context, path: str) -> bool:
    table = ctx.session.registry.table
    return (
        path in table
        or any(f"{space}.{path.rstrip('_')}" in table for space in vocabulary.OP_NAMESPACES)
        or ctx.session.find_op(path) is not None
    )


def _member(ctx: Context, node: ast.Attribute, owner: type[enum.Enum]) -> enum.Enum | int:
    member = owner.__members__.get(node.attr)
    if member is None:
        raise ctx.fail(
            InvalidOperationError,
            f"{owner.__name__} has no member '{node.attr}'",
            node,
            did_you_mean(node.attr, owner.__members__, "members: " + ", ".join(owner.__members__)),
        )
    return int(member) if isinstance(member, int) else member


def unknown_word(ctx: Context, node: ast.AST, path: str) -> ParserError:
    """The error for a name that ``pl`` does not have."""
    module, _, name = vocabulary.spelling(path).partition(".")
    known = [*vocabulary.NAMES, *ctx.session.registry.table]
    known += [op.name.partition(".")[2] for op in ctx.session.registry]
    return ctx.fail(
        InvalidOperationError,
        f"{module} has no '{name}'",
        node,
        how_to_get(path) or did_you_mean(path, known, "list the operators with: pypto ops"),
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def scalar(ctx: Context, value: Any, node: ast.expr, what: str = "this operand") -> Expr:
    """A value as a scalar expression; literals become INDEX, FP32 or BOOL constants."""
    if isinstance(value, Expr):
        if isinstance(value.type, ScalarType):
            return value
    elif type(value) is int:
        return ctx.session.index(value)
    elif isinstance(value, bool):
        return ConstBool(value, span=ctx.span(node))
    elif isinstance(value, int):
        return ctx.session.index(int(value))
    elif isinstance(value, float):
        return ConstFloat(value, span=ctx.span(node))
    raise ctx.fail(
        ParserTypeError,
        f"{what} must be a scalar, not {value_text(value)}",
        node,
        "use a number or a scalar variable; an element of a tile or tensor is read by pl.read(x, [i, j])",
    )


def expression(ctx: Context, value: Any, node: ast.expr) -> Expr:
    """A value as an expression of the IR; lists become tuples."""
    if isinstance(value, Expr):
        return value
    items = items_of(value)
    if items is not None:
        return MakeTuple(tuple(expression(ctx, item, node) for item in items), span=ctx.span(node))
    if isinstance(value, Name):
        raise ctx.fail(
            ParserTypeError,
            f"{vocabulary.spelling(value.path or '…')} is not a value",
            node,
            "call it, or use its result",
        )
    if isinstance(value, Declared):
        raise ctx.fail(
            ParserTypeError,
            "a declared allocation is not a value",
            node,
            "bind a tile to it in an annotation: t: pl.Tile[[64, 64], pl.FP32, buf, pl.Mem.Vec] = …",
        )
    if isinstance(value, Function):
        raise ctx.fail(ParserTypeError, f"'{value.name}' is a function, not a value", node, "call it")
    if isinstance(value, int | float):
        return scalar(ctx, value, node)
    raise ctx.fail(
        ParserTypeError,
        f"{value_text(value)} can't be the value of a variable",
        node,
        "assign a number, or the result of an operation of pl",
    )


def bin_op(ctx: Context, node: ast.BinOp) -> Any:
    """``a + b`` and its kin."""
    readers, left_node, right_node = ctx.readers, node.left, node.right
    left: Any = readers[type(left_node)](ctx, left_node)
    right: Any = readers[type(right_node)](ctx, right_node)
    row = BINARY.get(type(node.op))
    if row is None:
        raise ctx.fail(
            UnsupportedFeatureError, "'@' is not part of the kernel language", node, "write pl.matmul(a, b)"
        )
    cls, fold, symbol, wrapper = row
    left_is_node, right_is_node = isinstance(left, Expr), isinstance(right, Expr)
    if not left_is_node and not right_is_node and _is_number(left) and _is_number(right):
        if type(node.op) not in _DIVISIONS or right:
            return _folded(ctx, node, fold, left, right)
    if not (left_is_node and type(left.type) is ScalarType):
        left = _scalar_operand(ctx, left, left_node, symbol, wrapper)
    if not (right_is_node and type(right.type) is ScalarType):
        right = _scalar_operand(ctx, right, right_node, symbol, wrapper)
    return make_binary(cls, left, right, ctx.span(node))


def _folded(ctx: Context, node: ast.BinOp, fold: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    if _is_huge(type(node.op), left, right):
        raise _too_large(ctx, node)
    try:
        value = fold(left, right)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError) as error:
        raise ctx.fail(
            ParserTypeError,
            f"these constants can't be combined: {error.args[-1]}",
            node,
            "use numbers that this operator takes, or work the value out above the kernel",
        ) from None
    if isinstance(value, complex):
        raise ctx.fail(
            ParserTypeError, "the result of this constant expression is complex", node, "keep to real numbers"
        )
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        raise _too_large(ctx, node)
    return value


def _is_huge(op: type, left: Any, right: Any) -> bool:
    """Whether Python would work long on a power or shift of two integers."""
    if not (isinstance(left, int) and isinstance(right, int)):
        return False
    if op is ast.LShift:
        return left != 0 and right > _MAX_BITS
    return op is ast.Pow and abs(left) > 1 and abs(left).bit_length() * right > _MAX_BITS


def _too_large(ctx: Context, node: ast.BinOp) -> ParserError:
    return ctx.fail(
        ParserSyntaxError,
        "this constant is too large to evaluate",
        node,
        "constants have at most 64 bits when they are used: compute a smaller one",
    )


def _scalar_operand(ctx: Context, value: Any, node: ast.expr, symbol: str, wrapper: str) -> Expr:
    if isinstance(value, Expr) and isinstance(value.type, TensorType | TileType):
        raise ctx.fail(
            InvalidOperationError,
            f"'{symbol}' works on scalars, this is a {type_text(value.type)}",
            node,
            f"write pl.{wrapper}(a, b)" if wrapper else "use an operation of pl on tiles",
        )
    return scalar(ctx, value, node, f"an operand of '{symbol}'")


def unary_op(ctx: Context, node: ast.UnaryOp) -> Any:
    """``-a``, ``not a``, ``~a``."""
    value = ctx.expr(node.operand)
    kind = type(node.op)
    if kind is ast.Not:
        if isinstance(value, bool):
            return not value
        return _unary(ctx, Not, value, node, "not", "not_")
    if kind is ast.USub:
        if _is_number(value) and not isinstance(value, bool):
            return -value
        return _unary(ctx, Neg, value, node, "-", "neg")
    if kind is ast.Invert:
        if type(value) is int:
            return ~value
        return _unary(ctx, BitNot, value, node, "~", "not_")
    if _is_number(value):
        return +value
    return _scalar_operand(ctx, value, node.operand, "+", "")


def _unary(
    ctx: Context, cls: type[UnaryExpr], value: Any, node: ast.UnaryOp, symbol: str, wrapper: str
) -> Expr:
    if isinstance(value, Expr) and isinstance(value.type, TensorType | TileType):
        raise ctx.fail(
            InvalidOperationError,
            f"'{symbol}' works on scalars, this is a {type_text(value.type)}",
            node,
            f"write pl.{wrapper}(a)",
        )
    return make_unary(cls, scalar(ctx, value, node.operand, f"the operand of '{symbol}'"), ctx.span(node))


def bool_op(ctx: Context, node: ast.BoolOp) -> Any:
    """``a and b``, ``a or b``: both sides are evaluated."""
    cls = And if type(node.op) is ast.And else Or
    values = [ctx.expr(v) for v in node.values]
    if all(isinstance(v, bool) for v in values):
        return all(values) if cls is And else any(values)
    word = "and" if cls is And else "or"
    result = scalar(ctx, values[0], node.values[0], f"an operand of '{word}'")
    for value, part in zip(values[1:], node.values[1:], strict=True):
        result = make_binary(cls, result, scalar(ctx, value, part, f"an operand of '{word}'"), ctx.span(node))
    return result


def compare(ctx: Context, node: ast.Compare) -> Any:
    """``a < b`` and its kin."""
    if len(node.ops) != 1:
        raise ctx.fail(
            UnsupportedFeatureError,
            "chained comparisons are not part of the kernel language",
            node,
            "write a < b and b < c",
        )
    entry = COMPARE.get(type(node.ops[0]))
    if entry is None:
        raise ctx.fail(
            UnsupportedFeatureError,
            "'in' and 'is' are not part of the kernel language",
            node,
            "compare with ==, !=, <, <=, > or >=",
        )
    cls, fold = entry
    left, right = ctx.expr(node.left), ctx.expr(node.comparators[0])
    if not isinstance(left, Expr) and not isinstance(right, Expr):
        try:
            return bool(fold(left, right))
        except TypeError as error:
            raise ctx.fail(
                ParserTypeError,
                f"these constants can't be compared: {error}",
                node,
                "compare numbers with numbers and strings with strings",
            ) from None
    a = _scalar_operand(ctx, left, node.left, "==" if cls is Eq else "<", "cmp")
    b = _scalar_operand(ctx, right, node.comparators[0], "==" if cls is Eq else "<", "cmp")
    return make_binary(cls, a, b, ctx.span(node))


def sequence(ctx: Context, node: ast.List | ast.Tuple) -> list[Any]:
    """``[a, b]`` and ``(a, b)``."""
    return [ctx.expr(e) for e in node.elts]


def unsupported(what: str, remedy: str) -> Callable[[Context, ast.expr], Any]:
    """A reader that refuses a construct of Python."""

    def refuse(ctx: Context, node: ast.expr) -> Any:
        raise ctx.fail(UnsupportedFeatureError, f"{what} not part of the kernel language", node, remedy)

    return refuse


def truth(ctx: Context, node: ast.expr, what: str) -> Expr:
    """A condition: a scalar of type BOOL."""
    value = scalar(ctx, ctx.expr(node), node, what)
    if isinstance(value.type, ScalarType) and value.type.dtype is not DataType.BOOL:
        raise ctx.fail(
            ParserTypeError, f"{what} must be BOOL, not {value.type.dtype}", node, "compare it, e.g. x != 0"
        )
    return value


def integer(ctx: Context, node: ast.expr, what: str) -> Expr:
    """An integer scalar, such as a bound or an index."""
    value = ctx.expr(node)
    if type(value) is int:
        return ctx.session.index(value)
    found = scalar(ctx, value, node, what)
    if isinstance(found.type, ScalarType) and not found.type.dtype.is_int:
        raise ctx.fail(
            ParserTypeError,
            f"{what} must be an integer, not {found.type.dtype}",
            node,
            "convert it: pl.cast(x, pl.INDEX)",
        )
    return found


EXPRESSIONS: dict[type, Any] = {
    ast.Constant: constant,
    ast.Name: Context.lookup,
    ast.Attribute: attribute,
    ast.BinOp: bin_op,
    ast.UnaryOp: unary_op,
    ast.BoolOp: bool_op,
    ast.Compare: compare,
    ast.List: sequence,
    ast.Tuple: sequence,
    ast.IfExp: unsupported(
        "conditional expressions are", "write an if statement whose branches assign the value"
    ),
    ast.Lambda: unsupported("lambdas are", "define a function beside this one and call it"),
    ast.JoinedStr: unsupported("f-strings are", "write a plain string; pl.static_print takes several values"),
    ast.FormattedValue: unsupported(
        "f-strings are", "write a plain string; pl.static_print takes several values"
    ),
    ast.Starred: unsupported("starred expressions are", "write the elements out"),
    ast.Dict: unsupported("dictionaries are", "dictionaries only stand behind attrs="),
    ast.Set: unsupported("sets are", "write a list"),
    ast.ListComp: comprehension,
    ast.SetComp: unsupported("comprehensions are", "write the elements out"),
    ast.DictComp: unsupported("comprehensions are", "write the elements out"),
    ast.GeneratorExp: unsupported("comprehensions are", "write the elements out"),
    ast.NamedExpr: unsupported("assignment expressions are", "assign in a statement of its own"),
    ast.Await: unsupported("await is", "call the function without it"),
    ast.Yield: unsupported("yield is", "write pl.yield_(…)"),
    ast.YieldFrom: unsupported("yield from is", "write pl.yield_(…)"),
    ast.Slice: unsupported("a slice outside of a subscript is", "write it in brackets: x[a:b]"),
}
