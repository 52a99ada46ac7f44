"""InlineFunctions: bodies of functions of type Inline take the place of their calls, and the functions go.

What a callee defines is fresh in each place. A parameter that the callee does not assign is replaced by what is passed
when that is a variable or a constant; otherwise it becomes a variable of its own. Symbolic extents of its parameters
are replaced by those of the arguments, and types are deduced again from what is passed, with the memories of tiles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from pypto_core.diagnostics import Note, Span, UserError
from pypto_core.ir import (
    MAP,
    NODES,
    AssignStmt,
    BreakStmt,
    Call,
    ConstBool,
    ConstFloat,
    ConstInt,
    EvalStmt,
    Expr,
    Function,
    FunctionType,
    GlobalVar,
    IfStmt,
    IterArg,
    MakeTuple,
    Mutator,
    NameSource,
    Op,
    Program,
    ReturnStmt,
    Stmt,
    Submit,
    TensorType,
    TileType,
    Type,
    Var,
    WhileStmt,
    child_fields,
    defined_vars,
    flatten,
    map_nodes,
    not_,
    regions,
    replace,
    seq,
    updated,
    walk,
)  # fmt: skip
from pypto_plugin_structure.comments import in_place_of
from pypto_plugin_structure.ctrl_flow import ctrl_flow_transform
from pypto_plugin_structure.exits import early_returns
from pypto_plugin_structure.flatten_calls import HeadFlattener
from pypto_plugin_structure.placing import Placing
from pypto_plugin_structure.retype import TypeFollower

_CONSTANTS = (ConstInt, ConstFloat, ConstBool)
_LEAVES = (Var, *_CONSTANTS)


def inline_functions(program: Program, ctx: Any = None) -> Program:
    """The program without functions to inline; the same object when it has none.

    Raises UserError PT322 for functions that inline each other without end, have no body here, are submitted as tasks
    or called with another number of arguments, and for a program that consists of nothing else.
    """
    inlines = {f.name: f for f in program if f.func_type is FunctionType.Inline}
    if not inlines:
        return program
    others = [f for f in program if f.name not in inlines]
    if not others:
        first = next(iter(inlines.values()))
        raise UserError(
            "every function of the program is to be inlined, and none is left to inline them into",
            code="PT322",
            span=first.span,
            facts={"functions": ", ".join(inlines)},
            remedy="add the kernel that calls them, or leave type=pl.FunctionType.Inline out",
        )
    ready: dict[str, Function] = {}
    for name in _callees_first(inlines):
        function = _Inliner(inlines, ready).visit(inlines[name])
        # One return at the end is all that splicing has to deal with.
        ready[name] = ctrl_flow_transform(function, ctx) if early_returns(function) else function
    return replace(program, functions=[_inlined(f, inlines, ready) for f in others])


def _inlined(function: Function, inlines: Mapping[str, Function], ready: Mapping[str, Function]) -> Function:
    spliced = _Inliner(inlines, ready).visit(function)
    return function if spliced is function else Placing().visit(spliced)


def _callees_first(inlines: Mapping[str, Function]) -> list[str]:
    """The functions in an order in which each comes after those that it calls."""
    done: dict[str, None] = {}
    path: list[str] = []

    def enter(name: str) -> None:
        if name in done:
            return
        if name in path:
            ring = [*path[path.index(name) :], name]
            raise UserError(
                f"function '{name}' can't be inlined: it calls itself",
                code="PT322",
                span=inlines[name].span,
                facts={"calls": " → ".join(ring)},
                remedy="use a loop, or give one of them a type that is not inlined",
            )
        path.append(name)
        for callee in _called(inlines[name].body, inlines):
            enter(callee)
        path.pop()
        done[name] = None

    for name in inlines:
        enter(name)
    return list(done)


def _called(node: Any, inlines: Mapping[str, Function]) -> list[str]:
    return [n.op.name for n in walk(node) if isinstance(n, Call | Submit) and n.op.name in inlines]


class _Inliner(Mutator):
    def __init__(self, inlines: Mapping[str, Function], ready: Mapping[str, Function]) -> None:
        super().__init__()
        self.inlines, self.ready = inlines, ready
        self.names = NameSource()

    def visit_stmt(self, stmt: Stmt) -> Stmt:
        """Any statement: calls in its own expressions, then its regions."""
        calls = self.own_calls(stmt)
        if not calls:
            return self.below(stmt)
        for call in calls:
            self.check(call, stmt)
        if isinstance(stmt, AssignStmt | EvalStmt):
            value = stmt.value if isinstance(stmt, AssignStmt) else stmt.expr
            if len(calls) == 1 and calls[0] is value:
                assert isinstance(value, Call)
                target = stmt.var if isinstance(stmt, AssignStmt) else None
                return in_place_of(stmt, self.spliced(value, target, stmt))
        if isinstance(stmt, WhileStmt) and any(c in calls for c in walk(stmt.condition)):
            # The condition's statements run at the top of each trip.
            leave = IfStmt(not_(stmt.condition), BreakStmt(span=stmt.span), span=stmt.span)
            body = seq((leave, *flatten(stmt.body)), stmt.span)
            return self.visit(replace(stmt, condition=ConstBool(True), body=body))
        flat = HeadFlattener(self.names).visit(stmt)
        return seq([self.visit(s) if s is not stmt else s for s in flatten(flat)], stmt.span)

    def visit_assign_stmt(self, node: AssignStmt) -> Stmt:
        """As any other."""
        return self.visit_stmt(node)

    def below(self, stmt: Stmt) -> Stmt:
        if not regions(stmt):
            return stmt
        names = [n for n in ("body", "then_body", "else_body") if isinstance(getattr(stmt, n, None), Stmt)]
        return updated(stmt, **{name: self.visit(getattr(stmt, name)) for name in names})

    def own_calls(self, stmt: Stmt) -> list[Call | Submit]:
        """The calls of functions to inline in a statement's own expressions."""
        found: list[Call | Submit] = []
        stack: list[Any]
        if type(stmt) is AssignStmt:
            stack = [stmt.value]
        else:
            inside = {id(r) for r in regions(stmt)}
            stack = [part for part in _parts(stmt) if id(part) not in inside]
        while stack:
            node = stack.pop()
            if isinstance(node, _LEAVES):
                if isinstance(node, IterArg):
                    stack.append(node.init_value)
                continue
            if isinstance(node, Call | Submit):
                if isinstance(node.op, GlobalVar) and node.op.name in self.inlines:
                    found.append(node)
                if type(node) is Call and not (node.attrs or node.kwargs):
                    stack += node.args
                    continue
            stack += _parts(node)
        return found

    def check(self, call: Call | Submit, stmt: Stmt) -> None:
        """Refuse what can't be inlined."""
        callee = self.inlines[call.op.name]
        problem, remedy = "", ""
        if isinstance(call, Submit):
            problem = f"function '{callee.name}' is inlined and can't be submitted as a task"
            remedy = "call it, or make it a kernel: @pl.function(type=pl.FunctionType.InCore)"
        elif callee.requires_runtime_binding:
            problem = f"function '{callee.name}' can't be inlined: its body is not part of the program"
            remedy = "give it a body, or another type"
        elif len(call.args) != len(callee.params):
            problem = f"'{callee.name}' takes {len(callee.params)} arguments, not {len(call.args)}"
            remedy = "pass one argument per parameter"
        if problem:
            notes = (Note(message="the function", span=callee.span),) if callee.span.is_valid else ()
            raise UserError(problem, code="PT322", span=_at(call, stmt), remedy=remedy, notes=notes)

    def spliced(self, call: Call, target: Var | None, stmt: Stmt) -> list[Stmt]:
        """The callee's body for this call, its result assigned to ``target``."""
        callee = self.ready[call.op.name]
        splicer = _Splicer()
        stmts = splicer.bind(callee, call)
        body = flatten(splicer.visit(callee.body))
        results: tuple[Expr, ...] = ()
        if body and isinstance(body[-1], ReturnStmt):
            results, body = body[-1].values, body[:-1]
        stmts += body
        if target is not None:
            if not results:
                raise UserError(
                    f"'{callee.name}' returns nothing that could be assigned",
                    code="PT322",
                    span=_at(call, stmt),
                    remedy="call it as a statement of its own",
                )
            value = results[0] if len(results) == 1 else MakeTuple(results, span=call.span)
            stmts.append(AssignStmt(target, value, span=stmt.span))
        return stmts


