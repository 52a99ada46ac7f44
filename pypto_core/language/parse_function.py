"""Functions: signature first, so that callers know it, then the body."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any

from pypto_core.diagnostics import (
    DiagnosticError,
    ParserSyntaxError,
    ParserTypeError,
    UnsupportedFeatureError,
)
from pypto_core.ir import (
    EMPTY,
    SPLIT,
    ConstInt,
    Function,
    ParamDirection,
    ScalarType,
    SplitMode,
    Stmt,
    TensorType,
    TileType,
    Type,
    Var,
    placed_like,
    type_vars,
    types_equal,
)
from pypto_core.language.block import block, sequence
from pypto_core.language.comments import NO_COMMENTS, comments_above, comments_of
from pypto_core.language.context import Context, Session
from pypto_core.language.environment import MISSING
from pypto_core.language.errors import type_text
from pypto_core.language.functions import Entry, Module
from pypto_core.language.notes import notes
from pypto_core.language.parse_call import call
from pypto_core.language.parse_expr import EXPRESSIONS
from pypto_core.language.parse_function_call import other_call, submit
from pypto_core.language.parse_stmt_assign import ASSIGNMENTS
from pypto_core.language.parse_stmt_if import BRANCHES
from pypto_core.language.parse_stmt_loop import LOOPS
from pypto_core.language.parse_stmt_other import SIMPLE
from pypto_core.language.parse_stmt_scope import WITH
from pypto_core.language.parse_types import Spec, annotation, complete
from pypto_core.language.parse_words import WORDS
from pypto_core.language.slicing import subscript

_EXPRESSIONS = {**EXPRESSIONS, ast.Call: call, ast.Subscript: subscript}
_STATEMENTS = {**ASSIGNMENTS, **BRANCHES, **LOOPS, **SIMPLE, **WITH}
_WORDS = {**WORDS, "": other_call, "submit": submit, "spmd_submit": submit}
_DIRECTIONS = {"Out": ParamDirection.Out, "InOut": ParamDirection.InOut}


def new_session() -> Session:
    """The state of one parse."""
    return Session(_EXPRESSIONS, _STATEMENTS, _WORDS, read_signature, read_body)


def open_entry(entry: Entry, module: Module | None, auto_dims: bool) -> None:
    """Make the context in which a function is read."""
    ctx = Context(entry.source, entry.env, entry.session, entry)
    ctx.module = module
    ctx.func_type = entry.options.type
    if auto_dims:
        ctx.auto_dims = set()
    entry.context = ctx


def read_signature(entry: Entry, module: Module | None = None, auto_dims: bool = False) -> None:
    """Read parameters and, where it can be told already, the return annotation."""
    if entry.context is None:
        open_entry(entry, module, auto_dims)
    ctx = entry.context
    assert ctx is not None
    entry.signed = True
    try:
        (entry.read_params or _signature)(entry, ctx)
    except DiagnosticError as error:
        raise error.located(ctx.span(entry.node)) from None


def _signature(entry: Entry, ctx: Context) -> None:
    node = entry.node
    args = _plain_arguments(ctx, node.args, entry.in_class)
    found: dict[str, tuple[Var, ParamDirection]] = {}
    # Scalars first: shapes of tensors may be written with parameters that follow.
    rest: list[tuple[ast.arg, ParamDirection, ast.expr]] = []
    for arg in args:
        if arg.arg in found or any(a.arg == arg.arg for a, _, _ in rest):
            raise ctx.fail(
                ParserSyntaxError, f"two parameters are called '{arg.arg}'", arg, "rename one of them"
            )
        direction, inner = _direction(ctx, arg)
        if type(inner) is ast.Subscript and ctx.path_of(inner.value) == "Scalar":
            found[arg.arg] = _param(ctx, arg, direction, inner)
        else:
            rest.append((arg, direction, inner))
    for arg, direction, inner in rest:
        found[arg.arg] = _param(ctx, arg, direction, inner)
    rows = [found[arg.arg] for arg in args]
    entry.params = tuple(var for var, _ in rows)
    entry.directions = tuple(direction for _, direction in rows)
    if node.returns is not None and not _names_locals(ctx, node.returns, node):
        entry.return_types = _return_types(ctx, node.returns)


def _plain_arguments(ctx: Context, args: ast.arguments, in_class: bool) -> list[ast.arg]:
    extra = args.vararg or args.kwarg
    if extra is not None:
        raise ctx.fail(
            UnsupportedFeatureError, "a kernel has a fixed number of parameters", extra, "name each parameter"
        )
    if args.defaults or any(d is not None for d in args.kw_defaults):
        first = next(d for d in (*args.defaults, *args.kw_defaults) if d is not None)
        raise ctx.fail(
            UnsupportedFeatureError, "parameters of kernels have no defaults", first, "pass every argument"
        )
    found = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    if found and found[0].arg == "self" and found[0].annotation is None:
        found = found[1:]
    return found


def _direction(ctx: Context, arg: ast.arg) -> tuple[ParamDirection, ast.expr]:
    note = arg.annotation
    if note is None:
        raise ctx.fail(
            ParserTypeError,
            f"parameter '{arg.arg}' needs a type",
            arg,
            f"write {arg.arg}: pl.Tensor[[64, 64], pl.FP32], or pl.Scalar[pl.INDEX]",
        )
    if type(note) is ast.Subscript:
        direction = _DIRECTIONS.get(ctx.path_of(note.value) or "")
        if direction is not None:
            return direction, note.slice
    return ParamDirection.In, note


def _param(
    ctx: Context, arg: ast.arg, direction: ParamDirection, inner: ast.expr
) -> tuple[Var, ParamDirection]:
    spec = annotation(ctx, inner, local=False)
    if spec.memref is not None and spec.memref.is_pinned and spec.memref.size == 0:
        raise ctx.fail(
            ParserTypeError,
            "a parameter can't be bound to a declared allocation",
            inner,
            "bind a tile of the body to it",
        )
    try:
        kind = complete(spec)
    except DiagnosticError as error:
        raise error.located(ctx.span(inner)) from None
    var = Var(arg.arg, kind, span=ctx.span(arg))
    ctx.names[arg.arg] = var
    return var, direction


def _return_types(ctx: Context, node: ast.expr) -> tuple[Type, ...]:
    if type(node) is ast.Constant and node.value is None:
        return ()
    if type(node) is ast.Subscript and type(node.value) is ast.Name and node.value.id == "tuple":
        parts = node.slice.elts if type(node.slice) is ast.Tuple else [node.slice]
        return tuple(complete(_returned(ctx, part)) for part in parts)
    return (complete(_returned(ctx, node)),)


def _names_locals(ctx: Context, note: ast.expr, node: ast.FunctionDef) -> bool:
    """Whether a return annotation mentions a variable of the body, so that it can only be read after it."""
    unknown = {
        n.id
        for n in ast.walk(note)
        if isinstance(n, ast.Name) and n.id not in ctx.names and ctx.env.get(n.id) is MISSING
    }
    return bool(unknown) and any(
        isinstance(n, ast.Name) and type(n.ctx) is ast.Store and n.id in unknown for n in ast.walk(node)
    )


def _returned(ctx: Context, node: ast.expr) -> Spec:
    return annotation(ctx, node)


def read_body(entry: Entry) -> None:
    """Read the body and make the function."""
    if not entry.signed:
        read_signature(entry)
    ctx = entry.context
    assert ctx is not None
    entry.busy = True
    try:
        _body(entry, ctx)
    except DiagnosticError as error:
        raise error.located(ctx.span(entry.node)) from None
    finally:
        entry.busy = False
    # The two hold each other; what is left of the text should go as soon as the program is there.
    entry.context = None


def _body(entry: Entry, ctx: Context) -> None:
    node = entry.node
    lines = entry.source.lines
    top = node.decorator_list[0].lineno if node.decorator_list else node.lineno
    ctx.comments = comments_of(lines, node)
    ctx.fresh = {p.name_hint for p in entry.params} if entry.options.strict_ssa else None
    attrs, rest = _function_notes(ctx, node.body, entry)
    external = entry.options.requires_runtime_binding
    if len(rest) == 1 and _is_ellipsis(rest[0]):
        external, rest = True, []
    stmts = block(ctx, rest) if rest else []
    if ctx.yielded is not None:
        raise ctx.fail(
            ParserSyntaxError,
            "pl.yield_ stands in no loop or branch",
            ctx.yielded.node,
            "remove it, or return the values",
        )
    stmts = _left_over(ctx, stmts)
    ctx.comments = NO_COMMENTS
    if entry.return_types is None:
        entry.return_types = (
            _return_types(ctx, node.returns) if node.returns is not None else _inferred(ctx, ctx.returns)
        )
    _check_returns(entry, ctx, external)
    entry.return_types = _completed(entry.return_types, ctx.returns, entry.params)
    options = entry.options
    entry.function = Function(
        entry.name,
        entry.params,
        entry.return_types,
        sequence(ctx, stmts, node) if stmts else EMPTY,
        entry.directions,
        options.type,
        options.level,
        options.role,
        attrs,
        external,
        options.stage,
        leading_comments=comments_above(lines, top),
        span=ctx.span(node),
    )


def _is_ellipsis(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and node.value.value is ...


def _left_over(ctx: Context, stmts: list[Stmt]) -> list[Stmt]:
    """Give comments that no statement follows to the last statement."""
    texts = (*ctx.pending_comments, *ctx.comments.take(1 << 62))
    if texts and stmts:
        from pypto_core.ir import replace

        last = stmts[-1]
        stmts = [*stmts[:-1], replace(last, leading_comments=(*last.leading_comments, *texts))]
    return stmts


def _function_notes(
    ctx: Context, body: list[ast.stmt], entry: Entry
) -> tuple[dict[str, Any], list[ast.stmt]]:
    """The function's notes, from the decorator and from ``pl.func_attr``, and the rest of its body."""
    attrs = dict(entry.options.attrs)
    at = 0
    for node in body:
        value = node.value if isinstance(node, ast.Expr) else None
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            at += 1
            continue
        if not (isinstance(value, ast.Call) and ctx.path_of(value.func) == "func_attr"):
            break
        if len(value.args) != 1 or value.keywords:
            raise ctx.fail(
                ParserTypeError,
                "pl.func_attr takes one dictionary",
                value,
                'write pl.func_attr({"key": value})',
            )
        for key, found in notes(ctx, value.args[0]).items():
            if key in attrs:
                raise ctx.fail(
                    ParserTypeError,
                    f"the attribute '{key}' is given twice",
                    value,
                    "give it in the decorator or in pl.func_attr",
                )
            if key == SPLIT and not isinstance(found, SplitMode):
                raise ctx.fail(
                    ParserTypeError,
                    "'split' must be a member of pl.SplitMode",
                    value,
                    "write pl.SplitMode.UP_DOWN",
                )
            attrs[key] = found
        at += 1
    return attrs, body[at:]


