"""ConvertTensorToTileOps: kernels that compute on tensors load, compute on tiles and store.

One walk over each kernel. Tensors in global memory stay what they are; windows of them are loaded where they were
taken, computed tensors are tiles, and writes are stores. A kernel that returns a computed tensor gets a parameter to
store it to, and its callers make the tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from pypto_core.diagnostics import OpError, UserError
from pypto_core.ir import (
    AssignStmt,
    Call,
    EvalStmt,
    Expr,
    ForStmt,
    Function,
    GlobalVar,
    IfStmt,
    MakeTuple,
    Program,
    ReturnStmt,
    ScalarType,
    ScopeStmt,
    SeqStmts,
    Stmt,
    TensorType,
    TupleGetItemExpr,
    Var,
    WhileStmt,
    YieldStmt,
    bounds_of,
    dims_equal,
    flatten,
    is_const,
    replace,
    seq,
    static_dim,
    static_shape,
    walk,
)
from pypto_core.ops import create_call, op_of
from pypto_core.verify import is_tile_compute
from pypto_plugin_tensor import flow, matrix
from pypto_plugin_tensor.accumulators import find_accumulators
from pypto_plugin_tensor.batch_levels import TENSORS
from pypto_plugin_tensor.batches import split_batches
from pypto_plugin_tensor.common_windows import take_common_windows
from pypto_plugin_tensor.compute import compute, constant
from pypto_plugin_tensor.hints import PREFETCH, prefetch
from pypto_plugin_tensor.kernel import ACC, VEC, Kernel, name_of, tile_type
from pypto_plugin_tensor.results import Results, pass_results
from pypto_plugin_tensor.shapes import dims
from pypto_plugin_tensor.storage import is_atomic
from pypto_plugin_tensor.values import Fresh, Global, Tile, Value, Window, flat


def convert_tensor_to_tile_ops(program: Program, ctx: Any) -> Program:
    """The program with kernels on tiles; the same object when they are already.

    Raises UserError where a kernel does what no tile can (PT372 to PT377).
    """
    changed: dict[str, Function] = {}
    results: dict[str, Results] = {}
    for function in program:
        if function.is_incore and computes_on_tensors(function):
            matrices, params = split_batches(take_common_windows(function), program.functions, TENSORS)
            converter = Converter(matrices, program.functions, ctx)
            converter.results.given(converter, params)
            changed[function.name] = converter.run()
            if converter.results.types:
                results[function.name] = converter.results
    if not changed:
        return program
    functions = [changed.get(f.name, f) for f in program]
    return pass_results(replace(program, functions=functions), results)


def computes_on_tensors(function: Function) -> bool:
    """Whether a kernel has an operator on tensors that tiles have too, or hands on a tensor that it computes."""
    return any(isinstance(node, Call) and is_tile_compute(node.name) for node in walk(function.body))


class Converter(Kernel):
    """The conversion of one kernel."""

    def __init__(self, function: Function, functions: Mapping[str, Function], ctx: Any) -> None:
        super().__init__(function, functions, ctx)
        self.accumulators = find_accumulators(function)
        self.row_unit = matrix.row_unit(function)
        self.tuples: dict[Expr, tuple[Expr, ...]] = {}
        self.results = Results(function)

    def run(self) -> Function:
        """The new function."""
        self.block(self.function.body)
        body = seq(flat(self.out), self.function.body.span)
        return self.results.extended(replace(self.function, body=body))

    def block(self, body: Stmt | None) -> None:
        """Convert the statements of a region, in order."""
        for stmt in flatten(body):
            at = len(self.out)
            self.statement(stmt)
            if stmt.leading_comments:
                self._comment(stmt.leading_comments, at)

    def _comment(self, comments: tuple[str, ...], at: int) -> None:
        """Comments go to the first statement that came of theirs; or to the next one where none did."""
        first = next((i for i in range(at, len(self.out)) if isinstance(self.out[i], Stmt)), None)
        if first is None:
            self.out.append(SeqStmts((), leading_comments=comments))
            return
        stmt = self.out[first]
        assert isinstance(stmt, Stmt)
        self.out[first] = replace(stmt, leading_comments=comments)

    def statement(self, stmt: Stmt) -> None:
        """Convert one statement."""
        if isinstance(stmt, AssignStmt):
            self.assign(stmt)
        elif isinstance(stmt, EvalStmt):
            self.evaluate(stmt)
        elif isinstance(stmt, ForStmt | WhileStmt):
            flow.loop(self, stmt)
        elif isinstance(stmt, IfStmt):
            flow.branch(self, stmt)
        elif isinstance(stmt, ReturnStmt):
            self.put(replace(self.results.returned(self, stmt), leading_comments=()))
        elif isinstance(stmt, YieldStmt):
            pass  # whoever converts the region hands its values on
        elif isinstance(stmt, ScopeStmt):
            self.put(replace(stmt, body=flow.region(self, stmt.body), leading_comments=()))
        else:
            self.put(replace(stmt, leading_comments=()))

    # -- calls

    def assign(self, stmt: AssignStmt) -> None:
        """``var = value``."""
        var, value = stmt.var, stmt.value
        if isinstance(value, Call) and value.name.startswith("tensor."):
            self.tensor_call(var, value)
        elif isinstance(var.type, TensorType) and isinstance(value, Var):
            self.values[var] = self.value(value)
        elif isinstance(value, MakeTuple) and any(isinstance(e.type, TensorType) for e in value.elements):
            self.tuples[var] = value.elements
        elif isinstance(value, TupleGetItemExpr) and value.tuple in self.tuples:
            element = self.tuples[value.tuple][value.index]
            self.assign(replace(stmt, value=element))
        elif isinstance(value, Call):
            self._bind(var, self.other_call(value), stmt)
        else:
            self._bind(var, self.scalar(value), stmt)

    def _bind(self, var: Var, value: Expr, stmt: AssignStmt) -> None:
        """Something other than a tensor operator keeps its variable; what is known of a number's size is noted."""
        self.put(AssignStmt(var, value, span=stmt.span))
        if isinstance(var.type, TensorType):
            self.define(var, Global(kind=var.type, var=var))
        elif isinstance(var.type, ScalarType) and var.type.dtype.is_int and not isinstance(value, Call):
            self.bounds[var] = bounds_of(value, self.bounds)

    def evaluate(self, stmt: EvalStmt) -> None:
        """A call for its effect."""
        call = stmt.expr
        if not isinstance(call, Call):
            self.put(replace(stmt, leading_comments=(), expr=self.scalar(call)))
        elif call.name == "tensor.assemble":
            self.effect(self._store(call, "out"))
        elif call.name == "tensor.write":
            self.write(call)
        elif call.name.startswith("tensor."):
            pass  # pure, and nobody looks at the result
        else:
            new = self.other_call(call)
            self.put(replace(stmt, leading_comments=(), expr=new))

    def tensor_call(self, var: Var, call: Call) -> None:
        """An operator on tensors."""
        handler = _HANDLERS.get(call.name)
        try:
            value = handler(self, var, call) if handler is not None else compute(self, var, call)
        except OpError as error:
            raise error.located(call.span) from error.__cause__
        if isinstance(value, Value):
            self.define(var, value)

    def other_call(self, call: Call) -> Call:
        """A call of a tile operator or a function: tensors are memory there."""
        if isinstance(call.op, GlobalVar):
            return self._rebuilt(call, tuple(self._memory(a, call) for a in call.args))
        if call.name == PREFETCH:
            return prefetch(self, call)
        op = op_of(call)
        if op is not None and op.tile_form is not None:
            tile = self.tile(self.value(call.args[0]), name_of(call.args[0]), call.span)
            rest = (self._memory(a, call) for a in call.args[1:])
            return create_call(op.tile_form, (tile, *rest), call.kwargs, call.span, call.attrs)
        args = [
            self._memory(a, call) if isinstance(a.type, TensorType) else self.scalar(a) for a in call.args
        ]
        windows = [i for i, a in enumerate(call.args) if isinstance(self.values.get(a), Window)]  # type: ignore[arg-type]
        for i in windows:
            value = self.value(call.args[i])
            assert isinstance(value, Window)
            at = 1
            offsets = args[at]
            assert isinstance(offsets, MakeTuple)
            args[at] = MakeTuple(self.place(value, offsets.elements)[1], span=offsets.span)
        return self._rebuilt(call, tuple(args))

    def _rebuilt(self, call: Call, args: tuple[Expr, ...]) -> Call:
        if all(a is b for a, b in zip(args, call.args, strict=True)):
            return call
        if isinstance(call.op, GlobalVar):
            return replace(call, args=args)
        return create_call(call.name, args, call.kwargs, call.span, call.attrs)

    def _memory(self, arg: Expr, call: Call) -> Expr:
        """A tensor operand of something that works on memory."""
        if not isinstance(arg.type, TensorType):
            return self.scalar(arg)
        value = self.value(arg)
        if isinstance(value, Global):
            return value.var
        if isinstance(value, Window) and call.name in ("tile.load", "tile.store"):
            return value.base
        raise UserError(
            f"'{call.name}' works on memory, and '{name_of(arg)}' is computed on chip",
            code="PT376",
            span=call.span,
            remedy="write it into a tensor first, or use the operator that works on tensors",
        )

    # -- operators that are about memory

    def slice(self, var: Var, call: Call) -> Value | None:
        """``tensor.slice``: a window of memory, or of a tile."""
        value, kind = self.value(call.args[0]), self.kind(_tensor(call))
        extents, offsets = _elements(call.args[1], self), _elements(call.args[2], self)
        dropped = tuple(v for e in _elements_or_none(call, 4) if (v := static_dim(e)) is not None)
        if isinstance(value, Tile | Fresh):
            return self._tile_slice(var, call, value, kind)
        assert isinstance(value, Global | Window)
        base, place = self.place(value, offsets)
        if isinstance(value, Window):
            full = list(extents)
            for axis in value.dropped:
                full.insert(axis, value.extents[axis])
            kept = [a for a in range(len(full)) if a not in value.dropped]
            dropped = tuple(sorted((*value.dropped, *(kept[a] for a in dropped))))
            extents = tuple(full)
        clamp = bool(call.kwargs.get("clamp"))
        return Window(
            kind=kind, base=base, offsets=place, extents=extents, dropped=dropped, clamp=clamp,
            volatile=self.is_written(base), notes=call.attrs,
        )  # fmt: skip

    def _tile_slice(self, var: Var, call: Call, value: Value, kind: TensorType) -> Value:
        args = [self.tile(value, name_of(call.args[0]), call.span), *(self.scalar(a) for a in call.args[1:])]
        options = {k: v for k, v in call.kwargs.items() if k != "clamp"}
        if _is_column(kind, value.kind) and not _elements_or_none(call, 3):
            # The elements of a column lie apart in a matrix, and one after the other in a tile of their own.
            row, column = _elements(call.args[2], self)
            taken = [args[0], row, column, dims(kind.shape)]
            tile = self.emit(
                "tile.extract",
                taken,
                {"target_memory": VEC},
                like=var.name_hint,
                var=var.name_hint,
                span=call.span,
            )
            return Tile(kind=kind, var=tile)
        tile = self.emit("tile.slice", args, options, like=var.name_hint, var=var.name_hint, span=call.span)
        if len(kind.shape) == 1:
            tile = self.emit(
                "tile.reshape", [tile, MakeTuple(kind.shape)], like=var.name_hint, span=call.span
            )
        return Tile(kind=kind, var=tile)

    def assemble(self, var: Var, call: Call) -> Value | None:
        """``tensor.assemble``: a store, or a part of a tile."""
        target, source = self.value(call.args[0]), self.value(call.args[1])
        if isinstance(target, Global | Window):
            store = self._store(call, name_of(call.args[1]))
            if isinstance(target, Window):
                self.effect(store)
                self.values[var] = target
                return None
            new = Var(var.name_hint, store.type, span=var.span)
            self.put(AssignStmt(new, store, span=call.span))
            self.storage.places[new] = self.storage.places[var]
            assert isinstance(store.type, TensorType)
            return Global(kind=store.type, var=new)
        if is_atomic(call):
            raise UserError(
                f"'{name_of(call.args[0])}' is computed on chip, where nothing else adds to it at the same time",
                code="PT376", span=call.span, remedy="use pl.add, or assemble into a tensor parameter",
            )  # fmt: skip
        like = name_of(call.args[1])
        part = self.tile(source, like, call.span)
        args = [self.tile(target, name_of(call.args[0]), call.span), part, self.scalar(call.args[2])]
        tile = self.emit("tile.assemble", args, like=var.name_hint, var=var.name_hint, span=call.span)
        return Tile(kind=self.kind(_tensor(call)), var=tile)

    def _store(self, call: Call, like: str) -> Call:
        target, source = self.value(call.args[0]), self.value(call.args[1])
        assert isinstance(target, Global | Window)
        return self.store(
            source, target, _elements(call.args[2], self), call.kwargs, call.span, like, call.attrs
        )

    def read(self, var: Var, call: Call) -> None:
        """``tensor.read``: of memory as it is, of a tile by the vector unit."""
        value, index = self.value(call.args[0]), _elements(call.args[1], self)
        if isinstance(value, Global | Window):
            base, place = self.place(value, index)
            new: Expr = create_call("tensor.read", [base, MakeTuple(place)], {}, call.span, call.attrs)
        else:
            tile = self.tile(value, name_of(call.args[0]), call.span)
            new = create_call("tile.read", [tile, MakeTuple(index)], {}, call.span)
        self.put(AssignStmt(var, new, span=call.span))

    def write(self, call: Call) -> None:
        """``tensor.write``."""
        value, index = self.value(call.args[0]), _elements(call.args[1], self)
        number = self.scalar(call.args[2])
        if isinstance(value, Global | Window):
            base, place = self.place(value, index)
            self.effect(
                create_call("tensor.write", [base, MakeTuple(place), number], {}, call.span, call.attrs)
            )
        else:
            tile = self.tile(value, name_of(call.args[0]), call.span)
            self.effect(create_call("tile.write", [tile, MakeTuple(index), number], {}, call.span))

    def dim(self, var: Var, call: Call) -> None:
        """``tensor.dim``: what the type says."""
        value, axis = self.value(call.args[0]), static_dim(call.args[1])
        assert axis is not None
        if isinstance(value, Global):
            new: Expr = create_call("tensor.dim", [value.var, *call.args[1:]], {}, call.span)
        else:
            new = self.scalar(value.kind.shape[axis])
        self.put(AssignStmt(var, new, span=call.span))

    def query(self, var: Var, call: Call) -> None:
        """The block that runs the kernel."""
        new = create_call(f"tile.{call.name.removeprefix('tensor.')}", (), {}, call.span)
        self.put(AssignStmt(var, new, span=call.span))

    def made(self, var: Var, call: Call) -> Value:
        """``tensor.create`` and ``tensor.full``: a tile as soon as somebody wants one."""
        kind = self.kind(_tensor(call))
        fill = self.scalar(call.args[1]) if call.name == "tensor.full" else None
        init = call.kwargs.get("init_value")
        if init is not None:
            fill = constant(init, kind.dtype)
        return Fresh(kind=kind, fill=fill)

    def reshape(self, var: Var, call: Call) -> Value | None:
        """``tensor.reshape``: a window without some of its axes of one is a window still."""
        value, kind = self.value(call.args[0]), self.kind(_tensor(call))
        if isinstance(value, Global | Window):
            window = self.window_of(value, value.kind)
            dropped = _without(window.extents, kind.shape)
            if dropped is not None:
                return attrs.evolve(window, kind=kind, dropped=dropped, slot=[], made={}, notes=call.attrs)
        return compute(self, var, call)

    def set_validshape(self, var: Var, call: Call) -> Value | None:
        """``tensor.set_validshape``: of memory less is read; of a product less counts, wherever it lies."""
        value, kind = self.value(call.args[0]), self.kind(_tensor(call))
        if isinstance(value, Global | Window):
            window = self.window_of(value, value.kind)
            return attrs.evolve(window, kind=kind, slot=[], made={}, notes=call.attrs)
        if not (isinstance(value, Tile) and tile_type(value.var).memory_space is ACC):
            return compute(self, var, call)
        args = [value.var, *(self.scalar(a) for a in call.args[1:])]
        tile = self.emit("tile.set_validshape", args, like=var.name_hint, var=var.name_hint, span=call.span)
        return Tile(kind=kind, var=tile)

    def same(self, var: Var, call: Call) -> Value | None:
        """Another look at the same memory: ``tensor.view``."""
        value = self.value(call.args[0])
        if isinstance(value, Global):
            new = create_call(call.name, [value.var], call.kwargs, call.span, call.attrs)
            made = Var(var.name_hint, new.type, span=var.span)
            self.put(AssignStmt(made, new, span=call.span))
            self.storage.places[made] = self.storage.places[var]
            assert isinstance(new.type, TensorType)
            return Global(kind=new.type, var=made)
        self.values[var] = value
        return None


