"""FlattenCallExpr: three-address form. A call stands alone on the right of an assignment, or as a statement.

Calls nested in arguments, tuples, conditions, bounds and scalar operators move to assignments of their own, in the
order in which they were evaluated. A call in the condition of a while loop becomes a carried boolean.
"""

from __future__ import annotations

from typing import Any

from pypto_core.ir import (
    AssignStmt,
    BinaryExpr,
    Call,
    EvalStmt,
    Expr,
    ForStmt,
    Function,
    IfStmt,
    IterArg,
    MakeTuple,
    Mutator,
    NameSource,
    ReturnStmt,
    SeqStmts,
    Stmt,
    Submit,
    TupleGetItemExpr,
    UnaryExpr,
    Var,
    WhileStmt,
    YieldStmt,
    flatten,
    last_yield,
    replace,
    seq,
    substitute,
    walk,
)  # fmt: skip


def flatten_call_expr(function: Function, ctx: Any) -> Function:
    """The function with nested calls assigned to variables; the same object when there are none."""
    return _Flattener().visit(function)


def _has_call(expr: Expr) -> bool:
    return any(isinstance(node, Call | Submit) for node in walk(expr))


class _Flattener(Mutator):
    def __init__(self) -> None:
        super().__init__()
        self.names = NameSource()
        self.ahead: list[Stmt] = []

    # -- expressions: everything below the top of a statement

    def nested(self, expr: Expr) -> Expr:
        """``expr`` without calls in it; they go to :attr:`ahead`."""
        new = self.visit(expr)
        if not isinstance(new, Call | Submit):
            return new
        var = Var(self.names.fresh(new.op.name.rpartition(".")[2], "tmp"), new.type, span=new.span)
        self.ahead.append(AssignStmt(var, new, span=new.span))
        return var

    def visit_call(self, node: Call) -> Expr:
        """The call with plain arguments."""
        args = tuple(self.nested(a) for a in node.args)
        if all(a is b for a, b in zip(args, node.args, strict=True)):
            return node
        return replace(node, args=args)

    def visit_submit(self, node: Submit) -> Expr:
        """As for calls."""
        args = tuple(self.nested(a) for a in node.args)
        deps = tuple(self.nested(a) for a in node.deps)
        if all(a is b for a, b in zip((*args, *deps), (*node.args, *node.deps), strict=True)):
            return node
        return replace(node, args=args, deps=deps)

    def visit_make_tuple(self, node: MakeTuple) -> Expr:
        """Elements are operands too."""
        elements = tuple(self.nested(e) for e in node.elements)
        same = all(a is b for a, b in zip(elements, node.elements, strict=True))
        return node if same else replace(node, elements=elements)

    def visit_binary_expr(self, node: BinaryExpr) -> Expr:
        """Both operands, left first."""
        left, right = self.nested(node.left), self.nested(node.right)
        same = left is node.left and right is node.right
        return node if same else replace(node, left=left, right=right)

    def visit_unary_expr(self, node: UnaryExpr) -> Expr:
        """The operand."""
        operand = self.nested(node.operand)
        return node if operand is node.operand else replace(node, operand=operand)

    def visit_tuple_get_item_expr(self, node: TupleGetItemExpr) -> Expr:
        """The tuple."""
        value = self.nested(node.tuple)
        return node if value is node.tuple else replace(node, tuple=value)

    # -- statements

    def with_ahead(self, stmt: Stmt) -> Stmt:
        """``stmt`` behind the assignments that its expressions asked for; its comments go first."""
        if not self.ahead:
            return stmt
        ahead, self.ahead = self.ahead, []
        if stmt.leading_comments:
            ahead[0] = replace(ahead[0], leading_comments=stmt.leading_comments)
            stmt = replace(stmt, leading_comments=())
        return seq((*ahead, stmt), stmt.span)

    def visit_assign_stmt(self, stmt: AssignStmt) -> Stmt:
        """A call may stay on the right-hand side."""
        value = self.visit(stmt.value)
        return self.with_ahead(stmt if value is stmt.value else replace(stmt, value=value))

    def visit_eval_stmt(self, stmt: EvalStmt) -> Stmt:
        """A call may stay as the statement."""
        expr = self.visit(stmt.expr)
        return self.with_ahead(stmt if expr is stmt.expr else replace(stmt, expr=expr))

    def visit_return_stmt(self, stmt: ReturnStmt | YieldStmt) -> Stmt:
        """Values are plain."""
        values = tuple(self.nested(v) for v in stmt.values)
        same = all(a is b for a, b in zip(values, stmt.values, strict=True))
        return self.with_ahead(stmt if same else replace(stmt, values=values))

    visit_yield_stmt = visit_return_stmt

    def visit_seq_stmts(self, node: SeqStmts) -> Stmt:
        """Each statement with what goes before it."""
        stmts = [self.visit(s) for s in node.stmts]
        if all(a is b for a, b in zip(stmts, node.stmts, strict=True)):
            return node
        return seq(stmts, node.span)

    def region(self, body: Stmt) -> Stmt:
        """A body has assignments of its own."""
        outer, self.ahead = self.ahead, []
        new = self.visit(body)
        self.ahead = outer
        return new

    def visit_if_stmt(self, stmt: IfStmt) -> Stmt:
        """The condition is evaluated before the branch."""
        condition = self.nested(stmt.condition)
        then_body = self.region(stmt.then_body)
        else_body = None if stmt.else_body is None else self.region(stmt.else_body)
        if condition is stmt.condition and then_body is stmt.then_body and else_body is stmt.else_body:
            return stmt
        return self.with_ahead(replace(stmt, condition=condition, then_body=then_body, else_body=else_body))

    def visit_for_stmt(self, stmt: ForStmt) -> Stmt:
        """Bounds and initial values are evaluated once, before the loop."""
        start, stop, step = self.nested(stmt.start), self.nested(stmt.stop), self.nested(stmt.step)
        args = self.iter_args(stmt.iter_args)
        body = self.region(stmt.body)
        if (
            start is stmt.start and stop is stmt.stop and step is stmt.step
            and args is stmt.iter_args and body is stmt.body
        ):  # fmt: skip
            return stmt
        return self.with_ahead(replace(stmt, start=start, stop=stop, step=step, iter_args=args, body=body))

    def iter_args(self, args: tuple[IterArg, ...]) -> tuple[IterArg, ...]:
        """Carries with plain initial values."""
        new = tuple(self.iter_arg(a) for a in args)
        return args if all(a is b for a, b in zip(new, args, strict=True)) else new

    def iter_arg(self, arg: IterArg) -> IterArg:
        init = self.nested(arg.init_value)
        if init is arg.init_value:
            return arg
        new = IterArg(arg.name_hint, arg.type, init, span=arg.span)
        self.remap[arg] = new
        return new

    def visit_while_stmt(self, stmt: WhileStmt) -> Stmt:
        """A condition with a call is evaluated before the loop and at the end of each trip, and carried."""
        args = self.iter_args(stmt.iter_args)
        if not _has_call(stmt.condition):
            condition = self.visit(stmt.condition)
            body = self.region(stmt.body)
            if args is stmt.iter_args and body is stmt.body and condition is stmt.condition:
                return stmt
            return self.with_ahead(replace(stmt, iter_args=args, body=body, condition=condition))
        first = self.nested(substitute(stmt.condition, {a: a.init_value for a in stmt.iter_args}))
        flag = IterArg(self.names.fresh("cond", "iter"), first.type, first, span=stmt.condition.span)
        tail = last_yield(stmt.body)
        yielded = tail.values if tail is not None else ()
        again = substitute(stmt.condition, dict(zip(stmt.iter_args, yielded, strict=True)))
        rest = flatten(stmt.body)[:-1] if tail is not None else flatten(stmt.body)
        end = YieldStmt((*yielded, again), span=tail.span if tail is not None else stmt.span)
        body = self.region(seq((*rest, end), stmt.span))
        result = Var(self.names.fresh("cond", "rv"), first.type, span=stmt.span)
        return self.with_ahead(
            replace(
                stmt,
                condition=flag,
                iter_args=(*args, flag),
                body=body,
                return_vars=(*stmt.return_vars, result),
            )
        )