def _inferred(ctx: Context, returns: Iterable[tuple[Any, Any]]) -> tuple[Type, ...]:
    found = [tuple(v.type for v in values) for values, _ in returns]
    return found[0] if found else ()


def _completed(
    types: tuple[Type, ...], returns: Sequence[tuple[Any, Any]], params: tuple[Var, ...]
) -> tuple[Type, ...]:
    """The declared types with what those of tiles leave out, the memory and the view, taken from what is returned."""
    rows = [[value.type for value in values] for values, _ in returns]
    known = {
        *params,
        *(v for p in params for v in type_vars(p.type)),
        *(v for t in types for v in type_vars(t)),
    }
    return tuple(_filled(kind, [row[i] for row in rows], known) for i, kind in enumerate(types))


def _filled(kind: Type, returned: list[Type], known: set[Var]) -> Type:
    if not isinstance(kind, TileType) or not returned or not all(isinstance(r, TileType) for r in returned):
        return kind
    if any(not types_equal(r, returned[0]) for r in returned[1:]):
        return kind
    other = returned[0]
    assert isinstance(other, TileType)
    apart = kind.memory_space is not None and kind.memory_space is not other.memory_space
    if apart or kind.tile_view is not None or not known.issuperset(type_vars(other)):
        return placed_like(kind, other)
    return TileType(kind.shape, kind.dtype, kind.memref, other.tile_view, other.memory_space)


