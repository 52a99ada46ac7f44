"""How the statements of a mixed scope are dealt out to parts for one core each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import attrs

from pypto_core.ir import (
    AssignStmt,
    Call,
    ConstInt,
    Expr,
    ForKind,
    ForStmt,
    IfStmt,
    MakeTuple,
    Mutator,
    ScopeStmt,
    SpmdScopeStmt,
    Stmt,
    TensorType,
    Var,
    YieldStmt,
    base_name,
    defined_vars,
    dims_equal,
    flatten,
    is_const,
    mul,
    replace,
    seq,
    type_vars,
    used_vars,
    walk_stmts,
)
from pypto_core.ops import create_call, may_write
from pypto_plugin_tensor.cores import CUBE, VECTOR, Cores, Needs
from pypto_plugin_tensor.storage import Storage


class Undivided(Exception):
    """Dealing the scope out would change what it means; the message says why, unless one core does all of it."""


@attrs.define(eq=False)
class Part:
    """Statements for one core, with their places in the region."""

    core: Needs
    stmts: list[tuple[int, Stmt]] = attrs.field(factory=list[tuple[int, Stmt]])


Maker = Callable[[Part, Stmt, "Var | None"], ScopeStmt]
"""Makes the scope of a part from its body and, in a launch, the variable that counts the blocks."""


class Dealing:
    """One scope.

    ``escapes``: variables of the scope that are used outside of it. ``around`` counts the loops and branches that stay
    on the host.
    """

    def __init__(
        self, scope: ScopeStmt, cores: Cores, storage: Storage, escapes: set[Var], made: Maker
    ) -> None:
        self.scope, self.cores, self.storage, self.escapes, self.made = scope, cores, storage, escapes, made
        self.inner = frozenset(defined_vars(scope.body))
        self.launch = scope if isinstance(scope, SpmdScopeStmt) else None
        self.around = 0

    def run(self) -> list[Stmt]:
        """What takes the scope's place. Raises Undivided."""
        return _Region(self, self.scope.body).run()

    def divided(self, stmt: Stmt) -> Stmt:
        """A loop or branch that needs both cores, on the host."""
        self.around += 1
        if isinstance(stmt, ForStmt):
            loop = replace(stmt, body=self._region(stmt.body))
            return replace(loop, kind=ForKind.Sequential, attrs={}) if stmt.kind is ForKind.Pipeline else loop
        assert isinstance(stmt, IfStmt)
        other = None if stmt.else_body is None else self._region(stmt.else_body)
        return replace(stmt, then_body=self._region(stmt.then_body), else_body=other)

    def _region(self, body: Stmt) -> Stmt:
        return seq(_Region(self, body).run(), body.span)


