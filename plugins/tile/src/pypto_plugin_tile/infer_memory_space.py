"""InferTileMemorySpace: every tile gets a memory space, and every operand lies where its operator takes it.

Three steps, each linear. *Demand*: what consumers want reaches the loads, creations and views whose space is still
open. *Assign*: walking forwards, open producers take the space demanded of them and types are deduced again. *Move*: an
operand in a space that its operator does not take is moved there right before, once per value and space within a
region; where the machine has no direct path the move goes the shortest way round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pypto_core.diagnostics import Span, UserError
from pypto_core.ir import (
    AssignStmt,
    Call,
    EvalStmt,
    Expr,
    ForStmt,
    Function,
    FunctionType,
    IfStmt,
    IterArg,
    MemorySpace,
    Mutator,
    NameSource,
    Program,
    ScopeStmt,
    SeqStmts,
    Stmt,
    TileType,
    Type,
    Var,
    WhileStmt,
    YieldStmt,
    flatten,
    has_own_layout,
    implicit_layout,
    last_yield,
    map_functions,
    replace,
    seq,
    types_equal,
    updated,
)
from pypto_core.ops import FromOption, OpMemory, create_call, op_of
from pypto_plugin_tile.demands import Demands, collect_demands
from pypto_plugin_tile.moves import Made, changes_a_tile, changes_tiles
from pypto_plugin_tile.routes import can_move, name_of, route

# Nothing can be created there: it is moved to from Mat.
_COPIES = frozenset({"tile.move", "tile.extract"})
_SCALES = (MemorySpace.LeftScale, MemorySpace.RightScale)


def infer_tile_memory_space(program: Program, ctx: Any) -> Program:
    """The program with spaces assigned in InCore functions; the same object when nothing was open.

    Raises UserError where a tile can't get to where it is used (PT340, PT342), and where a loop or branch hands on an
    accumulator on one way and something else on another (PT341).
    """

    def change(function: Function) -> Function:
        if function.func_type is not FunctionType.InCore:
            return function
        assigner = _Assigner(collect_demands(function), ctx)
        assigner.changing = changes_tiles(function.body)
        return assigner.visit(function)

    return map_functions(program, change)


def open_space(call: Call, memory: OpMemory) -> bool:
    """Whether the producer's space may still be chosen."""
    return isinstance(memory.output, FromOption) and memory.output.option not in call.kwargs


