"""Products of batches of matrices become one product per matrix, on tensors and on tiles.

``matmul`` of tensors and ``batch_matmul`` of tiles multiply the last two axes and broadcast those before them; the
matrix unit multiplies one matrix by another. So what holds a batch of products becomes one variable per matrix, and so
do carries of loops and results of branches in which only products meet. A write of the whole batch becomes one write
per matrix. Anything else that looks at the batch gets it joined together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

import attrs

from pypto_core.ir import (
    INDEX_ONE,
    INDEX_ZERO,
    AssignStmt,
    Call,
    EvalStmt,
    Expr,
    ForStmt,
    Function,
    IfStmt,
    IterArg,
    MakeTuple,
    Mutator,
    ReturnStmt,
    SeqStmts,
    Stmt,
    TensorType,
    TupleGetItemExpr,
    Var,
    WhileStmt,
    YieldStmt,
    add,
    const_index,
    flatten,
    replace,
    seq,
    shapes_equal,
    static_shape,
    walk,
)
from pypto_core.ops import create_call
from pypto_plugin_tensor.batch_facts import BatchFacts, indices_of, own_index
from pypto_plugin_tensor.batch_levels import Index, Level, batch_of, rank_of, shaped
from pypto_plugin_tensor.shapes import dims


def split_batches(
    function: Function, functions: Mapping[str, Function], level: Level
) -> tuple[Function, tuple[Var, ...]]:
    """The kernel with products of two axes only, and parameters for the batches that it returns.

    The same object and no parameters when it has no others. Raises UserError (PT377) for a batch whose extents are
    not known at compile time.
    """
    calls = [node for node in walk(function.body) if isinstance(node, Call)]
    for call in calls:
        if level.is_batch(call):
            batch_of(call)
    if not any(call.name in level.products for call in calls):
        return function, ()
    splitting = _Splitting(function, functions, level)
    if not splitting.facts.batched:
        return function, ()
    return splitting.run(), tuple(splitting.params)


@attrs.frozen(eq=False)
class _Later:
    """A batch that its only reader computes matrix by matrix, so that one accumulator is in use at a time."""

    stmt: AssignStmt


class _Splitting(Mutator):
    """``parts``: the matrices of each batch. ``matrices``: those of other operands. ``ahead``: statements that go
    ahead of the one that is being rewritten.
    """

    def __init__(self, function: Function, functions: Mapping[str, Function], level: Level) -> None:
        super().__init__()
        self.function, self.level = function, level
        self.facts = BatchFacts(function, functions, level)
        self.parts: dict[Var, tuple[Var, ...] | _Later] = {}
        self.tuples: dict[Expr, tuple[Expr, ...]] = {}
        self.matrices: dict[Var, dict[Index, Var]] = {}
        self.targets: list[tuple[Var, ...]] = []
        self.yielded: tuple[Expr, ...] = ()
        self.ahead: list[Stmt] = []
        self.params: list[Var] = []

    def run(self) -> Function:
        head = self._matrices_of(self.function.params)
        body = self.visit(self.function.body)
        return replace(self.function, body=seq([*head, *flatten(body)], self.function.body.span))

    # -- operands

    def _matrices_of(self, variables: Sequence[Var]) -> list[Stmt]:
        """The matrices of operands, each as a window right behind the operand's definition, where all uses see it."""
        return [stmt for var in variables for stmt in self._windows(var)]

    def _windows(self, var: Var) -> Iterator[Stmt]:
        if var in self.facts.batched or rank_of(var) < 3:
            return
        known = self.matrices[var] = {}
        for index in sorted(self.facts.wanted.get(var, ())):
            call = self._window(var, index)
            known[index] = Var(var.name_hint, call.type, span=var.span)
            yield AssignStmt(known[index], call, span=var.span)

    def _window(self, var: Var, index: Index) -> Call:
        if var in self.facts.loads:
            return self._load(self.facts.loads[var], index)
        place = (*map(const_index, index), INDEX_ZERO, INDEX_ZERO)
        window = MakeTuple((*(INDEX_ONE for _ in index), *shaped(var).shape[-2:]))
        dropped = MakeTuple(tuple(const_index(i) for i in range(len(index))))
        args = [self.visit(var), window, MakeTuple(place), MakeTuple(()), dropped]
        return create_call(self.level.window, args, {}, var.span)

    def _load(self, call: Call, index: Index) -> Call:
        """One matrix loaded by itself: in boxes the matrices of a batch don't follow each other."""
        tensor, *parts = (self.visit(a) for a in call.args)
        offsets, shape, valid = (p.elements for p in (*parts, parts[-1])[:3] if isinstance(p, MakeTuple))
        steps = (*(0 for _ in range(len(offsets) - len(shape))), *index, 0, 0)
        place = tuple(add(o, const_index(s)) for o, s in zip(offsets, steps, strict=True))
        args = [tensor, MakeTuple(place), MakeTuple(shape[-2:]), MakeTuple(valid[-2:])]
        return create_call(call.name, args, call.kwargs, call.span, call.attrs)

    def _matrix(self, operand: Expr, index: Index) -> Expr:
        """One matrix of an operand, whose axes of one are read for each entry of the batch."""
        if rank_of(operand) <= 2:
            return self.visit(operand)
        own, var = own_index(operand, index), _var(operand)
        if var in self.facts.batched:
            return self._one(var, own)
        known = self.matrices[var].get(own)
        return self._emit(self._window(var, own), var) if known is None else known

    # -- parts

    def _one(self, var: Var, index: Index) -> Var:
        """One matrix of a batch; one that is computed later is computed now."""
        found = self.parts[var]
        if isinstance(found, _Later):
            return self._computed(found.stmt, index)
        return found[indices_of(var).index(index)]

    def _all(self, value: Expr) -> tuple[Var, ...]:
        """All matrices of what goes into a carry or result: products, or something that is made for each."""
        var = _var(value)
        if var in self.parts:
            return tuple(self._one(var, index) for index in indices_of(var))
        return tuple(self._fresh(self.facts.made[var], var) for _ in indices_of(var))

    def _fresh(self, call: Call, like: Var) -> Var:
        shape = MakeTuple(tuple(self.visit(d) for d in shaped(call).shape[-2:]))
        rest = tuple(self.visit(a) for a in call.args[1:])
        return self._emit(create_call(call.name, [shape, *rest], call.kwargs, call.span, call.attrs), like)

    def _emit(self, call: Call, like: Var) -> Var:
        var = Var(like.name_hint, call.type, span=like.span)
        self.ahead.append(AssignStmt(var, call, span=call.span))
        return var

    def _computed(self, stmt: AssignStmt, index: Index) -> Var:
        """One matrix of a product, or of what is made of products."""
        call = stmt.value
        assert isinstance(call, Call)
        name, level = call.name, self.level
        args: list[Expr] = []
        if name in level.per_matrix:
            rest = call.args[-2:] if name == level.set_valid else call.args[1:]
            args = [self._one(_var(call.args[0]), index), *(self.visit(a) for a in rest)]
        else:
            first = level.products[name]
            if first:
                args = [self._sum(call.args[0], index)]
            args += [self._matrix(a, index) for a in call.args[first : first + 2]]
            args += [self.visit(a) for a in call.args[first + 2 :]]
            name = level.plain(name)
        options = self.mutate_map(call.kwargs)
        return self._emit(create_call(name, args, options, call.span, call.attrs), stmt.var)

    def _sum(self, acc: Expr, index: Index) -> Expr:
        var = _var(acc)
        if var in self.parts:
            return self._one(var, index)
        call = self.facts.made.get(var)
        return self._matrix(acc, index) if call is None else self._fresh(call, var)

    def _joined(self, var: Var) -> Var:
        """All matrices of a batch together."""
        kind, level = shaped(var), self.level
        [first, *others] = indices_of(var)
        if not others:
            part = self._readable(self._one(var, first), var)
            return self._emit(create_call(level.reshape, [part, dims(kind.shape)], {}, var.span), var)
        target: Var = self._emit(level.empty(kind, var.span), var)
        for index in indices_of(var):
            part = self._readable(self._one(var, index), var)
            place = dims((*index, 0, 0))
            target = self._emit(create_call(level.insert, [target, part, place], {}, var.span), var)
        if shapes_equal(kind.valid_shape, kind.shape):
            return target
        args = [target, *(self.visit(d) for d in kind.valid_shape)]
        return self._emit(create_call(level.set_valid, args, {}, var.span), var)

    def _readable(self, part: Var, like: Var) -> Var:
        for call in self.level.readable(part):
            part = self._emit(call, like)
        return part

    # -- statements

    def visit_var(self, var: Var) -> Expr:
        """Whoever does not know batches gets the whole one."""
        return self._joined(var) if var in self.parts else super().visit_var(var)

    def visit_assign_stmt(self, node: AssignStmt) -> Stmt:
        """Of a batch each matrix; of a write of one each write."""
        return self._with_ahead(self._assigned(node), node)

    def _assigned(self, node: AssignStmt) -> list[Stmt]:
        var, value = node.var, node.value
        if isinstance(value, TupleGetItemExpr) and value.tuple in self.tuples:
            value = self.tuples[value.tuple][value.index]
            node = replace(node, value=value)
        if isinstance(value, MakeTuple) and any(v in self.parts for v in value.elements):
            self.tuples[var] = value.elements
            return []
        if var in self.facts.batched:
            if isinstance(value, Var):
                self.parts[var] = self.parts[value]
            elif isinstance(value, Call) and value.name == self.level.reshape:
                source = _var(value.args[0])
                self.parts[var] = (_var(self._matrix(source, (0,) * (rank_of(source) - 2))),)
            elif var in self.facts.late:
                self.parts[var] = _Later(node)
            else:
                self.parts[var] = tuple(self._computed(node, index) for index in indices_of(var))
            return []
        alias = self._same_matrix(value)
        if alias is not None:
            self.remap[var] = alias
            return []
        if var in self.facts.loads:
            return self._matrices_of([var])
        if isinstance(value, Call) and self._writes_a_batch(value):
            return [*self._writes(value, var), *self._matrices_of([var])]
        new = super().visit_assign_stmt(node)
        return [new, *self._matrices_of([var])]

    def _same_matrix(self, value: Expr) -> Var | None:
        """The matrix of a batch that a reshape or a window of it is."""
        if not (isinstance(value, Call) and value.args and value.args[0] in self.parts):
            return None
        source, level = _var(value.args[0]), self.level
        if rank_of(value) != 2 or not shapes_equal(shaped(value).shape, shaped(source).shape[-2:]):
            return None
        if value.name == level.reshape:
            return self._one(source, indices_of(source)[0])
        if value.name != level.window:
            return None
        window, place = (static_shape(a.elements) for a in value.args[1:3] if isinstance(a, MakeTuple))
        if place is None or window is None or any(place[-2:]) or prod(window[:-2]) != 1:
            return None
        return self._one(source, place[:-2])

    def _writes_a_batch(self, call: Call) -> bool:
        return call.name == self.level.write and call.args[self.level.written] in self.parts

    def _writes(self, call: Call, var: Var | None) -> list[Stmt]:
        """A write of a batch, matrix by matrix; the last one goes by the name that the whole has."""
        level, source = self.level, _var(call.args[self.level.written])
        target, offset, *rest = (self.visit(a) for i, a in enumerate(level.by_role(call)) if i != 1)
        assert isinstance(offset, MakeTuple)
        lead = len(offset.elements) - rank_of(source)
        indices, out = indices_of(source), list[Stmt]()
        for index in indices:
            steps = (*(0 for _ in range(lead)), *index, 0, 0)
            place = tuple(add(o, const_index(s)) for o, s in zip(offset.elements, steps, strict=True))
            part = self._one(source, index)
            out += self._taken()
            args = level.write_args(target, part, MakeTuple(place), rest)
            write = create_call(level.write, args, call.kwargs, call.span, call.attrs)
            if var is None:
                out.append(EvalStmt(write, span=call.span))
                continue
            last = index == indices[-1]
            target = self.visit_def(var) if last else Var(var.name_hint, write.type, span=var.span)
            out.append(AssignStmt(target, write, span=call.span))
        return out

    def visit_eval_stmt(self, node: EvalStmt) -> Stmt:
        """A write in place likewise."""
        call = node.expr
        if isinstance(call, Call) and self._writes_a_batch(call):
            return self._with_ahead(self._writes(call, None), node)
        return self._with_ahead([self.mutate_children(node)], node)

    def _taken(self) -> list[Stmt]:
        made, self.ahead = self.ahead, []
        return made

    def _with_ahead(self, stmts: list[Stmt], node: Stmt) -> Stmt:
        made = [*self._taken(), *stmts]
        if len(made) == 1 and made[0] is node:
            return node
        made = [replace(s, leading_comments=()) if s.leading_comments else s for s in made]
        comments = [SeqStmts((), leading_comments=node.leading_comments)] if node.leading_comments else []
        return seq([*comments, *made], node.span)

    # -- carries and results

    def visit_yield_stmt(self, node: YieldStmt) -> Stmt:
        """What goes into a batch that is split goes matrix by matrix."""
        values: list[Expr] = []
        for value, target in zip(node.values, self.targets[-1], strict=True):
            values += self._all(value) if target in self.facts.batched else [self.visit(value)]
        self.yielded = tuple(values)
        return self._with_ahead([replace(node, values=self.yielded)], node)

    def visit_return_stmt(self, node: ReturnStmt) -> Stmt:
        """A batch that is returned is written to a parameter of its own."""
        values: list[Expr] = []
        for value in node.values:
            if not (isinstance(value, Var) and value in self.parts):
                values.append(self.visit(value))
                continue
            kind = shaped(value)
            target = Var(f"{value.name_hint}_out", TensorType(kind.shape, kind.dtype), span=value.span)
            self.params.append(target)
            for index in indices_of(value):
                args = [target, self._one(value, index), dims((*index, 0, 0))]
                target = self._emit(create_call("tensor.assemble", args, {}, node.span), value)
            values.append(target)
        return self._with_ahead([replace(node, values=tuple(values))], node)

    def _split_args(self, args: tuple[IterArg, ...]) -> tuple[IterArg, ...]:
        out: list[IterArg] = []
        for arg in args:
            if arg not in self.facts.batched:
                new = self.visit_def(arg)
                assert isinstance(new, IterArg)
                out.append(new)
                continue
            parts = tuple(
                IterArg(arg.name_hint, start.type, start, span=arg.span)
                for start in self._all(arg.init_value)
            )
            self.parts[arg] = parts
            out += parts
        return tuple(out)

    def _split_results(self, variables: tuple[Var, ...], values: tuple[Expr, ...]) -> tuple[Var, ...]:
        """Results of the types of ``values``, which are split already."""
        out: list[Var] = []
        for var in variables:
            if var not in self.facts.batched:
                out.append(self.visit_def(var))
                continue
            like = values[len(out) : len(out) + len(indices_of(var))]
            parts = tuple(Var(var.name_hint, v.type, span=var.span) for v in like)
            self.parts[var] = parts
            out += parts
        return tuple(out)

    def _body(self, body: Stmt, targets: tuple[Var, ...], head: Sequence[Var] = ()) -> Stmt:
        outer, self.ahead = self.ahead, []
        self.targets.append(targets)
        windows = self._matrices_of(head)
        new = self.visit(body)
        self.targets.pop()
        self.ahead = outer
        return seq([*windows, *flatten(new)], body.span) if windows else new

    def visit_for_stmt(self, node: ForStmt) -> Stmt:
        """A loop carries each matrix."""
        bounds = {name: self.visit(getattr(node, name)) for name in ("start", "stop", "step")}
        return self._loop(node, {**bounds, "attrs": self.mutate_map(node.attrs)})

    def visit_while_stmt(self, node: WhileStmt) -> Stmt:
        """As a counted loop."""
        return self._loop(node, {})

    def _loop(self, node: ForStmt | WhileStmt, changes: dict[str, Any]) -> Stmt:
        args = self._split_args(node.iter_args)
        made = self._taken()
        if isinstance(node, ForStmt):
            changes["loop_var"] = self.visit_def(node.loop_var)
        else:
            changes["condition"] = self.visit(node.condition)
        body = self._body(node.body, node.iter_args, node.iter_args)
        results = self._split_results(node.return_vars, args)
        self.ahead = made
        new = replace(node, iter_args=args, body=body, return_vars=results, **changes)
        return self._with_ahead([new, *self._matrices_of(node.return_vars)], node)

    def visit_if_stmt(self, node: IfStmt) -> Stmt:
        """A branch gives each matrix."""
        condition = self.visit(node.condition)
        then_body = self._body(node.then_body, node.return_vars)
        values = self.yielded
        other = None if node.else_body is None else self._body(node.else_body, node.return_vars)
        results = self._split_results(node.return_vars, values)
        new = replace(node, condition=condition, then_body=then_body, else_body=other, return_vars=results)
        return self._with_ahead([new, *self._matrices_of(node.return_vars)], node)


def _var(expr: Expr) -> Var:
    assert isinstance(expr, Var)
    return expr


__all__ = ["split_batches"]
