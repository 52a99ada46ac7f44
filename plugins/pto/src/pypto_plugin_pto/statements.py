"""Statements: assignments, loops and branches.

Scalars are carried by the loops and branches of the text. A tile or tensor is not: it is written in place, so that a
carried one is its initial value under another name, and a result of a branch is a buffer that both branches write.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pypto_core.contract import Operand
from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    ArrayType,
    AssignStmt,
    Call,
    ConstInt,
    DataType,
    EvalStmt,
    Expr,
    ForStmt,
    IfStmt,
    IterArg,
    Neg,
    ReturnStmt,
    ScalarType,
    SeqStmts,
    Stmt,
    TensorType,
    TileType,
    Var,
    WhileStmt,
    YieldStmt,
    base_name,
    dtype_of,
    flatten,
    last_yield,
)
from pypto_plugin_pto.emission import Emission
from pypto_plugin_pto.floor import literal
from pypto_plugin_pto.storage import TileHandle, same_place
from pypto_plugin_pto.type_text import register

INDEX = DataType.INDEX


class Statements:
    """Writes the body of one function."""

    def __init__(self, emission: Emission) -> None:
        self.emission, self.text = emission, emission.text
        self.scalars, self.storage, self.tensors = emission.scalars, emission.storage, emission.tensors
        self._writers: dict[type[Stmt], Callable[[Any], None]] = {
            AssignStmt: self._assign,
            EvalStmt: self._evaluate,
            ForStmt: self._for,
            WhileStmt: self._while,
            IfStmt: self._if,
            SeqStmts: self.body,
        }

    def function(self, body: Stmt) -> None:
        """The whole body, and the one way out of it."""
        stmts = flatten(body)
        if stmts and isinstance(stmts[-1], ReturnStmt):
            last = stmts[-1]
            stmts = stmts[:-1]
            for value in last.values:
                if isinstance(value.type, ScalarType):
                    raise UserError(
                        f"kernel '{self.emission.function.name}' returns a number",
                        code="PTO-014",
                        span=last.span,
                        remedy="write it into an output tensor with pl.write: kernels hand back no values",
                    )
        self._all(stmts)
        self.text.bare("return")

    def body(self, body: Stmt) -> None:
        """The statements of a region without the yield at its end."""
        stmts = flatten(body)
        self._all(stmts[:-1] if stmts and isinstance(stmts[-1], YieldStmt) else stmts)

    def _all(self, stmts: Sequence[Stmt]) -> None:
        writers, text = self._writers, self.text
        for stmt in stmts:
            writer = writers.get(type(stmt))
            if writer is None:
                raise UserError(
                    f"a {type(stmt).__name__} has no form in PTO text",
                    code="PTO-015",
                    span=stmt.span,
                    remedy="scopes, breaks and early returns have to be lowered by passes before",
                )
            for comment in stmt.leading_comments:
                for line in comment.splitlines():
                    text.bare(f"// {line.strip()}")
            text.at(stmt.span)
            writer(stmt)

    # -- plain statements

    def _assign(self, stmt: AssignStmt) -> None:
        var, value = stmt.var, stmt.value
        if isinstance(value, Call):
            self.emission.call(value, var)
            return
        kind = var.type
        if isinstance(kind, ScalarType):
            result = self.scalars.value(value, var.name_hint)
            self.scalars.env[var] = self.scalars.converted(result, dtype_of(value), kind.dtype, var.name_hint)
        elif isinstance(kind, TileType):
            self.storage.view(var, self.storage.handle(value))
        elif isinstance(kind, TensorType):
            self.tensors.handles[var] = self.tensors.handle(value)
        elif isinstance(kind, ArrayType) and isinstance(value, Var):
            self.emission.arrays[var] = self.emission.arrays[value]
        else:
            raise UserError(
                f"'{base_name(var.name_hint)}' of type {kind!r} has no form in PTO text",
                code="PTO-015",
                span=stmt.span,
            )

    def _evaluate(self, stmt: EvalStmt) -> None:
        if isinstance(stmt.expr, Call):
            self.emission.call(stmt.expr, None)

    # -- loops

    def _for(self, stmt: ForStmt) -> None:
        start, stop, step = (
            self.scalars.coerced(e, INDEX) for e in (stmt.start, stmt.stop, self._step(stmt))
        )
        inits = self._enter(stmt.iter_args)
        carried = self._numbers(stmt.iter_args)
        loop_name = self.text.names.named(stmt.loop_var.name_hint)
        parts = f"{loop_name} = {start.name} to {stop.name} step {step.name}"
        if carried:
            names = self._name_all(carried)
            pairs = ", ".join([f"{n.name} = {i.name}" for n, i in zip(names, inits, strict=True)])
            parts += f" iter_args({pairs}) -> ({', '.join([n.type for n in names])})"
            self._set(carried, names)
        results = self._results(stmt.return_vars)
        self.text.bare(f"{_left(results)}scf.for {parts} {{")
        with self.text.block(), self.storage.scope():
            self._induction(stmt, Operand(loop_name, "index"))
            self.body(stmt.body)
            self._leave(stmt.body, stmt.iter_args)
        self.text.bare("}")
        self._after(stmt.return_vars, results, stmt.iter_args)

    def _step(self, stmt: ForStmt) -> Expr:
        step = stmt.step
        if isinstance(step, Neg) or (isinstance(step, ConstInt) and step.value <= 0):
            raise UserError(
                "a loop of a kernel counts upwards",
                code="PTO-016",
                span=stmt.span,
                remedy="loop upwards and compute the falling index in the body: last - i",
            )
        return step

    def _induction(self, stmt: ForStmt, index: Operand) -> None:
        """The loop variable is an index; one of another type is converted at the head of the body."""
        var = stmt.loop_var
        dtype = dtype_of(var)
        self.scalars.env[var] = self.scalars.converted(index, INDEX, dtype, var.name_hint)
        start = literal(stmt.start, dtype)
        if start is not None and start >= 0:
            self.scalars.starts[var] = start

    def _while(self, stmt: WhileStmt) -> None:
        inits = self._enter(stmt.iter_args)
        carried = self._numbers(stmt.iter_args)
        before, inside = self._name_all(carried), self._name_all(carried)
        types = f"({', '.join([n.type for n in before])})"
        pairs = ", ".join([f"{n.name} = {i.name}" for n, i in zip(before, inits, strict=True)])
        results = self._results(stmt.return_vars)
        head = f" ({pairs})" if carried else ""
        self.text.bare(f"{_left(results)}scf.while{head} : {types} -> {types} {{")
        with self.text.block(), self.storage.scope():
            self._set(carried, before)
            self.text.at(stmt.span)
            condition = self.scalars.truth(stmt.condition)
            self.text.bare(f"scf.condition({condition.name}){_typed(before, ' ')}")
        self.text.bare("} do {")
        if carried:
            self.text.bare(f"^bb0({', '.join([f'{n.name}: {n.type}' for n in inside])}):")
        with self.text.block(), self.storage.scope():
            self._set(carried, inside)
            self.body(stmt.body)
            self._leave(stmt.body, stmt.iter_args, always=True)
        self.text.bare("}")
        self._after(stmt.return_vars, results, stmt.iter_args)

    def _enter(self, args: Sequence[IterArg]) -> list[Operand]:
        """Bind carried tiles and tensors to their initial values; the initial numbers are returned."""
        inits: list[Operand] = []
        for arg in args:
            kind, init = arg.type, arg.init_value
            if isinstance(kind, ScalarType):
                inits.append(self.scalars.coerced(init, kind.dtype))
            elif isinstance(kind, TileType):
                handle = self.storage.handle(init)
                if kind.memref is None or same_place(handle.kind.memref, kind.memref):
                    self.storage.handles[arg] = handle
                else:
                    self.storage.copy(handle, self.storage.output(arg), arg)
            elif isinstance(kind, TensorType):
                self.tensors.handles[arg] = self.tensors.handle(init)
            elif isinstance(kind, ArrayType):
                self.emission.arrays[arg] = self.emission.operand(init)
        return inits

    def _leave(self, body: Stmt, args: Sequence[Var], *, always: bool = False) -> None:
        """What a region hands on: numbers by a yield, tiles by having written the buffer of ``args``."""
        tail = last_yield(body)
        values = tail.values if tail is not None else ()
        if tail is not None:
            self.text.at(tail.span)
        self._hand_on_tiles(values, args)
        numbers: list[Operand] = []
        for value, arg in zip(values, args, strict=bool(values)):
            kind = arg.type
            if isinstance(kind, ScalarType):
                numbers.append(self.scalars.coerced(value, kind.dtype))
            elif isinstance(kind, TensorType):
                self._same_tensor(value, arg)
        if numbers or always:
            self.text.line(f"scf.yield{_typed(numbers, ' ')}")

    def _hand_on_tiles(self, values: Sequence[Expr], args: Sequence[Var]) -> None:
        written: list[TileHandle] = []
        for value, arg in zip(values, args, strict=bool(values)):
            if not isinstance(arg.type, TileType):
                continue
            source, target = self.storage.handle(value), self.storage.handle(arg)
            if source is target or same_place(source.kind.memref, target.kind.memref):
                continue
            if any(_overlap(source, before) for before in written):
                raise UserError(
                    f"'{base_name(arg.name_hint)}' takes over a buffer that the same trip has overwritten already",
                    code="PTO-010",
                    span=value.span,
                    remedy="copy one of the exchanged tiles into a tile of its own before the end of the trip",
                )
            self.storage.copy(source, target, arg)
            written.append(target)

    def _same_tensor(self, value: Expr, arg: Var) -> None:
        have, want = self.tensors.handle(value), self.tensors.handles.get(arg)
        if want is None:
            self.tensors.handles[arg] = have
        elif have is not want:
            raise UserError(
                f"'{base_name(arg.name_hint)}' stands for different tensors on different paths",
                code="PTO-008",
                span=value.span,
                remedy="keep to one tensor, and choose the part of it by an offset",
            )

    # -- branches

    def _if(self, stmt: IfStmt) -> None:
        condition = self.scalars.truth(stmt.condition)
        for var in stmt.return_vars:
            if isinstance(var.type, TileType):
                self.storage.output(var)
        results = self._results(stmt.return_vars)
        types = f" -> ({', '.join([r.type for r in results])})" if results else ""
        self.text.bare(f"{_left(results)}scf.if {condition.name}{types} {{")
        for number, branch in enumerate((stmt.then_body, stmt.else_body)):
            if branch is None:
                continue
            if number:
                self.text.bare("} else {")
            with self.text.block(), self.storage.scope():
                self.body(branch)
                self._leave(branch, stmt.return_vars)
        self.text.bare("}")
        self._set(self._numbers(stmt.return_vars), results)

    # -- numbers that are carried

    @staticmethod
    def _numbers(args: Sequence[Var]) -> list[Var]:
        return [a for a in args if isinstance(a.type, ScalarType)]

    def _name_all(self, args: Sequence[Var]) -> list[Operand]:
        return [Operand(self.text.names.named(a.name_hint), register(dtype_of(a))) for a in args]

    def _results(self, returns: Sequence[Var]) -> list[Operand]:
        return self._name_all(self._numbers(returns))

    def _set(self, args: Sequence[Var], values: Sequence[Operand]) -> None:
        for arg, value in zip(args, values, strict=True):
            self.scalars.env[arg] = value

    def _after(self, returns: Sequence[Var], results: Sequence[Operand], args: Sequence[IterArg]) -> None:
        """Results of a loop: the numbers it yields, and what the carried tiles and tensors were bound to."""
        self._set(self._numbers(returns), results)
        for var, arg in zip(returns, args, strict=True):
            if isinstance(arg.type, TileType):
                self.storage.handles[var] = self.storage.handle(arg)
            elif isinstance(arg.type, TensorType):
                self.tensors.handles[var] = self.tensors.handle(arg)
            elif isinstance(arg.type, ArrayType):
                self.emission.arrays[var] = self.emission.arrays[arg]


def _left(results: Sequence[Operand]) -> str:
    return f"{', '.join([r.name for r in results])} = " if results else ""


def _typed(values: Sequence[Operand], space: str) -> str:
    if not values:
        return ""
    return f"{space}{', '.join([v.name for v in values])} : {', '.join([v.type for v in values])}"


def _overlap(a: TileHandle, b: TileHandle) -> bool:
    if a.kind.memref is None or b.kind.memref is None:
        return a.name == b.name
    return a.kind.memref.may_alias(b.kind.memref) or a.name == b.name
