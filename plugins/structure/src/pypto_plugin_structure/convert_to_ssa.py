"""ConvertToSSA: every variable is assigned once; what used to be reassigned flows through phis and carries.

Variables that are assigned once already, where every use sees the assignment, keep their identity. Names of new
ones: ``x__ssa_vN`` for values, ``x__iter_vN`` for carries, ``x__rv_vN`` for loop results, ``x__phi_vN`` for
results of branches. Linear in the statements.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pypto_core.diagnostics import InternalError, Span, UserError
from pypto_core.ir import (
    AssignStmt,
    BreakStmt,
    Call,
    ConstBool,
    ConstFloat,
    ConstInt,
    ContinueStmt,
    DataType,
    Expr,
    ForStmt,
    Function,
    IfStmt,
    IterArg,
    MakeTuple,
    Mutator,
    NameSource,
    ScalarType,
    Stmt,
    TileType,
    Type,
    Var,
    WhileStmt,
    YieldStmt,
    base_name,
    defined_vars,
    flatten,
    last_yield,
    prove_lt,
    replace,
    seq,
    updated,
    walk_stmts,
)  # fmt: skip
from pypto_core.ops import alias_source, create_call
from pypto_plugin_structure.dataflow import Dataflow, analyse


def convert_to_ssa(function: Function, ctx: Any) -> Function:
    """The function in SSA form; the same object when it is already."""
    for stmt in walk_stmts(function.body):
        if isinstance(stmt, BreakStmt | ContinueStmt):
            word = "break" if isinstance(stmt, BreakStmt) else "continue"
            raise UserError(
                f"'{word}' can't be brought into SSA form",
                code="PT330",
                span=stmt.span,
                remedy="CtrlFlowTransform removes it: install the structure plugin or put that pass first",
            )
    flow = analyse(function.body)
    return _Renamer(function, flow).run()


class _Renamer(Mutator):
    def __init__(self, function: Function, flow: Dataflow) -> None:
        super().__init__()
        self.function, self.flow = function, flow
        self.names = NameSource()
        self.env: dict[Var, Expr] = {}
        counts: dict[Var, int] = dict.fromkeys(function.params, 1)
        for var in defined_vars(function.body):
            counts[var] = counts.get(var, 0) + 1
        self.repeated = {v for v, n in counts.items() if n > 1}
        # What is live behind the branch or loop that assigns it leaks out of its region.
        self.repeated.update(v for leaked in flow.live.values() for v in leaked)
        self.values: dict[Var, Expr] = {}

    def run(self) -> Function:
        body = self.visit(self.function.body)
        return self.function if body is self.function.body else replace(self.function, body=body)

    # -- variables

    def visit_var(self, var: Var) -> Expr:
        """The value that ``var`` has here."""
        return self.env.get(var, var)

    def visit_def(self, var: Var) -> Var:
        """A fresh variable where the old one is assigned more than once."""
        kind = self.visit_type(var.type)
        if var in self.repeated:
            new = Var(self.names.fresh(var.name_hint, "ssa"), kind, span=var.span)
        elif kind is not var.type:
            new = Var(var.name_hint, kind, span=var.span)
        else:
            return var
        self.env[var] = new
        return new

    def visit_assign_stmt(self, stmt: AssignStmt) -> Stmt:
        """Rename in the value first: it may use the variable that is assigned."""
        value = self.visit(stmt.value)
        var = self.visit_def(stmt.var)
        self.values[var] = value
        if value is stmt.value and var is stmt.var:
            return stmt
        return replace(stmt, var=var, value=value)

    def fresh(self, var: Var, role: str, kind: Type) -> Var:
        return Var(self.names.fresh(var.name_hint, role), kind, span=var.span)

    # -- branches

    def visit_if_stmt(self, stmt: IfStmt) -> Stmt:
        """Both arms start from the same values; what they leave different meets in a phi."""
        condition = self.visit(stmt.condition)
        phis = [v for v in self.flow.live[id(stmt)] if v not in stmt.return_vars]
        then_body, then_values = self.arm(stmt, stmt.then_body, phis)
        else_body, else_values = self.arm(stmt, stmt.else_body, phis)
        results: list[Var] = []
        if phis:
            firsts = [self.arm_value(v, x, stmt, "then") for v, x in zip(phis, then_values, strict=True)]
            seconds = [self.arm_value(v, x, stmt, "else") for v, x in zip(phis, else_values, strict=True)]
            then_body = _yielding(then_body, firsts, stmt.span)
            else_body = _yielding(else_body, seconds, stmt.span)
            results = [self.fresh(v, "phi", value.type) for v, value in zip(phis, firsts, strict=True)]
        returns = tuple(self.visit_def(v) for v in stmt.return_vars)
        self.env.update(zip(phis, results, strict=True))
        parts = {
            "condition": condition, "then_body": then_body, "else_body": else_body,
            "return_vars": (*returns, *results),
        }  # fmt: skip
        return updated(stmt, **parts)

    def arm(self, stmt: IfStmt, body: Stmt | None, phis: list[Var]) -> tuple[Stmt | None, list[Expr | None]]:
        assigned = self.flow.inside[id(stmt)].assigned
        saved = self.save(assigned)
        new = None if body is None else self.visit(body)
        values = [self.env.get(v, v if v in self.function.params else None) for v in phis]
        self.restore(saved)
        return new, values

    def save(self, variables: Iterable[Var]) -> list[tuple[Var, Expr | None]]:
        return [(v, self.env.get(v)) for v in variables]

    def restore(self, saved: list[tuple[Var, Expr | None]]) -> None:
        for var, value in saved:
            if value is None:
                self.env.pop(var, None)
            else:
                self.env[var] = value

    def arm_value(self, var: Var, value: Expr | None, stmt: IfStmt, arm: str) -> Expr:
        if value is None:
            raise UserError(
                f"'{base_name(var.name_hint)}' is used after this branch but not assigned in its {arm} part",
                code="PT331",
                span=stmt.span,
                remedy=f"assign '{base_name(var.name_hint)}' before the 'if', or in both branches",
            )
        return value

    # -- loops

    def visit_for_stmt(self, stmt: ForStmt) -> Stmt:
        """Carry what one trip hands to the next or leaves to what follows."""
        head = {
            "start": self.visit(stmt.start),
            "stop": self.visit(stmt.stop),
            "step": self.visit(stmt.step),
            "attrs": self.mutate_map(stmt.attrs),
        }
        return self.loop(stmt, head)

    def visit_while_stmt(self, stmt: WhileStmt) -> Stmt:
        """As for counted loops; the condition sees the carries."""
        return self.loop(stmt, {})

    def loop(self, stmt: ForStmt | WhileStmt, head: dict[str, Any]) -> Stmt:
        carried = self.carried(stmt)
        ahead: list[Stmt] = []
        inits = [self.initial(v, stmt, ahead) for v in carried]
        author_args = tuple(self.iter_arg(a) for a in stmt.iter_args)
        saved = self.save(self.flow.inside[id(stmt)].assigned)
        args = [
            IterArg(self.names.fresh(v.name_hint, "iter"), init.type, init, span=v.span)
            for v, init in zip(carried, inits, strict=True)
        ]
        self.env.update(zip(carried, args, strict=True))
        if isinstance(stmt, ForStmt):
            head["loop_var"] = self.visit_def(stmt.loop_var)
        else:
            head["condition"] = self.visit(stmt.condition)
        body = self.visit(stmt.body)
        values = [self.env[v] for v in carried]
        self.restore(saved)
        returns = tuple(self.visit_def(v) for v in stmt.return_vars)
        results = [self.fresh(v, "rv", a.type) for v, a in zip(carried, args, strict=True)]
        self.env.update(zip(carried, results, strict=True))
        if carried:
            body = _yielding(body, values, stmt.span)
        parts = {
            **head, "iter_args": (*author_args, *args), "body": body, "return_vars": (*returns, *results),
        }  # fmt: skip
        return seq((*ahead, updated(stmt, **parts)), stmt.span)

    def carried(self, stmt: ForStmt | WhileStmt) -> list[Var]:
        """What the loop assigns and either reads before that in a later trip or leaves to what follows."""
        inner = self.flow.inside[id(stmt)]
        live = set(self.flow.live[id(stmt)])
        return [
            v for v in inner.assigned
            if v not in stmt.return_vars and (v in live or (v in inner.exposed and self.reaches(v)))
        ]  # fmt: skip

    def reaches(self, var: Var) -> bool:
        """Whether ``var`` has a value here."""
        return var in self.env or var in self.function.params or var in self.values

    def iter_arg(self, arg: IterArg) -> IterArg:
        init, kind = self.visit(arg.init_value), self.visit_type(arg.type)
        if init is arg.init_value and kind is arg.type:
            return arg
        new = IterArg(arg.name_hint, kind, init, span=arg.span)
        self.env[arg] = new
        return new

    def initial(self, var: Var, stmt: ForStmt | WhileStmt, ahead: list[Stmt]) -> Expr:
        """The value on entry of the loop.

        A variable that only the loop assigns has none; when the loop surely makes a trip, any value of its type
        will do, since it is never read.
        """
        known = self.env.get(var)
        if known is None and self.reaches(var):
            known = var
        if known is not None:
            return known
        if not (isinstance(stmt, ForStmt) and prove_lt(self.visit(stmt.start), self.visit(stmt.stop))):
            name = base_name(var.name_hint)
            raise UserError(
                f"'{name}' is used after this loop but has no value when the loop makes no trip",
                code="PT332",
                span=stmt.span,
                remedy=f"assign '{name}' before the loop",
            )
        return self.unread_value(var, stmt, ahead)

    def unread_value(self, var: Var, stmt: ForStmt | WhileStmt, ahead: list[Stmt]) -> Expr:
        kind = self.visit_type(var.type)
        if isinstance(kind, ScalarType):
            if kind.dtype is DataType.BOOL:
                return ConstBool(False, span=var.span)
            return ConstFloat(0.0, kind.dtype) if kind.dtype.is_float else ConstInt(0, kind.dtype)
        root = _written_tensor(var, stmt)
        if root is not None and self.reaches(root):
            return self.visit(root)
        if isinstance(kind, TileType) and kind.memory_space is not None:
            options = {"dtype": kind.dtype, "target_memory": kind.memory_space}
            call = create_call("tile.create", [MakeTuple(kind.shape)], options, var.span)
            new = Var(self.names.fresh(var.name_hint, "ssa"), kind, span=var.span)
            ahead.append(AssignStmt(new, replace(call, type=kind), span=stmt.span))
            return new
        raise UserError(
            f"'{base_name(var.name_hint)}' gets its first value inside this loop and is used after it",
            code="PT332",
            span=stmt.span,
            remedy=f"assign '{base_name(var.name_hint)}' before the loop",
        )


def _written_tensor(var: Var, stmt: ForStmt | WhileStmt) -> Var | None:
    """The tensor that a loop-assigned tensor variable is a new name of (``y = pl.store(t, off, out)`` → out)."""
    definitions = {s.var: s.value for s in walk_stmts(stmt.body) if isinstance(s, AssignStmt)}
    seen: set[Var] = set()
    current: Expr = var
    while isinstance(current, Var) and current in definitions and current not in seen:
        seen.add(current)
        value = definitions[current]
        if isinstance(value, Call):
            index = alias_source(value)
            if index is None:
                return None
            value = value.args[index]
        current = value
    return current if isinstance(current, Var) and current not in seen else None


def _yielding(body: Stmt | None, values: list[Expr], span: Span) -> Stmt:
    """The region with further values at its yield."""
    stmts = flatten(body)
    tail = last_yield(body)
    if tail is None:
        return seq((*stmts, YieldStmt(tuple(values), span=span)), span)
    if not isinstance(stmts[-1], YieldStmt):
        raise InternalError("the yield of a region must come last", span=span)
    return seq((*stmts[:-1], replace(tail, values=(*tail.values, *values))), span)
