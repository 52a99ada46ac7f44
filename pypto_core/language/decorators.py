"""``@pl.function``, ``@pl.program`` and ``@pl.inline``: kernels from the source of decorated Python definitions."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, overload

import attrs

from pypto_core.diagnostics import ParserSyntaxError, Span, checked
from pypto_core.ir import (
    AUTO_SCOPE,
    EXTERNAL_SOURCE,
    Function,
    FunctionIRStage,
    FunctionType,
    Level,
    Program,
    Role,
)
from pypto_core.language.context import Context
from pypto_core.language.environment import (
    Environment,
    caller,
    cells_of,
    environment_of,
    environment_of_class,
    frame_locals,
)
from pypto_core.language.functions import Entry, Options, gathered, remember_called
from pypto_core.language.parse_function import new_session
from pypto_core.language.parse_module import read_program
from pypto_core.language.source import Source, definitions, guarded, source_of
from pypto_core.language.specialise import entry_for
from pypto_core.language.templates import Template, defaults_by_name


@attrs.frozen(eq=False)
class Pending:
    """A decorated function in the body of a class: read when the class is."""

    python: Any
    options: Options

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse to be called by Python: raises ParserSyntaxError."""
        raise ParserSyntaxError(
            f"'{self.python.__name__}' belongs to a class that is no program",
            remedy="decorate the class with @pl.program",
        )


def _options(
    type_: FunctionType,
    level: Level | None,
    role: Role | None,
    notes: Mapping[str, Any] | None,
    auto_scope: bool | None,
    strict_ssa: bool,
    external_source: Any,
    stage: FunctionIRStage,
    requires_runtime_binding: bool,
) -> Options:
    found = dict(notes or {})
    if auto_scope is not None:
        found[AUTO_SCOPE] = auto_scope
    if external_source is not None:
        found[EXTERNAL_SOURCE] = external_source
    return Options(
        type=type_,
        level=level,
        role=role,
        attrs=found,
        strict_ssa=strict_ssa,
        stage=stage,
        requires_runtime_binding=requires_runtime_binding,
    )


@overload
def function(func: Callable[..., Any], /) -> Function: ...
@overload
def function(
    func: None = None,
    *,
    type: FunctionType = ...,
    level: Level | None = ...,
    role: Role | None = ...,
    attrs: Mapping[str, Any] | None = ...,
    auto_scope: bool | None = ...,
    strict_ssa: bool = ...,
    external_source: Any = ...,
    stage: FunctionIRStage = ...,
    requires_runtime_binding: bool = ...,
) -> Callable[[Callable[..., Any]], Function]: ...
@checked("func", name="pl.function")
def function(
    func: Callable[..., Any] | None = None,
    *,
    type: FunctionType = FunctionType.Opaque,
    level: Level | None = None,
    role: Role | None = None,
    attrs: Mapping[str, Any] | None = None,
    auto_scope: bool | None = None,
    strict_ssa: bool = False,
    external_source: Any = None,
    stage: FunctionIRStage = FunctionIRStage.Functional,
    requires_runtime_binding: bool = False,
) -> Any:
    """Make a kernel function of a Python function's source.

    In a class the function is read together with its siblings, when ``@pl.program`` sees the class. Options:
    ``type`` says what it runs on, ``level`` and ``role`` where (both follow from most types), ``attrs`` are notes,
    ``strict_ssa`` forbids assigning a name twice. Raises a ParserError for what is not in the language.
    """
    options = _options(
        type, level, role, attrs, auto_scope, strict_ssa, external_source, stage, requires_runtime_binding
    )
    if func is not None:
        return _decorated(func, options, 3)  # this function, its checks, and the module
    return partial(_decorated, options=options, depth=1)


@checked("func", name="pl.inline")
def inline(
    func: Callable[..., Any] | None = None,
    *,
    attrs: Mapping[str, Any] | None = None,
    strict_ssa: bool = False,
) -> Any:
    """A function whose body takes the place of its calls: ``@pl.function(type=pl.FunctionType.Inline)``."""
    options = Options(type=FunctionType.Inline, attrs=dict(attrs or {}), strict_ssa=strict_ssa)
    if func is not None:
        return _decorated(func, options, 3)  # this function, its checks, and the module
    return partial(_decorated, options=options, depth=1)


def _decorated(func: Any, options: Options, depth: int) -> Any:
    if not isinstance(func, types.FunctionType):
        raise ParserSyntaxError(
            f"@pl.function decorates functions, not a {func.__class__.__name__}",
            remedy="decorate classes with @pl.program",
        )
    parent = func.__qualname__.rpartition(".")[0]
    if parent and not parent.endswith("<locals>"):
        return Pending(func, options)
    frame = caller(depth)
    code = func.__code__
    source = _source(code.co_filename, func.__globals__, func.__name__)
    node = _function_node(source, func.__name__, code.co_firstlineno)
    with guarded(source.span(node)):
        entry = Entry(node, source, environment_of(func, frame), options, new_session(), in_class=False)
        found = entry.read()
    remember_called(found, [f.read() if isinstance(f, Entry) else f for f in entry.pulled.values()])
    return found


