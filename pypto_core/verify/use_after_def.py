"""UseAfterDef: nothing is read that was not defined earlier in program order."""

from __future__ import annotations

from collections.abc import Iterator

from pypto_core.diagnostics import Diagnostic, Note
from pypto_core.ir import (
    AssignStmt,
    ForStmt,
    Function,
    IfStmt,
    Program,
    PtrType,
    ScopeStmt,
    SplitAivScopeStmt,
    SpmdScopeStmt,
    Stmt,
    Var,
    WhileStmt,
    flatten,
)
from pypto_core.verify.rules import rule, shown
from pypto_core.verify.scan import scan

_RULE = rule("UseAfterDef", "UseAfterDefCheck")
_UNDEFINED = 401


def verify_use_after_def(program: Program, backend: object = None) -> Iterator[Diagnostic]:
    """Find reads of variables without an earlier definition (401), those in types and notes included.

    This is weaker than dominance, so that it holds before ConvertToSSA too: what a loop's body or a branch of an
    `if` without results defines stays known afterwards. Branches don't see each other's definitions, and loop
    variables and carries end with the loop. Extents of tensors may be symbols that only their types name.
    """
    for function in program:
        yield from _Checker(function).run()


class _Checker:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.scan = scan(function)
        self.known: set[Var] = set(self.scan.given)
        self.found: list[Diagnostic] = []
        self.said: set[tuple[Var, Stmt]] = set()

    def run(self) -> list[Diagnostic]:
        self.region(self.function.body, [])
        return self.found

    def region(self, body: Stmt, added: list[Var]) -> None:
        """Check a region; ``added`` receives what was not known before it."""
        reads, known = self.scan.reads, self.known
        for stmt in flatten(body):
            for var in reads.get(stmt, ()):
                if var not in known:
                    self.unknown(var, stmt)
            if isinstance(stmt, AssignStmt):
                var = stmt.var
                if var not in known:
                    known.add(var)
                    added.append(var)
            elif isinstance(stmt, ForStmt | WhileStmt):
                self.loop(stmt, added)
            elif isinstance(stmt, IfStmt):
                self.branches(stmt, added)
            elif isinstance(stmt, ScopeStmt):
                if isinstance(stmt, SpmdScopeStmt | SplitAivScopeStmt) and stmt.loop_var is not None:
                    self.learn((stmt.loop_var,), added)
                self.region(stmt.body, added)
                if stmt.task_id is not None:
                    self.learn((stmt.task_id,), added)

    def learn(self, variables: tuple[Var, ...], added: list[Var]) -> None:
        fresh = [var for var in variables if var not in self.known]
        self.known.update(fresh)
        added.extend(fresh)

    def loop(self, stmt: ForStmt | WhileStmt, added: list[Var]) -> None:
        header: list[Var] = []
        self.learn(stmt.iter_args, header)
        if isinstance(stmt, ForStmt):
            self.learn((stmt.loop_var,), header)
        for var in self.scan.late_reads.get(stmt, ()):
            if var not in self.known:
                self.unknown(var, stmt)
        self.region(stmt.body, added)
        self.known.difference_update(header)
        self.learn(stmt.return_vars, added)

    def branches(self, stmt: IfStmt, added: list[Var]) -> None:
        leaks: list[Var] = []
        for body in (stmt.then_body, stmt.else_body):
            if body is None:
                continue
            inner: list[Var] = []
            self.region(body, inner)
            self.known.difference_update(inner)
            leaks += inner
        if stmt.return_vars:
            self.learn(stmt.return_vars, added)
        elif leaks:
            self.learn(tuple(dict.fromkeys(leaks)), added)

    def unknown(self, var: Var, stmt: Stmt) -> None:
        definition = self.scan.defs.get(var)
        if definition is None and (var in self.scan.symbols or isinstance(var.type, PtrType)):
            return
        if (var, stmt) in self.said:
            return
        self.said.add((var, stmt))
        if definition is None:
            message = (
                f"variable {shown(var)} is used but nothing in function '{self.function.name}' defines it"
            )
            remedy = "define it first or pass it to the function as a parameter"
        else:
            message = f"variable {shown(var)} is used where its definition has not been reached"
            remedy = "move the definition before the use, or hand the value on as a result of its region"
        spans = () if definition is None or not definition.span.is_valid else (definition.span,)
        self.found.append(
            _RULE.error(
                _UNDEFINED,
                message,
                stmt.span,
                remedy=remedy,
                facts={"function": self.function.name},
                notes=[Note(message="defined here", span=span) for span in spans],
            )
        )
