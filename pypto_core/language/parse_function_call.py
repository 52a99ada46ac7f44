"""Calls of other kernels and task submissions: ``self.f(x)``, ``f(x)``, ``pl.submit(self.f, x, deps=[tid])``.

The callee's return types are written in its own extents and parameters; a call replaces these by what it passes.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from pypto_core.diagnostics import (
    InvalidOperationError,
    ParserTypeError,
    UndefinedVariableError,
    UnsupportedFeatureError,
)
from pypto_core.ir import (
    DEVICE,
    UNKNOWN,
    VOID,
    Call,
    ConstInt,
    DataType,
    Expr,
    Function,
    GlobalVar,
    Level,
    ScalarType,
    Submit,
    TensorType,
    TileType,
    TupleType,
    Type,
    Var,
    is_dependency,
    replace,
    scalar_type,
    substitute,
)
from pypto_core.language.context import Context, Dead
from pypto_core.language.environment import MISSING, Opaque, items_of
from pypto_core.language.errors import did_you_mean, type_text, value_text
from pypto_core.language.functions import Callee, Entry
from pypto_core.language.notes import notes
from pypto_core.language.parse_call import literal
from pypto_core.language.parse_expr import expression, integer, truth
from pypto_core.language.parse_words import absolute, not_finite
from pypto_core.language.template_calls import template_callee, without_no_dep
from pypto_core.language.templates import Template

_BUILTINS = {
    "range": "loops name their kind: for i in pl.range(n):",
    "print": "write pl.static_print(…) to print while the kernel is read",
    "len": "use the number itself, or x.shape",
    "min": "write pl.min(a, b)",
    "max": "write pl.max(a, b)",
    "sum": "write the sum out",
    "int": "convert with pl.cast(x, pl.INDEX)",
    "bool": "compare instead, e.g. x != 0",
    "round": "use pl.cast with a mode",
    "enumerate": "loops name their kind: for i in pl.range(n):",
    "zip": "loops name their kind: for i in pl.range(n):",
}


def other_call(ctx: Context, node: ast.Call) -> Any:
    """A call of something that is no word of ``pl``."""
    device, keywords = _device(ctx, node.keywords)
    callee = resolve(ctx, node.func, node.args, keywords)
    if callee is not None:
        args, overrides = arguments(ctx, callee, node.args, keywords, node)
        attrs_ = {**overrides, **device}
        for keyword in node.keywords:
            if keyword.arg == "attrs":
                attrs_.update(notes(ctx, keyword.value))
        kind = returned(ctx, callee, args, node)
        return Call(GlobalVar(callee.name), args, {}, attrs_, type=kind, span=ctx.span(node))
    func = node.func
    if type(func) is ast.Name:
        if func.id == "abs":
            return absolute(ctx, node)
        if func.id == "float":
            return not_finite(ctx, node)
        if func.id in _BUILTINS:
            raise ctx.fail(
                UnsupportedFeatureError,
                f"Python's {func.id}() is not part of the kernel language",
                node,
                _BUILTINS[func.id],
            )
        value = ctx.lookup(func)
        raise ctx.fail(
            InvalidOperationError,
            f"'{func.id}' is not a function: it is {value_text(value)}",
            node,
            "call an operation as pl.name(…), or a function of this program by its name",
        )
    if type(func) is ast.Attribute:
        raise _method(ctx, func)
    raise ctx.fail(
        UnsupportedFeatureError,
        "only operators and functions can be called",
        node,
        "call an operation as pl.name(…), or a function of this program by its name",
    )


def _device(ctx: Context, keywords: list[ast.keyword]) -> tuple[dict[str, Any], list[ast.keyword]]:
    """``device=r`` of a call in host code, as a note, and the keywords that are arguments."""
    if ctx.entry is None or ctx.entry.options.level is not Level.HOST:
        return {}, keywords
    given = next((k for k in keywords if k.arg == DEVICE), None)
    if given is None:
        return {}, keywords
    return {DEVICE: integer(ctx, given.value, DEVICE)}, [k for k in keywords if k.arg != DEVICE]


def _method(ctx: Context, func: ast.Attribute) -> Exception:
    base = func.value
    if type(base) is ast.Name and base.id not in ctx.names:
        value = ctx.env.get(base.id)
        if value is MISSING:
            return ctx.undefined(base)
        if isinstance(value, Opaque):
            return ctx.fail(
                UndefinedVariableError,
                f"'{base.id}' is {value.what}: a kernel can't call into it",
                func,
                "kernels are read, not executed: use operations of pl",
            )
    value = ctx.expr(base)
    return ctx.fail(
        InvalidOperationError,
        f"{value_text(value)} has no method '{func.attr}'",
        func,
        f"write pl.{func.attr}(x, …)",
    )


def resolve(
    ctx: Context, func: ast.expr, nodes: Sequence[ast.expr], keywords: Sequence[ast.keyword]
) -> Callee | None:
    """The kernel that a call with these arguments names, or None when it names none."""
    if type(func) is ast.Attribute:
        if type(func.value) is ast.Name and func.value.id == "self" and "self" not in ctx.names:
            return _sibling(ctx, func)
        return None
    if type(func) is not ast.Name:
        return None
    local = ctx.names.get(func.id)
    if local is not None and not isinstance(local, Dead):
        return None
    if ctx.module is not None and func.id in ctx.module.entries:
        return ctx.module.callee(ctx.module.entries[func.id], ctx, func)
    value = ctx.env.get(func.id)
    if isinstance(value, Function):
        return ctx.pull(value, func)
    if isinstance(value, Entry):
        return ctx.pull_entry(value, func)
    if isinstance(value, Template):
        return template_callee(ctx, value, nodes, [k for k in keywords if k.arg != "attrs"], func)
    return None


def _sibling(ctx: Context, func: ast.Attribute) -> Callee:
    module = ctx.module
    if module is None:
        return Callee(func.attr, None, None)
    entry = module.entries.get(func.attr)
    if entry is None:
        raise ctx.fail(
            UndefinedVariableError,
            f"the program has no function '{func.attr}'",
            func,
            did_you_mean(func.attr, module.entries, "functions: " + ", ".join(module.entries)),
        )
    return module.callee(entry, ctx, func)


def arguments(
    ctx: Context, callee: Callee, nodes: Sequence[ast.expr], keywords: Sequence[ast.keyword], node: ast.Call
) -> tuple[tuple[Expr, ...], dict[str, Any]]:
    """The arguments of a call in the order of the callee's parameters, and what is noted about their directions."""
    params = callee.params
    if callee.given is not None:
        return _given_arguments(ctx, callee)
    given: list[ast.expr] = list(nodes)
    by_name = {k.arg: k.value for k in keywords if k.arg != "attrs"}
    if params is None:
        if by_name:
            raise ctx.fail(
                ParserTypeError,
                f"arguments of '{callee.name}' can't be named here",
                node,
                "give them by position: the signature is not known here",
            )
    else:
        for param in params[len(given) :]:
            part = by_name.pop(param.name_hint, None)
            if part is None:
                break
            given.append(part)
        if by_name:
            raise _bad_keyword(ctx, callee, next(iter(by_name)), keywords)
        if len(given) != len(params):
            raise ctx.fail(
                ParserTypeError,
                f"'{callee.name}' takes {len(params)} arguments, not {len(given)}",
                node,
                "pass one argument per parameter",
                {"parameters": ", ".join(p.name_hint for p in params) or "none"},
            )
    inner = [without_no_dep(ctx, part) for part in given]
    args = tuple(
        _argument(ctx, callee, ctx.expr(part), part, None if params is None else params[i])
        for i, part in enumerate(inner)
    )
    return args, _no_dep_notes([part is not whole for part, whole in zip(inner, given, strict=True)])


