"""Programs from text. The text is read and never executed.

Module-level statements that mean something are read one by one: imports of the language, constants, symbolic extents,
declared allocations, decorated functions and classes, calls of functions that make these. A kernel under ``@pl.jit`` is
read as its annotations say. Imports of anything else, plain functions and classes are passed over; using their names
inside of a kernel is an error.
"""

from __future__ import annotations

import ast
import os
from pathlib import Path
from typing import Any, cast

import attrs

from pypto_core.diagnostics import (
    DiagnosticError,
    ParserSyntaxError,
    Span,
    UnsupportedFeatureError,
    UserError,
)
from pypto_core.ir import Function, FunctionType, Level, Program
from pypto_core.language import vocabulary
from pypto_core.language.context import Context, Session
from pypto_core.language.decorators import program_of
from pypto_core.language.environment import PL, Environment, Name, Opaque, language_name
from pypto_core.language.factories import MAX_CALLS, MAX_DEPTH, Factory, arguments_of, factory_of
from pypto_core.language.functions import Entry, Options
from pypto_core.language.parse_function import new_session, open_entry
from pypto_core.language.parse_module import (
    class_constant,
    constant_value,
    decorator_options,
    decorator_path,
    kernel_decorator,
    read_program,
    reading_context,
)
from pypto_core.language.source import Source, guarded, read
from pypto_core.language.specialise import entry_for
from pypto_core.language.templates import JIT_KINDS, Template, defaults_by_name

DEFAULT_NAME = "<string>"


@attrs.frozen(eq=False)
class _Class:
    """A decorated class, read when the text has been scanned. ``env``: what its kernels see."""

    node: ast.ClassDef
    strict: bool
    env: Environment


_PROGRAM = Opaque("a program")


