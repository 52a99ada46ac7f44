"""InferTileMemorySpace: every tile gets a memory space, and every operand lies where its operator takes it.

Three steps, each linear. *Demand*: walking backwards, what consumers want reaches the loads, creations and views
whose space is still open. *Assign*: walking forwards, open producers take the space demanded of them and types are
deduced again. *Move*: an operand in a space that its operator does not take is moved there right before, once per
value and space within a region; where the machine has no direct path the move goes the shortest way round.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pypto_core.diagnostics import Span, UserError
from pypto_core.ir import (
    AssignStmt,
    Call,
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
    SeqStmts,
    Stmt,
    TileType,
    Type,
    Var,
    WhileStmt,
    YieldStmt,
    base_name,
    flatten,
    last_yield,
    map_functions,
    replace,
    seq,
    updated,
    walk_stmts,
)  # fmt: skip
from pypto_core.ops import INHERIT, FromOption, OpMemory, create_call, op_of

Demands = dict[Var, MemorySpace]

# What a load brings from global memory when the consumer sits behind L1.
_THROUGH_MAT = (MemorySpace.Left, MemorySpace.Right, MemorySpace.Bias, MemorySpace.Acc)


def infer_tile_memory_space(program: Program, ctx: Any) -> Program:
    """The program with spaces assigned in InCore functions; the same object when nothing was open."""

    def change(function: Function) -> Function:
        if function.func_type is not FunctionType.InCore:
            return function
        return _Assigner(collect_demands(function), ctx).visit(function)

    return map_functions(program, change)


def open_space(call: Call, memory: OpMemory) -> bool:
    """Whether the producer's space may still be chosen."""
    return isinstance(memory.output, FromOption) and memory.output.option not in call.kwargs


def collect_demands(function: Function) -> Demands:
    """The space that consumers want of each variable; the cube's side wins over the vector's."""
    demands: Demands = {}
    for stmt in reversed(tuple(walk_stmts(function.body))):
        if isinstance(stmt, AssignStmt):
            _demand_of_value(stmt.var, stmt.value, demands)
        elif isinstance(stmt, ForStmt | WhileStmt):
            for arg, result in zip(stmt.iter_args, stmt.return_vars, strict=True):
                _pass_on(result, arg, demands)
                _pass_on(arg, arg.init_value, demands)
        elif isinstance(stmt, IfStmt) and stmt.return_vars:
            for body in (stmt.then_body, stmt.else_body):
                tail = last_yield(body)
                for result, value in zip(stmt.return_vars, tail.values if tail else (), strict=False):
                    _pass_on(result, value, demands)
    return demands


def _demand_of_value(var: Var, value: Expr, demands: Demands) -> None:
    if isinstance(value, Var):
        _pass_on(var, value, demands)
    if not isinstance(value, Call):
        return
    op = op_of(value)
    if op is None or op.memory is None:
        return
    for arg, spaces in zip(value.args, op.memory.inputs, strict=False):
        if spaces and isinstance(arg, Var) and isinstance(arg.type, TileType):
            _demand(arg, spaces[0], demands)
    if op.memory.output == INHERIT:
        source = next((a for a in value.args if isinstance(a.type, TileType)), None)
        if isinstance(source, Var):
            _pass_on(var, source, demands)


def _pass_on(consumer: Var, producer: Expr, demands: Demands) -> None:
    if isinstance(producer, Var) and consumer in demands:
        _demand(producer, demands[consumer], demands)


def _demand(var: Var, space: MemorySpace, demands: Demands) -> None:
    if demands.get(var) in (None, MemorySpace.Vec):
        demands[var] = space


