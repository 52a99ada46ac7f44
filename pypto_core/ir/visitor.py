"""Walking and rewriting programs.

Both dispatch on the node's class through a table that is built once per visitor class: a method
``visit_<snake_case_class>`` handles that class, everything else goes to the generic walk over the field table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from operator import is_
from typing import Any, ClassVar, cast

from pypto_core.ir.depth import is_deep, too_deep
from pypto_core.ir.expr import (
    BinaryExpr,
    Call,
    ConstBool,
    ConstFloat,
    ConstInt,
    Expr,
    IterArg,
    MakeTuple,
    Op,
    UnaryExpr,
    Var,
)
from pypto_core.ir.function import Program, map_functions
from pypto_core.ir.making import MAKE
from pypto_core.ir.node import (
    DEFINE,
    MAP,
    MAYBE,
    NODE,
    NODES,
    FieldInfo,
    Node,
    child_fields,
    freeze_map,
    replace,
)
from pypto_core.ir.stmt import AssignStmt, SeqStmts, Stmt, flatten, regions, seq
from pypto_core.ir.types import Type

_CONSTANTS = (ConstInt, ConstFloat, ConstBool)
# Of these there are so many that even looking their makers up counts.
_make_assign, _make_call, _make_seq, _make_var = MAKE[AssignStmt], MAKE[Call], MAKE[SeqStmts], MAKE[Var]


def snake_name(cls: type) -> str:
    """``AssignStmt`` → ``assign_stmt``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", cls.__name__).lower()


class _Dispatch(dict[type, Any]):
    """class → handler; a class is looked up by its own name, then by those of its bases."""

    def __init__(self, owner: type, generic: Any) -> None:
        super().__init__()
        self.owner, self.generic = owner, generic

    def __missing__(self, cls: type) -> Any:
        handler = self.generic
        for base in cls.__mro__:
            found = getattr(self.owner, f"visit_{snake_name(base)}", None)
            if found is not None:
                handler = found
                break
        self[cls] = handler
        return handler


class Visitor:
    """Reads a program. Override ``visit_<class>`` and call ``self.visit_children(node)`` to go on below.

    Types are not visited unless ``visit_types`` is set.
    """

    visit_types: ClassVar[bool] = False
    _table: ClassVar[_Dispatch]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._table = _Dispatch(cls, cls.visit_children)

    def visit(self, node: Any) -> None:
        """Visit one node. Raises UserError (PT213) when the program is nested too deeply to follow."""
        try:
            self._table[node.__class__](self, node)
        except RecursionError:
            if is_deep(node):
                raise too_deep(node) from None
            raise

    def visit_children(self, node: Any) -> None:
        """Visit what the node holds, in order."""
        visit = self.visit
        for field in child_fields(node.__class__):
            value = field.get(node)
            kind = field.kind
            if kind == NODE or kind == MAYBE:
                if value is not None and (self.visit_types or not isinstance(value, Type)):
                    visit(value)
            elif kind == NODES:
                for item in value:
                    if self.visit_types or not isinstance(item, Type):
                        visit(item)
            else:
                for item in map_nodes(value):
                    visit(item)

    def visit_program(self, node: Program) -> None:
        """Visit the functions in the order of their names."""
        for function in node:
            self.visit(function)


Visitor._table = _Dispatch(Visitor, Visitor.visit_children)  # pyright: ignore[reportPrivateUsage]


def map_nodes(values: Mapping[str, Any]) -> Iterator[Any]:
    """The nodes held by an attribute dictionary, directly or in tuples, in order."""
    for value in values.values():
        if isinstance(value, Node):
            yield value
        elif isinstance(value, tuple):
            yield from _tuple_nodes(cast("tuple[Any, ...]", value))


def _tuple_nodes(values: tuple[Any, ...]) -> Iterator[Any]:
    for item in values:
        if isinstance(item, Node):
            yield item
        elif isinstance(item, tuple):
            yield from _tuple_nodes(cast("tuple[Any, ...]", item))


