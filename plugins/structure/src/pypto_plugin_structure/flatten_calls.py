"""FlattenCallExpr: three-address form. A call stands alone on the right of an assignment, or as a statement.

Calls nested in arguments, tuples, conditions, bounds and scalar operators move to assignments of their own, in the
order in which they were evaluated. A call in the condition of a while loop becomes a carried boolean.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, cast

from pypto_core.ir import (
    DEFINE,
    MAP,
    NODES,
    AssignStmt,
    BinaryExpr,
    Call,
    EvalStmt,
    Expr,
    FieldInfo,
    Function,
    IterArg,
    MakeTuple,
    Mutator,
    NameSource,
    Stmt,
    Submit,
    TupleGetItemExpr,
    UnaryExpr,
    Var,
    WhileStmt,
    YieldStmt,
    child_fields,
    defined_vars,
    flatten,
    last_yield,
    replace,
    seq,
    substitute,
    updated,
    walk,
)  # fmt: skip


def flatten_call_expr(function: Function, ctx: Any = None) -> Function:
    """The function, in SSA form, with nested calls assigned to variables; the same object when there are none."""
    return _Flattener().visit(function)


class _Flattener(Mutator):
    def __init__(self) -> None:
        super().__init__()
        self.names = NameSource()
        self.ahead: list[Stmt] = []
        self.assignments: Mapping[Var, int] = {}
        self.packed: dict[Var, MakeTuple] = {}

    # -- expressions: everything below the top of a statement

    def nested(self, expr: Any) -> Any:
        """``expr`` without calls in it; they go to :attr:`ahead`."""
        new = self.visit(expr)
        if not isinstance(new, Call | Submit):
            return new
        var = Var(self.names.fresh(new.op.name.rpartition(".")[2], "tmp"), new.type, span=new.span)
        self.ahead.append(AssignStmt(var, new, span=new.span))
        return var

    def operands(self, node: Any) -> Any:
        """A call with plain arguments, options and notes."""
        parts: dict[str, Any] = {}
        for field in child_fields(cast("type[object]", type(node))):
            value = field.get(node)
            if field.name == "op" or value is None:
                continue
            if field.name == "type":
                parts["type"] = self.visit_type(value)
            elif field.kind == MAP:
                parts[field.name] = self.mutate_map(value) if value else value
            elif field.kind == NODES:
                parts[field.name] = tuple([self.nested(item) for item in value])
            else:
                parts[field.name] = self.nested(value)
        return updated(node, **parts)

    def visit_call(self, node: Call) -> Expr:
        """Arguments first, from left to right."""
        return self.operands(node)

    def visit_submit(self, node: Submit) -> Expr:
        """As for calls, dependencies and predicate too."""
        return self.operands(node)

    def _map_value(self, value: Any) -> Any:
        return self.nested(value) if isinstance(value, Expr) else super()._map_value(value)

    def visit_make_tuple(self, node: MakeTuple) -> Expr:
        """Elements are operands too."""
        return updated(node, elements=tuple([self.nested(e) for e in node.elements]))

    def visit_binary_expr(self, node: BinaryExpr) -> Expr:
        """Both operands, left first."""
        return updated(node, left=self.nested(node.left), right=self.nested(node.right))

    def visit_unary_expr(self, node: UnaryExpr) -> Expr:
        """The operand."""
        return updated(node, operand=self.nested(node.operand))

    def visit_tuple_get_item_expr(self, node: TupleGetItemExpr) -> Expr:
        """The tuple, or the element itself where the tuple was put together from variables that keep their value."""
        source = self.nested(node.tuple)
        made = self.packed.get(source) if isinstance(source, Var) else None
        return made.elements[node.index] if made is not None else updated(node, tuple=source)

    # -- statements

    def visit_stmt(self, stmt: Stmt) -> Stmt:
        """Any statement: what its expressions ask for goes before it, and before its comments."""
        if isinstance(stmt, WhileStmt) and _has_call(stmt.condition):
            return self.with_ahead(self.asking_while(stmt))
        parts: dict[str, Any] = {}
        for field in child_fields(type(stmt)):
            value = field.get(stmt)
            if value is not None:
                parts[field.name] = self.part(stmt, field, value)
        return self.with_ahead(updated(stmt, **parts))

    def visit_assign_stmt(self, node: AssignStmt) -> Stmt:
        """As any other; a tuple is remembered, since tiles in it have no storage but their own."""
        new = self.visit_stmt(node)
        last = flatten(new)[-1]
        if isinstance(last, AssignStmt) and isinstance(last.value, MakeTuple) and self.keeps(last):
            self.packed[last.var] = last.value
        return new

    def keeps(self, stmt: AssignStmt) -> bool:
        """Whether neither the tuple nor what is in it is ever assigned again."""
        assert isinstance(stmt.value, MakeTuple)
        return all(
            self.assignments.get(e, 1) == 1 for e in (stmt.var, *stmt.value.elements) if isinstance(e, Var)
        )

    def visit_function(self, node: Function) -> Function:
        """Count assignments first: before SSA form a variable may have several."""
        self.assignments = Counter((*node.params, *defined_vars(node.body)))
        self.packed.clear()
        return self.mutate_children(node)

    def part(self, stmt: Stmt, field: FieldInfo, value: Any) -> Any:
        if field.role == DEFINE:
            return tuple([self.visit_def(v) for v in value]) if field.kind == NODES else self.visit_def(value)
        if field.kind == MAP:
            return self.mutate_map(value) if value else value
        if field.kind == NODES:
            return tuple([self.nested(v) for v in value])
        if isinstance(value, Stmt):
            return self.region(value)
        # A call may stay where it is a statement's whole value.
        whole = isinstance(stmt, AssignStmt | EvalStmt)
        return self.visit(value) if whole else self.nested(value)

    def visit_def(self, var: Var) -> Var:
        """A carry with a plain initial value; other variables follow what their types mention."""
        if not isinstance(var, IterArg) or var in self._made:
            return super().visit_def(var)
        kind, init = self.visit_type(var.type), self.nested(var.init_value)
        if kind is var.type and init is var.init_value:
            return var
        return self._make(var, IterArg(var.name_hint, kind, init, span=var.span))

    def with_ahead(self, stmt: Stmt) -> Stmt:
        """``stmt`` behind the assignments that its expressions asked for; its comments go first."""
        if not self.ahead:
            return stmt
        ahead, self.ahead = self.ahead, []
        if stmt.leading_comments:
            ahead[0] = replace(ahead[0], leading_comments=stmt.leading_comments)
            stmt = replace(stmt, leading_comments=())
        return seq((*ahead, stmt), stmt.span)

    def region(self, body: Stmt) -> Stmt:
        """A body has assignments of its own."""
        outer, self.ahead = self.ahead, []
        new = self.visit(body)
        self.ahead = outer
        return new

    def asking_while(self, stmt: WhileStmt) -> WhileStmt:
        """A loop whose condition calls: it is evaluated before the loop and at the end of each trip, and carried."""
        args = tuple([self.visit_def(a) for a in stmt.iter_args])
        inits: dict[Var, Expr] = {
            old: new.init_value
            for old, new in zip(stmt.iter_args, args, strict=True)
            if isinstance(new, IterArg)
        }
        first = self.nested(substitute(stmt.condition, inits))
        body = self.region(stmt.body)
        tail = last_yield(body)
        yielded = tail.values if tail is not None else ()
        handed: dict[Var, Expr] = dict(zip(stmt.iter_args, yielded, strict=True))
        outer, self.ahead = self.ahead, []
        again = self.nested(substitute(stmt.condition, handed))
        end = YieldStmt((*yielded, again), span=tail.span if tail is not None else stmt.span)
        if tail is not None:
            end = replace(end, leading_comments=tail.leading_comments)
        rest = flatten(body)[:-1] if tail is not None else flatten(body)
        body = seq((*rest, *self.ahead, end), stmt.span)
        self.ahead = outer
        flag = IterArg(self.names.fresh("cond", "iter"), first.type, first, span=stmt.condition.span)
        result = Var(self.names.fresh("cond", "rv"), first.type, span=stmt.span)
        returns = (*(self.visit_def(v) for v in stmt.return_vars), result)
        return replace(stmt, condition=flag, iter_args=(*args, flag), body=body, return_vars=returns)


class HeadFlattener(_Flattener):
    """Flattens the expressions of one statement and leaves its regions alone.

    ``names`` gives the new variables their names; one source serves a whole function.
    """

    def __init__(self, names: NameSource) -> None:
        super().__init__()
        self.names = names

    def region(self, body: Stmt) -> Stmt:
        """As it is, but for carries that were replaced."""
        return substitute(body, self.remap) if self.remap else body


def _has_call(expr: Expr) -> bool:
    return any(isinstance(node, Call | Submit) for node in walk(expr))
