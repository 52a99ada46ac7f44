"""FlattenTileNdTo2D: tiles of any rank become matrices, the leading axes counted as rows.

What holds data has to stay a corner of the matrix, and windows have to stay windows; where they don't, the pass says
which axes are in the way. Loads and stores keep the rank of their tensors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from pypto_core.diagnostics import UNKNOWN_SPAN, Span, UserError
from pypto_core.ir import (
    INDEX_ONE,
    INDEX_ZERO,
    AssignStmt,
    Call,
    ConstInt,
    EvalStmt,
    Expr,
    Function,
    GlobalVar,
    MakeTuple,
    MemorySpace,
    Mutator,
    NameSource,
    Stmt,
    TensorType,
    TileLayout,
    TileType,
    TileView,
    Type,
    Var,
    add,
    base_name,
    const_index,
    implicit_layout,
    is_const,
    mul,
    prove_eq,
    replace,
    seq,
    shapes_equal,
    walk,
)
from pypto_core.ops import create_call
from pypto_plugin_tensor.batch_levels import TILES
from pypto_plugin_tensor.batches import split_batches

Dims = tuple[Expr, ...]
Args = Sequence[Expr]


def flatten_tile_nd_to_2d(function: Function, ctx: Any) -> Function:
    """The kernel with two-dimensional tiles; the same object when it has no others.

    Raises UserError (PT379) for what is no matrix in that view.
    """
    if not function.is_incore:
        return function
    function, _ = split_batches(function, {}, TILES)
    return _Flattening(_only_reshaped(function)).visit(function)


def _only_reshaped(function: Function) -> frozenset[Var]:
    """Tiles of other ranks that are loaded and then only looked at under another shape: they may stay."""
    loaded: set[Var] = set()
    seen: Counter[Var] = Counter()
    reshaped: Counter[Var] = Counter()
    for node in walk(function.body):
        if isinstance(node, AssignStmt) and isinstance(node.value, Call) and _brings(node.value):
            loaded.add(node.var)
        elif isinstance(node, Var):
            seen[node] += 1
        elif isinstance(node, Call) and node.name == "tile.reshape" and isinstance(node.args[0], Var):
            reshaped[node.args[0]] += 1
    return frozenset(v for v in loaded if seen[v] == reshaped[v] + 1)


def _brings(call: Call) -> bool:
    """Whether a call takes a tile of other than two axes from memory: a load, or an operator that is no tile's."""
    if _rank(call) in (0, 2):
        return False
    others = call.name.startswith("tile.") or isinstance(call.op, GlobalVar)
    return call.name == "tile.load" or not (others or any(map(_rank, call.args)))