class _Assigner(Mutator):
    def __init__(self, demands: Demands, ctx: Any) -> None:
        super().__init__()
        self.demands = demands
        self.backend = ctx.backend if ctx is not None else None
        self.names = NameSource()
        self.ahead: list[Stmt] = []
        self.moved = Made()
        self.changing = False

    # -- producers

    def visit_assign_stmt(self, node: AssignStmt) -> Stmt:
        """Choose the space, mend the operands, deduce the type again."""
        value = self.visit(node.value)
        if isinstance(value, Call):
            value = self.place(node.var, value, node.value)
        kind = _retyped(self.visit_type(node.var.type), value.type)
        var = node.var
        if kind is not var.type:
            var = Var(var.name_hint, kind, span=var.span)
            self.remap[node.var] = var
        return self.with_ahead(updated(node, var=var, value=value))

    def place(self, var: Var, call: Call, written: Expr) -> Call:
        """The call with its space chosen and its operands moved; its type is deduced again if anything changed."""
        op = op_of(call)
        if op is None or op.memory is None:
            return call
        args = tuple(self.operand(arg, spaces, call) for arg, spaces in _with_spaces(call.args, op.memory))
        kwargs: Mapping[str, Any] = call.kwargs
        if open_space(call, op.memory):
            assert isinstance(op.memory.output, FromOption)
            kwargs = {**call.kwargs, op.memory.output.option: self.chosen(var, call, op.memory.output)}
        if call.name in _COPIES:
            args = (self.within_reach(args[0], kwargs.get("target_memory"), call.span), *args[1:])
        settled = not isinstance(call.type, TileType) or call.type.memory_space is not None
        if settled and call is written and all(a is b for a, b in zip(args, call.args, strict=True)):
            new = call
        else:
            new = create_call(call.name, args, kwargs, call.span, call.attrs)
        if changes_a_tile(new):
            # A tile was changed under its name: copies made before are out of date.
            self.moved = Made()
        return new

    def chosen(self, var: Var, call: Call, rule: FromOption) -> MemorySpace:
        """The space of an open producer: a declared one, else what is demanded of it, else the rule's default."""
        declared = var.type.memory_space if isinstance(var.type, TileType) else None
        if declared is not None:
            return declared
        wanted = self.demands.spaces.get(var, rule.default or MemorySpace.Vec)
        if call.name == "tile.load":
            return self.loaded(var, wanted)
        return MemorySpace.Mat if call.name == "tile.create" and wanted in _SCALES else wanted

    def loaded(self, var: Var, wanted: MemorySpace) -> MemorySpace:
        """Vec or Mat, from where the tile gets to where it is wanted."""
        vector = var in self.demands.vector
        if wanted is MemorySpace.Acc or (vector and can_move(MemorySpace.Vec, wanted, self.backend)):
            return MemorySpace.Vec
        return wanted if wanted is MemorySpace.Vec else MemorySpace.Mat

    def visit_eval_stmt(self, node: EvalStmt) -> Stmt:
        """A call for its effect has operands too."""
        expr = self.visit(node.expr)
        if isinstance(expr, Call):
            expr = self.place(Var("_", expr.type), expr, node.expr)
        return self.with_ahead(updated(node, expr=expr))

    # -- operands

    def operand(self, arg: Expr, spaces: tuple[MemorySpace, ...] | None, call: Call) -> Expr:
        kind = arg.type
        if not spaces or not isinstance(kind, TileType) or kind.memory_space in (None, *spaces):
            return arg
        assert kind.memory_space is not None
        reachable = [s for s in spaces if can_move(kind.memory_space, s, self.backend)]
        return self.moved_to(arg, (*reachable, spaces[0])[0], call.span)

    def within_reach(self, value: Expr, target: MemorySpace | None, span: Span) -> Expr:
        """What is copied to ``target``, brought to where one transfer is enough, when there is a way."""
        source = _space(value)
        if source is None or target is None or self.backend is None or self.backend.path(source, target):
            return value
        if source is target or not can_move(source, target, self.backend):
            return value
        *between, _ = route(value, target, self.backend, span)
        return self.moved_to(value, between[-1], span)

    def moved_to(self, value: Expr, space: MemorySpace, span: Span) -> Expr:
        """``value`` in ``space``: a move made before in this region, or a new one ahead of the statement."""
        current = value
        for hop in route(value, space, self.backend, span):
            known = self.moved.get(value, hop)
            if known is None:
                call = create_call("tile.move", [current], _move_options(current, hop), span)
                known = Var(self.names.fresh(name_of(value), "tile", hop.name.lower()), call.type, span=span)
                self.ahead.append(AssignStmt(known, call, span=span))
                self.moved.put(value, hop, known)
            current = known
        return current

    def with_ahead(self, stmt: Stmt) -> Stmt:
        if not self.ahead:
            return stmt
        ahead, self.ahead = self.ahead, []
        if stmt.leading_comments:
            ahead[0] = replace(ahead[0], leading_comments=stmt.leading_comments)
            stmt = replace(stmt, leading_comments=())
        return seq((*ahead, stmt), stmt.span)

    # -- regions: a move is known only where it was made

    def region(self, visit: Callable[[], Any], body: Stmt, *, again: bool = False) -> Any:
        """What ``visit`` makes of a nested body, which sees the moves made before it and keeps its own to itself.

        ``again``: it may run more than once, so that what it changes at its end is changed at its beginning.
        """
        outer, changes = self.moved, self.changing and changes_tiles(body)
        self.moved = Made() if again and changes else Made(outer)
        new = visit()
        self.moved = Made() if changes else outer
        return new

    def nested(self, body: Stmt, *, again: bool = False) -> Stmt:
        """A body that belongs to a loop or branch."""
        return self.region(lambda: self.visit(body), body, again=again)

    def visit_seq_stmts(self, node: SeqStmts) -> Stmt:
        """Each statement with the moves ahead of it."""
        stmts = [self.visit(s) for s in node.stmts]
        if all(a is b for a, b in zip(stmts, node.stmts, strict=True)):
            return node
        return seq([replace(node, stmts=tuple(stmts))], node.span)

    def visit_scope_stmt(self, node: ScopeStmt) -> Stmt:
        """What a scope moves stays in it."""
        return self.region(lambda: self.mutate_children(node), node.body)

    def visit_for_stmt(self, node: ForStmt) -> Stmt:
        """Carries live where their initial values do."""
        start, stop, step = self.visit(node.start), self.visit(node.stop), self.visit(node.step)
        args = self.carries(node.iter_args)
        loop_var = self.visit_def(node.loop_var)
        body = self.conform(self.nested(node.body, again=True), args)
        returns = self.results(node.return_vars, args)
        return updated(
            node, start=start, stop=stop, step=step, iter_args=args, loop_var=loop_var, body=body,
            return_vars=returns, attrs=self.mutate_map(node.attrs),
        )  # fmt: skip

    def visit_while_stmt(self, node: WhileStmt) -> Stmt:
        """As for counted loops."""
        args = self.carries(node.iter_args)
        condition = self.visit(node.condition)
        body = self.conform(self.nested(node.body, again=True), args)
        returns = self.results(node.return_vars, args)
        return updated(node, iter_args=args, condition=condition, body=body, return_vars=returns)

    def carries(self, args: tuple[IterArg, ...]) -> tuple[IterArg, ...]:
        new = tuple([self.carry(a) for a in args])
        return args if all(a is b for a, b in zip(new, args, strict=True)) else new

    def carry(self, arg: IterArg) -> IterArg:
        init = self.visit(arg.init_value)
        kind = _retyped(self.visit_type(arg.type), init.type)
        if init is arg.init_value and kind is arg.type:
            return arg
        new = IterArg(arg.name_hint, kind, init, span=arg.span)
        self.remap[arg] = new
        return new

    def results(self, returns: tuple[Var, ...], sources: tuple[Any, ...]) -> tuple[Var, ...]:
        new = tuple([self.result(v, s.type) for v, s in zip(returns, sources, strict=True)])
        return returns if all(a is b for a, b in zip(new, returns, strict=True)) else new

    def result(self, var: Var, source: Type) -> Var:
        kind = _retyped(self.visit_type(var.type), source)
        if kind is var.type:
            return var
        new = Var(var.name_hint, kind, span=var.span)
        self.remap[var] = new
        return new

    def visit_if_stmt(self, node: IfStmt) -> Stmt:
        """A phi lives where the first branch leaves it, or the second when nothing leads from there to the first."""
        condition = self.visit(node.condition)
        before = self.moved
        then_body = self.nested(node.then_body)
        after, self.moved = self.moved, before
        else_body = None if node.else_body is None else self.nested(node.else_body)
        if after is not before:
            self.moved = after
        values: tuple[Expr, ...] = ()
        if node.return_vars:
            values = self.meeting(then_body, else_body)
            then_body = self.conform(then_body, values)
            else_body = None if else_body is None else self.conform(else_body, values)
        returns = self.results(node.return_vars, values[: len(node.return_vars)])
        return updated(
            node, condition=condition, then_body=then_body, else_body=else_body, return_vars=returns
        )

    def meeting(self, then_body: Stmt, else_body: Stmt | None) -> tuple[Expr, ...]:
        """For each result the value that says where it lies."""
        tails = [tail.values for b in (then_body, else_body) if (tail := last_yield(b)) is not None]
        return tuple([self.place_of(*ways) for ways in zip(*tails, strict=True)])

    def place_of(self, first: Expr, second: Expr | None = None) -> Expr:
        here, there = _space(first), _space(second)
        if second is None or here is None or there is None or can_move(there, here, self.backend):
            return first
        return second if can_move(here, there, self.backend) else first

    def conform(self, body: Stmt, targets: tuple[Any, ...]) -> Stmt:
        """The region with moves before its yield where a value lies elsewhere than its target."""
        tail = last_yield(body)
        if tail is None:
            return body
        outer_moved, outer_ahead = self.moved, self.ahead
        self.moved, self.ahead = Made(), []
        values = tuple([self.conformed(v, t.type, tail) for v, t in zip(tail.values, targets, strict=True)])
        ahead = self.ahead
        self.moved, self.ahead = outer_moved, outer_ahead
        if all(a is b for a, b in zip(values, tail.values, strict=True)):
            return body
        return seq((*flatten(body)[:-1], *ahead, replace(tail, values=values)), body.span)

    def conformed(self, value: Expr, target: Type, tail: YieldStmt) -> Expr:
        have, wanted = _space(value), target.memory_space if isinstance(target, TileType) else None
        if have is None or wanted in (None, have):
            return value
        assert wanted is not None
        span = value.span if value.span.is_valid else tail.span
        if wanted is MemorySpace.Acc:
            raise UserError(
                f"'{name_of(value)}' lies in {have.name}, but the loop or branch hands on an Acc tile",
                code="PT341",
                span=span,
                remedy="let every path produce the accumulator with matmul or matmul_acc",
            )
        return self.moved_to(value, wanted, span)