class _Region:
    """One list of statements.

    Scalars, views and new tensors are ``free``: each part makes what it needs of them, or the host does. Scalars are
    the host's where there is one; ``hosted`` are the free variables that it has made.
    """

    def __init__(self, dealing: Dealing, body: Stmt) -> None:
        self.all, self.cores, self.storage = dealing, dealing.cores, dealing.storage
        items = flatten(body)
        self.tail = items[-1] if items and isinstance(items[-1], YieldStmt) else None
        self.items = items if self.tail is None else items[:-1]
        self.users: dict[Var, list[Stmt]] = {}
        for stmt in items:
            for var in used_vars(stmt):
                self.users.setdefault(var, []).append(stmt)
        self.free: dict[Var, tuple[int, AssignStmt]] = {}
        self.hosted: set[Var] = set()
        self.made_in: dict[Var, tuple[int, Part]] = {}
        self.parts: list[Part] = []
        self.emitted: set[Part] = set()
        self.touched: dict[Var, int] = {}
        self.written: dict[Var, list[tuple[int, Part | None]]] = {}
        self.buffers: dict[Var, Var] = {}
        self.out: list[Stmt] = []

    def run(self) -> list[Stmt]:
        launch = self.all.launch
        for place, stmt in enumerate(self.items):
            cores = self.cores.needed(stmt)
            assert cores is not None
            if isinstance(stmt, AssignStmt) and self._is_free(stmt, cores):
                self.free[stmt.var] = place, stmt
            elif len(cores) < 2:
                self._deal(place, stmt, VECTOR if _is_call(stmt, "tensor.full") else cores)
            elif launch is not None:
                raise Undivided(
                    "its blocks have a loop or branch for both cores, and the host can't be in each"
                )
            else:
                self._flush()
                self._host(used_vars(stmt))
                self.out.append(self.all.divided(stmt))
                self._note_writes(place, stmt, None)
        self._flush()
        last = [v for v in self.free if v in self.all.escapes]
        if self.tail is not None:
            last += used_vars(self.tail)
        if launch is not None and any(v in self.free for v in last):
            raise Undivided("a scalar, a view or a new tensor of its blocks is used behind it")
        self._host(last)
        return self.out if self.tail is None else [*self.out, self.tail]

    # -- statements that go where they are needed

    def _is_free(self, stmt: AssignStmt, cores: Needs) -> bool:
        if _is_call(stmt, "tensor.full"):
            return stmt.var not in self.all.escapes and all(
                self._fills(stmt.var, user) for user in self.users.get(stmt.var, ())
            )
        return not cores

    def _fills(self, var: Var, user: Stmt) -> bool:
        """Whether a statement can fill the tensor itself: the vector core can, and a product's first sum does."""
        cores = None if user is self.tail else self.cores.needed(user)
        return cores == VECTOR or (cores == CUBE and var in self._sums(user))

    def _follow(self, variables: Iterable[Var]) -> tuple[dict[Var, None], dict[Var, None]]:
        """What is behind variables: those that parts or the surroundings make, and free ones, in order."""
        real: dict[Var, None] = {}
        free: dict[Var, None] = {}

        def follow(var: Var) -> None:
            if var in self.hosted or var not in self.free:
                real[var] = None
            elif var not in free:
                stmt = self.free[var][1]
                for need in (*used_vars(stmt.value), *type_vars(stmt.var.type)):
                    follow(need)
                free[var] = None

        for var in variables:
            follow(var)
        return real, free

    def _host(self, wanted: Iterable[Var]) -> None:
        """Make free variables outside of the parts."""
        for var in self._follow(wanted)[1]:
            place, stmt = self.free[var]
            for written, writer in self._writes_behind(stmt):
                if place < written and (writer is None or writer in self.emitted):
                    raise Undivided(f"'{_name(var)}' is what a tensor held before it was written to")
            self.out.append(stmt)
            self.hosted.add(var)

    def _is_there(self, var: Var) -> bool:
        """Whether what a free variable looks at has been made by now, so that the host may look."""
        real, free = self._follow((var,))
        looks = ((place, stmt) for place, stmt in map(self.free.__getitem__, free))
        writers = [w for place, stmt in looks for at, w in self._writes_behind(stmt) if at < place]
        return all(part is None or part in self.emitted for part in (*map(self._part_of, real), *writers))

    def _writes_behind(self, stmt: AssignStmt) -> Iterator[tuple[int, Part | None]]:
        for arg in stmt.value.args if isinstance(stmt.value, Call) else ():
            root = self.storage.root(arg)
            if root is not None:
                yield from self.written.get(root, ())

    # -- statements for one core

    def _deal(self, place: int, stmt: Stmt, cores: Needs) -> None:
        """Give the statement to the first part that it may be in."""
        number = {part: i for i, part in enumerate(self.parts)}
        real, free = self._follow(_uses(stmt))
        roots = self._roots((*real, *free, *defined_vars(stmt)))
        after = [self.made_in[v][1] for v in real if v in self.made_in]
        after += [part for root in roots for _, part in self.written.get(root, ()) if part is not None]
        at = max((number[part] for part in after if part in number), default=0)
        at = max([at, *(self.touched.get(root, 0) for root in self._written(stmt))])
        at = max([at, *(number[part] + 1 for part in self._products_read(free) if part in number)])
        part = self._joined(at, cores)
        drained = self.cores.drained(stmt) if cores == CUBE else set[Var]()
        if drained and (part is None or any(self._part_of(v) is not part for v in drained)):
            if self.cores.multiplies(stmt):
                raise Undivided("a loop or branch multiplies, and stores a product from ahead of it")
            cores = VECTOR
            part = self._joined(at, cores)
        if part is None:
            part = Part(cores)
            self.parts.append(part)
        at = self.parts.index(part)
        part.core |= cores
        inside = set(defined_vars(stmt))
        for var in self._sums(stmt):
            if var not in inside and var not in self.free and self._part_of(var) is not part:
                raise Undivided(
                    f"the sum of products '{_name(var)}' goes on where the vector core has used it"
                )
        for var in free:
            begun, source = self.free[var]
            if any(begun < w and writer is not part for w, writer in self._writes_behind(source)):
                raise Undivided(f"'{_name(var)}' is what a tensor held before it was written to")
        part.stmts.append((place, stmt))
        self.made_in.update((var, (place, part)) for var in inside)
        for root in roots:
            self.touched[root] = max(self.touched.get(root, 0), at)
        self._note_writes(place, stmt, part)

    def _products_read(self, free: Iterable[Var]) -> Iterator[Part]:
        """Parts for the cube of whose results free scalars are elements: only memory has elements to read."""
        for var in free:
            if not isinstance(var.type, TensorType):
                parts = map(self._part_of, self._follow((var,))[0])
                yield from (part for part in parts if part is not None and part.core == CUBE)

    def _part_of(self, var: Var) -> Part | None:
        return self.made_in[var][1] if var in self.made_in else None

    def _joined(self, first: int, cores: Needs) -> Part | None:
        """The first part from there on that is for these cores."""
        return next((part for part in self.parts[first:] if _agree(part.core, cores)), None)

    def _sums(self, stmt: Stmt) -> set[Var]:
        """What products in a statement are added to, and what loops in it begin such sums with."""
        found: set[Expr] = set()
        for inner in walk_stmts(stmt):
            call = getattr(inner, "value", None)
            if isinstance(call, Call) and call.name == "tensor.matmul_acc":
                found.add(call.args[0])
            if isinstance(inner, ForStmt):
                found.update(a.init_value for a in inner.iter_args if a in self.cores.accumulated)
        return {v for v in found if isinstance(v, Var)}

    def _roots(self, variables: Iterable[Expr]) -> set[Var]:
        return {root for v in variables if (root := self.storage.root(v)) is not None}

    def _written(self, stmt: Stmt) -> set[Var]:
        found: set[Var] = set()
        for inner in walk_stmts(stmt):
            call = getattr(inner, "value", getattr(inner, "expr", None))
            if isinstance(call, Call):
                found |= self._roots(arg for i, arg in enumerate(call.args) if may_write(call, i))
        return found

    def _note_writes(self, place: int, stmt: Stmt, part: Part | None) -> None:
        for root in self._written(stmt):
            self.written.setdefault(root, []).append((place, part))

    # -- the scopes

    def _flush(self) -> None:
        """Make the scopes of the parts so far."""
        crossing = self._crossing() if self.all.launch is not None else {}
        for part in self.parts:
            self._emit(part, crossing)
            self.emitted.add(part)
        self.parts = []
        self.touched = {}

    def _crossing(self) -> dict[Var, Part]:
        """What a block makes in one part and uses in another one; it has to be kept once per block."""
        found: dict[Var, Part] = {}
        for part in self.parts:
            for _, stmt in part.stmts:
                for var in self._follow(_uses(stmt))[0]:
                    maker = self.made_in.get(var, (0, part))[1]
                    root = self.storage.root(var)
                    if maker is part or root not in self.all.inner:
                        continue
                    if var in self.all.escapes:
                        raise Undivided(f"'{_name(var)}' of its blocks is used behind it")
                    if root in self.free and (
                        maker.core == CUBE or _is_call(self.free[root][1], "tensor.create")
                    ):
                        # The cube fills a tensor only where it lies in memory; what lies elsewhere is kept as a
                        # whole, also where nothing has been written.
                        raise Undivided(f"both cores use the tensor '{_name(root)}' that each block makes")
                    found[var] = maker
        return found

    def _emit(self, part: Part, crossing: dict[Var, Part]) -> None:
        launch = self.all.launch
        uses = [v for _, stmt in part.stmts for v in _uses(stmt)]
        real, free = self._follow(uses)
        if launch is None:
            self._host(v for v in free if not isinstance(v.type, TensorType) and self._is_there(v))
        if part.core == CUBE:  # it writes a part of a tensor only where that lies in memory
            written = {root for _, stmt in part.stmts for root in self._written(stmt)}
            rooms = [v for v in free if v in written and _is_call(self.free[v][1], "tensor.create")]
            if rooms and launch is not None:
                raise Undivided(f"the cube writes to the tensor '{_name(rooms[0])}' that each block makes")
            self._host(rooms)
        taken = [v for v in real if crossing.get(v, part) is not part]
        kept = [v for v, maker in crossing.items() if maker is part]
        free = self._follow([*uses, *(e for v in (*taken, *kept) for e in type_vars(v.type))])[1]
        items: list[tuple[int, Stmt | Var]] = [*part.stmts, *((self.free[v][0], v) for v in free)]
        items += [(self.made_in[v][0], v) for v in taken]
        items.sort(key=lambda item: item[0])

        renaming = Mutator()
        loop_var, block, stmts = self._block(renaming, bool(taken or kept))
        for _, item in items:
            if not isinstance(item, Var):
                stmts.append(renaming.visit(item))
                continue
            value = self._taken(item, block, renaming) if item in crossing else self.free[item][1].value
            kind = renaming.visit_type(item.type)
            fresh = Var(item.name_hint, kind, span=item.span)
            stmts.append(AssignStmt(fresh, renaming.visit(value), span=value.span))
            renaming.remap[item] = fresh
        for var in kept:
            stmts.append(self._kept(var, renaming.visit(var), block))
        self.out.append(self.all.made(part, seq(stmts, self.all.scope.span), loop_var))

    # -- blocks of a launch

    def _block(self, renaming: Mutator, wanted: bool) -> tuple[Var | None, Expr, list[Stmt]]:
        """The variable of a launch for one part, the number of the block, and what defines it."""
        launch = self.all.launch
        old = None if launch is None else launch.loop_var
        if old is not None:
            new = renaming.remap[old] = Var(old.name_hint, old.type, span=old.span)
            return new, new, []
        if not wanted:
            return None, ConstInt(0), []
        call = create_call("tensor.get_block_idx", (), {}, self.all.scope.span)
        var = Var("block__idx_v0", call.type, span=call.span)
        return None, var, [AssignStmt(var, call, span=call.span)]

    def _kept(self, var: Var, value: Expr, block: Expr) -> Stmt:
        """Keep a block's value in memory."""
        kind, span, launch = var.type, var.span, self.all.launch
        assert isinstance(kind, TensorType) and launch is not None
        if not all(is_const(dim) for dim in kind.shape) or not kind.shape:
            raise Undivided(f"how large '{_name(var)}' of a block is, is known at run time alone")
        shape = MakeTuple((mul(launch.core_num, kind.shape[0]), *kind.shape[1:]))
        create = create_call("tensor.create", (shape,), {"dtype": kind.dtype}, span)
        room = Var(f"{var.name_hint}__blocks", create.type, span=span)
        self.out.append(AssignStmt(room, create, span=span))
        call = create_call("tensor.assemble", (room, value, _window(kind, block)), {}, span)
        full = self.buffers[var] = Var(f"{var.name_hint}__kept", call.type, span=span)
        return AssignStmt(full, call, span=span)

    def _taken(self, var: Var, block: Expr, renaming: Mutator) -> Expr:
        """Take a block's value from memory."""
        kind = var.type
        assert isinstance(kind, TensorType)
        args: list[Expr] = [self.buffers[var], MakeTuple(kind.shape), _window(kind, block)]
        if not all(map(dims_equal, kind.valid_shape, kind.shape)):
            args.append(renaming.visit(MakeTuple(kind.valid_shape)))
        return create_call("tensor.slice", args, {}, var.span)


def _is_call(stmt: Stmt, name: str) -> bool:
    return isinstance(stmt, AssignStmt) and isinstance(stmt.value, Call) and stmt.value.name == name


def _name(var: Var) -> str:
    return base_name(var.name_hint)


def _agree(one: Needs, other: Needs) -> bool:
    return not one or not other or one == other


def _uses(stmt: Stmt) -> tuple[Var, ...]:
    """Variables that a statement uses, in the types of what it makes too."""
    made = dict.fromkeys(defined_vars(stmt))
    types = (v for var in made for v in type_vars(var.type))
    return tuple(v for v in dict.fromkeys((*used_vars(stmt), *types)) if v not in made)


def _window(kind: TensorType, block: Expr) -> MakeTuple:
    """Where a block's part of a kept tensor begins."""
    return MakeTuple((mul(block, kind.shape[0]), *(ConstInt(0) for _ in kind.shape[1:])))


__all__ = ["Dealing", "Part", "Undivided"]