class _Flattening(Mutator):
    def __init__(self, kept: frozenset[Var]) -> None:
        super().__init__()
        self.kept = kept
        self.names = NameSource()
        self.flat_types: dict[int, tuple[TileType, TileType]] = {}
        self.ahead: list[Stmt] = []

    # -- types

    def visit_type(self, kind: Type) -> Type:
        """Tiles of other ranks are matrices."""
        new = super().visit_type(kind)
        if not isinstance(new, TileType) or len(new.shape) == 2:
            return new
        known = self.flat_types.get(id(new))
        if known is None:
            known = self.flat_types[id(new)] = (new, _flat_type(new))
        return known[1]

    # -- statements

    def visit_assign_stmt(self, node: AssignStmt) -> Stmt:
        """A tile operator on the matrices that its operands are now."""
        call = node.value
        if node.var in self.kept:
            return node
        if not (isinstance(call, Call) and call.name.startswith("tile.")):
            if not (isinstance(call, Call) and _brings(call)):
                return super().visit_assign_stmt(node)
            args = tuple(self.visit(a) for a in call.args)
            whole = self.emit(call.name, args, call.kwargs, call)
            shape = MakeTuple(_flat_shape(_tile(call).shape))
            value = create_call("tile.reshape", (whole, shape), {}, call.span)
            var = self.remap[node.var] = Var(node.var.name_hint, value.type, span=node.var.span)
            return self._with_ahead(replace(node, var=var, value=value))
        new = self.flattened(call)
        var = node.var
        if new.type is not call.type or new.type is not var.type:
            kind = new.type if _rank(call) not in (0, 2) else self.visit_type(var.type)
            if kind is not var.type:
                var = Var(var.name_hint, kind, span=var.span)
                self.remap[node.var] = var
        if var is node.var and new is call:
            return node
        return self._with_ahead(replace(node, var=var, value=new))

    def visit_eval_stmt(self, node: EvalStmt) -> Stmt:
        """As for an assignment."""
        call = node.expr
        if not (isinstance(call, Call) and call.name.startswith("tile.")):
            return self.mutate_children(node)
        new = self.flattened(call)
        return node if new is call else self._with_ahead(replace(node, expr=new))

    def _with_ahead(self, stmt: Stmt) -> Stmt:
        made, self.ahead = self.ahead, []
        return seq([*made, stmt], stmt.span) if made else stmt

    def emit(self, name: str, args: Sequence[Expr], options: Any, call: Call, like: str = "t") -> Var:
        """A call ahead of the statement."""
        new = create_call(name, args, options, call.span)
        var = Var(self.names.fresh(like, "tile", "flat"), new.type, span=call.span)
        self.ahead.append(AssignStmt(var, new, span=call.span))
        return var

    def flattened(self, call: Call) -> Call:
        """The operator on matrices; the same call when nothing changes."""
        args = tuple(self.visit(a) for a in call.args)
        wide = _rank(call) not in (0, 2) or any(_rank(a) not in (0, 2) for a in call.args)
        special = _SPECIAL.get(call.name)
        if special is not None and (wide or call.name == "tile.transpose"):
            return special(self, call, args)
        if not wide:
            if all(a is b for a, b in zip(args, call.args, strict=True)):
                return call
            return create_call(call.name, args, self.mutate_map(call.kwargs), call.span, call.attrs)
        if call.name not in _ROW_BY_ROW:
            _check_columns(call)
        return create_call(call.name, args, call.kwargs, call.span, call.attrs)

    # -- operators with shapes or places among their operands

    def load(self, call: Call, args: Args) -> Call:
        """A window of leading extents of one is a matrix; another is looked at as one."""
        kind = _tile(call)
        window, valid = _parts(args[2]), _parts(args[3]) if len(args) > 3 else _parts(args[2])
        if len(window) > 2 and all(is_const(d, 1) for d in window[:-2]) and _is_matrix(call.args[0]):
            shape, held = MakeTuple(window[-2:]), MakeTuple(valid[-2:])
            return create_call(
                "tile.load", (args[0], args[1], shape, held), call.kwargs, call.span, call.attrs
            )
        _flat_valid(kind, call.span)
        whole = self.emit("tile.load", args, call.kwargs, call)
        return create_call("tile.reshape", (whole, MakeTuple(_flat_shape(kind.shape))), {}, call.span)

    def store(self, call: Call, args: Args) -> Call:
        """The extents in the tensor's axes are said beside the matrix."""
        if len(args) > 3:
            return create_call("tile.store", args, call.kwargs, call.span, call.attrs)
        rank = len(_parts(args[1]))
        valid = _tile(call.args[0]).valid_shape
        extents = (INDEX_ONE,) * (rank - len(valid)) + valid[max(0, len(valid) - rank) :]
        return create_call("tile.store", (*args[:3], MakeTuple(extents)), call.kwargs, call.span, call.attrs)

    def shaped(self, call: Call, args: Args) -> Call:
        """Operators that are given the shape of their result."""
        at = {"tile.reshape": 1, "tile.ci": 1, "tile.fillpad_expand": 1}.get(call.name, 0)
        shape = MakeTuple(_flat_shape(_tile(call).shape))
        new = (*args[:at], shape, *args[at + 1 :])
        return create_call(call.name, new, call.kwargs, call.span, call.attrs)

    def window(self, call: Call, args: Args) -> Call:
        """A slice: rows of the matrix, when the axes in between are taken whole."""
        source = _tile(call.args[0])
        extents, offsets = _parts(args[1]), _parts(args[2])
        row = _row_offset(source, extents, offsets, call)
        new: list[Expr] = [args[0], MakeTuple(_flat_shape(extents)), MakeTuple((row, offsets[-1]))]
        valid = _parts(args[3]) if len(args) > 3 else ()
        if valid:
            new.append(MakeTuple(_flat_valid_dims(extents, valid, call.span)))
        options = {k: v for k, v in call.kwargs.items() if k != "drop_dims"}
        return create_call("tile.slice", new, options, call.span, call.attrs)

    def assemble(self, call: Call, args: Args) -> Call:
        """A part: rows of the matrix likewise."""
        target, source = _tile(call.args[0]), _tile(call.args[1])
        offsets = _parts(args[2])
        extents = (INDEX_ONE,) * (len(target.shape) - len(source.shape)) + source.shape
        row = _row_offset(target, extents, offsets, call)
        place = MakeTuple((row, offsets[-1]))
        return create_call("tile.assemble", (args[0], args[1], place), call.kwargs, call.span, call.attrs)

    def element(self, call: Call, args: Args) -> Call:
        """One element: its row counts the leading indices."""
        shape, indices = _tile(call.args[0]).shape, _parts(args[1])
        place = MakeTuple((_linear(shape[:-1], indices[:-1]), indices[-1]))
        return create_call(call.name, (args[0], place, *args[2:]), call.kwargs, call.span, call.attrs)

    def transpose(self, call: Call, args: Args) -> Call:
        """Only the last two axes can be exchanged, of a single matrix. The instruction wants a scratch tile."""
        kind = _tile(call.args[0])
        rank = len(kind.shape)
        axes = sorted(a.value % rank for a in args[1:3] if isinstance(a, ConstInt))
        if axes != [rank - 2, rank - 1] or not all(is_const(d, 1) for d in kind.shape[:-2]):
            raise _refused(call, f"axes {axes[0]} and {axes[-1]} of a tile of {rank} axes can't be exchanged")
        source = args[0]
        if len(args) > 3 and rank == 2 and all(a is b for a, b in zip(args, call.args, strict=True)):
            return call
        scratch = args[3] if len(args) > 3 else self._scratch(source, call)
        new = (source, const_index(0), const_index(1), scratch)
        return create_call("tile.transpose", new, call.kwargs, call.span, call.attrs)

    def _scratch(self, source: Expr, call: Call) -> Var:
        kind = _tile(source)
        options = {"dtype": kind.dtype, "target_memory": MemorySpace.Vec}
        return self.emit("tile.create", (MakeTuple(kind.shape),), options, call, _name(source))


