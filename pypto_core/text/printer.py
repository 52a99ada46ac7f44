"""Programs as source in the kernel language.

The text parses back to an equal program. What it says beyond the plain forms of the language, so that nothing is lost:

- ``r1: T1`` lines without a value declare types that a yield of several values, a loop's carried variable or its
  loop variable would not give (see :mod:`pypto_core.text.print_stmt`);
- offsets of MemRefs keep their element type: ``pl.const(0, pl.INT64)``;
- ``pl.const("inf", pl.FP32)`` for constants that are not finite, ``pl.xor(a, b)`` for the logical exclusive or;
- an extent that only types mention is declared by ``M = pl.dynamic("M")`` above the program;
- a variable that nothing defines prints as ``x__FREE_VAR``: such a program is not well formed.
"""

from __future__ import annotations

from typing import Any

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    AUTO_SCOPE,
    EXTERNAL_SOURCE,
    DataType,
    Expr,
    Function,
    FunctionIRStage,
    FunctionType,
    Level,
    ParamDirection,
    Program,
    Role,
    SeqStmts,
    Stmt,
    Type,
    Var,
    dtype_of,
)
from pypto_core.text.names import Names, Scan, dynamic_vars, identifier
from pypto_core.text.print_stmt import INDENT, body, comments
from pypto_core.text.print_type import EXPRESSIONS, TYPES
from pypto_core.text.writer import DISTRIBUTED, Writer, double_quoted

PLD = DISTRIBUTED.rstrip(".")
_WRAP = {ParamDirection.Out: "Out", ParamDirection.InOut: "InOut"}


def print_program(
    node: Program | Function | Stmt | Expr | Type,
    *,
    concise: bool = False,
    explicit_layout: bool = False,
    module: str = "pypto_core.language",
    prefix: str = "pl",
) -> str:
    """The source text of a program, or of a part of one; ends with a newline for programs and functions.

    ``concise`` leaves out the annotations of local variables; ``explicit_layout`` writes every tile's layout out.
    ``module`` is imported as ``prefix`` at the head of a program. Raises UserError PT560 for a value that has no text
    form, PT561 for expressions nested too deeply.
    """
    try:
        if isinstance(node, Program):
            return _Programs(concise, explicit_layout, module, prefix).program(node)
        if isinstance(node, Function):
            return _Programs(concise, explicit_layout, module, prefix).alone(node)
        writer = Writer(
            _fragment_names(node, prefix),
            EXPRESSIONS,
            TYPES,
            prefix=prefix,
            concise=concise,
            explicit_layout=explicit_layout,
        )
        if isinstance(node, Stmt):
            body(writer, node, "")
            return "\n".join(writer.lines)
        return writer.type(node) if isinstance(node, Type) else writer.expr(node)
    except RecursionError:
        raise UserError(
            "an expression is nested too deeply to print",
            code="PT561",
            remedy="split the expression by assigning its parts to variables",
        ) from None


def print_expr(node: Expr, *, prefix: str = "pl") -> str:
    """The text of an expression; variables print under their own names."""
    return print_program(node, prefix=prefix)


def print_type(kind: Type, *, prefix: str = "pl", explicit_layout: bool = False) -> str:
    """The text of a type as an annotation."""
    return print_program(kind, prefix=prefix, explicit_layout=explicit_layout)


def _fragment_names(node: Any, prefix: str) -> Names:
    names = Names((prefix, PLD), mark_free=False)
    scan = Scan()
    if isinstance(node, Stmt):
        scan.body(node)
    names.allocate(scan)
    return names


class _Programs:
    """Prints functions, each with names of its own, and puts them in order."""

    def __init__(self, concise: bool, explicit_layout: bool, module: str, prefix: str) -> None:
        self.concise, self.explicit_layout = concise, explicit_layout
        self.module, self.prefix = module, prefix

    def alone(self, function: Function) -> str:
        """A function without a program around it; extents left open need no declaration there."""
        scan = Scan()
        scan.function(function)
        names = Names((self.prefix, PLD), mark_free=True)
        names.allocate(scan, dynamic_vars(scan))
        writer = self._writer(names)
        _function(writer, function, "", None)
        return "\n".join(writer.lines) + "\n"

    def program(self, program: Program) -> str:
        """A program: header, open extents, and the class with its functions, callees first."""
        scans: dict[str, Scan] = {}
        shared: dict[Var, None] = {}
        for name, function in program.functions.items():
            scan = scans[name] = Scan()
            scan.function(function)
            shared.update(dict.fromkeys(dynamic_vars(scan)))
        class_name = identifier(program.name or "Program")
        dynamic = Names((self.prefix, PLD, class_name), mark_free=False)
        dynamic.allocate(Scan(), shared)
        distributed = False
        chunks: dict[str, list[str]] = {}
        calls: dict[str, list[str]] = {}
        for name, function in program.functions.items():
            writer = self._writer(self._function_names(scans[name], dynamic, shared))
            _function(writer, function, INDENT, "self")
            chunks[name], calls[name] = writer.lines, sorted(writer.callees)
            distributed = distributed or writer.distributed
        lines = [f"# pypto.program: {program.name}".rstrip(), self._import()]
        lines += [f"import {self.module}.distributed as {PLD}", ""] if distributed else [""]
        declared = sorted(shared, key=lambda v: dynamic[v])
        lines += [
            f"{dynamic[v]} = {self.prefix}.dynamic({_dynamic(v, dynamic[v], self.prefix)})" for v in declared
        ]
        head = self._writer(dynamic)
        comments(head, program.leading_comments, "")
        lines += [*([""] if declared else []), *head.lines, f"@{self.prefix}.program", f"class {class_name}:"]
        for name in callees_first(calls):
            lines += chunks[name]
        if not chunks:
            lines.append(f"{INDENT}pass")
        return "\n".join(lines) + "\n"

    def _import(self) -> str:
        return f"import {self.module}" + ("" if self.module == self.prefix else f" as {self.prefix}")

    def _function_names(self, scan: Scan, dynamic: Names, shared: dict[Var, None]) -> Names:
        names = Names((self.prefix, PLD, *dynamic.values()), mark_free=True)
        names.update((v, dynamic[v]) for v in shared)
        names.allocate(scan)
        return names

    def _writer(self, names: Names) -> Writer:
        return Writer(
            names,
            EXPRESSIONS,
            TYPES,
            prefix=self.prefix,
            concise=self.concise,
            explicit_layout=self.explicit_layout,
        )


