"""Which values lie in one place: groups of values that are never alive at the same time.

Values that an operator, loop or branch wants in one place are joined when nothing speaks against it: no byte may be
alive in both at one time, and no operator may forbid it. What can't be joined is copied by
:mod:`pypto_plugin_memory.aliases`.
"""

from __future__ import annotations

import attrs

from pypto_core.ir import ConstInt, ForStmt, IfStmt, MemorySpace, MemRef, TileType, Var, WhileStmt
from pypto_plugin_memory.spans import Interval, include, meet, merged
from pypto_plugin_memory.values import FOREVER, Origin, Value, Values, Window, joins, window_of

_EVERYWHERE: Window = (0, FOREVER)
_OWNING = (Origin.OWNER, Origin.PARAM)


@attrs.define(eq=False)
class Group:
    """Values in one place.

    ``owner``: the value whose base it takes, the first that has one; None while the group floats. ``rigid``: the base
    is declared by the author or belongs to a caller, so that it can't become part of another group.
    ``lives``: when which bytes, counted from the base, are alive. ``apart``: indices of values that may not join.
    """

    values: list[Value]
    space: MemorySpace
    owner: Value | None
    rigid: bool
    lives: dict[Window, list[Interval]]
    members: set[int]
    apart: set[int]

    def clashes(self, other: Group, shift: int | None) -> bool:
        """Whether joining would let one value overwrite another, or break a rule of an operator."""
        if self.apart & other.members or other.apart & self.members:
            return True
        return any(
            a[0] < b[1] and b[0] < a[1] and meet(mine, theirs)
            for a, mine in self.lives.items()
            for b, theirs in ((_shifted(w, shift), spans) for w, spans in other.lives.items())
        )


def _shifted(window: Window, shift: int | None) -> Window:
    low, high = window
    if shift is None or high == FOREVER:
        return _EVERYWHERE
    return low + shift, high + shift


@attrs.define(eq=False)
class Grouping:
    """The groups of a function, and what could not be joined.

    ``links``: the variable whose very window a value takes. ``delta``: where a value starts in its group's base, None
    when that is known at run time only. ``together``: the values that a value may share bytes with only from the same
    start. ``recut``: values whose rows are a part of a wider tile's now and will be adjacent, so that what is known of
    their windows is of no use. ``copied_operands``: results in place whose operand is copied first.
    ``copied_inits``: carries whose initial value is copied ahead of the loop.
    """

    values: Values
    groups: list[Group] = attrs.field(factory=list)
    delta: list[int | None] = attrs.field(factory=list)
    links: dict[int, Var] = attrs.field(factory=dict)
    together: list[set[int]] = attrs.field(factory=list[set[int]])
    recut: set[int] = attrs.field(factory=set[int])
    copied_operands: set[int] = attrs.field(factory=set)
    copied_inits: set[int] = attrs.field(factory=set)

    def of(self, value: Value) -> Group:
        """The group that a value is in."""
        return self.groups[value.index]

    def join(self, a: Value, b: Value, via: Var, at: int | None = 0) -> bool:
        """Put ``b`` at ``at`` bytes into ``a``, the window of ``via``, if nothing speaks against it."""
        into, other = self.of(a), self.of(b)
        if into is other:
            return True
        start, own = self.delta[a.index], self.delta[b.index]
        shift = None if start is None or own is None or at is None else start + at - own
        if into.space is not other.space or (other.owner is not None and (shift != 0 or other.rigid)):
            return False
        if into.clashes(other, shift) or self._askew(into, other, shift):
            return False
        if other.owner is None and b.index not in self.links:
            self.links[b.index] = via
        self._absorb(into, other, shift)
        return True

    def _askew(self, into: Group, other: Group, shift: int | None) -> bool:
        """Whether an operator would write over its operand from another start than the operand has."""
        few, many = (into, other) if len(into.values) < len(other.values) else (other, into)
        for value in few.values:
            mine = self.delta[value.index]
            for index in self.together[value.index] & many.members:
                theirs = self.delta[index]
                if mine is None or theirs is None or shift is None:
                    return True
                if mine - theirs != (shift if few is into else -shift):
                    return True
        return False

    def _absorb(self, into: Group, other: Group, shift: int | None) -> None:
        if into.owner is None or (other.owner is not None and other.owner.index < into.owner.index):
            into.owner = other.owner if other.owner is not None and not into.rigid else into.owner
        for window, spans in other.lives.items():
            include(into.lives.setdefault(_shifted(window, shift), []), spans)
        for value in other.values:
            self.groups[value.index] = into
            have = self.delta[value.index]
            self.delta[value.index] = None if have is None or shift is None else have + shift
        into.values += other.values
        into.members |= other.members
        into.apart |= other.apart

    def whole(self, var: Var) -> bool:
        """Whether a variable is all of its value, which starts where its base does and is no slot."""
        value = self.values.of[var]
        memref = place_of(var)
        return (
            self.delta[value.index] == 0
            and memref.slot_count == 1
            and isinstance(memref.byte_offset, ConstInt)
            and window_of(memref) == value.window
        )


