"""What the field's default planner takes of each memory: a model written from its description alone.

It shares whole buffers by lifetime and lays them one behind the other by name (buffer_ir_and_memory.md 4.4 and
4.5.1, whose items are named below). Nothing of the plugin's planning is used: lifetimes, constraints, packing and
footprint are computed here from the statements, one closed interval per allocation as that planner has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import attrs

from pypto_core.ir import (
    PIPELINE_MEMBERSHIP,
    AssignStmt,
    Call,
    ConstInt,
    Expr,
    ForStmt,
    Function,
    IfStmt,
    IterArg,
    MakeTuple,
    MemorySpace,
    MemRef,
    ScopeStmt,
    Stmt,
    TileType,
    TupleGetItemExpr,
    Var,
    WhileStmt,
    flatten,
    last_yield,
)

ALIGNMENT = 32

# 4.4.1: operators that write before they have read, each argument of which the result keeps off.
_LISTED = """
recip rsqrt fmod fmods ands ors xors prelu row_sum row_max row_min row_prod row_argmax row_argmin col_argmax col_argmin
transpose concat extract move fillpad_expand sort32 mrgsort_format1 mrgsort_format2 gather gather_mask gather_compare
gatherb mgather
"""
NOT_IN_PLACE = frozenset(f"tile.{name}" for name in _LISTED.split())


@attrs.define(eq=False)
class Tile:
    """One variable. ``families``: the (if, slot) whose value it is one of."""

    begin: int
    end: int
    families: set[tuple[int, int]] = attrs.field(factory=set)


@attrs.define(eq=False)
class Storage:
    """All variables of one base (item 2). ``stages``: pipeline group to stage of its first member that has one."""

    name: str
    space: MemorySpace
    order: int
    size: int
    pinned: bool
    tiles: list[Tile] = attrs.field(factory=list)
    stages: dict[int, int] = attrs.field(factory=dict)
    apart: set[int] = attrs.field(factory=set)

    @property
    def begin(self) -> int:
        return min(t.begin for t in self.tiles)

    @property
    def end(self) -> int:
        return max(t.end for t in self.tiles)

    def overlaps(self, other: Storage) -> bool:
        """Item 3: touching is allowed, and an overlap of nothing but values of one branch result is forgiven."""
        if self.end <= other.begin or other.end <= self.begin:
            return False
        pairs = [(a, b) for a in self.tiles for b in other.tiles]
        strangers = [(a, b) for a, b in pairs if not a.families & b.families]
        if len(strangers) == len(pairs):
            return True
        return any(not (a.end <= b.begin or b.end <= a.begin) for a, b in strangers)


def peaks(function: Function, capacities: Mapping[MemorySpace, int]) -> dict[MemorySpace, int]:
    """Bytes from the start of each memory to the end of the last buffer, when that planner places the tiles.

    ``function``: with places and without addresses, as before reuse. ``capacities``: bytes of every memory in use.
    """
    found = _Reader().read(function)
    out: dict[MemorySpace, int] = {}
    for space in MemorySpace:
        members = [s for s in found if s.space is space and s.size]
        if members:
            out[space] = _Packer(members, capacities[space]).footprint()
    return out


class _Reader:
    """Orders, reads and storages of one function (items 1 and 2, and 4.4.1)."""

    def __init__(self) -> None:
        self.order = 0
        self.tiles: dict[Var, Tile] = {}
        self.storage: dict[Var, Storage] = {}
        self.loops: list[tuple[int, int]] = []
        self.stands_for: dict[Var, list[Var]] = {}
        self.family: dict[Var, tuple[int, int]] = {}
        self.windows: set[Var] = set()
        self.ifs = 0

    def read(self, function: Function) -> list[Storage]:
        for param in function.params:
            self.define(param, None)
        self.body(function.body)
        for tile in self.tiles.values():
            raw = tile.end
            for first, last in self.loops:
                if tile.begin < first <= raw:
                    tile.end = max(tile.end, last)
        return list(self.storage.values())

    def body(self, body: Stmt | None) -> None:
        for stmt in flatten(body):
            if isinstance(stmt, AssignStmt):
                self.assign(stmt)
            elif isinstance(stmt, ForStmt | WhileStmt):
                self.loop(stmt)
            elif isinstance(stmt, IfStmt):
                self.branch(stmt)
            elif isinstance(stmt, ScopeStmt):
                self.body(stmt.body)
            else:
                for expr in getattr(stmt, "values", (getattr(stmt, "expr", None),)):
                    self.use(expr)
                self.order += 1

    def assign(self, stmt: AssignStmt) -> None:
        self.use(stmt.value)
        call = stmt.value if isinstance(stmt.value, Call) else None
        if call is not None and call.op.name == "tile.alloc":
            self.allocs(stmt.var, call)
        else:
            self.define(stmt.var, call)
        self.order += 1

    def allocs(self, base: Var, call: Call) -> None:
        if call.kwargs.get("pinned", False):
            space, size = call.kwargs["memory_space"], int(call.kwargs["size"])
            self.storage[base] = Storage(base.name_hint, space, len(self.storage), size, pinned=True)

    def define(self, var: Var, call: Call | None) -> None:
        memref = place(var)
        if memref is None:
            return
        kind = var.type
        assert isinstance(kind, TileType) and kind.memory_space is not None
        known = self.storage.get(memref.base)
        if known is None:
            known = Storage(memref.name, kind.memory_space, len(self.storage), memref.size, pinned=False)
            self.storage[memref.base] = known
        known.size = max(known.size, memref.size)
        self.tiles[var] = tile = Tile(self.order, self.order)
        known.tiles.append(tile)
        if call is not None:
            known.stages = known.stages or stages(call)
            self.constrain(known, var, call)

    def constrain(self, mine: Storage, var: Var, call: Call) -> None:
        """The sets of 4.4.1: by operator, for casts to wider elements, and for windows that are read (4.4.1, D14)."""
        tiles = [(i, a) for i, a in enumerate(call.args) if place(a) is not None]
        if call.op.name == "tile.slice":
            self.windows.add(var)
        for index, arg in tiles:
            memref = place(arg)
            assert memref is not None
            theirs = self.storage[memref.base]
            if theirs is not mine and (_forbidden(call, index) or arg in self.windows):
                mine.apart.add(theirs.order)
                theirs.apart.add(mine.order)

    def use(self, expr: Expr | None) -> None:
        for var in variables(expr):
            for tile in self.sources(var, set()):
                tile.end = max(tile.end, self.order)

    def sources(self, var: Var, families: set[tuple[int, int]]) -> Iterator[Tile]:
        """The variables that a read of ``var`` is a read of."""
        if var in self.tiles:
            self.tiles[var].families |= families
            yield self.tiles[var]
        inner = families | ({self.family[var]} if var in self.family else set())
        for source in self.stands_for.get(var, ()):
            yield from self.sources(source, inner)

    def loop(self, stmt: ForStmt | WhileStmt) -> None:
        first = self.order
        for arg in stmt.iter_args:
            self.use(arg.init_value)
            self.same(arg, arg.init_value)
        self.body(stmt.body)
        self.loops.append((first, self.order - 1))
        for result, arg in zip(stmt.return_vars, stmt.iter_args, strict=True):
            self.same(result, arg.init_value)

    def same(self, var: Var, value: Expr) -> None:
        if isinstance(value, Var):
            self.stands_for[var] = [value]

    def branch(self, stmt: IfStmt) -> None:
        self.use(stmt.condition)
        self.ifs += 1
        number = self.ifs
        for body in (stmt.then_body, stmt.else_body):
            self.body(body)
            tail = last_yield(body)
            for slot, (result, value) in enumerate(
                zip(stmt.return_vars, tail.values if tail is not None else (), strict=False)
            ):
                self.family[result] = number, slot
                if isinstance(value, Var) and not isinstance(value, IterArg):
                    self.stands_for.setdefault(result, []).append(value)


def _forbidden(call: Call, index: int) -> bool:
    name = call.op.name.removeprefix("tile.")
    if call.op.name in NOT_IN_PLACE:
        return True
    if name.startswith(("row_expand", "col_expand")):
        return index == 1 or (name == "row_expand_add" and index == 2)
    if name == "cast":
        source, target = call.args[0].type, call.type
        assert isinstance(source, TileType) and isinstance(target, TileType)
        return target.dtype.bits > source.dtype.bits
    return index in {"sel": (0, 3), "sels": (0,)}.get(name, ())


@attrs.define(eq=False)
class _Packer:
    """Items 4 and 5 and the gate of 4.4.2, for one memory."""

    members: list[Storage]
    capacity: int
    depth: dict[int, int] = attrs.field(init=False)
    stages: dict[int, list[int]] = attrs.field(init=False)
    slot: dict[int, int] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        groups = sorted({group for s in self.members for group in s.stages})
        self.stages = {g: sorted({s.stages[g] for s in self.members if g in s.stages}) for g in groups}
        self.slot = {g: max(s.size for s in self.members if g in s.stages) for g in groups}
        self.depth = {g: max(1, min(len(self.stages[g]), self.capacity // self.slot[g])) for g in groups}

    def footprint(self) -> int:
        """Shed a stage at a time while the buffers do not fit."""
        while True:
            used = _walk(self.packed())
            deep = [g for g, depth in self.depth.items() if depth > 1]
            if used <= self.capacity or not deep:
                return used
            self.depth[max(deep, key=lambda g: (_aligned(self.slot[g]), -g))] -= 1

    def packed(self) -> list[list[Storage]]:
        """First fit, largest first; declared buffers keep to themselves."""
        buffers: list[list[Storage]] = []
        for storage in sorted(self.members, key=lambda s: (-s.size, s.begin, s.order)):
            fitting = (b for b in buffers if not b[0].pinned and all(self.compatible(storage, o) for o in b))
            home = None if storage.pinned else next(fitting, None)
            if home is None:
                buffers.append(home := [])
            home.append(storage)
        return buffers

    def compatible(self, a: Storage, b: Storage) -> bool:
        """Whether nothing keeps two storages apart. Stages share where they are equal modulo the depth that fits."""
        if b.order in a.apart or a.overlaps(b):
            return False
        return all(self.lane(g, a.stages[g]) == self.lane(g, b.stages[g]) for g in a.stages if g in b.stages)

    def lane(self, group: int, stage: int) -> int:
        return self.stages[group].index(stage) % self.depth[group]


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _walk(buffers: list[list[Storage]]) -> int:
    """4.5.1: by name as text, each from the next multiple of 32."""
    end = 0
    for first in sorted((b[0] for b in buffers), key=lambda s: s.name):
        end = _aligned(end) + first.size
    return end


def place(value: object) -> MemRef | None:
    """The MemRef of a tile on the chip."""
    kind = getattr(value, "type", None)
    on_chip = isinstance(kind, TileType) and kind.memory_space not in (None, MemorySpace.DDR)
    return kind.memref if on_chip and isinstance(kind, TileType) else None


def stages(call: Call) -> dict[int, int]:
    """``"group:stage;group:stage"`` of a call."""
    text = str(call.attrs.get(PIPELINE_MEMBERSHIP, ""))
    return {int(g): int(s) for g, _, s in (part.partition(":") for part in text.split(";") if part)}


def variables(expr: Expr | None) -> Iterator[Var]:
    """The variables in an expression that may be tiles."""
    if isinstance(expr, Var):
        yield expr
    elif isinstance(expr, Call):
        for arg in expr.args:
            yield from variables(arg)
    elif isinstance(expr, MakeTuple):
        for element in expr.elements:
            yield from variables(element)
    elif isinstance(expr, TupleGetItemExpr):
        yield from variables(expr.tuple)


def taken(function: Function) -> dict[MemorySpace, int]:
    """Bytes from the start of each memory to the end of the last tile, of a function with addresses."""
    out: dict[MemorySpace, int] = {}
    for stmt in _statements(function.body):
        for var in (
            *getattr(stmt, "return_vars", ()),
            *getattr(stmt, "iter_args", ()),
            getattr(stmt, "var", None),
        ):
            memref = place(var)
            if memref is None or not isinstance(memref.byte_offset, ConstInt):
                continue
            kind = var.type
            out[kind.memory_space] = max(
                out.get(kind.memory_space, 0), memref.byte_offset.value + memref.size
            )
    return out


def _statements(body: Stmt | None) -> Iterator[Stmt]:
    for stmt in flatten(body):
        yield stmt
        for inner in ("body", "then_body", "else_body"):
            yield from _statements(getattr(stmt, inner, None))