_ROW_BY_ROW = frozenset(
    f"tile.{name}"
    for name in (
        *(f"row_{w}" for w in ("max", "min", "sum", "prod", "argmax", "argmin", "expand")),
        *(f"row_expand_{w}" for w in ("add", "sub", "mul", "div", "max", "min", "expdif")),
    )
)
_SPECIAL: dict[str, Callable[[_Flattening, Call, Args], Call]] = {
    "tile.load": _Flattening.load,
    "tile.store": _Flattening.store,
    "tile.reshape": _Flattening.shaped,
    "tile.create": _Flattening.shaped,
    "tile.full": _Flattening.shaped,
    "tile.ci": _Flattening.shaped,
    "tile.fillpad_expand": _Flattening.shaped,
    "tile.slice": _Flattening.window,
    "tile.assemble": _Flattening.assemble,
    "tile.read": _Flattening.element,
    "tile.write": _Flattening.element,
    "tile.transpose": _Flattening.transpose,
}


def _check_columns(call: Call) -> None:
    """Operators along columns work on one matrix at a time."""
    if not call.name.startswith("tile.col_"):
        return
    for operand in call.args:
        kind = operand.type
        if isinstance(kind, TileType) and not all(is_const(d, 1) for d in kind.shape[:-2]):
            raise _refused(
                call, f"'{call.name}' works on the columns of one matrix, not of {len(kind.shape)} axes"
            )


