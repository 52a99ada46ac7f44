"""What the second pass writes with: the statements so far, and what each variable of the kernel has become."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager

import attrs

from pypto_core.diagnostics import UNKNOWN_SPAN, Span
from pypto_core.ir import (
    AssignStmt,
    BufferType,
    Call,
    EvalStmt,
    Expr,
    IfStmt,
    Stmt,
    TensorType,
    TileType,
    Var,
    and_,
    base_name,
    const_index,
    gt,
    replace,
    seq,
    shapes_equal,
    static_dim,
    types_equal,
    walk,
)
from pypto_plugin_buffer_ir.lower.descriptors import Dims, valid_of, window_descriptor
from pypto_plugin_buffer_ir.lower.storage import StorageIndex
from pypto_plugin_buffer_ir.ops import SET_VALIDSHAPE, SUBVIEW, define, pair, written
from pypto_plugin_buffer_ir.refusal import broken, refused

ORIGIN = (const_index(0), const_index(0))


@attrs.frozen(eq=False)
class Window:
    """A part of another tile.

    ``source`` is the tile that it is cut from, at ``offsets``; a relabelled window is cut from none: its ``handle`` is
    all there is. One with runtime extents has no handle: it is cut where it is used, behind the test that it is not
    empty. ``pitch``: elements from row to row.
    """

    name: str
    kind: BufferType
    valid: Dims
    span: Span
    pitch: int
    source: Expr | None = None
    offsets: Dims = ()
    handle: Var | None = None


class Writer:
    """The state of the lowering of one kernel. ``addressed``, ``anchored``: see :func:`handles_of`."""

    def __init__(self, index: StorageIndex, addressed: bool, anchored: bool) -> None:
        self.index, self.addressed, self.anchored = index, addressed, anchored
        self.handles: dict[Expr, Var] = {}
        self.windows: dict[Expr, Window] = {}
        self.tensors: dict[Expr, Var] = {}
        self.products: dict[Call, Var] = {}
        self.carried: set[Var] = set()
        self.out: list[Stmt] = []
        self.span: Span = UNKNOWN_SPAN
        self._comments: tuple[str, ...] = ()
        self._cut: dict[Expr, Var] = {}
        self._valid: dict[Var, Dims | None] = {}

    # -- statements

    def begin(self, stmt: Stmt) -> None:
        """What is written from here on stands for ``stmt``; its comments go to the first of it."""
        self.span = stmt.span
        self._comments += stmt.leading_comments

    def taken_comments(self) -> tuple[str, ...]:
        """The comments that still wait for a statement, which are no longer waiting."""
        waiting, self._comments = self._comments, ()
        return waiting

    def emit(self, stmt: Stmt) -> None:
        """Write a statement."""
        if self._comments:
            stmt = replace(stmt, leading_comments=self._comments + stmt.leading_comments)
            self._comments = ()
        self.out.append(stmt)

    def do(self, name: str, *args: Expr, **options: object) -> None:
        """Write a call of an operator without a result."""
        self.emit(EvalStmt(written(name, args, options or None, self.span), span=self.span))

    def let(self, var: Var, call: Call) -> Var:
        """Write an assignment."""
        self.emit(AssignStmt(var, call, span=self.span))
        return var

    @contextmanager
    def region(self, into: list[Stmt]) -> Generator[None]:
        """Write into a region of its own; windows that are cut inside are not known outside.

        Extents that are stated inside are unknown outside, as the region may not have run.
        """
        outer, cut, before = self.out, self._cut, dict(self._valid)
        self.out, self._cut = into, dict(cut)
        try:
            yield
        finally:
            self.out, self._cut = outer, cut
            self._valid = {
                handle: dims if before.get(handle) is dims else None for handle, dims in self._valid.items()
            }

    @contextmanager
    def repeated(self, into: list[Stmt]) -> Generator[None]:
        """Write into the body of a loop, which has to leave behind the extents that it finds."""
        before = dict(self._valid)
        with self.region(into):
            yield
            changed = [h for h, dims in before.items() if not _same(self._valid.get(h), dims)]
            if not changed:
                self._valid = {**self._valid, **before}
        if changed:
            raise refused(
                "valid extents of a tile change within a loop, whose next trip would find others",
                self.span,
                buffer=changed[0].name_hint,
            )

    @contextmanager
    def guard(self, valid: Iterable[Expr]) -> Generator[None]:
        """Write what only a rectangle that is not empty needs: behind a test of its extents known at run time."""
        tests = [gt(d, 0) for d in valid if static_dim(d) is None]
        if not tests:
            yield
            return
        inside: list[Stmt] = []
        comments = self.taken_comments()
        with self.region(inside):
            yield
        self._comments = comments + self._comments
        if inside:
            condition = tests[0]
            for test in tests[1:]:
                condition = and_(condition, test)
            self.emit(IfStmt(condition, seq(inside), None, span=self.span))

    # -- variables

    def tile(self, expr: Expr) -> TileType:
        """The type of a tile operand."""
        kind = expr.type
        if not isinstance(kind, TileType):
            raise refused("a tile was expected here", self.span, operand=repr(kind))
        return kind

    def handle(self, expr: Expr) -> Var:
        """The handle of a tile. A window that has none yet is cut here, once in this region."""
        known = self.handles.get(expr) or self._cut.get(expr)
        if known is not None:
            return known
        window = self.windows.get(expr)
        if window is None:
            name = base_name(expr.name_hint) if isinstance(expr, Var) else type(expr).__name__
            raise broken(f"tile '{name}' has no buffer", self.span)
        made = window.handle or self.cut(window)
        self._cut[expr] = made
        return made

    def source(self, expr: Expr) -> Var:
        """The handle of a tile that is read. A setter must not have given its buffer other extents since."""
        handle = self.handle(expr)
        if handle in self._valid and not _same(self._valid[handle], valid_of(self.tile(expr))):
            name = base_name(expr.name_hint) if isinstance(expr, Var) else type(expr).__name__
            raise refused(
                f"tile '{name}' is read after its buffer was given other valid extents",
                self.span,
                "read what pl.set_validshape returned, not the tile that it was given",
            )
        return handle

    def cut(self, window: Window) -> Var:
        """Write the subview of a window."""
        assert window.source is not None
        source = self.handle(window.source)
        call = define(SUBVIEW, (source, pair(window.offsets), pair(window.valid)), window.kind, window.span)
        return self.let(Var(window.name, window.kind, span=window.span), call)

    def tensor(self, expr: Expr) -> Var:
        """The parameter that a tensor is another name of."""
        found = self.tensors.get(expr, expr)
        if not isinstance(found, Var) or not isinstance(found.type, TensorType):
            raise refused("a tensor of a kernel on buffers is a parameter under some name", self.span)
        return found

    def plain(self, expr: Expr) -> Expr:
        """A scalar expression; calls have no form inside of one."""
        for node in walk(expr):
            if isinstance(node, Call):
                raise refused(f"no scalar or nested-call recipe for '{node.op.name}'", self.span)
        return expr

    # -- descriptors

    def pitch(self, expr: Expr) -> int:
        """Elements from row to row of a tile."""
        window = self.windows.get(expr)
        return self.kind(self.handle(expr)).shape[1] if window is None else window.pitch

    def kind(self, handle: Var) -> BufferType:
        """The descriptor of a handle."""
        assert isinstance(handle.type, BufferType)
        return handle.type

    def conformed(self, handles: Sequence[Var], tile: TileType) -> list[Var]:
        """Handles of one shape with one descriptor, that of ``tile``'s valid extents one by one where they differ."""
        first = self.kind(handles[0])
        if all(types_equal(first, self.kind(h)) for h in handles[1:]):
            return list(handles)
        wanted = window_descriptor(tile, self.span)
        return [self.narrowed(h, wanted, valid_of(tile)) for h in handles]

    def narrowed(self, handle: Var, wanted: BufferType, valid: Dims) -> Var:
        """``handle`` under a descriptor with other valid extents: itself, or a view from its origin."""
        have = self.kind(handle)
        if types_equal(have, wanted):
            return handle
        if have.shape != wanted.shape or have.dtype is not wanted.dtype:
            raise refused(
                "operands must have identical physical shapes and element types",
                self.span,
                one=repr(have),
                other=repr(wanted),
            )
        call = define(SUBVIEW, (handle, pair(ORIGIN), pair(valid)), wanted, self.span)
        return self.let(Var(f"{handle.name_hint}_valid", wanted, span=self.span), call)

    def state_valid(self, handle: Var, dims: Dims) -> None:
        """Write the valid extents of a handle whose descriptor leaves them open."""
        if not self.kind(handle).is_static:
            self.do(SET_VALIDSHAPE, handle, pair(dims))
            self._valid[handle] = dims


def _same(a: Dims | None, b: Dims | None) -> bool:
    return a is not None and b is not None and shapes_equal(a, b)
