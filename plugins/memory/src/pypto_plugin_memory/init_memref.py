"""InitMemRef: every tile and tensor gets a place.

A value owns new storage unless it is another look at storage that exists: views, results of operators that work
in place, aliases, loop carries and branch results take over the MemRef of what they come from. Each on-chip
allocation is then stated once, at the head of the function.

Names are ``mem_<space>_<n>`` with one counter per function: parameters first, then values in program order. The
results of loops and branches draw a number although they share storage, so that numbers have gaps.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pypto_core.contract import Backend
from pypto_core.diagnostics import Span, UserError
from pypto_core.ir import (
    PTR,
    AccRowAlignment,
    AssignStmt,
    Call,
    ConstInt,
    DataType,
    ElementMap,
    Expr,
    ForStmt,
    Function,
    IfStmt,
    IterArg,
    MemorySpace,
    MemRef,
    Stmt,
    TensorType,
    TileType,
    TupleGetItemExpr,
    Type,
    Var,
    WhileStmt,
    base_name,
    conservative_acc_rows,
    defined_vars,
    flatten,
    last_yield,
    physical_bytes,
    replace,
    seq,
    tile_map,
    updated,
)
from pypto_core.ops import alias_source, create_call, is_view
from pypto_plugin_memory.declared import (
    Declaration,
    collect_declarations,
    forbid_binding_of_shared,
    pinned,
)
from pypto_plugin_memory.rewrite import TypeKeeper
from pypto_plugin_memory.window import view_layout, view_place

_POP = "tile.tpop_"


def init_mem_ref(function: Function, ctx: Any) -> Function:
    """The function with a MemRef on every tile and tensor and the allocations ahead of its body.

    What already has a resolved MemRef keeps it; the same function when all have one. Raises UserError for
    declarations that contradict each other and for tiles without a memory space or a constant shape.
    """
    backend = ctx.backend if ctx is not None else None
    acc_rows = backend.acc_row_alignment if backend is not None else conservative_acc_rows
    assigns = ctx is None or "planner:ptoas" not in ctx.capabilities
    if backend is not None and function.is_incore:
        check_memories(function, backend)
    declared = collect_declarations(function, acc_rows, single_slot=assigns)
    placer = _Placer(declared, acc_rows, function)
    new = placer.visit(function)
    allocs = placer.allocations(new)
    if not allocs:
        return new
    return replace(new, body=seq((*allocs, *flatten(new.body)), new.body.span))


def check_memories(function: Function, backend: Backend) -> None:
    """Raise UserError (PT628) for a tile in a memory that the machine does not have."""
    for var in (*function.params, *defined_vars(function.body)):
        kind = var.type
        space = kind.memory_space if isinstance(kind, TileType) else None
        if space is None or space is MemorySpace.DDR or backend.memory(space) is not None:
            continue
        raise UserError(
            f"tile '{base_name(var.name_hint)}' lies in {space.name}, which {backend.name} does not have",
            code="PT628",
            span=var.span,
            facts={"memories": ", ".join(spec.space.name for spec in backend.memories)},
            remedy="keep it in a memory of this machine, or compile for another one",
        )


def alloc_stmt(base: Var, space: MemorySpace, size: int, span: Span, *, declared: bool = False) -> AssignStmt:
    """``base = tile.alloc(space, size)``."""
    options: dict[str, Any] = {"memory_space": space, "size": size}
    if declared:
        options["pinned"] = True
    return AssignStmt(base, create_call("tile.alloc", (), options, span), span=span)


class _Placer(TypeKeeper):
    def __init__(
        self, declared: dict[Var, Declaration], acc_rows: AccRowAlignment, function: Function
    ) -> None:
        super().__init__()
        self.declared, self.acc_rows = declared, acc_rows
        self.number = 0
        self.taken = {base.name_hint for base in declared} | {
            v.name_hint for v in defined_vars(function.body)
        }
        self.layouts: dict[Var, ElementMap | None] = {}
        self.parts: dict[tuple[Var, int], MemRef] = {}

    # -- new storage

    def draw(self, space: MemorySpace) -> str:
        """The next base name; a name that the author uses is passed over."""
        while True:
            name = f"mem_{space.name.lower()}_{self.number}"
            self.number += 1
            if name not in self.taken:
                return name

    def fresh(self, kind: TensorType | TileType, span: Span) -> MemRef:
        space = kind.memory_space
        assert space is not None
        base = Var(self.draw(space), PTR, span=span)
        size = physical_bytes(kind, self.acc_rows, span)
        return MemRef(base, ConstInt(0, DataType.INT64), size, span=span)

    # -- definitions

    def placed(self, var: Var, memref: MemRef | None) -> Var:
        """``var`` at that place, or at one of its own; a declared or settled place wins."""
        kind = self.visit_type(var.type)
        if not isinstance(kind, TensorType | TileType):
            return self.visit_def(var)
        if isinstance(kind, TileType) and kind.memory_space is None:
            raise UserError(
                f"tile '{base_name(var.name_hint)}' has no memory space",
                code="PT625",
                span=var.span,
                remedy="run InferTileMemorySpace first, or name the space in the annotation",
            )
        settled = kind.memref
        if settled is not None and settled.is_pinned:
            declaration = self.declared.get(settled.base)
            settled = declaration.resolve(settled, settled.slot_index) if declaration is not None else None
        chosen = memref if memref is not None and kind.memref is None else settled
        return self.with_place(var, kind, chosen or self.fresh(kind, var.span))

    def with_place(self, var: Var, kind: TensorType | TileType, memref: MemRef | None) -> Var:
        placed = kind if memref is kind.memref else replace(kind, memref=memref)
        if placed is var.type and not isinstance(var, IterArg):
            new = var
        elif isinstance(var, IterArg):
            init = self.visit(var.init_value)
            unchanged = placed is var.type and init is var.init_value
            new = var if unchanged else IterArg(var.name_hint, placed, init, span=var.span)
        else:
            new = Var(var.name_hint, placed, span=var.span)
        if new is not var:
            self.remap[var] = new
        return new

    def shared(self, var: Var, memref: MemRef | None) -> Var:
        """``var`` at the place of what it stands for; stays without one when that has none (pipe slots)."""
        kind = self.visit_type(var.type)
        if not isinstance(kind, TensorType | TileType):
            return self.visit_def(var)
        settled = kind.memref is not None and not kind.memref.is_pinned
        return self.with_place(var, kind, kind.memref if settled else memref)

    def visit_function(self, node: Function) -> Function:
        """Parameters draw the first numbers."""
        params = tuple([self.placed(p, None) for p in node.params])
        body = self.visit(node.body)
        returns = tuple([self.visit_type(t) for t in node.return_types])
        return updated(
            node, params=params, body=body, return_types=returns, attrs=self.mutate_map(node.attrs)
        )

    def visit_assign_stmt(self, node: AssignStmt) -> Stmt:
        """A value's place follows from its operator."""
        value = self.visit(node.value)
        var = self.define(node.var, value)
        return updated(node, var=var, value=value)

    def define(self, var: Var, value: Expr) -> Var:
        if isinstance(value, Var):
            return self.alias(var, value)
        if isinstance(value, TupleGetItemExpr):
            return self.part(var, value)
        if not isinstance(value, Call):
            return self.placed(var, None)
        if value.op.name.startswith(_POP):
            return self.shared(var, None)
        index = alias_source(value)
        if index is None or index >= len(value.args):
            return self.owner(var)
        forbid_binding_of_shared(var, value.op.name, value.span)
        source = value.args[index]
        memref = _memref(source)
        if memref is None:
            return self.shared(var, None)
        if is_view(value) and isinstance(var.type, TileType):
            return self.view(var, value, memref)
        new = self.shared(var, memref)
        self.layouts[new] = self.layout_of(source)
        return new

    def owner(self, var: Var) -> Var:
        new = self.placed(var, None)
        if isinstance(new.type, TileType):
            self.layouts[new] = tile_map(new.type, acc_rows=self.acc_rows)
        return new

    def alias(self, var: Var, source: Var) -> Var:
        memref = _memref(source)
        kind = var.type
        if not isinstance(kind, TensorType | TileType) or (memref is None and isinstance(kind, TileType)):
            return self.shared(var, None)
        bound, origin = pinned(var), memref
        if bound is not None and origin is not None and origin.base is not bound.base:
            forbid_binding_of_shared(var, "an alias", var.span)
        if isinstance(source, IterArg) or isinstance(kind, TensorType):
            # An alias of these shares storage too, but numbers are counted as if it did not.
            self.draw(kind.memory_space or MemorySpace.DDR)
        new = self.shared(var, memref)
        self.layouts[new] = self.layout_of(source)
        return new

    def part(self, var: Var, value: TupleGetItemExpr) -> Var:
        if not isinstance(value.tuple, Var):
            return self.placed(var, None)
        key = (value.tuple, value.index)
        new = self.shared(var, self.parts[key]) if key in self.parts else self.owner(var)
        memref = _memref(new)
        if memref is not None:
            self.parts[key] = memref
        return new

    # -- views

    def layout_of(self, source: Expr) -> ElementMap | None:
        if isinstance(source, Var) and source in self.layouts:
            return self.layouts[source]
        kind = source.type
        return tile_map(kind, acc_rows=self.acc_rows) if isinstance(kind, TileType) else None

    def view(self, var: Var, call: Call, parent: MemRef) -> Var:
        layout = self.layout_of(call.args[0])
        new = self.shared(var, view_place(call, layout, parent))
        self.layouts[new] = view_layout(call, layout, new.type, self.acc_rows)
        return new

    # -- regions

    def visit_for_stmt(self, stmt: ForStmt) -> Stmt:
        """Carries and results lie where the initial values do."""
        start, stop, step = self.visit(stmt.start), self.visit(stmt.stop), self.visit(stmt.step)
        attributes = self.mutate_map(stmt.attrs)
        args = tuple([self.carry(a) for a in stmt.iter_args])
        loop_var = self.visit_def(stmt.loop_var)
        body = self.visit(stmt.body)
        returns = self.results(stmt.return_vars, args)
        return updated(
            stmt, start=start, stop=stop, step=step, attrs=attributes, iter_args=args, loop_var=loop_var,
            body=body, return_vars=returns,
        )  # fmt: skip

    def visit_while_stmt(self, stmt: WhileStmt) -> Stmt:
        """As for counted loops."""
        args = tuple([self.carry(a) for a in stmt.iter_args])
        condition = self.visit(stmt.condition)
        body = self.visit(stmt.body)
        returns = self.results(stmt.return_vars, args)
        return updated(stmt, iter_args=args, condition=condition, body=body, return_vars=returns)

    def visit_if_stmt(self, stmt: IfStmt) -> Stmt:
        """A result lies where the first branch leaves it."""
        condition = self.visit(stmt.condition)
        then_body = self.visit(stmt.then_body)
        else_body = None if stmt.else_body is None else self.visit(stmt.else_body)
        sources = _yielded(then_body), _yielded(else_body)
        pairs = [
            next((s[i] for s in sources if i < len(s) and isinstance(s[i], Var)), None)
            for i in range(len(stmt.return_vars))
        ]
        returns = self.results(stmt.return_vars, pairs)
        return updated(
            stmt, condition=condition, then_body=then_body, else_body=else_body, return_vars=returns
        )

    def carry(self, arg: IterArg) -> IterArg:
        init = self.visit(arg.init_value)
        memref = _memref(init)
        new = self.shared(arg, memref) if memref is not None or _popped(init) else self.placed(arg, None)
        if isinstance(new.type, TileType):
            self.layouts[new] = self.layout_of(init)
        assert isinstance(new, IterArg)
        return new

    def results(self, returns: tuple[Var, ...], sources: Iterable[Expr | None]) -> tuple[Var, ...]:
        new: list[Var] = []
        for var, source in zip(returns, sources, strict=True):
            kind = var.type
            if isinstance(kind, TensorType | TileType) and kind.memref is None:
                self.draw(kind.memory_space or MemorySpace.DDR)
            memref = None if source is None else _memref(source)
            placed = self.shared(var, memref) if source is not None else self.placed(var, None)
            if source is not None and isinstance(placed.type, TileType):
                self.layouts[placed] = self.layout_of(source)
            new.append(placed)
        return tuple(new)

    # -- allocations

    def allocations(self, function: Function) -> tuple[AssignStmt, ...]:
        """One statement per on-chip base that nothing allocates yet, in the order in which bases appear.

        The largest member gives its size: a branch's result, which may be a window, appears before what it is cut from.
        """
        there = {s.var for s in flatten(function.body) if isinstance(s, AssignStmt) and s.var.type is PTR}
        found: dict[Var, tuple[MemorySpace, int]] = {}
        for var in (*function.params, *defined_vars(function.body)):
            kind = var.type
            if not isinstance(kind, TileType) or kind.memref is None or kind.memory_space is None:
                continue
            base = kind.memref.base
            if base not in there and kind.memory_space is not MemorySpace.DDR:
                space, size = found.get(base, (kind.memory_space, 0))
                found[base] = space, max(size, kind.memref.size)
        return tuple(self.allocation(base, space, size) for base, (space, size) in found.items())

    def allocation(self, base: Var, space: MemorySpace, size: int) -> AssignStmt:
        """The statement of one allocation: as large as it was declared, or as its largest member."""
        declaration = self.declared.get(base)
        if declaration is None:
            return alloc_stmt(base, space, size, base.span)
        return alloc_stmt(base, space, declaration.total, declaration.span, declared=True)


def _memref(expr: Expr) -> MemRef | None:
    kind: Type = expr.type
    return kind.memref if isinstance(kind, TensorType | TileType) else None


def _popped(expr: Expr) -> bool:
    return isinstance(expr, Var) and isinstance(expr.type, TileType) and expr.type.memref is None


def _yielded(body: Stmt | None) -> tuple[Expr, ...]:
    tail = last_yield(body)
    return tail.values if tail is not None else ()