def _no_dep_notes(loose: list[bool]) -> dict[str, Any]:
    places = tuple(i for i, is_loose in enumerate(loose) if is_loose)
    return {"arg_direction_overrides": places} if places else {}


def _given_arguments(ctx: Context, callee: Callee) -> tuple[tuple[Expr, ...], dict[str, Any]]:
    """The same for arguments that were read before their function was known."""
    given, params = callee.given or (), callee.params or ()
    args = tuple(
        _argument(ctx, callee, part.value, part.node, param)
        for part, param in zip(given, params, strict=True)
    )
    return args, _no_dep_notes([without_no_dep(ctx, part.node) is not part.node for part in given])


def _bad_keyword(
    ctx: Context, callee: Callee, name: str | None, keywords: Sequence[ast.keyword]
) -> Exception:
    at = next(k for k in keywords if k.arg == name)
    known = [p.name_hint for p in callee.params or ()]
    if name in known:
        return ctx.fail(
            ParserTypeError,
            f"parameter '{name}' of '{callee.name}' is given twice or out of order",
            at,
            "give each parameter once, those by name in the order of the signature",
        )
    return ctx.fail(
        ParserTypeError,
        f"'{callee.name}' has no parameter '{name}'",
        at,
        did_you_mean(str(name), known, "parameters: " + ", ".join(known)),
    )


def _argument(ctx: Context, callee: Callee, value: Any, node: ast.expr, param: Var | None) -> Expr:
    if param is None:
        return expression(ctx, value, node)
    want = param.type
    if isinstance(want, ScalarType) and isinstance(value, int | float):
        if want.dtype is DataType.BOOL or isinstance(value, bool):
            value = expression(ctx, value, node)
        else:
            return literal(ctx, value, want.dtype, node)
    value = expression(ctx, value, node)
    problem = _mismatch(want, value.type)
    if problem:
        raise ctx.fail(
            ParserTypeError,
            f"argument '{param.name_hint}' of '{callee.name}' has the wrong {problem}",
            node,
            f"pass a value of the parameter's type, or change the annotation of '{param.name_hint}'",
            {"parameter": type_text(want), "argument": type_text(value.type)},
        )
    return value