class _Reader:
    """Reads the text of a module, or of one of its functions (``outer`` is what that stands in)."""

    def __init__(self, source: Source, outer: _Reader | None = None) -> None:
        self.source = source
        self.around: tuple[_Reader, ...] = () if outer is None else (outer, *outer.around)
        self.calls = 0
        self.session: Session = new_session() if outer is None else outer.session
        self.names: dict[str, Any] = {}
        self.layers: tuple[dict[str, Any], ...]
        if outer is None:
            self.names = {"pl": PL, vocabulary.DISTRIBUTED: Name(vocabulary.DISTRIBUTED)}
            self.layers = (self.names,)
        else:
            self.layers = (self.names, *outer.layers)
        self.env = Environment(*self.layers)
        # Constants may be given again while the module is scanned; kernels see what they are in the end.
        self.now = Environment(*self.layers, changing=True)
        self.ctx: Context = reading_context(source, self.now, self.session)
        self.entries: dict[str, Entry] = {}
        self.templates: dict[str, Template] = {}
        self.classes: list[_Class] = []
        self.made: dict[str, _Class] = {}
        self.failed: DiagnosticError | None = None

    def scan(self, nodes: list[ast.stmt]) -> None:
        """Take in every statement; functions and classes are read afterwards."""
        for node in nodes:
            if isinstance(node, ast.Import | ast.ImportFrom):
                self._import(node)
            elif isinstance(node, ast.FunctionDef):
                self._function(node)
            elif isinstance(node, ast.ClassDef):
                self._class(node)
            elif isinstance(node, ast.AsyncFunctionDef):
                self.names[node.name] = Opaque("an async function")
            elif isinstance(node, ast.If) and _is_main_guard(node.test):
                continue
            elif isinstance(node, ast.Assign) and self._factory(node.value) is not None:
                self._made(node)
            else:
                self.source.check_depth(node)
                class_constant(self.ctx, node, self.names)

    # -- functions that make kernels

    def _factory(self, node: ast.expr | None) -> Factory | None:
        """The factory that is called, if one is."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found = self.now.get(node.func.id)
            return found if isinstance(found, Factory) else None
        return None

    def _made(self, node: ast.Assign) -> None:
        """Names for what a factory makes. What can't be read is an error when nothing else is found."""
        factory = self._factory(node.value)
        assert factory is not None and isinstance(node.value, ast.Call)
        try:
            value = self.make(factory, node.value)
        except DiagnosticError as error:
            self.failed = self.failed or error
            value = Opaque(f"no constant ({error.message})")
        for target in node.targets:
            self._keep(target, value)

    def _keep(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Tuple) and isinstance(value, list):
            for part, item in zip(target.elts, cast("list[Any]", value), strict=False):
                self._keep(part, item)
        elif isinstance(target, ast.Name):
            if isinstance(value, _Class):
                self.made[target.id] = value
                value = _PROGRAM
            elif isinstance(value, Entry):
                self.entries[target.id] = value
            elif isinstance(value, Template):
                self.templates[target.id] = value
            self.names[target.id] = value

    def make(self, factory: Factory, call: ast.Call | None) -> Any:
        """What a factory returns for the arguments of a call, or for its defaults."""
        module = self.around[-1] if self.around else self
        module.calls += 1
        if len(self.around) >= MAX_DEPTH or module.calls > MAX_CALLS:
            raise self.ctx.fail(
                UnsupportedFeatureError,
                f"too many calls of functions that make kernels, the last one of '{factory.node.name}'",
                call or factory.node,
                f"at most {MAX_CALLS} of them are read, {MAX_DEPTH} within each other",
            )
        inner = _Reader(self.source, self)
        inner.names.update(arguments_of(self.ctx, factory.node, call))
        for index, node in enumerate(factory.node.body):
            if isinstance(node, ast.Return) and node.value is not None:
                inner.scan(factory.node.body[:index])
                return inner.returned(node.value)
        raise self.ctx.fail(
            UnsupportedFeatureError,
            f"'{factory.node.name}' returns nothing that can be read",
            factory.node,
            "end it with a return of the program",
        )

    def returned(self, node: ast.expr) -> Any:
        """A value that a factory returns: a kernel by name, several of them, or what another one makes."""
        factory = self._factory(node)
        if factory is not None and isinstance(node, ast.Call):
            return self.make(factory, node)
        if isinstance(node, ast.Tuple | ast.List):
            return [self.returned(part) for part in node.elts]
        if isinstance(node, ast.Name) and node.id in self.names:
            own = [c for c in self.classes if c.node.name == node.id]
            return own[-1] if own else self.made.get(node.id, self.names[node.id])
        return constant_value(self.ctx, node)

    def from_defaults(self) -> None:
        """Where nothing else is found: the program of the one factory there is, for its defaults."""
        found = [f for f in self.names.values() if isinstance(f, Factory) and f.makes_program]
        if len(found) != 1:
            return
        value = self.make(found[0], None)
        if isinstance(value, _Class):
            self.made[found[0].node.name] = value

    # -- definitions

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            if isinstance(node, ast.Import):
                bound = alias.asname or alias.name.partition(".")[0]
                whole = alias.name in vocabulary.MODULES
                self.names[bound] = (
                    language_name(vocabulary.MODULES[alias.name])
                    if whole and alias.asname
                    else Opaque(f"the module {alias.name}")
                )
                if whole and not alias.asname:
                    raise self.ctx.fail(
                        UnsupportedFeatureError,
                        "the language needs a short name",
                        node,
                        f"write import {alias.name} as {vocabulary.MODULES[alias.name] or 'pl'}",
                    )
            else:
                self.names[alias.asname or alias.name] = _imported(node.module or "", alias.name)

    def _function(self, node: ast.FunctionDef) -> None:
        decorator = kernel_decorator(self.ctx, node)
        if decorator is None:
            self.names[node.name] = factory_of(node)
            return
        options = decorator_options(self.ctx, decorator)
        if decorator_path(self.ctx, decorator) in JIT_KINDS:
            self._template(node, options)
            return
        entry = Entry(node, self.source, self.env, options, self.session, in_class=False)
        self._check_name(node)
        open_entry(entry, None, auto_dims=True)
        self.entries[node.name] = entry
        self.names[node.name] = entry

    def _template(self, node: ast.FunctionDef, options: Options) -> None:
        self._check_name(node)
        plain = tuple(self.ctx.expr(value) for value in node.args.defaults)
        named = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        defaults = {arg.arg: self.ctx.expr(value) for arg, value in named if value is not None}
        defaults.update(defaults_by_name(node.args, plain))
        layers = self.layers
        template = Template(options, self.source, node, lambda: Environment(*layers), defaults)
        self.templates[node.name] = self.names[node.name] = template

    def _check_name(self, node: ast.FunctionDef) -> None:
        if node.name in self.entries or node.name in self.templates:
            raise self.ctx.fail(
                ParserSyntaxError, f"two functions are called '{node.name}'", node, "rename one of them"
            )

    def _class(self, node: ast.ClassDef) -> None:
        decorator = kernel_decorator(self.ctx, node)
        if decorator is None:
            self.names[node.name] = Opaque("a Python class")
            return
        if decorator_path(self.ctx, decorator) in JIT_KINDS:
            raise self.ctx.fail(
                ParserSyntaxError, "pl.jit decorates functions", node, "decorate a program with @pl.program"
            )
        strict = False
        if isinstance(decorator, ast.Call):
            for keyword in decorator.keywords:
                if keyword.arg != "strict_ssa":
                    raise self.ctx.fail(
                        ParserSyntaxError,
                        f"pl.program has no argument '{keyword.arg}'",
                        keyword,
                        "the only argument is strict_ssa",
                    )
                strict = bool(self.ctx.expr(keyword.value))
        self.classes.append(_Class(node, strict, self.env))
        self.names[node.name] = _PROGRAM

    def programs(self) -> list[Program]:
        """Every decorated class of the module; where it has none, those that were made by calls."""
        return [
            read_program(c.node, self.source, c.env, self.session, _options, c.strict)
            for c in self.classes or dict.fromkeys(self.made.values())
        ]

    def kernels(self) -> list[Template]:
        """What was decorated with ``@pl.jit``: the entries, or the one function when there is no entry."""
        found = list(self.templates.values())
        hosts = [t for t in found if t.options.level is Level.HOST]
        entries = hosts or [t for t in found if t.options.type is FunctionType.Orchestration]
        return entries or ([] if self.entries else found)

    def jit_program(self, template: Template) -> Program:
        """The program of a kernel whose annotations say all."""
        entry = entry_for(template, self.session, {}, template.name)
        self.session.read_signature(entry)
        return program_of(entry)


