"""Give tiles other places: rewriting a function from a table of variables or of MemRefs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pypto_core.ir import (
    PIPELINE_MEMBERSHIP,
    AssignStmt,
    Call,
    Function,
    IterArg,
    MemRef,
    Mutator,
    Stmt,
    TileType,
    Type,
    Var,
    defined_vars,
    flatten,
    replace,
    seq,
    type_vars,
    walk_stmts,
)
from pypto_plugin_memory.storage import is_alloc


class TypeKeeper(Mutator):
    """A mutator that looks into a type only when a variable in it has been replaced.

    The general one has to look again after every replacement; here tiles are replaced by the hundred, and types name
    extents.
    """

    def __init__(self) -> None:
        super().__init__()
        self._names: dict[int, tuple[Type, tuple[Var, ...]]] = {}

    def visit_type(self, kind: Type) -> Type:
        """The type, rewritten when it names a replaced variable."""
        known = self._names.get(id(kind))
        if known is None:
            known = self._names[id(kind)] = (kind, tuple(type_vars(kind)))
        for var in known[1]:
            if var in self.remap:
                return super().visit_type(kind)
        return kind


class _ByMemRef(TypeKeeper):
    def __init__(self, change: Callable[[MemRef], MemRef]) -> None:
        super().__init__()
        self.change = change
        # The old object is kept, so that its id stays taken; one object becomes one object.
        self.made: dict[int, tuple[MemRef, MemRef]] = {}
        self.kinds: dict[int, tuple[Type, Type]] = {}

    def visit_type(self, kind: Type) -> Type:
        """The type with its MemRef changed."""
        if not isinstance(kind, TileType) or kind.memref is None:
            return super().visit_type(kind)
        known = self.kinds.get(id(kind))
        if known is None:
            memref = self.moved(kind.memref)
            known = (kind, kind if memref is kind.memref else replace(kind, memref=memref))
            self.kinds[id(kind)] = known
        return known[1]

    def moved(self, memref: MemRef) -> MemRef:
        """What the table makes of a MemRef."""
        known = self.made.get(id(memref))
        if known is None:
            known = self.made[id(memref)] = (memref, self.change(memref))
        return known[1]


def map_memrefs(function: Function, change: Callable[[MemRef], MemRef]) -> Function:
    """The function with every MemRef changed; equal objects stay equal objects."""
    return _ByMemRef(change).visit(function)


class PlaceTiles(TypeKeeper):
    """Moves tile variables to the places that a table gives."""

    def __init__(self, places: Mapping[Var, MemRef]) -> None:
        super().__init__()
        self.places = places

    def visit_def(self, var: Var) -> Var:
        """The variable at its new place."""
        memref = self.places.get(var)
        if memref is None or not isinstance(var.type, TileType):
            return super().visit_def(var)
        kind = self.visit_type(var.type)
        assert isinstance(kind, TileType)
        moved = kind if kind.memref is memref else replace(kind, memref=memref)
        new: Var
        if isinstance(var, IterArg):
            init = self.visit(var.init_value)
            if moved is var.type and init is var.init_value:
                return var
            new = IterArg(var.name_hint, moved, init, span=var.span)
        elif moved is var.type:
            return var
        else:
            new = Var(var.name_hint, moved, span=var.span)
        self.remap[var] = new
        return new


def place_tiles(function: Function, places: Mapping[Var, MemRef]) -> Function:
    """The function with some tile variables at other places; the same object when none moves."""
    return PlaceTiles(places).visit(function) if places else function


def add_allocations(function: Function, allocs: tuple[AssignStmt, ...]) -> Function:
    """Put alloc statements behind those that stand at the head of the body already."""
    if not allocs:
        return function
    stmts = flatten(function.body)
    head = next((i for i, stmt in enumerate(stmts) if not is_alloc(stmt)), len(stmts))
    return replace(function, body=seq((*stmts[:head], *allocs, *stmts[head:]), function.body.span))


def drop_unused_allocations(function: Function) -> Function:
    """Remove the alloc statements whose base no tile names any more."""
    used: set[Var] = set()
    for var in (*function.params, *defined_vars(function.body)):
        kind = var.type
        if isinstance(kind, TileType) and kind.memref is not None:
            used.add(kind.memref.base)
    stmts = flatten(function.body)
    kept: list[Stmt] = [s for s in stmts if not (is_alloc(s) and s.var not in used)]  # type: ignore[attr-defined]
    if len(kept) == len(stmts):
        return function
    return replace(function, body=seq(kept, function.body.span))


class _Stripper(Mutator):
    def visit_call(self, node: Call) -> Call:
        """The call without its tag."""
        if PIPELINE_MEMBERSHIP not in node.attrs:
            return node
        return replace(node, attrs={k: v for k, v in node.attrs.items() if k != PIPELINE_MEMBERSHIP})


def strip_membership(function: Function) -> Function:
    """Remove the tags that the pipeline passes left for planning."""
    tagged = any(
        isinstance(stmt, AssignStmt)
        and isinstance(stmt.value, Call)
        and PIPELINE_MEMBERSHIP in stmt.value.attrs
        for stmt in walk_stmts(function.body)
    )
    if not tagged:
        return function
    return _Stripper().visit(function)