def _mismatch(want: Type, have: Type) -> str:
    if have is UNKNOWN:
        return ""
    if not isinstance(
        have, type(want)
    ):  # a distributed tensor is a tensor to those who use its own part alone
        return "type"
    if isinstance(want, ScalarType) and isinstance(have, ScalarType):
        same = want.dtype.is_float == have.dtype.is_float and want.dtype.is_int == have.dtype.is_int
        return "" if same else "element type"
    if isinstance(want, TensorType | TileType) and isinstance(have, TensorType | TileType):
        if want.dtype is not have.dtype:
            return "element type"
        if len(want.shape) != len(have.shape):
            return "rank"
        for a, b in zip(want.shape, have.shape, strict=True):
            if isinstance(a, ConstInt) and isinstance(b, ConstInt) and a.value != b.value:
                return "shape"
    return ""


def returned(ctx: Context, callee: Callee, args: tuple[Expr, ...], node: ast.AST) -> Type:
    """The type of a call: the callee's return types with its extents and parameters replaced by what is passed."""
    types = callee.return_types()
    if types is None:
        return UNKNOWN
    mapping: dict[Var, Expr] = {}
    for param, arg in zip(callee.params or (), args, strict=True):
        mapping[param] = arg
        kind, have = param.type, arg.type
        if isinstance(kind, TensorType | TileType) and isinstance(have, TensorType | TileType):
            for a, b in zip(kind.shape, have.shape, strict=True):
                if isinstance(a, Var) and a is not b:
                    mapping.setdefault(a, b)
    out: list[Type] = []
    for kind in types:
        if isinstance(kind, TensorType | TileType) and kind.memref is not None:
            kind = replace(kind, memref=None)
        out.append(substitute(kind, mapping))
    return VOID if not out else out[0] if len(out) == 1 else TupleType(tuple(out))


_SUBMIT_OPTIONS = ("deps", "core_num", "sync_start", "allow_early_resolve", "predicate", "attrs")


def submit(ctx: Context, node: ast.Call) -> Expr:
    """``r, tid = pl.submit(self.f, x, deps=[…])``."""
    if not node.args:
        raise ctx.fail(
            ParserTypeError, "pl.submit needs the function to run", node, "write pl.submit(self.f, x)"
        )
    options = {k.arg: k.value for k in node.keywords if k.arg in _SUBMIT_OPTIONS}
    rest = [k for k in node.keywords if k.arg not in _SUBMIT_OPTIONS]
    callee = resolve(ctx, node.args[0], node.args[1:], rest)
    if callee is None:
        raise ctx.fail(
            ParserTypeError,
            "pl.submit takes a function first",
            node.args[0],
            "write pl.submit(self.f, x), without calling it",
        )
    args, noted = arguments(ctx, callee, node.args[1:], rest, node)
    if "attrs" in options:
        noted = {**noted, **notes(ctx, options["attrs"])}
    kind = returned(ctx, callee, args, node)
    results = kind.types if isinstance(kind, TupleType) else () if kind is VOID else (kind,)
    return Submit(
        GlobalVar(callee.name),
        args,
        dependencies(ctx, options["deps"]) if "deps" in options else (),
        {},
        noted,
        integer(ctx, options["core_num"], "core_num") if "core_num" in options else None,
        _flag(ctx, options.get("sync_start"), "sync_start"),
        _flag(ctx, options.get("allow_early_resolve"), "allow_early_resolve"),
        truth(ctx, options["predicate"], "predicate") if "predicate" in options else None,
        type=TupleType((*results, scalar_type(DataType.TASK_ID))),
        span=ctx.span(node),
    )


def dependencies(ctx: Context, node: ast.expr) -> tuple[Expr, ...]:
    """The tasks that ``deps=`` lists: ids, and arrays of ids."""
    value = items_of(ctx.expr(node))
    wrong = [] if value is None else [v for v in value if not _may_be_awaited(v)]
    if value is None or wrong:
        raise ctx.fail(
            ParserTypeError,
            "deps must be a list of task ids" + (f", and {value_text(wrong[0])} is none" if wrong else ""),
            node,
            "write deps=[tid], where tid is what pl.submit gave or what a scope was bound to with 'as tid'",
        )
    return tuple(value)


def _may_be_awaited(value: Any) -> bool:
    return isinstance(value, Expr) and (value.type is UNKNOWN or is_dependency(value.type))


def _flag(ctx: Context, node: ast.expr | None, name: str) -> bool:
    if node is None:
        return False
    value = ctx.expr(node)
    if not isinstance(value, bool):
        raise ctx.fail(
            ParserTypeError,
            f"{name} must be True or False, not {value_text(value)}",
            node,
            f"write {name}=True, or leave it out",
        )
    return value