def place_of(var: Var) -> MemRef:
    """The MemRef of a tile variable that has one."""
    kind = var.type
    assert isinstance(kind, TileType) and kind.memref is not None
    return kind.memref


def grouping_of(values: Values, declared: frozenset[Var]) -> Grouping:
    """Join what should lie in one place, the indispensable first."""
    out = Grouping(values)
    for value in values.all:
        _alone(out, value, declared)
        out.together.append(set())
    for value in values.all:
        for other in value.exact:
            out.together[value.index].add(other.index)
            out.together[other.index].add(value.index)
    for value in values.all:
        if value.origin is Origin.IN_PLACE:
            _join_in_place(out, value)
    for stmt in values.order:
        if not isinstance(stmt, IfStmt):
            _join_carries(out, stmt)
    for accumulators in (True, False):
        for stmt in values.order:
            _join_yields(out, stmt, accumulators)
    return out


def _alone(out: Grouping, value: Value, declared: frozenset[Var]) -> None:
    kind = value.var.type
    assert isinstance(kind, TileType) and kind.memory_space is not None
    owns = value.origin in _OWNING
    low, high = value.window
    unknown = high == FOREVER
    out.delta.append(0 if not owns else None if unknown else low)
    shift = None if unknown else 0 if owns else -low
    if value.handed_on and not value.packed:
        out.recut.add(value.index)
        shift = None
    lives: dict[Window, list[Interval]] = {}
    for window, spans in value.lives():
        include(lives.setdefault(_shifted(window, shift), []), spans)
    out.groups.append(
        Group(
            values=[value],
            space=kind.memory_space,
            owner=value if owns else None,
            rigid=value.origin is Origin.PARAM or (owns and value.memref.base in declared),
            lives=lives,
            members={value.index},
            apart={other.index for other in value.apart},
        )
    )


def _also_alive(group: Group, size: int, begin: int) -> None:
    """A copy that is made right before is alive from then on."""
    include(group.lives.setdefault((0, size), []), [(begin - 1, begin)])


def _join_in_place(out: Grouping, value: Value) -> None:
    assert value.source is not None
    operand = out.values.of[value.source]
    window = window_of(place_of(value.source))
    at = None if window[1] == FOREVER or operand.window[1] == FOREVER else window[0] - operand.window[0]
    if operand.index in out.recut:
        at = 0 if window == operand.window else None
        _recut(out, value)
    if not out.join(operand, value, value.source, at):
        out.copied_operands.add(value.index)
        _recut(out, value)
        _also_alive(out.of(value), value.size, value.begin)


def _recut(out: Grouping, value: Value) -> None:
    """Forget which bytes of a value its windows are, when that is going to change."""
    if not value.packed:
        out.recut.add(value.index)
        group = out.of(value)
        group.lives = {_EVERYWHERE: merged([span for spans in group.lives.values() for span in spans])}


def _join_carries(out: Grouping, stmt: ForStmt | WhileStmt) -> None:
    for arg, result in zip(stmt.iter_args, stmt.return_vars, strict=True):
        carry, after = out.values.of.get(arg), out.values.of.get(result)
        if carry is None:
            continue
        init = arg.init_value
        source = out.values.root(init)
        fits = source is not None and isinstance(init, Var) and _may_carry(out, init)
        if not (fits and source is not None and isinstance(init, Var) and out.join(source, carry, init)):
            out.copied_inits.add(carry.index)
            _also_alive(out.of(carry), carry.size, carry.begin)
        if after is not None:
            out.join(carry, after, arg)


def _may_carry(out: Grouping, init: Var) -> bool:
    """Whether a loop may write where its initial value lies: a whole value, or a slot of a declared allocation.

    Not a part of a wider tile, as what a loop or branch hands on is copied there as adjacent rows.
    """
    value = out.values.of[init]
    whole = window_of(place_of(init)) == value.window and value.window[1] != FOREVER
    return whole and (value.index in out.recut or value.packed)


def _join_yields(out: Grouping, stmt: ForStmt | WhileStmt | IfStmt, accumulators: bool) -> None:
    for target, _, _, value in joins(stmt):
        into, source = out.values.of.get(target), out.values.root(value)
        if into is None or source is None or not isinstance(value, Var):
            continue
        if (out.of(into).space is MemorySpace.Acc) is not accumulators or out.of(into) is out.of(source):
            continue
        if into.size != source.size or not _may_carry(out, value):
            continue
        if out.of(into).owner is None:
            out.join(source, into, value)
        elif out.whole(value) and out.delta[into.index] == 0:
            if not out.join(into, source, target):
                out.join(source, into, value)