def _dynamic(var: Var, name: str, prefix: str) -> str:
    dtype = dtype_of(var)
    return double_quoted(name) + ("" if dtype is DataType.INDEX else f", {prefix}.{dtype.name}")


def callees_first(calls: dict[str, list[str]]) -> list[str]:
    """Functions in an order in which callees precede callers, by name where that leaves a choice.

    ``calls``: function → callees, both in order of names. With a cycle the order is that of ``calls``.
    """
    order: list[str] = []
    state: dict[str, int] = {}
    for root in calls:
        stack = [(root, iter(calls[root]))] if root not in state else []
        state.setdefault(root, 1)
        while stack:
            name, rest = stack[-1]
            following = next((c for c in rest if c in calls and state.get(c) != 2), None)
            if following is None:
                state[name] = 2
                order.append(name)
                stack.pop()
            elif state.get(following) == 1:
                return list(calls)
            else:
                state[following] = 1
                stack.append((following, iter(calls[following])))
    return order


def _function(w: Writer, function: Function, pad: str, self_name: str | None) -> None:
    w.on_host = function.level is Level.HOST  # where calls say which device they launch on
    comments(w, function.leading_comments, pad)
    arguments, notes = _decoration(w, function)
    w.lines.append(f"{pad}@{w.pl}function" + (f"({', '.join(arguments)})" if arguments else ""))
    w.lines.append(pad + _signature(w, function, self_name))
    inner = pad + INDENT
    external = function.requires_runtime_binding and _is_empty(function.body)
    if notes:
        w.lines.append(f"{inner}{w.pl}func_attr({{{', '.join(notes)}}})")
    if external:
        w.lines.append(f"{inner}...")
    else:
        body(w, function.body, inner)


def _decoration(w: Writer, function: Function) -> tuple[list[str], list[str]]:
    """Arguments of the decorator, and the entries of ``pl.func_attr`` that have no argument."""
    arguments: list[str] = []
    if function.func_type is not FunctionType.Opaque:
        arguments.append(f"type={w.member(function.func_type)}")
    if function.level is not None:
        arguments.append(f"level={w.member(function.level)}")
    if function.role is not None:
        arguments.append(f"role={w.member(function.role)}")
    if function.ir_stage is not FunctionIRStage.Functional:
        arguments.append(f"stage={w.member(function.ir_stage)}")
    if function.requires_runtime_binding and not _is_empty(function.body):
        arguments.append("requires_runtime_binding=True")
    notes: list[str] = []
    for key, value in function.attrs.items():
        text = w.option(value, double_quoted)
        if key in (AUTO_SCOPE, EXTERNAL_SOURCE):
            arguments.append(f"{key}={text}")
        else:
            notes.append(f"{double_quoted(key)}: {text}")
    return arguments, notes


def _signature(w: Writer, function: Function, self_name: str | None) -> str:
    w.in_signature = True
    params = [self_name] if self_name and function.role is not Role.SubWorker else []
    for var, direction in zip(function.params, function.param_directions, strict=True):
        kind = w.type(var.type)
        wrap = _WRAP.get(direction)
        params.append(f"{w.names[var]}: {f'{w.pl}{wrap}[{kind}]' if wrap else kind}")
    returns = [w.type(kind) for kind in function.return_types]
    w.in_signature = False
    arrow = (
        ""
        if not returns
        else f" -> {returns[0]}"
        if len(returns) == 1
        else f" -> tuple[{', '.join(returns)}]"
    )
    return f"def {identifier(function.name)}({', '.join(params)}){arrow}:"


def _is_empty(region: Stmt) -> bool:
    return isinstance(region, SeqStmts) and not region.stmts