def _is_column(part: TensorType, whole: TensorType) -> bool:
    """Whether a part of a matrix is one of its columns, of a constant number of rows."""
    shape = static_shape(part.shape)
    if shape is None or len(shape) != 2 or len(whole.shape) != 2:
        return False
    return shape[1] == 1 and shape[0] > 1 and not is_const(whole.shape[1], 1)


def _without(extents: tuple[Expr, ...], shape: tuple[Expr, ...]) -> tuple[int, ...] | None:
    """The axes of one, the foremost first, that ``extents`` have to lose to become ``shape``; None when they can't."""
    dropped: list[int] = []
    left = len(shape)
    for axis in reversed(range(len(extents))):
        if left and dims_equal(extents[axis], shape[left - 1]):
            left -= 1
        elif is_const(extents[axis], 1):
            dropped.insert(0, axis)
        else:
            return None
    return None if left else tuple(dropped)


def _tensor(call: Call) -> TensorType:
    assert isinstance(call.type, TensorType)
    return call.type


def _elements(expr: Expr, kernel: Kernel) -> tuple[Expr, ...]:
    assert isinstance(expr, MakeTuple)
    return tuple(kernel.scalar(e) for e in expr.elements)


def _elements_or_none(call: Call, index: int) -> tuple[Expr, ...]:
    expr = call.args[index] if index < len(call.args) else None
    return expr.elements if isinstance(expr, MakeTuple) else ()


_HANDLERS: dict[str, Callable[[Converter, Var, Call], Value | None]] = {
    "tensor.slice": Converter.slice,
    "tensor.assemble": Converter.assemble,
    "tensor.read": Converter.read,
    "tensor.dim": Converter.dim,
    "tensor.create": Converter.made,
    "tensor.full": Converter.made,
    "tensor.view": Converter.same,
    "tensor.reshape": Converter.reshape,
    "tensor.set_validshape": Converter.set_validshape,
    "tensor.matmul": matrix.matmul,
    "tensor.matmul_acc": matrix.matmul_acc,
    "tensor.get_block_idx": Converter.query,
    "tensor.get_block_num": Converter.query,
    "tensor.get_subblock_idx": Converter.query,
}

__all__ = ["Converter", "convert_tensor_to_tile_ops"]