def _parts(node: Any) -> Iterable[Any]:
    """What a node holds directly, types and names of operators left out."""
    for field in child_fields(cast("type[object]", type(node))):
        value = field.get(node)
        items = value if field.kind == NODES else map_nodes(value) if field.kind == MAP else (value,)
        yield from (item for item in items if item is not None and not isinstance(item, Type | Op))


class _Splicer(TypeFollower):
    """Copies a callee's body: every definition fresh, parameters and symbolic extents replaced."""

    def bind(self, callee: Function, call: Call) -> list[Stmt]:
        """Take in the arguments; statements that give parameters their values are returned."""
        assigned = set(defined_vars(callee.body))
        stmts: list[Stmt] = []
        for param, arg in zip(callee.params, call.args, strict=True):
            if param not in assigned and isinstance(arg, _LEAVES):
                self.remap[param] = arg
            else:
                var = Var(param.name_hint, arg.type, span=param.span)
                stmts.append(AssignStmt(var, arg, span=call.span))
                self.remap[param] = self._made[param] = var
            self.extents(param.type, arg.type)
        return stmts

    def extents(self, kind: Type, have: Type) -> None:
        """What the symbols in a parameter's type stand for here."""
        if not (isinstance(kind, TensorType | TileType) and isinstance(have, TensorType | TileType)):
            return
        pairs = [
            *zip(kind.shape, have.shape, strict=False),
            *zip(kind.valid_shape, have.valid_shape, strict=False),
        ]
        for dim, actual in pairs:
            if isinstance(dim, Var) and dim is not actual:
                self.remap.setdefault(dim, actual)

    def define(self, var: Var, kind: Type) -> Var:
        """A fresh variable the first time, the same one each time after."""
        made = self._made.get(var)
        return made if made is not None else self._make(var, Var(var.name_hint, kind, span=var.span))

    def visit_def(self, var: Var) -> Var:
        """A carry keeps its initial value."""
        if isinstance(var, IterArg) and var not in self._made:
            init = self.visit(var.init_value)
            return self._make(var, IterArg(var.name_hint, self.visit_type(var.type), init, span=var.span))
        return super().visit_def(var)


def _at(call: Call | Submit, stmt: Stmt) -> Span:
    return call.span if call.span.is_valid else stmt.span
