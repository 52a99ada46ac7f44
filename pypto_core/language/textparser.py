"""Programs from text. The text is read and never executed.

Module-level statements that mean something are read one by one: imports of the language, constants, symbolic extents,
declared allocations, decorated functions and classes. A kernel under ``@pl.jit`` is read as its annotations say.
Imports of anything else, plain functions and classes are passed over; using their names inside of a kernel is an error.
"""

from __future__ import annotations

import ast
import os
from pathlib import Path
from typing import Any

from pypto_core.diagnostics import ParserSyntaxError, Span, UnsupportedFeatureError, UserError
from pypto_core.ir import Function, Program
from pypto_core.language import vocabulary
from pypto_core.language.context import Context, Session
from pypto_core.language.decorators import program_of
from pypto_core.language.environment import PL, Environment, Name, Opaque
from pypto_core.language.functions import Entry, Options
from pypto_core.language.parse_function import new_session, open_entry
from pypto_core.language.parse_module import (
    class_constant,
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


class _Reader:
    """Reads one module's text."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.session: Session = new_session()
        self.names: dict[str, Any] = {"pl": PL}
        self.env = Environment(self.names)
        # Constants may be given again while the module is scanned; kernels see what they are in the end.
        self.ctx: Context = reading_context(source, Environment(self.names, changing=True), self.session)
        self.entries: dict[str, Entry] = {}
        self.templates: dict[str, Template] = {}
        self.classes: list[tuple[ast.ClassDef, bool]] = []

    def scan(self) -> None:
        """Take in every statement of the module; functions and classes are read afterwards."""
        for node in self.source.tree.body:
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
            else:
                self.source.check_depth(node)
                class_constant(self.ctx, node, self.names)

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            if isinstance(node, ast.Import):
                bound = alias.asname or alias.name.partition(".")[0]
                whole = alias.name in vocabulary.MODULES
                self.names[bound] = PL if whole and alias.asname else Opaque(f"the module {alias.name}")
                if whole and not alias.asname:
                    raise self.ctx.fail(
                        UnsupportedFeatureError,
                        "the language needs a short name",
                        node,
                        f"write import {alias.name} as pl",
                    )
            else:
                self.names[alias.asname or alias.name] = _imported(node.module or "", alias.name)

    def _function(self, node: ast.FunctionDef) -> None:
        decorator = kernel_decorator(self.ctx, node)
        if decorator is None:
            self.names[node.name] = Opaque("a Python function")
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
        template = Template(options, self.source, node, lambda: Environment(self.names), defaults)
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
        self.classes.append((node, strict))

    def programs(self) -> list[Program]:
        """Every decorated class."""
        return [
            read_program(node, self.source, self.env, self.session, _options, strict)
            for node, strict in self.classes
        ]

    def kernels(self) -> list[Template]:
        """What was decorated with ``@pl.jit``: the entries, or the one function when there is no entry."""
        entries = [t for t in self.templates.values() if t.options.type is JIT_KINDS["jit"]]
        return entries or ([] if self.entries else list(self.templates.values()))

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
    if f"{module}.{name}" in vocabulary.MODULES:
        return PL
    if module in vocabulary.MODULES:
        return vocabulary.CONSTANTS.get(name) or Name(name)
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
    reader.scan()
    return reader


def parse(text: str, filename: str = DEFAULT_NAME) -> Program | Function:
    """The one program or function in a text; functions beside a program are its helpers.

    Raises a ParserError for what is not in the language, and UserError (a ValueError) when the text holds none or
    several.
    """
    with guarded(Span(filename, 1, 1)):
        reader = _scanned(text, filename)
        if reader.classes:
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
        kernels = [] if reader.classes else reader.kernels()
        if kernels:
            return reader.jit_program(_single(kernels, "kernel", filename))
        if not reader.classes and reader.entries:
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
            remedy="decorate a class with @pl.program, or a function with @pl.function",
        )
    raise UserError(
        f"{filename} holds several {what}s",
        code="PT114",
        facts={what + "s": ", ".join(f.name for f in found)},
        remedy="put the functions into a class decorated with @pl.program"
        if what == "function"
        else "keep one",
    )