def template(func: Any, options: Options, depth: int) -> Template:
    """A function that is read when it is called with arguments; ``depth`` calls above stands the decorator.

    Raises ParserSyntaxError for anything but a function at hand as text.
    """
    if not isinstance(func, types.FunctionType):
        raise ParserSyntaxError(
            f"@pl.jit decorates functions, not a {func.__class__.__name__}",
            remedy="a program that is a class is decorated with @pl.program",
        )
    code = func.__code__
    source = _source(code.co_filename, func.__globals__, func.__name__)
    node = _function_node(source, func.__name__, code.co_firstlineno)
    outer = frame_locals(caller(depth))

    def environment() -> Environment:
        return Environment(cells_of(func), *outer, func.__globals__)

    defaults = {**defaults_by_name(node.args, func.__defaults__ or ()), **(func.__kwdefaults__ or {})}
    return Template(options, source, node, environment, defaults)


def head_for(kernel: Template, given: Mapping[str, Any]) -> Entry:
    """A template with its parameters read for these arguments; its body is read by :func:`program_of`.

    ``given``: by parameter an :class:`ArrayLike`, or a number, string, element type, enum member or list of them;
    parameters that are absent need an annotation that says all. Raises ParserError, at the parameter, for arguments
    that don't fit.
    """
    with guarded(kernel.source.span(kernel.node)):
        entry = entry_for(kernel, new_session(), given, kernel.name)
        entry.session.read_signature(entry)
    return entry


def program_of(entry: Entry) -> Program:
    """The program of a function and of all that it calls; read once, whoever asks."""
    where = entry.source.span(entry.node)
    with guarded(where):
        entry.read()
        return Program(entry.name, gathered([entry]), span=where)


@checked("cls", name="pl.program")
def program(cls: type | None = None, *, strict_ssa: bool = False) -> Any:
    """Make a program of a class whose methods are decorated with ``@pl.function``.

    Functions from outside that these call are taken in. Raises a ParserError for what is not in the language.
    """
    if cls is not None:
        return _program(cls, strict_ssa, 3)
    return partial(_program, strict_ssa=strict_ssa, depth=1)


def _program(cls: Any, strict_ssa: bool, depth: int) -> Program:
    if not isinstance(cls, type):
        raise ParserSyntaxError(
            "@pl.program decorates classes", remedy="decorate functions with @pl.function"
        )
    frame = caller(depth)
    members = dict(vars(cls))
    pending: dict[str, Pending] = {n: v for n, v in members.items() if isinstance(v, Pending)}
    source = _source(frame.f_code.co_filename, frame.f_globals, cls.__name__)
    node = _class_node(
        source, cls.__name__, [p.python.__code__.co_firstlineno for p in pending.values()], frame
    )
    constants = {n: v for n, v in members.items() if n not in pending and not n.startswith("__")}
    env = environment_of_class([p.python for p in pending.values()], frame)

    def options_of(ctx: Context, item: ast.FunctionDef) -> Options | None:
        found = pending.get(item.name)
        return None if found is None else found.options

    with guarded(source.span(node)):
        return read_program(node, source, env, new_session(), options_of, strict_ssa, constants)


def _source(filename: str, module_globals: dict[str, Any], name: str) -> Source:
    found = source_of(filename, module_globals)
    if found is None:
        raise ParserSyntaxError(
            f"the source of '{name}' can't be found",
            span=Span(filename, 1, 1),
            remedy="kernels are read from source: put it into a file, or pass the text to pl.parse",
        )
    return found


def _function_node(source: Source, name: str, line: int) -> ast.FunctionDef:
    found = definitions(source).get((name, line))
    if isinstance(found, ast.FunctionDef):
        return found
    what = (
        "is an async function"
        if isinstance(found, ast.AsyncFunctionDef)
        else "is not where Python says it is"
    )
    raise ParserSyntaxError(
        f"'{name}' {what}",
        span=Span(source.filename, line, 1, source=source.text),
        remedy="define kernels with def, and reload the file if it changed",
    )


def _class_node(source: Source, name: str, lines: list[int], frame: types.FrameType) -> ast.ClassDef:
    wanted = lines or [frame.f_lineno]
    for (found, _), node in definitions(source).items():
        if found == name and isinstance(node, ast.ClassDef):
            top = node.decorator_list[0].lineno if node.decorator_list else node.lineno
            if all(top <= line <= (node.end_lineno or top) for line in wanted):
                return node
    raise ParserSyntaxError(
        f"the source of class '{name}' is not where Python says it is",
        span=Span(source.filename, frame.f_lineno, 1, source=source.text),
        remedy="reload the file if it changed",
    )