def walk(node: Node) -> Iterator[Any]:
    """Every statement, expression and function at and below ``node``, parents first; types are left out."""
    stack: list[Any] = [node]
    while stack:
        current = stack.pop()
        yield current
        if isinstance(current, Program):
            stack.extend(reversed(tuple(current)))
            continue
        below: list[Any] = []
        for field in child_fields(current.__class__):
            value = field.get(current)
            if field.kind == MAP:
                below.extend(map_nodes(value))
            elif field.kind == NODES:
                below.extend(value)
            elif value is not None:
                below.append(value)
        stack.extend(n for n in reversed(below) if not isinstance(n, Type))


def walk_stmts(body: Stmt | None) -> Iterator[Stmt]:
    """Every statement of a region and of the regions nested in it, in program order; sequences are left out."""
    stack = list(reversed(flatten(body)))
    while stack:
        stmt = stack.pop()
        if type(stmt) is SeqStmts:
            stack.extend(reversed(stmt.stmts))
            continue
        yield stmt
        for region in reversed(regions(stmt)):
            stack.extend(reversed(flatten(region)))


def type_vars(node: Type | Expr) -> Iterator[Var]:
    """Every variable used by a type's extents, views and MemRef, or by an expression."""
    stack: list[Any] = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, Var):
            yield current
            continue
        below: list[Any] = []
        for field in child_fields(current.__class__):
            value = field.get(current)
            below += value if field.kind == NODES else map_nodes(value) if field.kind == MAP else (value,)
        stack += [item for item in reversed(below) if item is not None and not isinstance(item, _CONSTANTS)]