def _check_returns(entry: Entry, ctx: Context, external: bool) -> None:
    want = entry.return_types or ()
    if want and not ctx.returns and not external:
        raise ctx.fail(
            ParserTypeError,
            f"'{entry.name}' says that it returns something and has no return",
            entry.node.returns,
            "return a value, or remove the return annotation",
            {"annotation": ", ".join(type_text(t) for t in want)},
        )
    for values, span in ctx.returns:
        if len(values) != len(want):
            raise ParserTypeError(
                f"{len(values)} returned values here, {len(want)} elsewhere",
                span=span,
                remedy="return the same number of values everywhere",
            )
        for value, kind in zip(values, want, strict=True):
            if not _agrees(value.type, kind):
                raise ParserTypeError(
                    "the returned value is not of the annotated type",
                    span=span,
                    facts={"annotation": type_text(kind), "value": type_text(value.type)},
                    remedy="correct the return annotation, or return another value",
                )


def _agrees(have: Type, want: Type) -> bool:
    if isinstance(want, TensorType | TileType) and isinstance(have, TensorType | TileType):
        if (
            not isinstance(have, type(want))
            or want.dtype is not have.dtype
            or len(want.shape) != len(have.shape)
        ):
            return False
        pairs = zip(want.shape, have.shape, strict=True)
        return not any(
            isinstance(a, ConstInt) and isinstance(b, ConstInt) and a.value != b.value for a, b in pairs
        )
    if isinstance(want, ScalarType) and isinstance(have, ScalarType):
        return want.dtype.is_float == have.dtype.is_float and want.dtype.is_int == have.dtype.is_int
    return True