def _move_options(value: Expr, target: MemorySpace) -> dict[str, Any]:
    """Vec takes boxed tiles apart: the vector unit reads rows."""
    options: dict[str, Any] = {"target_memory": target}
    kind = value.type
    if target is MemorySpace.Vec and isinstance(kind, TileType) and has_own_layout(kind.memory_space):
        options["blayout"], options["slayout"], _ = implicit_layout(kind.shape, target)
    return options


def _space(value: Expr | None) -> MemorySpace | None:
    kind = None if value is None else value.type
    return kind.memory_space if isinstance(kind, TileType) else None


def _with_spaces(
    args: tuple[Expr, ...], memory: OpMemory
) -> list[tuple[Expr, tuple[MemorySpace, ...] | None]]:
    return [(a, memory.inputs[i] if i < len(memory.inputs) else None) for i, a in enumerate(args)]


def _retyped(kind: Type, source: Type) -> Type:
    """The type of a variable whose value has come to be of type ``source``; its binding to storage stays."""
    if kind is source or not (isinstance(kind, TileType) and isinstance(source, TileType)):
        return kind
    if source.memory_space is None or kind.memory_space not in (None, source.memory_space):
        return kind
    new = source if source.memref is kind.memref else replace(source, memref=kind.memref)
    return kind if types_equal(kind, new) else new
