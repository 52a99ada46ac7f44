"""ConvertToSSA: every variable is assigned once; what used to be reassigned flows through phis and carries.

Variables that are assigned once already, where every use sees the assignment, keep their identity. Names of new
ones: ``x__ssa_vN`` for values, ``i__idx_vN`` for loop variables, ``x__iter_vN`` for carries, ``x__rv_vN`` for loop
results, ``x__phi_vN`` for results of branches. Linear in the statements.

A variable that not every path assigns is an error only where it can be read unassigned; where it can't, the paths
that don't assign it hand on a value that nobody reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from pypto_core.diagnostics import UNKNOWN_SPAN, Note, Span, UserError
from pypto_core.ir import (
    PTR,
    AssignStmt,
    Call,
    ConstInt,
    Expr,
    ForStmt,
    Function,
    IfStmt,
    IterArg,
    NameSource,
    ScalarType,
    ScopeStmt,
    SplitAivScopeStmt,
    SpmdScopeStmt,
    Stmt,
    Type,
    Var,
    WhileStmt,
    YieldStmt,
    base_name,
    bounds_of,
    child_fields,
    defined_vars,
    gt,
    last_yield,
    lt,
    replace,
    seq,
    substitute,
    type_vars,
    updated,
    walk,
)  # fmt: skip
from pypto_plugin_structure.dataflow import Dataflow, analyse
from pypto_plugin_structure.definedness import Branch, Definedness, Fact, Loop
from pypto_plugin_structure.meeting import check_types, check_visible, loose_extent, unpinned, yielding
from pypto_plugin_structure.placeholders import Placeholders
from pypto_plugin_structure.renaming import refuse_exits, variables_to_rename
from pypto_plugin_structure.retype import TypeFollower, following, is_open
from pypto_plugin_structure.unshare import unshared


def convert_to_ssa(function: Function, ctx: Any = None) -> Function:
    """The function in SSA form; the same object when it is already.

    Raises UserError PT330 for break, continue and early return, PT331 for a variable that may be read before it is
    assigned, PT332 where a path would need a value that can't be made up, PT334 where a tile's valid extents differ
    between paths that meet.
    """
    refuse_exits(function)
    body = unshared(function.body)
    flow = analyse(body)
    renamer = _Renamer(function, body, flow)
    renamer.check_free()
    if not renamer.repeated:
        return function
    new = renamer.visit(body)
    renamer.check_reads()
    return function if new is body else replace(function, body=new)


class _UnreachableError(Exception):
    """A read without a value, in a region that nothing can enter: the region is left out."""


@attrs.frozen(eq=False)
class _Gap:
    """Where a value may be missing, for the message."""

    what: str
    span: Span


class _Renamer(TypeFollower):
    def __init__(self, function: Function, body: Stmt, flow: Dataflow) -> None:
        super().__init__()
        self.function, self.flow = function, flow
        self.names = NameSource()
        self.params = set(function.params)
        self.repeated = variables_to_rename(function, body, flow)
        self.env: dict[Var, Expr] = {}
        self.known = Definedness()
        self.gaps: dict[Var, _Gap] = {}
        self.facts: list[Fact] = []
        self.reads: dict[tuple[object, ...], tuple[Var, Var, tuple[Fact, ...], Stmt | None]] = {}
        self.bounds: dict[Var, tuple[int | None, int | None]] = {}
        self.loops: list[int] = [0]
        self.loop_count = 0
        self.stmt: Stmt | None = None
        self.placeholders = Placeholders(function, body, self.names, self.current)

    # -- variables

    def current(self, var: Var) -> Expr | None:
        """The value of ``var`` here; None when it has none."""
        value = self.env.get(var)
        if value is None and (var not in self.repeated or var in self.params):
            return var
        return value

    def visit_var(self, var: Var) -> Expr:
        """A read of ``var``: its value, after a check that it surely has one."""
        value = self.current(var)
        if value is None:
            if self.known.never(self.facts):
                raise _UnreachableError
            raise self.unassigned(var, None, self.stmt)
        if isinstance(value, Var) and value in self.known.doubtful:
            key = (value, *((id(condition), holds) for condition, holds in self.facts))
            self.reads.setdefault(key, (var, value, tuple(self.facts), self.stmt))
        return value

    def check_free(self) -> None:
        """Refuse reads of what nothing assigns; symbols may occur in types, and extents of parameters anywhere."""
        given = self.params | {v for p in self.function.params for v in type_vars(p.type)}
        whole = self.flow.whole
        free = {v for v in whole.exposed if v not in whole.assigned and v not in given and v.type is not PTR}
        stmt: Stmt | None = None
        for node in walk(self.function.body) if free else ():
            if isinstance(node, Stmt):
                stmt = node
            elif node in free:
                raise self.unassigned(node, None, stmt)

    def check_reads(self) -> None:
        """Prove of every doubtful value that it is assigned where it is read: now that all loops are known."""
        for var, value, facts, stmt in self.reads.values():
            if not self.known.proved(value, facts):
                raise self.unassigned(var, value, stmt)

    def unassigned(self, var: Var, value: Expr | None, stmt: Stmt | None) -> UserError:
        name = base_name(var.name_hint)
        span = stmt.span if stmt is not None else UNKNOWN_SPAN
        gap = self.gaps.get(value) if isinstance(value, Var) else None
        return UserError(
            f"'{name}' may be read here before it is assigned",
            code="PT331",
            span=span,
            facts={"function": self.function.name, **({"unassigned": gap.what} if gap else {})},
            remedy=f"assign '{name}' on every path that leads here, for example before the branch or loop",
            notes=(Note(message=gap.what, span=gap.span),) if gap is not None and gap.span.is_valid else (),
        )

    def define(self, var: Var, kind: Type, role: str = "ssa") -> Var:
        """The variable to assign: a fresh one where the old one is assigned more than once or has a new type."""
        if var in self.repeated:
            new = self.fresh(var, role, kind)
        elif kind is not var.type:
            new = Var(var.name_hint, kind, span=var.span)
        else:
            self.at_home(var)
            return var
        self.at_home(new)
        self.env[var] = new
        return new

    def result(self, var: Var, handed: Type) -> Var:
        """A result that the author named, of what its region hands on."""
        kind = var.type
        return self.define(var, following(self.visit_type(kind), handed) if is_open(kind) else kind)

    def at_home(self, var: Var) -> None:
        if len(self.loops) > 1:
            self.known.homes[var] = self.loops[-1]

    def fresh(self, var: Var, role: str, kind: Type) -> Var:
        new = Var(self.names.fresh(var.name_hint, role), kind, span=var.span)
        self.at_home(new)
        return new

    # -- plain statements

    def visit(self, node: Any) -> Any:
        """Rewrite a node, remembering the statement for messages."""
        if isinstance(node, Stmt):
            self.stmt = node
        return super().visit(node)

    def visit_assign_stmt(self, node: AssignStmt) -> Stmt:
        """Remember scalars by their definitions."""
        new = super().visit_assign_stmt(node)
        if (
            isinstance(new, AssignStmt)
            and isinstance(new.var.type, ScalarType)
            and not isinstance(new.value, Call)
        ):
            self.known.values[new.var] = new.value
        return new

    def visit_scope_stmt(self, stmt: ScopeStmt) -> Stmt:
        """What a scope's head says is evaluated before its body; what the body assigns stays visible."""
        parts: dict[str, Any] = {}
        for field in child_fields(type(stmt)):
            if field.name not in ("body", "task_id", "loop_var"):
                parts[field.name] = self._part(field, field.get(stmt))
        if isinstance(stmt, SpmdScopeStmt | SplitAivScopeStmt) and stmt.loop_var is not None:
            parts["loop_var"] = self.define(stmt.loop_var, self.visit_type(stmt.loop_var.type), "idx")
        parts["body"] = self.visit(stmt.body)
        if stmt.task_id is not None:
            parts["task_id"] = self.visit_def(stmt.task_id)
        return updated(stmt, **parts)

    # -- branches

    def visit_if_stmt(self, stmt: IfStmt) -> Stmt:
        """Both arms start from the same values; what they leave different meets in a phi."""
        condition = self.visit(stmt.condition)
        own = set(stmt.return_vars)
        phis = [v for v in self.flow.live[id(stmt)] if v not in own]
        then_body, firsts = self.arm(stmt, stmt.then_body, phis, (condition, True))
        else_body, seconds = self.arm(stmt, stmt.else_body, phis, (condition, False))
        joined = [
            (v, a, b) for v, a, b in zip(phis, firsts, seconds, strict=True) if a is not None or b is not None
        ]
        results = [self.joined(v, a, b, stmt) for v, a, b in joined]
        for (var, _, _), result in zip(joined, results, strict=True):
            check_visible(self.function, var, result.type, (then_body, else_body), stmt)
        inner = (last_yield(then_body), last_yield(else_body))
        if results:
            then_body = self.closing(then_body, [(v, a) for v, a, _ in joined], results, stmt)
            else_body = self.closing(else_body, [(v, b) for v, _, b in joined], results, stmt)
        firsts_own = inner[0].values if inner[0] is not None else ()
        returns = tuple(self.result(v, x.type) for v, x in zip(stmt.return_vars, firsts_own, strict=True))
        self.note_branch(condition, returns, inner, joined, results, stmt)
        for v in phis:
            self.env.pop(v, None)
        self.env.update(zip((v for v, _, _ in joined), results, strict=True))
        return updated(
            stmt,
            condition=condition,
            then_body=then_body,
            else_body=else_body,
            return_vars=(*returns, *results),
        )

    def arm(
        self, stmt: IfStmt, body: Stmt | None, phis: list[Var], fact: Fact
    ) -> tuple[Stmt | None, list[Expr | None]]:
        """One arm with the values that it ends with; afterwards everything is as before it."""
        saved = self.save(self.flow.inside[id(stmt)].assigned)
        self.facts.append(fact)
        new = self.entered(body)
        if new is None and body is not None:
            self.restore(saved)
            ahead: list[Stmt] = []
            never = tuple(
                [
                    self.placeholders.make(v, self.visit_type(v.type), ahead, stmt.span)
                    for v in stmt.return_vars
                ]
            )
            new = seq((*ahead, YieldStmt(never, span=stmt.span)) if never else ())
        self.facts.pop()
        self.stmt = stmt
        values = [self.current(v) for v in phis]
        self.restore(saved)
        return new, values

    def entered(self, body: Stmt | None) -> Stmt | None:
        """A region under the facts that hold in it; None when nothing can enter it."""
        if body is None:
            return None
        facts, loops = len(self.facts), len(self.loops)
        try:
            return self.visit(body)
        except _UnreachableError:
            del self.facts[facts:], self.loops[loops:]
            return None

    def joined(self, var: Var, first: Expr | None, second: Expr | None, stmt: IfStmt) -> Var:
        """The phi of what two arms end with; at least one of them has a value."""
        a, b = first or second, second or first
        assert a is not None and b is not None
        check_types(self.function, var, a.type, b.type, stmt, "the two branches")
        return self.fresh(var, "phi", unpinned(a.type))

    def note_branch(
        self,
        condition: Expr,
        returns: tuple[Var, ...],
        inner: tuple[YieldStmt | None, YieldStmt | None],
        joined: Sequence[tuple[Var, Expr | None, Expr | None]],
        results: list[Var],
        stmt: IfStmt,
    ) -> None:
        """Remember where the results come from, and which of them may be unassigned."""
        own = [y.values if y is not None else (None,) * len(returns) for y in inner]
        site = Branch(
            condition,
            (*returns, *results),
            (*own[0], *(a for _, a, _ in joined)),
            (*own[1], *(b for _, _, b in joined)),
        )
        for result in site.results:
            self.known.sites[result] = site
        for (_, a, b), result in zip(joined, results, strict=True):
            for value, arm in ((a, "then"), (b, "else")):
                if self.known.is_doubtful(value):
                    self.known.doubtful.add(result)
                    gap = self.gaps.get(value) if isinstance(value, Var) else None
                    self.gaps[result] = gap or _Gap(
                        f"not assigned in the {arm} part of this branch", stmt.span
                    )

    def save(self, variables: Iterable[Var]) -> list[tuple[Var, Expr | None]]:
        return [(v, self.env.get(v)) for v in variables]

    def restore(self, saved: list[tuple[Var, Expr | None]]) -> None:
        for var, value in saved:
            if value is None:
                self.env.pop(var, None)
            else:
                self.env[var] = value

    def closing(
        self, body: Stmt | None, pairs: list[tuple[Var, Expr | None]], results: list[Var], stmt: Stmt
    ) -> Stmt:
        """The region with further values at its yield; what has no value gets one that is never read."""
        values: list[Expr] = []
        ahead: list[Stmt] = []
        for (var, value), result in zip(pairs, results, strict=True):
            values.append(value or self.placeholders.make(var, result.type, ahead, stmt.span))
        return yielding(body, values, stmt.span, ahead)

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
        ahead: list[Stmt] = []
        inner = self.flow.inside[id(stmt)]
        author_args = tuple(self.author_arg(a) for a in stmt.iter_args)
        carried = self.carried(stmt)
        values = [self.current(v) for v in carried]
        args = [self.carry(v, x, stmt, ahead) for v, x in zip(carried, values, strict=True)]
        site = self.enter(stmt, head, (*author_args, *args), carried, values)
        saved = self.save(inner.assigned)
        self.env.update(zip(carried, args, strict=True))
        entered = self.facts_of(stmt, head)
        site.enters = entered
        if any(self.known.is_doubtful(x) for x in values):
            site.certain = self.makes_a_trip(site)
        if entered is not None:
            self.facts.append((entered, True))
        body = self.entered(stmt.body)
        if body is None:
            self.env.update(zip(carried, args, strict=True))
            body = seq((YieldStmt(author_args, span=stmt.span),) if author_args else ())
        if entered is not None:
            self.facts.pop()
        self.stmt = stmt
        tail = last_yield(body)
        ends = [self.current(v) for v in carried]
        self.loops.pop()
        self.restore(saved)
        if carried:
            for var, arg, end in zip(carried, args, ends, strict=True):
                assert end is not None
                check_types(self.function, var, arg.type, end.type, stmt, "two trips of the loop")
            body = yielding(body, [e for e in ends if e is not None], stmt.span, [])
        returns = tuple(self.result(v, a.type) for v, a in zip(stmt.return_vars, author_args, strict=True))
        results = [self.fresh(v, "rv", a.type) for v, a in zip(carried, args, strict=True)]
        site.yields = (*(tail.values if tail is not None else ()), *ends)
        self.note_loop(site, (*returns, *results), carried, stmt)
        self.env.update(zip(carried, results, strict=True))
        new = updated(
            stmt, **head, iter_args=(*author_args, *args), body=body, return_vars=(*returns, *results)
        )
        return seq((*ahead, new), stmt.span) if ahead else new

    def carried(self, stmt: ForStmt | WhileStmt) -> list[Var]:
        """What the loop assigns and either reads before that in a later trip or leaves to what follows."""
        inner = self.flow.inside[id(stmt)]
        live, own = set(self.flow.live[id(stmt)]), set(stmt.return_vars)
        return [v for v in inner.assigned if v not in own and (v in live or v in inner.exposed)]

    def carry(self, var: Var, value: Expr | None, stmt: Stmt, ahead: list[Stmt]) -> IterArg:
        """The carry of a variable, with what it holds in the first trip."""
        doubtful = self.known.is_doubtful(value)
        gap = self.gaps.get(value) if isinstance(value, Var) else None
        if value is None and is_open(var.type):
            inner = {*defined_vars(stmt)}
            if any(v in inner or self.current(v) is None for v in type_vars(var.type)):
                raise loose_extent(self.function, var, stmt)
        kind = self.visit_type(var.type) if value is None else value.type
        if value is None:
            value = self.placeholders.make(var, unpinned(kind), ahead, stmt.span)
        arg = IterArg(self.names.fresh(var.name_hint, "iter"), unpinned(kind), value, span=var.span)
        if doubtful:
            self.known.doubtful.add(arg)
            self.gaps[arg] = gap or _Gap("not assigned before the first trip of this loop", stmt.span)
        return arg

    def author_arg(self, arg: IterArg) -> IterArg:
        """A carry that the author wrote."""
        init, kind = self.visit(arg.init_value), self.visit_type(arg.type)
        if arg not in self.repeated and init is arg.init_value and kind is arg.type:
            return arg
        if is_open(arg.type):
            kind = following(kind, init.type)
        name = self.names.fresh(arg.name_hint, "iter") if arg in self.repeated else arg.name_hint
        new = IterArg(name, kind, init, span=arg.span)
        self.env[arg] = new
        return new

    def enter(
        self,
        stmt: ForStmt | WhileStmt,
        head: dict[str, Any],
        args: tuple[IterArg, ...],
        carried: list[Var],
        values: list[Expr | None],
    ) -> Loop:
        """Open the loop: its number, its carries and its variable."""
        self.loop_count += 1
        outer = frozenset(self.loops)
        self.loops.append(self.loop_count)
        author = args[: len(args) - len(carried)]
        inits = (*(a.init_value for a in author), *values)
        site = Loop(self.loop_count, outer, args, inits, (), None)
        for arg in args:
            self.at_home(arg)
            self.known.sites[arg] = site
        if isinstance(stmt, ForStmt):
            kind = self.visit_type(stmt.loop_var.type)
            head["loop_var"] = var = self.define(stmt.loop_var, kind, "idx")
            site.first = (var, head["start"])
            self.bounds[var] = _range(head)
        return site

    def facts_of(self, stmt: ForStmt | WhileStmt, head: dict[str, Any]) -> Expr | None:
        """What holds in every trip; evaluated before the first one it says whether there is one."""
        if isinstance(stmt, WhileStmt):
            self.stmt = stmt
            head["condition"] = self.visit(stmt.condition)
            return head["condition"]
        step = head["step"]
        if not isinstance(step, ConstInt):
            return None
        return (lt if step.value > 0 else gt)(head["start"], head["stop"])

    def makes_a_trip(self, site: Loop) -> bool:
        """Whether the loop surely runs once."""
        if site.enters is None:
            return False
        inits = {a: x for a, x in zip(site.args, site.inits, strict=True) if x is not None}
        return self.known.follows(substitute(site.enters, inits), self.facts, self.bounds)

    def note_loop(self, site: Loop, results: tuple[Var, ...], carried: list[Var], stmt: Stmt) -> None:
        """Remember where the results come from, and which of them may be unassigned."""
        site.results = results
        for result in results:
            self.known.sites[result] = site
        first = len(results) - len(carried)
        for result, init, end in zip(results[first:], site.inits[first:], site.yields[first:], strict=True):
            if self.known.is_doubtful(end) or (self.known.is_doubtful(init) and not site.certain):
                self.known.doubtful.add(result)
                gap = self.gaps.get(init) if isinstance(init, Var) else None
                self.gaps[result] = gap or _Gap("not assigned when this loop makes no trip", stmt.span)


def _range(head: dict[str, Any]) -> tuple[int | None, int | None]:
    step = head["step"]
    if not isinstance(step, ConstInt):
        return None, None
    low, high = bounds_of(head["start"])[0], bounds_of(head["stop"])[1]
    if step.value < 0:
        low, high = bounds_of(head["stop"])[0], bounds_of(head["start"])[1]
        return (None if low is None else low + 1), high
    return low, (None if high is None else high - 1)