def _refused(call: Call, message: str) -> UserError:
    return UserError(
        message,
        code="PT379",
        span=call.span,
        facts={"operands": ", ".join(repr(a.type) for a in call.args if isinstance(a.type, TileType))},
        remedy="loop over the leading axes, or reshape to two axes first",
    )


def _flat_type(kind: TileType) -> TileType:
    shape = _flat_shape(kind.shape)
    blayout, slayout, fractal = implicit_layout(shape, kind.memory_space)
    if len(kind.shape) == 1:
        blayout = TileLayout.row_major
    view = TileView(
        valid_shape=_flat_valid(kind, UNKNOWN_SPAN),
        blayout=blayout,
        slayout=slayout,
        fractal=fractal,
        pad=kind.view.pad,
    )
    return TileType(shape, kind.dtype, kind.memref, view, kind.memory_space)


def _product(dims: Sequence[Expr]) -> Expr:
    out: Expr = INDEX_ONE
    for dim in dims:
        out = mul(out, dim)
    return out


def _flat_shape(shape: Dims) -> Dims:
    return (_product(shape[:-1]), shape[-1])


def _flat_valid(kind: TileType, span: Span) -> Dims:
    return _flat_valid_dims(kind.shape, kind.valid_shape, span)


def _flat_valid_dims(shape: Dims, valid: Dims, span: Span) -> Dims:
    """The valid extents of the matrix: below the first axis that has more than one entry, all rows have to be whole."""
    if shapes_equal(shape, valid):
        return _flat_shape(valid)
    rows, held = shape[:-1], valid[:-1]
    first = next((i for i, d in enumerate(rows) if not is_const(d, 1)), len(rows))
    for axis in range(first + 1, len(rows)):
        if prove_eq(rows[axis], held[axis]) is not True:
            raise UserError(
                f"only a part of axis {axis} holds data, and more than one entry of an axis before it does",
                code="PT379",
                span=span,
                facts={"shape": len(shape)},
                remedy="fill the tensor with pl.fillpad, or loop over the leading axes",
            )
    return _product(held), valid[-1]


def _linear(shape: Dims, indices: Dims) -> Expr:
    out: Expr = INDEX_ZERO
    for extent, index in zip(shape, indices, strict=True):
        out = add(mul(out, extent), index)
    return out


def _row_offset(source: TileType, extents: Dims, offsets: Dims, call: Call) -> Expr:
    """The row at which a window of the leading axes begins; its rows have to follow each other."""
    rows, taken = source.shape[:-1], extents[:-1]
    first = next((i for i, d in enumerate(taken) if not is_const(d, 1)), len(taken))
    for axis in range(first + 1, len(taken)):
        if prove_eq(rows[axis], taken[axis]) is not True:
            raise _refused(
                call, f"the window takes a part of axis {axis} of several entries of the axes before it"
            )
    return _linear(rows, offsets[:-1])


def _rank(expr: Expr) -> int:
    return len(expr.type.shape) if isinstance(expr.type, TileType) else 0


def _tile(expr: Expr) -> TileType:
    assert isinstance(expr.type, TileType)
    return expr.type


def _is_matrix(expr: Expr) -> bool:
    return isinstance(expr.type, TensorType) and len(expr.type.shape) >= 2


def _parts(expr: Expr) -> Dims:
    return expr.elements if isinstance(expr, MakeTuple) else ()


def _name(expr: Expr) -> str:
    return base_name(expr.name_hint) if isinstance(expr, Var) else "t"