def _options(ctx: Context, node: ast.FunctionDef) -> Options | None:
    decorator = kernel_decorator(ctx, node)
    if decorator is not None and decorator_path(ctx, decorator) in JIT_KINDS:
        raise ctx.fail(
            ParserSyntaxError,
            "a function of a program is decorated with @pl.function",
            decorator,
            "write @pl.function(type=…), or move the kernel out of the program",
        )
    return None if decorator is None else decorator_options(ctx, decorator)


def _imported(module: str, name: str) -> Any:
    whole = vocabulary.MODULES.get(f"{module}.{name}")
    if whole is not None:
        return language_name(whole)
    if module in vocabulary.MODULES:
        part = vocabulary.MODULES[module]
        path = f"{part}.{name}" if part else name
        return vocabulary.CONSTANTS.get(path) or Name(path)
    parent, _, group = module.rpartition(".")
    if parent in vocabulary.MODULES and group in vocabulary.OP_NAMESPACES:
        return Name(f"{group}.{name}")
    if module.startswith(("pypto", "pypto_core")) and name in vocabulary.ENUMS:
        return vocabulary.ENUMS[name]
    return Opaque(f"imported from {module or '.'}")


def _is_main_guard(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def _scanned(text: str, filename: str) -> _Reader:
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UserError(
            f"a program's text is a string, not a {type(text).__name__}",
            code="PT113",
            remedy="pass the text of a .py file; pl.loads takes its path",
        )
    reader = _Reader(read(text, filename))
    reader.scan(reader.source.tree.body)
    if not (reader.classes or reader.made or reader.templates) and len(reader.entries) != 1:
        if reader.failed is not None:
            raise reader.failed
        reader.from_defaults()
    return reader


def parse(text: str, filename: str = DEFAULT_NAME) -> Program | Function:
    """The one program or function in a text; functions beside a program are its helpers.

    Raises a ParserError for what is not in the language, and UserError (a ValueError) when the text holds none or
    several.
    """
    with guarded(Span(filename, 1, 1)):
        reader = _scanned(text, filename)
        if reader.classes or reader.made:
            return _single(reader.programs(), "program", filename)
        kernels = reader.kernels()
        if kernels:
            return reader.jit_program(_single(kernels, "kernel", filename))
        return _single([_lone(e) for e in reader.entries.values()], "function", filename)


def _lone(entry: Entry) -> Function:
    return entry.read()


def parse_program(text: str, filename: str = DEFAULT_NAME) -> Program:
    """The one program in a text."""
    with guarded(Span(filename, 1, 1)):
        reader = _scanned(text, filename)
        kernels = [] if reader.classes or reader.made else reader.kernels()
        if kernels:
            return reader.jit_program(_single(kernels, "kernel", filename))
        if not (reader.classes or reader.made) and reader.entries:
            raise UserError(
                f"{filename} holds functions and no program",
                code="PT114",
                facts={"functions": ", ".join(reader.entries)},
                remedy="put them into a class decorated with @pl.program, or use pl.parse",
            )
        return _single(reader.programs(), "program", filename)


def loads(path: str | Path) -> Program | Function:
    """The one program or function in a file; see :func:`parse`."""
    return parse(_text(path), _shown(path))


def loads_program(path: str | Path) -> Program:
    """The one program in a file; see :func:`parse_program`."""
    return parse_program(_text(path), _shown(path))


def _shown(path: str | Path) -> str:
    """The path as text that can be written anywhere; names of files may hold bytes that are no characters."""
    return str(path).encode("utf-8", "backslashreplace").decode("utf-8")


def _text(path: str | Path) -> str:
    if not isinstance(path, str | os.PathLike):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UserError(
            f"a path is needed here, not {type(path).__name__}",
            code="PT113",
            remedy="give the path of a .py file; pl.parse takes a program's text",
        )
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise UserError(f"{path} is no UTF-8 text", code="PT113", remedy="save it as UTF-8") from None
    except (OSError, ValueError) as error:
        raise UserError(
            f"{path} can't be read: {getattr(error, 'strerror', None) or error}",
            code="PT113",
            remedy="give the path of a .py file",
        ) from None


def _single(found: list[Any], what: str, filename: str) -> Any:
    if len(found) == 1:
        return found[0]
    if not found:
        raise UserError(
            f"{filename} holds no program and no function",
            code="PT114",
            remedy="decorate a class with @pl.program, or a function with @pl.function; one that a function makes is "
            "read where it is called: PROGRAM = build(64, 128)",
        )
    raise UserError(
        f"{filename} holds several {what}s",
        code="PT114",
        facts={what + "s": ", ".join(f.name for f in found)},
        remedy="put the functions into a class decorated with @pl.program"
        if what == "function"
        else "keep one",
    )
