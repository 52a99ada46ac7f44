"""What the walk over a function knows: where each tile lies, in which state its extents are, what each tensor is."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from pypto_core.diagnostics import Span
from pypto_core.ir import DataType, Expr, ParamDirection, TensorType, TileType, Var, base_name
from pypto_plugin_buffer_ir.rules import MATRIX_SPACES, Form
from pypto_plugin_buffer_ir.select.refusal import EXTENTS, OPERATOR, SHAPE, WINDOW, refuse
from pypto_plugin_buffer_ir.select.tiles import Shape, described_as, is_dynamic

Description = tuple[Shape, DataType]


@attrs.define(eq=False)
class Storage:
    """An allocation as it is before planning, or several that loops and branches may make one.

    ``version``: how often the extents of its tiles have been set, not counting what it was joined with. ``dynamic``:
    some are known at run time only. ``in_region``: a tile in it is used inside a loop or branch. ``fixed``: where it is
    used in a way that takes constant extents only. ``seen_as``: shapes and element types of its tiles; ``cut_as``: of
    those that windows are cut from or written into.
    """

    joined: Storage | None = None
    version: int = 0
    dynamic: bool = False
    in_region: bool = False
    fixed: Span | None = None
    seen_as: dict[Description, Span] = attrs.field(factory=dict[Description, Span])
    cut_as: dict[Description, Span] = attrs.field(factory=dict[Description, Span])

    @property
    def whole(self) -> Storage:
        """The one that stands for all that it was joined with."""
        found = self
        while found.joined is not None:
            if found.joined.joined is not None:
                found.joined = found.joined.joined
            found = found.joined
        return found

    def join(self, other: Storage) -> None:
        """Both may become one allocation."""
        mine, theirs = self.whole, other.whole
        if mine is theirs:
            return
        theirs.joined = mine
        mine.dynamic |= theirs.dynamic
        mine.in_region |= theirs.in_region
        mine.fixed = mine.fixed or theirs.fixed
        mine.seen_as |= theirs.seen_as
        mine.cut_as |= theirs.cut_as


@attrs.frozen(eq=False)
class Window:
    """Where a tile is a part of another. ``pitch``: elements from row to row.

    ``placed``: whether all offsets on the way to the allocation are constants. ``dynamic``: whether its extents are
    known at run time only. ``relabelled``: whether it is a window under another shape or element type.
    """

    pitch: int
    placed: bool
    dynamic: bool
    relabelled: bool = False


@attrs.frozen(eq=False)
class Place:
    """What is known of a tile variable.

    ``alias``: stands for one content of one allocation that is changed in place (the matrix unit's tiles can't be
    copied within their memory). ``fresh``: a matrix product that was started in the region that it lies in.
    """

    storage: Storage
    version: int
    window: Window | None = None
    alias: object = attrs.field(factory=object)
    fresh: object = None


@attrs.define(eq=False)
class State:
    """The tables. ``divisors``: of scalars. ``directions``: of parameters. ``tensors``: the parameter that each is.

    ``regions``: loop bodies and arms around the statement. ``boxed``: whether its tiles are those of the matrix unit.
    """

    divisors: Mapping[Var, int]
    directions: Mapping[Var, ParamDirection]
    tiles: dict[Var, Place] = attrs.field(factory=dict[Var, Place])
    tensors: dict[Var, Var] = attrs.field(factory=dict[Var, Var])
    storages: list[Storage] = attrs.field(factory=list[Storage])
    regions: list[object] = attrs.field(factory=list[object])
    boxed: bool | None = None

    @property
    def region(self) -> object:
        """The innermost loop body or arm; None outside of all."""
        return self.regions[-1] if self.regions else None

    def put(self, var: Var, place: Place, span: Span) -> None:
        """A tile variable lies there."""
        self.tiles[var] = place
        kind = _tile(var)
        boxed = kind.memory_space in MATRIX_SPACES
        if self.boxed is not None and boxed is not self.boxed:
            refuse(SHAPE, "it works on the matrix unit and on the vector unit", span)
        self.boxed = boxed
        storage = place.storage.whole
        if place.window is None:
            storage.seen_as.setdefault(described_as(kind), span)
            storage.dynamic |= is_dynamic(kind)
        storage.in_region |= self.region is not None
        if is_dynamic(kind) and self.region is not None:
            refuse(
                EXTENTS, f"'{base_name(var.name_hint)}' has run-time extents inside a loop or branch", span
            )

    def new_storage(self) -> Storage:
        """An allocation that nothing lies in yet."""
        self.storages.append(Storage())
        return self.storages[-1]

    def own(self, var: Var, span: Span, form: Form) -> None:
        """A tile variable that ``form`` makes has an allocation of its own."""
        storage = self.new_storage()
        fresh = self.region if form is Form.MATMUL else None
        storage.fixed = span if form is Form.MOVE else None
        self.put(var, Place(storage, 0, fresh=fresh), span)

    def place(self, expr: Expr, span: Span) -> Place:
        """Where an operand lies; its extents have to be those that were set last."""
        found = self.tiles.get(expr) if isinstance(expr, Var) else None
        if found is None:
            refuse(OPERATOR, "an operand is no tile of this kernel", span)
        assert isinstance(expr, Var)
        if found.version != found.storage.version:
            name = base_name(expr.name_hint)
            refuse(
                EXTENTS, f"'{name}' is used after set_validshape has changed the extents of its storage", span
            )
        found.storage.whole.in_region |= self.region is not None
        return found

    def tensor(self, expr: Expr, span: Span) -> Var:
        """The parameter that a tensor is."""
        found = self.tensors.get(expr) if isinstance(expr, Var) else None
        if found is None or not isinstance(expr.type, TensorType):
            refuse(OPERATOR, "a tensor is no parameter of the kernel", span)
        return found

    def check_storages(self) -> None:
        """Refuse what can only be said once all uses of an allocation are known."""
        for storage in self.storages:
            if storage.joined is None:
                _check_storage(storage)


def _check_storage(storage: Storage) -> None:
    if len(storage.cut_as) > 1:
        *_, span = storage.cut_as.values()
        refuse(WINDOW, "one allocation has windows cut from tiles of several shapes or element types", span)
    if not storage.dynamic:
        return
    *_, span = storage.seen_as.values()
    if len(storage.seen_as) > 1:
        refuse(EXTENTS, "a tile with run-time extents is looked at under another shape or element type", span)
    if storage.fixed is not None:
        refuse(
            EXTENTS,
            "a tile whose storage has run-time extents is copied, assembled or looked at anew",
            storage.fixed,
        )
    if storage.in_region:
        refuse(EXTENTS, "a tile with run-time extents shares storage with one in a loop or branch", span)


def _tile(var: Var) -> TileType:
    assert isinstance(var.type, TileType)
    return var.type