class Mutator:
    """Rewrites a program; what does not change comes back as the same object.

    Override ``visit_<class>`` to return another node. ``mutate_children(node)`` rebuilds a node from its
    rewritten parts. A variable keeps its identity unless its type changes; then a new one takes its place at the
    definition and at all uses, those inside types and attributes too. ``remap`` holds the replacements made so far
    and may be filled beforehand to substitute.

    ``rebuild_call``, when given, makes the new Call when a call's arguments changed, so that the result's type
    is deduced again (:func:`pypto_core.ops.rebuild_call`); otherwise the type is only remapped.
    """

    _table: ClassVar[_Dispatch]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._table = _Dispatch(cls, cls.mutate_children)

    def __init__(
        self,
        remap: Mapping[Var, Expr] | None = None,
        rebuild_call: Callable[[Call, tuple[Expr, ...], Mapping[str, Any]], Expr] | None = None,
    ) -> None:
        self.remap: dict[Var, Expr] = dict(remap or {})
        self.rebuild_call = rebuild_call
        # id → (type, rewritten, its variables and what replaced them); keeping the type keeps its id taken.
        self._types: dict[int, tuple[Type, Type, tuple[tuple[Var, Expr | None], ...]]] = {}
        self._made: dict[Var, Var] = {}
        self._remaps_only = type(self).visit_var is Mutator.visit_var

    def visit(self, node: Any) -> Any:
        """The rewritten node. Raises UserError (PT213) when the program is nested too deeply to follow."""
        try:
            return self._table[node.__class__](self, node)
        except RecursionError:
            if is_deep(node):
                raise too_deep(node) from None
            raise

    def mutate_children(self, node: Any) -> Any:
        """The node with its parts rewritten."""
        changes: dict[str, Any] | None = None
        for field in child_fields(node.__class__):
            old = field.get(node)
            new = self._part(field, old)
            if new is not old:
                if changes is None:
                    changes = {}
                changes[field.name] = new
        return node if changes is None else replace(node, **changes)

    def _part(self, field: FieldInfo, old: Any) -> Any:
        kind = field.kind
        if kind == NODES:
            if not old:
                return old
            each = self.visit_def if field.role == DEFINE else self._node
            new = tuple([each(item) for item in old])
            return old if all(map(is_, new, old)) else new
        if old is None:
            return None
        if kind == MAP:
            return self.mutate_map(old) if old else old
        return self.visit_def(old) if field.role == DEFINE else self._node(old)

    def _node(self, node: Any) -> Any:
        return self.visit_type(node) if isinstance(node, Type) else self.visit(node)

    def mutate_map(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """An attribute dictionary with the nodes in it rewritten."""
        new = {key: self._map_value(value) for key, value in values.items()}
        return values if all(new[key] is value for key, value in values.items()) else new

    def _map_value(self, value: Any) -> Any:
        if isinstance(value, Node | Type):
            return self._node(value)
        if isinstance(value, tuple):
            old = cast("tuple[Any, ...]", value)
            items = tuple([self._map_value(item) for item in old])
            return old if all(map(is_, items, old)) else items
        return value

    def visit_type(self, kind: Type) -> Type:
        """The type with variables in it replaced."""
        known = self._types.get(id(kind))
        remap = self.remap
        if known is not None:
            for var, replaced in known[2]:
                if remap.get(var) is not replaced:
                    break
            else:
                return known[1]
        new = self.mutate_children(kind)
        uses = tuple([(var, remap.get(var)) for var in type_vars(kind)])
        if not uses or self._remaps_only:
            self._types[id(kind)] = (kind, new, uses)
        return new

    def visit_def(self, var: Var) -> Var:
        """The variable to define: a new one when its type changed, the same new one each time it is defined."""
        made = self._made.get(var)
        if made is not None:
            return made
        kind = self.visit_type(var.type)
        if isinstance(var, IterArg):
            init = self.visit(var.init_value)
            if kind is var.type and init is var.init_value:
                return var
            return self._make(var, MAKE[IterArg](var.name_hint, kind, init, var.span))
        if kind is var.type:
            return var
        return self._make(var, _make_var(var.name_hint, kind, var.span))

    def _make(self, old: Var, new: Var) -> Var:
        self.remap[old] = self._made[old] = new
        return new

    def visit_var(self, var: Var) -> Expr:
        """The expression that a use of ``var`` becomes."""
        return self.remap.get(var, var)

    def visit_op(self, op: Op) -> Op:
        """Operators stay what they are."""
        return op

    def visit_const_int(self, node: ConstInt) -> Expr:
        """Constants stay what they are."""
        return node

    visit_const_float = visit_const_bool = visit_const_int

    def visit_binary_expr(self, node: BinaryExpr) -> Expr:
        """Rewrite both operands."""
        left, right = self.visit(node.left), self.visit(node.right)
        if left is node.left and right is node.right:
            return node
        return MAKE[node.__class__](left, right, node.type, node.span)

    def visit_unary_expr(self, node: UnaryExpr) -> Expr:
        """Rewrite the operand."""
        operand = self.visit(node.operand)
        return node if operand is node.operand else MAKE[node.__class__](operand, node.type, node.span)

    def visit_make_tuple(self, node: MakeTuple) -> Expr:
        """Rewrite the elements."""
        elements = tuple([self.visit(e) for e in node.elements])
        return node if all(map(is_, elements, node.elements)) else MAKE[MakeTuple](elements, node.span)

    def visit_call(self, node: Call) -> Expr:
        """Rewrite arguments, options and notes; see :attr:`rebuild_call` for the type."""
        old_args = node.args
        args = tuple([self.visit(a) for a in old_args])
        same = all(map(is_, args, old_args))
        kwargs = self.mutate_map(node.kwargs) if node.kwargs else node.kwargs
        attributes = self.mutate_map(node.attrs) if node.attrs else node.attrs
        if same and kwargs is node.kwargs and attributes is node.attrs:
            kind = self.visit_type(node.type)
            return node if kind is node.type else replace(node, type=kind)
        if not same and self.rebuild_call is not None:
            call = node if kwargs is node.kwargs else replace(node, kwargs=kwargs)
            return self.rebuild_call(call, args, attributes)
        kind = self.visit_type(node.type)
        return _make_call(node.op, args, freeze_map(kwargs), freeze_map(attributes), node.span, kind)

    def visit_assign_stmt(self, node: AssignStmt) -> Stmt:
        """Rewrite the value, then the variable."""
        if type(node) is not AssignStmt:
            return self.mutate_children(node)
        value = self.visit(node.value)
        var = self.visit_def(node.var)
        if value is node.value and var is node.var:
            return node
        return _make_assign(var, value, node.span, node.leading_comments)

    def visit_seq_stmts(self, node: SeqStmts) -> Stmt:
        """Rewrite each statement and flatten what came out."""
        stmts = [self.visit(s) for s in node.stmts]
        if all(map(is_, stmts, node.stmts)):
            return node
        return seq(stmts, node.span)

    def visit_program(self, node: Program) -> Program:
        """Rewrite each function."""
        return map_functions(node, self.visit)


Mutator._table = _Dispatch(Mutator, Mutator.mutate_children)  # pyright: ignore[reportPrivateUsage]


def substitute(node: Any, mapping: Mapping[Var, Expr]) -> Any:
    """``node`` (expression, statement or type) with variables replaced; the same object when none occurs."""
    mutator = Mutator(mapping)
    return mutator.visit_type(node) if isinstance(node, Type) else mutator.visit(node)


class _Cloner(Mutator):
    """Makes every definition anew, so that hardly anything is left that could stay the same object.

    What programs consist of for the most part is copied without asking whether it changed.
    """

    def __init__(self, remap: Mapping[Var, Expr] | None) -> None:
        super().__init__(remap)
        self._visitors = self._table
        self._given = frozenset(self.remap)

    def visit_def(self, var: Var) -> Var:
        remap = self.remap
        if var in remap and var not in self._given:
            return cast(Var, remap[var])
        kind = var.type
        known = self._types.get(id(kind))
        if known is None or known[2]:
            kind = self.visit_type(kind)
        if var.__class__ is Var:
            new = _make_var(var.name_hint, kind, var.span)
        else:
            assert isinstance(var, IterArg)
            new = MAKE[IterArg](var.name_hint, kind, self.visit(var.init_value), var.span)
        remap[var] = new
        return new

    def visit_binary_expr(self, node: BinaryExpr) -> Expr:
        get, visitors = self.remap.get, self._visitors
        old_left: Any = node.left
        old_right: Any = node.right
        left, right = get(old_left), get(old_right)  # mostly variables that were copied before
        if left is None:
            left = visitors[old_left.__class__](self, old_left)
        if right is None:
            right = visitors[old_right.__class__](self, old_right)
        return MAKE[node.__class__](left, right, node.type, node.span)

    def visit_assign_stmt(self, node: AssignStmt) -> Stmt:
        value = node.value
        value = self._visitors[value.__class__](self, value)
        return _make_assign(self.visit_def(node.var), value, node.span, node.leading_comments)

    def visit_seq_stmts(self, node: SeqStmts) -> Stmt:
        visitors = self._visitors
        stmts = tuple([visitors[stmt.__class__](self, stmt) for stmt in node.stmts])
        return _make_seq(stmts, node.span, node.leading_comments)


def deep_clone(node: Any, mapping: Mapping[Var, Expr] | None = None) -> tuple[Any, dict[Var, Expr]]:
    """A copy of a statement or function in which every definition is a fresh variable.

    Returns the copy and the map from old variables to new; ``mapping`` also replaces free variables.
    """
    cloner = _Cloner(mapping)
    return cloner.visit(node), cloner.remap


def defined_vars(body: Stmt) -> tuple[Var, ...]:
    """The variables defined in a region and below, in program order."""
    out: list[Var] = []
    for stmt in walk_stmts(body):
        for field in child_fields(type(stmt)):
            if field.role == DEFINE:
                value = field.get(stmt)
                out.extend(value if field.kind == NODES else (value,) if value is not None else ())
    return tuple(out)


def used_vars(node: Node) -> tuple[Var, ...]:
    """The variables used at or below ``node``, each once, in order of first use; types are looked into."""
    collector = _Uses()
    collector.visit(node)
    return tuple(collector.found)


class _Uses(Visitor):
    def __init__(self) -> None:
        self.found: dict[Var, None] = {}
        self.seen_types: set[int] = set()

    def visit_children(self, node: Any) -> None:
        for field in child_fields(node.__class__):
            value = field.get(node)
            items = value if field.kind == NODES else map_nodes(value) if field.kind == MAP else (value,)
            for item in items:
                if item is None:
                    continue
                if isinstance(item, Type):
                    self._type(item)
                elif field.role == DEFINE:
                    self._type(item.type)
                    if isinstance(item, IterArg):
                        self.visit(item.init_value)
                else:
                    self.visit(item)

    def _type(self, kind: Type) -> None:
        if id(kind) not in self.seen_types:
            self.seen_types.add(id(kind))
            self.found.update(dict.fromkeys(type_vars(kind)))

    def visit_var(self, var: Var) -> None:
        self.found.setdefault(var)
        self._type(var.type)
