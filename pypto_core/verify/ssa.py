"""SSAForm: every variable has one definition, visible wherever it is read, and regions hand on what they should."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pypto_core.diagnostics import Diagnostic, Note, Span
from pypto_core.ir import (
    AssignStmt,
    ForStmt,
    Function,
    IfStmt,
    IterArg,
    Program,
    ScopeStmt,
    SplitAivScopeStmt,
    SpmdScopeStmt,
    Stmt,
    Var,
    WhileStmt,
    YieldStmt,
    flatten,
    last_yield,
)
from pypto_core.verify.rules import place, rule, shown
from pypto_core.verify.scan import scan

_RULE = rule("SSAForm", "SSAVerify")
_TWICE, _SHADOWS, _NO_YIELD, _CARRIES, _ARITY, _HIDDEN, _NOT_LAST = range(1, 8)
_WHAT = {ForStmt: "for loop", WhileStmt: "while loop", IfStmt: "if"}


def verify_ssa_form(program: Program, backend: object = None) -> Iterator[Diagnostic]:
    """Find violations of single assignment.

    1 a variable assigned twice; 2 a loop variable, carry or result that is a variable defined before; 3 results
    without a yield; 4 carries and results of different number; 5 a yield of another number of values; 6 a use
    where the definition is not visible; 7 a yield that is not last.
    """
    for function in program:
        yield from _Checker(function).run()


class _Checker:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.scan = scan(function)
        self.visible: set[Var] = set(self.scan.given)
        self.defined: dict[Var, Span] = dict.fromkeys(self.scan.given, function.span)
        self.found: list[Diagnostic] = []
        self.said: set[tuple[Var, Stmt]] = set()

    def run(self) -> list[Diagnostic]:
        self.region(self.function.body, [])
        return self.found

    def region(self, body: Stmt, added: list[Var]) -> None:
        """Check a region; ``added`` receives what becomes visible in it."""
        stmts = flatten(body)
        reads, visible, defined = self.scan.reads, self.visible, self.defined
        for i, stmt in enumerate(stmts):
            for var in reads.get(stmt, ()):
                if var not in visible:
                    self.hidden(var, stmt)
            if isinstance(stmt, AssignStmt):
                var = stmt.var
                if var in defined:
                    self.redefined(var, stmt, _TWICE)
                else:
                    defined[var] = stmt.span
                visible.add(var)
                added.append(var)
            elif isinstance(stmt, YieldStmt):
                if i + 1 < len(stmts):
                    self.late_yield(stmt)
            elif isinstance(stmt, ForStmt | WhileStmt):
                self.loop(stmt, added)
            elif isinstance(stmt, IfStmt):
                self.branches(stmt, added)
            elif isinstance(stmt, ScopeStmt):
                self.scope(stmt, added)

    def closed(self, body: Stmt, inner: list[Var]) -> None:
        """Check a region whose definitions end with it."""
        self.region(body, inner)
        self.visible.difference_update(inner)

    def loop(self, stmt: ForStmt | WhileStmt, added: list[Var]) -> None:
        inner: list[Var] = []
        for arg in stmt.iter_args:
            self.header(arg, stmt, inner)
        if isinstance(stmt, ForStmt):
            self.header(stmt.loop_var, stmt, inner)
        for var in self.scan.late_reads.get(stmt, ()):
            if var not in self.visible:
                self.hidden(var, stmt)
        self.closed(stmt.body, inner)
        if len(stmt.iter_args) != len(stmt.return_vars):
            self.found.append(
                _RULE.error(
                    _CARRIES,
                    f"the {_WHAT[type(stmt)]} has {len(stmt.iter_args)} carries and "
                    f"{len(stmt.return_vars)} results",
                    stmt.span,
                    remedy="give the loop one result per carried value",
                )
            )
        self.handed_on(stmt, stmt.body, len(stmt.return_vars), "the body")
        for var in stmt.return_vars:
            self.header(var, stmt, added)

    def branches(self, stmt: IfStmt, added: list[Var]) -> None:
        count = len(stmt.return_vars)
        self.closed(stmt.then_body, [])
        self.handed_on(stmt, stmt.then_body, count, "the then branch")
        if stmt.else_body is not None:
            self.closed(stmt.else_body, [])
            self.handed_on(stmt, stmt.else_body, count, "the else branch")
        elif count:
            self.no_yield(stmt, "the else branch, which is missing,")
        for var in stmt.return_vars:
            self.header(var, stmt, added)

    def scope(self, stmt: ScopeStmt, added: list[Var]) -> None:
        if isinstance(stmt, SpmdScopeStmt | SplitAivScopeStmt) and stmt.loop_var is not None:
            self.header(stmt.loop_var, stmt, added)
        self.region(stmt.body, added)
        if stmt.task_id is not None:
            self.header(stmt.task_id, stmt, added)

    def header(self, var: Var, stmt: Stmt, added: list[Var]) -> None:
        if var in self.defined:
            self.redefined(var, stmt, _SHADOWS)
        else:
            self.defined[var] = stmt.span
        self.visible.add(var)
        added.append(var)

    def handed_on(self, stmt: Any, body: Stmt, count: int, where: str) -> None:
        last = last_yield(body)
        if last is None:
            if count:
                self.no_yield(stmt, where)
        elif len(last.values) != count:
            self.found.append(
                _RULE.error(
                    _ARITY,
                    f"{where} of the {_WHAT[type(stmt)]} yields {len(last.values)} values for {count} results",
                    place(last.span, stmt.span),
                    remedy="yield one value per result, in the order of the results",
                )
            )

    def no_yield(self, stmt: Any, where: str) -> None:
        self.found.append(
            _RULE.error(
                _NO_YIELD,
                f"the {_WHAT[type(stmt)]} has results but {where} does not end with a yield",
                stmt.span,
                remedy="end every region of it with pl.yield_(…), one value per result",
                facts={"results": ", ".join(shown(var) for var in stmt.return_vars)},
            )
        )

    def redefined(self, var: Var, stmt: Stmt, number: int) -> None:
        if number == _TWICE:
            message = f"variable {shown(var)} is assigned more than once"
            remedy = "give the new value a name of its own, or run ConvertToSSA"
        else:
            kind = "carry" if isinstance(var, IterArg) else "result or loop variable"
            message = f"{kind} {shown(var)} is a variable that was defined before"
            remedy = "make a fresh variable for it"
        first = self.defined[var]
        notes = (Note(message="first defined here", span=first),) if first.is_valid else ()
        self.found.append(
            _RULE.error(number, message, stmt.span, remedy=remedy, notes=notes, facts=self.facts())
        )

    def hidden(self, var: Var, stmt: Stmt) -> None:
        definition = self.scan.defs.get(var)
        # A variable that is defined nowhere is UseAfterDef's affair.
        if definition is None or (var, stmt) in self.said:
            return
        self.said.add((var, stmt))
        known = var in self.defined
        self.found.append(
            _RULE.error(
                _HIDDEN,
                f"variable {shown(var)} is used "
                + ("outside the region that defines it" if known else "before its definition"),
                stmt.span,
                remedy="hand it on with pl.yield_ as a result of the region"
                if known
                else "move the definition before the use",
                facts=self.facts(),
                notes=(Note(message="defined here", span=definition.span),)
                if definition.span.is_valid
                else (),
            )
        )

    def late_yield(self, stmt: Stmt) -> None:
        self.found.append(
            _RULE.error(
                _NOT_LAST,
                "a yield is followed by other statements of its region",
                stmt.span,
                remedy="move the yield to the end of the region",
                facts=self.facts(),
            )
        )

    def facts(self) -> dict[str, object]:
        return {"function": self.function.name}