class _Assigner(Mutator):
    def __init__(self, demands: Demands, ctx: Any) -> None:
        super().__init__()
        self.demands, self.ctx = demands, ctx
        self.names = NameSource()
        self.ahead: list[Stmt] = []
        self.moved: dict[tuple[Expr, MemorySpace], Var] = {}

    # -- producers

    def visit_assign_stmt(self, stmt: AssignStmt) -> Stmt:
        """Choose the space, mend the operands, deduce the type again."""
        value = self.visit(stmt.value)
        if isinstance(value, Call):
            value = self.place(stmt.var, value)
        kind = self.settled_type(stmt.var, value)
        var = stmt.var
        if kind is not var.type:
            var = Var(var.name_hint, kind, span=var.span)
            self.remap[stmt.var] = var
        if value is stmt.value and var is stmt.var:
            return self.with_ahead(stmt)
        return self.with_ahead(replace(stmt, var=var, value=value))

    def settled_type(self, var: Var, value: Expr) -> Type:
        """The variable's type, with the space and view of its value where it had no space of its own."""
        kind = self.visit_type(var.type)
        deduced = value.type
        if not (isinstance(kind, TileType) and isinstance(deduced, TileType)):
            return kind
        if kind.memory_space is not None:
            return kind
        return replace(deduced, memref=kind.memref) if kind.memref is not None else deduced

    def place(self, var: Var, call: Call) -> Expr:
        op = op_of(call)
        if op is None or op.memory is None:
            return call
        memory = op.memory
        args = tuple(self.operand(arg, spaces, call) for arg, spaces in _with_spaces(call.args, memory))
        kwargs: Mapping[str, Any] = call.kwargs
        if open_space(call, memory):
            assert isinstance(memory.output, FromOption)
            space = self.chosen(var, call, memory.output)
            kwargs = {**call.kwargs, memory.output.option: space}
        open_type = isinstance(call.type, TileType) and call.type.memory_space is None
        if (
            kwargs is call.kwargs
            and not open_type
            and all(a is b for a, b in zip(args, call.args, strict=True))
        ):
            return call
        return create_call(call.name, args, kwargs, call.span, call.attrs)

    def chosen(self, var: Var, call: Call, rule: FromOption) -> MemorySpace:
        """The space of an open producer: a declared one, else what is demanded of it, else the rule's default."""
        declared = var.type.memory_space if isinstance(var.type, TileType) else None
        if declared is not None:
            return declared
        wanted = self.demands.get(var, rule.default or MemorySpace.Vec)
        if call.name == "tile.load" and wanted in _THROUGH_MAT:
            return MemorySpace.Mat
        return wanted

    # -- operands

    def operand(self, arg: Expr, spaces: tuple[MemorySpace, ...] | None, call: Call) -> Expr:
        kind = arg.type
        if not spaces or not isinstance(kind, TileType) or kind.memory_space in (None, *spaces):
            return arg
        return self.moved_to(arg, spaces[0], call.span)

    def moved_to(self, value: Expr, space: MemorySpace, span: Span) -> Expr:
        """``value`` in ``space``: a move made before in this region, or a new one ahead of the statement."""
        known = self.moved.get((value, space))
        if known is not None:
            return known
        kind = value.type
        assert isinstance(kind, TileType) and kind.memory_space is not None
        current = value
        for hop in self.route(kind.memory_space, space, span):
            call = create_call("tile.move", [current], {"target_memory": hop}, span)
            base = current.name_hint if isinstance(current, Var) else "operand"
            var = Var(self.names.fresh(base, "tile", hop.name.lower()), call.type, span=span)
            self.ahead.append(AssignStmt(var, call, span=span))
            current = var
        assert isinstance(current, Var)
        self.moved[(value, space)] = current
        return current

    def route(self, src: MemorySpace, dst: MemorySpace, span: Span) -> tuple[MemorySpace, ...]:
        backend = self.ctx.backend if self.ctx is not None else None
        if backend is None:
            return (dst,)
        hops = tuple(path.dst for path in backend.route(src, dst))
        if not hops or MemorySpace.DDR in hops:
            raise UserError(
                f"nothing moves a tile from {src.name} to {dst.name} on {backend.title}",
                code="PT340",
                span=span,
                remedy=f"load it into {dst.name} from the start, or through a memory that both reach",
            )
        return hops

    def with_ahead(self, stmt: Stmt) -> Stmt:
        if not self.ahead:
            return stmt
        ahead, self.ahead = self.ahead, []
        if stmt.leading_comments:
            ahead[0] = replace(ahead[0], leading_comments=stmt.leading_comments)
            stmt = replace(stmt, leading_comments=())
        return seq((*ahead, stmt), stmt.span)

    def visit_eval_stmt(self, stmt: Any) -> Stmt:
        """A call for its effect has operands too."""
        expr = self.visit(stmt.expr)
        if isinstance(expr, Call):
            expr = self.place(Var("_", expr.type), expr)
        return self.with_ahead(stmt if expr is stmt.expr else replace(stmt, expr=expr))

    # -- regions: a move is known only where it was made

    def region(self, body: Stmt) -> Stmt:
        """A nested body sees the moves made before it and keeps its own to itself."""
        outer_moved, outer_ahead = self.moved, self.ahead
        self.moved, self.ahead = dict(outer_moved), []
        new = self.visit(body)
        self.moved, self.ahead = outer_moved, outer_ahead
        return new

    def visit_seq_stmts(self, node: SeqStmts) -> Stmt:
        """Each statement with the moves ahead of it."""
        stmts = [self.visit(s) for s in node.stmts]
        if all(a is b for a, b in zip(stmts, node.stmts, strict=True)):
            return node
        return seq(stmts, node.span)

    def visit_for_stmt(self, stmt: ForStmt) -> Stmt:
        """Carries live where their initial values do."""
        start, stop, step = self.visit(stmt.start), self.visit(stmt.stop), self.visit(stmt.step)
        args = self.carries(stmt.iter_args)
        loop_var = self.visit_def(stmt.loop_var)
        body = self.conform(self.region(stmt.body), args)
        returns = self.results(stmt.return_vars, args)
        parts = {
            "start": start, "stop": stop, "step": step, "iter_args": args, "loop_var": loop_var, "body": body,
            "return_vars": returns, "attrs": self.mutate_map(stmt.attrs),
        }  # fmt: skip
        return updated(stmt, **parts)

    def visit_while_stmt(self, stmt: WhileStmt) -> Stmt:
        """As for counted loops."""
        args = self.carries(stmt.iter_args)
        condition = self.visit(stmt.condition)
        body = self.conform(self.region(stmt.body), args)
        returns = self.results(stmt.return_vars, args)
        return updated(stmt, iter_args=args, condition=condition, body=body, return_vars=returns)

    def carries(self, args: tuple[IterArg, ...]) -> tuple[IterArg, ...]:
        new = tuple(self.carry(a) for a in args)
        return args if all(a is b for a, b in zip(new, args, strict=True)) else new

    def carry(self, arg: IterArg) -> IterArg:
        init = self.visit(arg.init_value)
        kind = _with_space_of(self.visit_type(arg.type), init.type)
        if init is arg.init_value and kind is arg.type:
            return arg
        new = IterArg(arg.name_hint, kind, init, span=arg.span)
        self.remap[arg] = new
        return new

    def results(self, returns: tuple[Var, ...], sources: tuple[Any, ...]) -> tuple[Var, ...]:
        new = tuple(self.result(v, s.type) for v, s in zip(returns, sources, strict=True))
        return returns if all(a is b for a, b in zip(new, returns, strict=True)) else new

    def result(self, var: Var, source: Type) -> Var:
        kind = _with_space_of(self.visit_type(var.type), source)
        if kind is var.type:
            return var
        new = Var(var.name_hint, kind, span=var.span)
        self.remap[var] = new
        return new

    def visit_if_stmt(self, stmt: IfStmt) -> Stmt:
        """A phi lives where the first branch leaves it."""
        condition = self.visit(stmt.condition)
        then_body = self.region(stmt.then_body)
        else_body = None if stmt.else_body is None else self.region(stmt.else_body)
        tail = last_yield(then_body)
        values = tail.values if tail is not None else ()
        if stmt.return_vars:
            else_body = None if else_body is None else self.conform(else_body, values)
        returns = self.results(stmt.return_vars, values[: len(stmt.return_vars)])
        parts = {
            "condition": condition, "then_body": then_body, "else_body": else_body, "return_vars": returns,
        }  # fmt: skip
        return updated(stmt, **parts)

    def conform(self, body: Stmt, targets: tuple[Any, ...]) -> Stmt:
        """The region with moves before its yield where a value lies elsewhere than its target."""
        tail = last_yield(body)
        if tail is None:
            return body
        outer_moved, outer_ahead = self.moved, self.ahead
        self.moved, self.ahead = {}, []
        values = tuple(self.conformed(v, t.type, tail) for v, t in zip(tail.values, targets, strict=True))
        ahead = self.ahead
        self.moved, self.ahead = outer_moved, outer_ahead
        if all(a is b for a, b in zip(values, tail.values, strict=True)):
            return body
        return seq((*flatten(body)[:-1], *ahead, YieldStmt(values, span=tail.span)), body.span)

    def conformed(self, value: Expr, target: Type, tail: YieldStmt) -> Expr:
        have = value.type
        if not (isinstance(have, TileType) and isinstance(target, TileType)):
            return value
        if target.memory_space in (None, have.memory_space) or have.memory_space is None:
            return value
        span = value.span if value.span.is_valid else tail.span
        if target.memory_space is MemorySpace.Acc:
            name = base_name(value.name_hint) if isinstance(value, Var) else "the value"
            raise UserError(
                f"'{name}' lies in {have.memory_space.name}, but the loop or branch hands on an Acc tile",
                code="PT341",
                span=span,
                remedy="let every path produce the accumulator with matmul or matmul_acc",
            )
        return self.moved_to(value, target.memory_space, span)


def _with_spaces(
    args: tuple[Expr, ...], memory: OpMemory
) -> list[tuple[Expr, tuple[MemorySpace, ...] | None]]:
    return [(a, memory.inputs[i] if i < len(memory.inputs) else None) for i, a in enumerate(args)]


def _with_space_of(kind: Type, source: Type) -> Type:
    """``kind`` with the space and view of ``source`` where it has no space yet."""
    if isinstance(kind, TileType) and kind.memory_space is None and isinstance(source, TileType):
        return source if kind.memref is None else replace(source, memref=kind.memref)
    return kind
