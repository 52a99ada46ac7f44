"""Programs: the functions of a class, or of a module's text, and the options in their decorators."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from attrs import evolve

from pypto_core.diagnostics import (
    DiagnosticError,
    ParserSyntaxError,
    ParserTypeError,
    UnsupportedFeatureError,
)
from pypto_core.ir import (
    AUTO_SCOPE,
    EXTERNAL_SOURCE,
    ConstFloat,
    ConstInt,
    Expr,
    FloatDiv,
    FloorDiv,
    FloorMod,
    FunctionIRStage,
    FunctionType,
    Level,
    Program,
    Role,
    walk,
)
from pypto_core.language.annotations import Dim, MemRef
from pypto_core.language.comments import comments_above
from pypto_core.language.context import Context, Session
from pypto_core.language.environment import Environment, Opaque, items_of
from pypto_core.language.errors import did_you_mean, value_text
from pypto_core.language.functions import Entry, Module, Options, gathered
from pypto_core.language.notes import notes
from pypto_core.language.parse_function import read_signature
from pypto_core.language.source import Source
from pypto_core.language.templates import JIT_KINDS

_MEMBERS: dict[str, type] = {"type": FunctionType, "level": Level, "role": Role, "stage": FunctionIRStage}
_FLAGS = ("strict_ssa", "requires_runtime_binding")
_KNOWN = (*_MEMBERS, *_FLAGS, "attrs", "auto_scope", "external_source")
_KNOWN_JIT = ("attrs", "auto_scope", "config")


def reading_context(source: Source, env: Environment, session: Session) -> Context:
    """A context for expressions outside of functions: decorators and constants."""
    return Context(source, env, session)


def decorator_options(ctx: Context, node: ast.expr) -> Options:
    """The options of ``@pl.function(…)`` or ``@pl.inline`` as written."""
    path = decorator_path(ctx, node)
    jit = JIT_KINDS.get(path)
    fixed: dict[str, Any] = {} if jit is None else {"type": jit.type, "level": jit.level, "role": jit.role}
    if path == "inline":
        fixed["type"] = FunctionType.Inline
    known = _KNOWN if jit is None else _KNOWN_JIT
    if not isinstance(node, ast.Call):
        return Options(**fixed)
    if node.args:
        raise ctx.fail(
            ParserTypeError,
            f"pl.{path} takes named arguments",
            node.args[0],
            "arguments: " + ", ".join(known),
        )
    attrs: dict[str, Any] = {}
    for keyword in node.keywords:
        key = str(keyword.arg)
        if key not in known:
            raise ctx.fail(
                ParserTypeError,
                f"pl.{path} has no argument '{key}'",
                keyword,
                did_you_mean(key, known, "arguments: " + ", ".join(known)),
            )
        if key == "config":  # settings of calls, which a text makes none of
            continue
        if key == "attrs":
            attrs.update(notes(ctx, keyword.value))
            continue
        value = ctx.expr(keyword.value)
        if key in _MEMBERS:
            if not isinstance(value, _MEMBERS[key]) and not (value is None and key != "type"):
                raise ctx.fail(
                    ParserTypeError,
                    f"{key} must be a {_MEMBERS[key].__name__}, not {value_text(value)}",
                    keyword.value,
                    f"write {key}=pl.{_MEMBERS[key].__name__}. and one of its members",
                )
            fixed[key] = value
        elif key in _FLAGS:
            fixed[key] = bool(value)
        else:
            attrs[AUTO_SCOPE if key == "auto_scope" else EXTERNAL_SOURCE] = value
    return Options(attrs=attrs, **fixed)


def decorator_path(ctx: Context, node: ast.expr) -> str:
    """What stands behind ``pl.`` in a decorator; empty for one of somebody else."""
    return ctx.path_of(node.func if isinstance(node, ast.Call) else node) or ""


def kernel_decorator(ctx: Context, node: ast.FunctionDef | ast.ClassDef) -> ast.expr | None:
    """The decorator of ``pl`` on a definition, or None; other decorators are refused beside it."""
    found = None
    for item in node.decorator_list:
        path = decorator_path(ctx, item)
        if path in ("function", "inline", "program") or path in JIT_KINDS:
            found = item
        elif path.startswith("jit."):
            raise ctx.fail(
                UnsupportedFeatureError,
                f"there is no @pl.{path}",
                item,
                "decorators: pl." + ", pl.".join(JIT_KINDS),
            )
    if found is not None and len(node.decorator_list) > 1:
        other = next(d for d in node.decorator_list if d is not found)
        raise ctx.fail(ParserSyntaxError, "a kernel has one decorator", other, "remove the other decorators")
    return found


OptionsOf = Callable[[Context, ast.FunctionDef], Options | None]


def read_program(
    node: ast.ClassDef,
    source: Source,
    env: Environment,
    session: Session,
    options_of: OptionsOf,
    strict_ssa: bool,
    constants: dict[str, Any] | None = None,
) -> Program:
    """The program that a class describes; ``options_of`` gives a function's options, None if it is no kernel.

    ``constants`` are the class's own when Python has evaluated them already.
    """
    module = Module(session)
    evaluated = constants is not None
    constants = {} if constants is None else constants
    inner = env.inner(constants)
    ctx = reading_context(source, env.inner(constants, changing=True), session)
    if node.bases or node.keywords:
        raise ctx.fail(
            UnsupportedFeatureError,
            "a program has no base classes",
            (node.bases or node.keywords)[0],
            "write class Name: and put the functions into it",
        )
    for item in node.body:
        if isinstance(item, ast.FunctionDef):
            module.add(
                Entry(
                    item, source, inner, _options(ctx, item, options_of, strict_ssa), session, in_class=True
                )
            )
        elif not evaluated:
            class_constant(ctx, item, constants)
    if not module.entries and not any(isinstance(n, ast.Pass) for n in node.body):
        raise ctx.fail(
            ParserSyntaxError, f"program '{node.name}' has no functions", node, "add a @pl.function"
        )
    for entry in module.entries.values():
        read_signature(entry, module)
    for entry in module.entries.values():
        entry.read()
    functions = gathered(module.entries.values())
    top = node.decorator_list[0].lineno if node.decorator_list else node.lineno
    try:
        return Program(
            node.name, functions, leading_comments=comments_above(source.lines, top), span=source.span(node)
        )
    except DiagnosticError as error:
        raise error.located(source.span(node)) from None


def _options(ctx: Context, node: ast.FunctionDef, options_of: OptionsOf, strict_ssa: bool) -> Options:
    options = options_of(ctx, node)
    if options is None:
        raise ctx.fail(
            ParserSyntaxError,
            f"'{node.name}' is no kernel",
            node,
            "decorate it with @pl.function, or move it out of the program",
        )
    return evolve(options, strict_ssa=True) if strict_ssa else options


def class_constant(ctx: Context, node: ast.stmt, constants: dict[str, Any]) -> None:
    """A statement of a class or module that defines constants; anything else is an error."""
    if isinstance(node, ast.Pass):
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    target, value = None, None
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target, value = node.targets[0], node.value
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        target, value = node.target, node.value
    if target is None or value is None:
        raise ctx.fail(
            UnsupportedFeatureError,
            "only constants and kernels are read here",
            node,
            "the text is read, not executed: remove the statement, or compute the value inside of a kernel",
        )
    _define(ctx, target, constant_value(ctx, value), constants)


def _define(ctx: Context, target: ast.expr, value: Any, constants: dict[str, Any]) -> None:
    if isinstance(target, ast.Name):
        constants[target.id] = value
    elif (
        isinstance(target, ast.Tuple)
        and (items := items_of(value)) is not None
        and len(items) == len(target.elts)
    ):
        for part, item in zip(target.elts, items, strict=True):
            _define(ctx, part, item, constants)
    elif isinstance(value, Opaque):
        for part in ast.walk(target):
            if isinstance(part, ast.Name):
                constants[part.id] = value
    else:
        raise ctx.fail(
            UnsupportedFeatureError, "only names can be given constants", target, "write NAME = value"
        )


def constant_value(ctx: Context, node: ast.expr) -> Any:
    """A constant: literal arithmetic, a symbolic extent, a declared allocation; Opaque for what is none of these."""
    if isinstance(node, ast.Call) and ctx.path_of(node.func) == "MemRef":
        return _declared(ctx, node)
    try:
        value = ctx.expr(node)
    except DiagnosticError as error:
        # Only an error if a kernel uses the name: texts also hold what other tools need.
        return Opaque(f"no constant ({error.message})")
    if isinstance(value, Expr):
        return Opaque("no constant (it divides by zero)") if _divides_by_zero(value) else Dim(value)
    return value


def _divides_by_zero(value: Expr) -> bool:
    return any(
        isinstance(node, FloorDiv | FloorMod | FloatDiv)
        and isinstance(node.right, ConstInt | ConstFloat)
        and node.right.value == 0
        for node in walk(value)
    )


def _declared(ctx: Context, node: ast.Call) -> MemRef:
    args = [ctx.expr(a) for a in node.args]
    options = {str(k.arg): ctx.expr(k.value) for k in node.keywords}
    unknown = [k for k in options if k not in ("slots", "name")]
    if unknown or len(args) > 1 or not all(isinstance(a, str) for a in args):
        raise ctx.fail(
            ParserTypeError,
            "an allocation is declared by name and slots",
            node,
            "write buf = pl.MemRef(slots=2)",
        )
    try:
        return MemRef(*args, **options)
    except DiagnosticError as error:
        raise error.located(ctx.span(node)) from None
