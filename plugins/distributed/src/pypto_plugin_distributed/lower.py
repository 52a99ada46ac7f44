"""LowerRemoteTransfers: copies between devices become loops over tiles, barriers become signals.

A copy goes chunk by chunk through the vector buffer: loaded here and stored there for ``put``, the other way round for
``get``. What a kernel has computed on chip needs no load and goes out as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from pypto_core.diagnostics import Span
from pypto_core.ir import (
    INDEX_ONE,
    INDEX_ZERO,
    AssignStmt,
    AtomicType,
    Call,
    ConstInt,
    DistributedTensorType,
    EvalStmt,
    Expr,
    ForStmt,
    Function,
    FunctionType,
    IfStmt,
    MakeTuple,
    MemorySpace,
    Mutator,
    NameSource,
    Ne,
    NotifyOp,
    SeqStmts,
    Stmt,
    TensorType,
    TileType,
    Var,
    WaitCmp,
    add,
    floordiv,
    make_binary,
    min_,
    mul,
    replace,
    seq,
    static_dim,
    sub,
    walk,
)
from pypto_core.ops import create_call
from pypto_plugin_distributed import ops
from pypto_plugin_distributed.checks import INDEX, given
from pypto_plugin_distributed.places import check_places
from pypto_plugin_distributed.windows import Part, Parts

CHUNK_BYTES = 16 * 1024
"""Bytes of a tile that a copy goes through, unless the author says what it is."""

_LOWERED = frozenset({ops.PUT, ops.GET, ops.TENSOR_STORE, ops.BARRIER})
_VIEWS = frozenset({"tensor.slice", "tensor.assemble", "tensor.reshape"})
"""Operators whose result lies where their first operand does."""

Dims = tuple[Expr, ...]


def lower_remote_transfers(function: Function, ctx: Any) -> Function:
    """The kernel with its transfers written out; the same object when it has none.

    Raises UserError: PT391 for a window that can't be reached remotely, PT393 for an operator that belongs elsewhere.
    """
    if function.func_type is not FunctionType.Inline:
        check_places(function)
    if not function.is_incore:
        return function
    if not any(isinstance(node, Call) and _concerns(node) for node in walk(function.body)):
        return function
    return _Lowering().visit(function)


def _concerns(call: Call) -> bool:
    """Whether a call is a transfer, or takes a window that a remote operator may be given."""
    window = call.name == "tensor.slice" and isinstance(call.type, DistributedTensorType)
    return window or call.name in _LOWERED


@attrs.frozen(eq=False)
class _Copy:
    """``extents`` elements of ``src`` from ``from_`` on to ``dst`` from ``to`` on; ``puts``: ``dst`` is the peer's.

    ``bounds``: extents that are never exceeded.
    """

    puts: bool
    peer: Expr
    dst: Expr
    to: Dims
    src: Expr
    from_: Dims
    extents: Dims
    bounds: Dims
    options: Mapping[str, Any]

    @classmethod
    def of_transfer(cls, call: Call, parts: Parts) -> _Copy:
        """``put`` or ``get``."""
        dst, peer, src = call.args[:3]
        puts = call.name == ops.PUT
        near = _tensor(src if puts else dst)
        extents = given(call.args, 5) or near.valid_shape
        zeros = (INDEX_ZERO,) * len(extents)
        to, from_ = given(call.args, 3) or zeros, given(call.args, 4) or zeros
        found = cls(puts, peer, dst, to, src, from_, extents, near.shape, call.kwargs)
        return found.resolved(parts, call.span)

    @classmethod
    def of_store(cls, call: Call, parts: Parts) -> _Copy:
        """A remote store of what lies in memory."""
        src, dst, peer = call.args[:3]
        near, zeros = _tensor(src), (INDEX_ZERO,) * len(_tensor(src).shape)
        to = given(call.args, 3) or (INDEX_ZERO,) * len(_tensor(dst).shape)
        found = cls(True, peer, dst, to, src, zeros, near.valid_shape, near.shape, call.kwargs)
        return found.resolved(parts, call.span)

    def resolved(self, parts: Parts, span: Span) -> _Copy:
        """The same between tensors that are no windows of distributed ones."""
        dst, src = parts.of(self.dst), parts.of(self.src)
        for part in (dst, src):
            part.check(span)
        return attrs.evolve(
            self, dst=dst.base, to=dst.place(self.to), src=src.base, from_=src.place(self.from_)
        )

    @property
    def atomic(self) -> dict[str, Any]:
        """The option of a store that adds."""
        return {"atomic": AtomicType.Add} if self.options.get("atomic") is AtomicType.Add else {}


def _tensor(operand: Expr) -> TensorType:
    assert isinstance(operand.type, TensorType)
    return operand.type


@attrs.frozen
class _Piece:
    """A stretch of one axis: ``trips`` chunks of ``size`` elements from ``first`` on.

    ``valid``: elements in the chunk that begins at an offset, None for all.
    """

    first: int
    trips: Expr
    size: int
    valid: Callable[[Expr], Expr] | None = None


def _pieces(extent: Expr, size: int) -> tuple[_Piece, ...]:
    number = static_dim(extent)
    if number is None:
        trips = floordiv(add(extent, ConstInt(size - 1)), ConstInt(size))
        return (_Piece(0, trips, size, lambda at: min_(ConstInt(size), sub(extent, at))),)
    whole, rest = divmod(number, size)
    found = [_Piece(0, ConstInt(whole), size)] if whole else []
    return (*found, *([_Piece(whole * size, INDEX_ONE, rest)] if rest else []))


class _Lowering(Mutator):
    def __init__(self) -> None:
        super().__init__()
        self.names = NameSource()
        self.computed: set[Expr] = set()
        self.parts = Parts()

    def visit_assign_stmt(self, node: AssignStmt) -> Stmt:
        """Notes what is computed on chip and what is a window; a remote operator is given the tensor itself."""
        new = super().visit_assign_stmt(node)
        if isinstance(new, AssignStmt) and isinstance(new.value, Call):
            call = self.parts.resolved(new.value)
            new = new if call is new.value else replace(new, value=call)
            self.parts.note(new.var, call)
            made = call.name.startswith("tensor.") and call.name not in _VIEWS
            if isinstance(new.var.type, TensorType) and (made or self.computed.intersection(call.args[:1])):
                self.computed.add(new.var)
        return new

    def visit_eval_stmt(self, node: EvalStmt) -> Stmt:
        """A transfer or barrier in statements of its own."""
        new = self.mutate_children(node)
        call = new.expr if isinstance(new, EvalStmt) else None
        if not isinstance(call, Call):
            return new
        if call.name not in _LOWERED or call.args[0] in self.computed and call.name == ops.TENSOR_STORE:
            resolved = self.parts.resolved(call)
            return new if resolved is call else replace(new, expr=resolved)
        steps = _Steps(self.names, call.span)
        if call.name == ops.BARRIER:
            stmts = steps.barrier(self.parts.of(call.args[0]))
        elif call.name == ops.TENSOR_STORE:
            stmts = steps.copy(_Copy.of_store(call, self.parts))
        elif call.name == ops.PUT and call.args[2] in self.computed:
            stmts = steps.put_computed(call, self.parts)
        else:
            stmts = steps.copy(_Copy.of_transfer(call, self.parts))
        return seq([SeqStmts((), leading_comments=node.leading_comments), *stmts], node.span)


class _Steps:
    """The statements that one operator becomes."""

    def __init__(self, names: NameSource, span: Span) -> None:
        self.names, self.span = names, span

    def effect(self, name: str, *args: Expr, **options: Any) -> Stmt:
        """A call for its effect."""
        return EvalStmt(create_call(name, args, options, self.span), span=self.span)

    def bound(self, out: list[Stmt], base: str, call: Call) -> Var:
        """The result of a call under a name; its statement goes to ``out``."""
        var = Var(self.names.fresh(base, "tmp"), call.type, span=self.span)
        out.append(AssignStmt(var, call, span=self.span))
        return var

    def loop(self, base: str, trips: Expr, body: Callable[[Var], Sequence[Stmt]]) -> Stmt:
        """A loop that carries nothing."""
        var = Var(self.names.fresh(base, "idx"), INDEX, span=self.span)
        inner = seq(list(body(var)), self.span)
        return ForStmt(var, INDEX_ZERO, trips, INDEX_ONE, (), inner, (), span=self.span)

    # -- copies

    def copy(self, what: _Copy) -> list[Stmt]:
        """A copy of what lies in memory."""

        def move(at: Dims, tile: Dims, valid: Dims) -> list[Stmt]:
            out: list[Stmt] = []
            source, target = MakeTuple(_moved(what.from_, at)), MakeTuple(_moved(what.to, at))
            window = (MakeTuple(tile), MakeTuple(valid))
            if what.puts:
                options = {"target_memory": MemorySpace.Vec}
                loaded = create_call("tile.load", (what.src, source, *window), options, self.span)
                part, said = self.matrix(out, self.bound(out, "chunk", loaded), valid)
                store = (part, what.dst, what.peer, target, *said)
                out.append(self.effect(ops.REMOTE_STORE, *store, **what.atomic))
            else:
                fetch = (what.src, what.peer, source, *window)
                loaded = create_call(ops.REMOTE_LOAD, fetch, {}, self.span)
                part, said = self.matrix(out, self.bound(out, "chunk", loaded), valid)
                out.append(self.effect("tile.store", part, target, what.dst, *said))
            return out

        rows, cols = _chunks(what.options, what.extents, what.bounds, _tensor(what.src).dtype.bits)
        sizes = ([1] * (len(what.extents) - 2) + [rows, cols])[-len(what.extents) :]
        axes = [_pieces(extent, size) for extent, size in zip(what.extents, sizes, strict=True)]
        return self._nest(axes, (), (), (), move)

    def matrix(self, out: list[Stmt], tile: Var, valid: Dims) -> tuple[Var, tuple[Expr, ...]]:
        """A tile of one axis as a row, with the extents to write it with; any other as it is."""
        assert isinstance(tile.type, TileType)
        if len(tile.type.shape) == 2:
            return tile, ()
        row = MakeTuple((INDEX_ONE, *tile.type.shape))
        call = create_call("tile.reshape", (tile, row), {}, self.span)
        return self.bound(out, "chunk", call), (MakeTuple(valid),)

    def _nest(
        self,
        axes: Sequence[tuple[_Piece, ...]],
        at: Dims,
        tile: Dims,
        valid: Dims,
        move: Callable[[Dims, Dims, Dims], list[Stmt]],
    ) -> list[Stmt]:
        """Loops over the chunks of the axes that are left, one in the other; only the last two are in the tile."""
        if not axes:
            return move(at, tile, valid)
        out: list[Stmt] = []
        for piece in axes[0]:

            def inside(offset: Expr, piece: _Piece = piece) -> list[Stmt]:
                here, size = (*at, offset), ConstInt(piece.size)
                if len(axes) > 2:
                    return self._nest(axes[1:], here, tile, valid, move)
                kept = size if piece.valid is None else piece.valid(offset)
                return self._nest(axes[1:], here, (*tile, size), (*valid, kept), move)

            if static_dim(piece.trips) == 1:
                out += inside(ConstInt(piece.first))
            else:
                out.append(
                    self.loop(
                        "part",
                        piece.trips,
                        lambda i, inside=inside, piece=piece: inside(
                            add(mul(i, ConstInt(piece.size)), ConstInt(piece.first))
                        ),
                    )
                )
        return out

    def put_computed(self, call: Call, parts: Parts) -> list[Stmt]:
        """``put`` of a tensor that is computed on chip: a store."""
        dst, peer, src = call.args[:3]
        assert isinstance(dst.type, TensorType)
        out: list[Stmt] = []
        shape, offsets = given(call.args, 5), given(call.args, 4)
        if shape is not None or offsets is not None:
            assert isinstance(src.type, TensorType)
            zeros = (INDEX_ZERO,) * len(src.type.shape)
            window = (src, MakeTuple(shape or src.type.shape), MakeTuple(offsets or zeros))
            src = self.bound(out, "chunk", create_call("tensor.slice", window, {}, self.span))
        to = given(call.args, 3) or (INDEX_ZERO,) * len(dst.type.shape)
        atomic = {"atomic": call.kwargs["atomic"]} if "atomic" in call.kwargs else {}
        store = create_call(ops.TENSOR_STORE, (src, dst, peer, MakeTuple(to)), atomic, self.span)
        out.append(EvalStmt(parts.resolved(store), span=self.span))
        return out

    # -- barriers

    def barrier(self, part: Part) -> list[Stmt]:
        """Count up at each other device, then wait for each of them and count down again."""
        signal = part.base
        out: list[Stmt] = []
        rest = (INDEX_ZERO,) * (len(part.axes) - 1)
        context = self.bound(out, "ctx", create_call(ops.GET_CTX, (signal,), {}, self.span))
        me = self.bound(out, "me", create_call(ops.RANK, (context,), {}, self.span))
        count = self.bound(out, "nranks", create_call(ops.NRANKS, (context,), {}, self.span))
        here = MakeTuple(part.place((me, *rest)))

        def others(body: Callable[[Var], list[Stmt]]) -> Stmt:
            def only(peer: Var) -> list[Stmt]:
                inner = seq(body(peer), self.span)
                return [IfStmt(make_binary(Ne, peer, me, self.span), inner, span=self.span)]

            return self.loop("peer", count, only)

        def tell(peer: Var) -> list[Stmt]:
            return [self.effect(ops.NOTIFY, signal, peer, here, INDEX_ONE, op=NotifyOp.AtomicAdd)]

        def hear(peer: Var) -> list[Stmt]:
            cell = MakeTuple(part.place((peer, *rest)))
            return [
                self.effect(ops.WAIT, signal, cell, INDEX_ONE, cmp=WaitCmp.Ge),
                self.effect(ops.NOTIFY, signal, me, cell, ConstInt(-1), op=NotifyOp.AtomicAdd),
            ]

        return [*out, others(tell), others(hear)]


def _moved(offsets: Dims, at: Dims) -> Dims:
    """Offsets a step further on; of a tensor of more axes, or of fewer, the last ones."""
    steps = ((INDEX_ZERO,) * (len(offsets) - len(at)) + at)[-len(offsets) :]
    return tuple(add(offset, step) for offset, step in zip(offsets, steps, strict=True))


def _chunks(options: Mapping[str, Any], extents: Dims, bounds: Dims, bits: int) -> tuple[int, int]:
    """Rows and columns of the tile: the author's, else as many whole rows as fit :data:`CHUNK_BYTES`."""
    most = CHUNK_BYTES * 8 // bits
    width, height = _bound(extents, bounds, 1), _bound(extents, bounds, 2)
    cols = options.get("chunk_cols") or (most if width is None else min(width, most))
    rows = options.get("chunk_rows") or max(1, most // cols)
    return (rows if height is None else min(rows, height)), (cols if width is None else min(cols, width))


def _bound(extents: Dims, bounds: Dims, last: int) -> int | None:
    """The most elements along an axis that is counted from the end; None when nothing bounds it."""
    if len(extents) < last:
        return 1
    own = static_dim(extents[-last])
    return static_dim(bounds[-last]) if own is None and len(bounds) >= last else own
