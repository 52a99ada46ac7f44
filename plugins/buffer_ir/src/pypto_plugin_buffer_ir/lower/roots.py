"""From an allocation to the handles of everything in it.

An allocation that one descriptor fills is allocated with it. One that several look at is allocated with that of the
tile that windows are cut from, or as bytes; the others are views, or allocations at their own planned address.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from pypto_core.diagnostics import Span
from pypto_core.ir import (
    RUNTIME_EXTENT,
    AssignStmt,
    BufferType,
    Call,
    ConstInt,
    DataType,
    Expr,
    MemorySpace,
    Var,
    const_index,
    replace,
)
from pypto_plugin_buffer_ir.lower.descriptors import Key, key_of
from pypto_plugin_buffer_ir.lower.storage import Member, Root, StorageIndex
from pypto_plugin_buffer_ir.ops import ALLOC, RESHAPE, SUBVIEW, define, pair
from pypto_plugin_buffer_ir.refusal import broken, refused
from pypto_plugin_buffer_ir.rules import MATRIX_SPACES, ROW_BYTES

_SPACES = MATRIX_SPACES | {MemorySpace.Vec}


@attrs.define(eq=False)
class Handles:
    """What an allocation became: definitions in order, and the handle of each member."""

    name: str
    span: Span
    definitions: list[AssignStmt] = attrs.field(factory=list)
    tiles: dict[Expr, Var] = attrs.field(factory=dict)
    products: dict[Call, Var] = attrs.field(factory=dict)

    def define(self, name: str, args: Iterable[Expr], kind: BufferType, suffix: str) -> Var:
        """Add a definition and give its handle."""
        call = define(name, args, kind, self.span)
        var = Var(f"{self.name}_buffer{suffix}", kind, span=self.span)
        self.definitions.append(AssignStmt(var, call, span=self.span))
        return var

    def allocate(self, kind: BufferType, address: int | None, suffix: str = "") -> Var:
        """An allocation; extents that are set at run time start as the physical ones."""
        extents = [
            const_index(n) for n, v in zip(kind.shape, kind.valid_shape, strict=True) if v == RUNTIME_EXTENT
        ]
        place = [] if address is None else [ConstInt(address, DataType.INT64)]
        return self.define(ALLOC, (pair(extents), *place), kind, suffix)

    def bind(self, members: Iterable[Member], handle: Var) -> None:
        """Say which handle members have."""
        for member in members:
            if member.tile is not None:
                self.tiles[member.tile] = handle
            else:
                assert member.call is not None
                self.products[member.call] = handle


@attrs.frozen(eq=False)
class Look:
    """Everything that looks at the same bytes by the same descriptor; ``offset`` counts from the allocation."""

    offset: int
    kind: BufferType
    members: tuple[Member, ...]
    is_parent: bool

    @property
    def form(self) -> Key:
        """Element type and shape."""
        return (self.kind.dtype.name, self.kind.shape)


def handles_of(root: Root, index: StorageIndex, addressed: bool, anchored: bool) -> Handles:
    """The definitions of an allocation that has members.

    ``anchored``: one of them has to be as large as the allocation, which tells where an addressed one begins. Without
    that every member of one that has no such member is an allocation at its own address.
    """
    stated = root.stated
    if stated is None:
        raise refused(
            "storage without a planned tile.alloc capacity",
            root.members[0].span,
            allocation=root.base.name_hint,
        )
    assert isinstance(stated.value, Call)
    options = stated.value.kwargs
    space, capacity = options.get("memory_space"), options.get("size")
    if not isinstance(capacity, int) or capacity <= 0 or space not in _SPACES:
        raise refused(
            "a buffer needs a static positive Vec, Mat, Left, Right or Acc allocation capacity", stated.span
        )
    for member in root.members:
        if member.kind.memory_space is not space:
            raise broken(
                "a tile lies in another memory than its allocation", member.span, allocation=space.name
            )
    span = stated.value.span if stated.value.span.is_valid else root.members[0].span
    made = Handles(root.base.name_hint, span)
    origin = _origin(root, capacity, addressed, span)
    if origin is None and anchored and space is MemorySpace.Vec:
        raise refused(
            "an addressed allocation needs a full-capacity MemRef anchor, a tile of all its bytes",
            span,
            allocation=root.base.name_hint,
            capacity=capacity,
        )
    looks = _looks(root, index, origin or 0, None if origin is None else capacity)
    if origin is None or space is not MemorySpace.Vec:
        _apart(made, looks, origin or 0, addressed)
    else:
        _Vec(made, capacity, origin, addressed).place(looks)
    return made


def _origin(root: Root, capacity: int, addressed: bool, span: Span) -> int | None:
    """Where the allocation begins; None when no member tells. The least address would not: bytes before it count."""
    if not addressed:
        return 0
    found = {m.offset for m in root.members if m.memref.size == capacity}
    if len(found) > 1:
        raise refused("full-capacity tiles disagree on the allocation origin", span, addresses=sorted(found))
    return found.pop() if found else None


def _looks(root: Root, index: StorageIndex, origin: int, capacity: int | None) -> list[Look]:
    """The members by what they look at, sorted. Equal places of one form share a descriptor once it is dynamic."""
    members = [(m.offset - origin, m.kind, m) for m in root.members]
    dynamic = {(at, m.dtype, m.shape): m for at, m, _ in members if not m.is_static}
    found: dict[Key, list[Member]] = {}
    kinds: dict[Key, tuple[int, BufferType]] = {}
    for at, kind, member in members:
        kind = dynamic.get((at, kind.dtype, kind.shape), kind)
        if capacity is not None and not 0 <= at <= capacity - kind.size:
            raise refused(
                "a descriptor window exceeds the planned allocation capacity",
                member.span,
                window=f"bytes {at} to {at + kind.size}",
                capacity=capacity,
            )
        key = (at, *key_of(kind))
        found.setdefault(key, []).append(member)
        kinds.setdefault(key, (at, kind))
    return [
        Look(*kinds[key], tuple(found[key]), any(m.tile in index.parents for m in found[key]))
        for key in sorted(found)
    ]


@attrs.frozen(eq=False)
class _Vec:
    """Places the looks at one allocation of Vec."""

    made: Handles
    capacity: int
    origin: int
    addressed: bool

    def place(self, looks: list[Look]) -> None:
        """Define the allocation and a handle for every look."""
        form = self._typed_form(looks)
        if form is None:
            root = self._byte_root()
        else:
            kinds = [look.kind for look in looks if look.offset == 0 and look.form == form]
            kind = kinds[0] if len(kinds) == 1 == len(looks) or not kinds[0].is_static else _whole(kinds[0])
            root = self.made.allocate(kind, self.origin if self.addressed else None)
        parts: dict[tuple[int, int], Var] = {}
        for look in looks:
            self.made.bind(look.members, self._handle(look, root, form, parts))

    def _typed_form(self, looks: list[Look]) -> Key | None:
        """Element type and shape to allocate with; None for bytes."""
        whole = [look for look in looks if look.offset == 0 and look.kind.size == self.capacity]
        parents = [look for look in whole if look.is_parent]
        if parents:
            return parents[0].form
        return whole[0].form if len(whole) == len(looks) and len({w.form for w in whole}) == 1 else None

    def _byte_root(self) -> Var:
        if self.capacity % ROW_BYTES:
            raise refused(
                f"an allocation that several tiles share needs a capacity aligned to {ROW_BYTES} bytes",
                self.made.span,
                capacity=self.capacity,
            )
        kind = BufferType((self.capacity // ROW_BYTES, ROW_BYTES), DataType.UINT8, MemorySpace.Vec)
        return self.made.allocate(kind, self.origin if self.addressed else None, "_bytes")

    def _handle(self, look: Look, root: Var, form: Key | None, parts: dict[tuple[int, int], Var]) -> Var:
        kind, root_kind = look.kind, root.type
        assert isinstance(root_kind, BufferType)
        if form is not None and look.offset == 0 and look.form == form:
            if key_of(kind) == key_of(root_kind):
                return root
            zero = pair((const_index(0), const_index(0)))
            valid = pair(const_index(v) for v in kind.valid_shape)
            return self.made.define(SUBVIEW, (root, zero, valid), kind, "_valid")
        whole = look.offset == 0 and kind.size == self.capacity
        if look.is_parent or not kind.is_static or (form is not None and not (whole and root_kind.is_static)):
            return self._own_address(look)
        if form is not None or whole:
            return self.made.define(RESHAPE, (root,), kind, "_view")
        if look.offset % ROW_BYTES or kind.size % ROW_BYTES:
            raise refused(
                f"tiles that share bytes need offsets and windows aligned to {ROW_BYTES} bytes",
                look.members[0].span,
                offset=look.offset,
                bytes=kind.size,
            )
        part = parts.get((look.offset, kind.size))
        if part is None:
            bytes_ = BufferType((kind.size // ROW_BYTES, ROW_BYTES), DataType.UINT8, MemorySpace.Vec)
            at = pair((const_index(look.offset // ROW_BYTES), const_index(0)))
            part = parts[look.offset, kind.size] = self.made.define(SUBVIEW, (root, at), bytes_, "_part")
        return self.made.define(RESHAPE, (part,), kind, "_view")

    def _own_address(self, look: Look) -> Var:
        """An allocation at the planned place: windows and extents that are set need one that is no view."""
        if self.addressed:
            return self.made.allocate(look.kind, self.origin + look.offset, "_alias")
        what = (
            "tiles that are sliced or assembled into cannot share an addressless storage root"
            if look.is_parent
            else "a tile with valid extents that are set at run time needs its own allocation"
            if not look.kind.is_static
            else "tiles of different sizes cannot share an addressless storage root that windows are cut from"
        )
        raise refused(what, look.members[0].span, tile=repr(look.kind))


def _whole(kind: BufferType) -> BufferType:
    return replace(kind, valid_shape=())


def _apart(made: Handles, looks: list[Look], origin: int, addressed: bool) -> None:
    """Each look is an allocation at its own address, or a view of the only one: boxes have no view as bytes."""
    first: tuple[Look, Var] | None = None
    for look in looks:
        if addressed:
            handle = made.allocate(look.kind, origin + look.offset)
        elif first is None:
            handle = made.allocate(look.kind, None)
            first = (look, handle)
        elif look.offset == first[0].offset and look.kind.size == first[0].kind.size:
            handle = made.define(RESHAPE, (first[1],), look.kind, "_view")
        else:
            space = look.kind.memory_space.name
            raise refused(f"an addressless {space} allocation can hold only one window", look.members[0].span)
        made.bind(look.members, handle)
