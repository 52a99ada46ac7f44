"""Two ways to run a kernel of Vec tiles: by values, and on the bytes that its MemRefs name.

The byte run moves data as the machine does: operators read and write a few elements at a time in ascending order,
so that a result which lies over a shifted part of its operand destroys what is still to be read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pypto_core.ir import (
    AssignStmt,
    BinaryExpr,
    Call,
    ConstBool,
    ConstInt,
    DataType,
    EvalStmt,
    ForStmt,
    Function,
    IfStmt,
    MakeTuple,
    ReturnStmt,
    TensorType,
    TileType,
    Var,
    WhileStmt,
    YieldStmt,
    flatten,
)

CHUNK = 8
NUMPY = {DataType.FP32: np.float32, DataType.FP16: np.float16}
ELEMENTWISE = {
    "tile.add": lambda a, b: a + b,
    "tile.sub": lambda a, b: a - b,
    "tile.maximum": np.maximum,
    "tile.neg": lambda a: -a,
    "tile.abs": np.abs,
    "tile.recip": lambda a: 1 / a,
    "tile.move": lambda a: a,
    "tile.cast": lambda a: a,
}
_SCALAR = {
    "Add": lambda a, b: a + b, "Sub": lambda a, b: a - b, "Mul": lambda a, b: a * b, "Lt": lambda a, b: a < b,
    "Eq": lambda a, b: a == b, "FloorMod": lambda a, b: a % b, "FloorDiv": lambda a, b: a // b,
}  # fmt: skip


class Runner:
    """What both runs share: scalars, statements, tensors."""

    def __init__(self, inputs: dict[Var, np.ndarray]) -> None:
        self.tensors = {var: array.copy() for var, array in inputs.items()}
        self.scalars: dict[Var, Any] = {}

    def scalar(self, expr: Any) -> Any:
        if isinstance(expr, int):
            return expr
        if isinstance(expr, ConstInt | ConstBool):
            return expr.value
        if isinstance(expr, Var):
            return self.scalars[expr]
        assert isinstance(expr, BinaryExpr), expr
        return _SCALAR[type(expr).__name__](self.scalar(expr.left), self.scalar(expr.right))

    def dims(self, expr: Any) -> tuple[int, ...]:
        assert isinstance(expr, MakeTuple)
        return tuple(self.scalar(e) for e in expr.elements)

    def run(self, function: Function) -> None:
        self.body(function.body)

    def body(self, body: Any) -> tuple[Any, ...]:
        for stmt in flatten(body):
            if isinstance(stmt, AssignStmt):
                self.assign(stmt.var, stmt.value)
            elif isinstance(stmt, EvalStmt):
                self.call(None, stmt.expr)
            elif isinstance(stmt, ForStmt):
                self.loop(stmt)
            elif isinstance(stmt, WhileStmt):
                self.repeat(stmt)
            elif isinstance(stmt, IfStmt):
                chosen = stmt.then_body if self.scalar(stmt.condition) else stmt.else_body
                self.hand_on(stmt.return_vars, self.body(chosen))
            elif isinstance(stmt, YieldStmt):
                return tuple(self.value(v) for v in stmt.values)
            else:
                assert isinstance(stmt, ReturnStmt)
        return ()

    def loop(self, stmt: ForStmt) -> None:
        self.hand_on(stmt.iter_args, tuple(self.value(a.init_value) for a in stmt.iter_args))
        for i in range(self.scalar(stmt.start), self.scalar(stmt.stop), self.scalar(stmt.step)):
            self.scalars[stmt.loop_var] = i
            self.hand_on(stmt.iter_args, self.body(stmt.body))
        self.hand_on(stmt.return_vars, tuple(self.value(a) for a in stmt.iter_args))

    def repeat(self, stmt: WhileStmt) -> None:
        self.hand_on(stmt.iter_args, tuple(self.value(a.init_value) for a in stmt.iter_args))
        while self.scalar(stmt.condition):
            self.hand_on(stmt.iter_args, self.body(stmt.body))
        self.hand_on(stmt.return_vars, tuple(self.value(a) for a in stmt.iter_args))

    def value(self, expr: Any) -> Any:
        if isinstance(expr.type, TileType):
            return self.tile_value(expr)
        if isinstance(expr.type, TensorType):
            return self.tensors[expr]
        return self.scalar(expr)

    def hand_on(self, targets: Any, values: tuple[Any, ...]) -> None:
        for target, value in zip(targets, values, strict=True):
            if isinstance(target.type, TileType):
                self.bind(target, value)
            elif isinstance(target.type, TensorType):
                self.tensors[target] = value
            else:
                self.scalars[target] = value

    def assign(self, var: Var, value: Any) -> None:
        if isinstance(value, Var):
            if isinstance(value.type, TileType):
                self.alias(var, value)
            else:
                self.hand_on((var,), (self.value(value),))
        elif isinstance(value, Call):
            self.call(var, value)
        else:
            self.scalars[var] = self.scalar(value)

    def store(self, var: Var | None, call: Call) -> None:
        r, c = self.dims(call.args[1])
        data = self.tile_array(call.args[0])
        tensor = self.tensors[call.args[2]]
        tensor[r : r + data.shape[0], c : c + data.shape[1]] = data
        if var is not None:
            self.tensors[var] = tensor

    def window(self, call: Call) -> np.ndarray:
        (r, c), (h, w) = self.dims(call.args[1]), self.dims(call.args[2])
        return self.tensors[call.args[0]][r : r + h, c : c + w]


class ByValue(Runner):
    """Every assignment makes a new array."""

    def __init__(self, inputs: dict[Var, np.ndarray]) -> None:
        super().__init__(inputs)
        self.tiles: dict[Var, np.ndarray] = {}

    def tile_value(self, var: Var) -> np.ndarray:
        return self.tiles[var]

    tile_array = tile_value

    def bind(self, var: Var, value: np.ndarray) -> None:
        self.tiles[var] = value

    def alias(self, var: Var, source: Var) -> None:
        self.tiles[var] = self.tiles[source]

    def call(self, var: Var | None, call: Call) -> None:
        name = call.op.name
        if name == "tile.store":
            self.store(var, call)
            return
        assert var is not None
        if name == "tile.alloc":
            return
        kind = NUMPY[var.type.dtype]
        if name == "tile.load":
            self.tiles[var] = self.window(call).astype(kind)
        elif name == "tile.slice":
            (h, w), (r, c) = self.dims(call.args[1]), self.dims(call.args[2])
            self.tiles[var] = self.tiles[call.args[0]][r : r + h, c : c + w].copy()
        elif name == "tile.reshape":
            self.tiles[var] = self.tiles[call.args[0]].reshape(self.dims(call.args[1]))
        elif name == "tile.assemble":
            (r, c), source = self.dims(call.args[2]), self.tiles[call.args[1]]
            out = self.tiles[call.args[0]].copy()
            out[r : r + source.shape[0], c : c + source.shape[1]] = source
            self.tiles[var] = out
        else:
            with np.errstate(all="ignore"):
                self.tiles[var] = ELEMENTWISE[name](*(self.tiles[a] for a in call.args)).astype(kind)


class OnBytes(Runner):
    """Tiles are bytes of one memory, found by their MemRefs alone."""

    def __init__(self, inputs: dict[Var, np.ndarray], size: int) -> None:
        super().__init__(inputs)
        self.memory = np.full(size, 0xA5, dtype=np.uint8)
        self.pitch: dict[Var, int] = {}
        self.start: dict[Var, int] = {}

    def place(self, var: Var) -> int:
        """Byte address of the first element. That of a view is fixed where the view is made."""
        return self.start[var] if var in self.start else self.address(var)

    def address(self, var: Var) -> int:
        return int(self.scalar(var.type.memref.byte_offset))

    def shape(self, var: Var) -> tuple[int, int]:
        h, w = self.dims(MakeTuple(var.type.shape))
        return h, w

    def chunk(self, var: Var, row: int, col: int, width: int) -> np.ndarray:
        kind = np.dtype(NUMPY[var.type.dtype])
        pitch = self.pitch.get(var, self.shape(var)[1] * kind.itemsize)
        at = self.place(var) + row * pitch + col * kind.itemsize
        assert at >= 0 and at + width * kind.itemsize <= len(self.memory), "outside the memory"
        return self.memory[at : at + width * kind.itemsize].view(kind)

    def chunks(self, var: Var) -> Any:
        rows, cols = self.shape(var)
        for row in range(rows):
            for col in range(0, cols, CHUNK):
                yield row, col, min(CHUNK, cols - col)

    def tile_array(self, var: Var) -> np.ndarray:
        return np.stack(
            [self.chunk(var, row, 0, self.shape(var)[1]).copy() for row in range(self.shape(var)[0])]
        )

    def tile_value(self, var: Var) -> Any:
        return (self.place(var), self.shape(var), self.pitch.get(var))

    def bind(self, var: Var, value: Any) -> None:
        at, shape, pitch = value
        assert at == self.place(var), f"{var.name_hint} lies at {self.place(var)}, its value at {at}"
        assert shape == self.shape(var)
        self.pitch.pop(var, None)
        if pitch is not None:
            self.pitch[var] = pitch

    def alias(self, var: Var, source: Var) -> None:
        self.start[var] = self.address(var)
        assert self.start[var] == self.place(source)
        self.pitch.pop(var, None)
        if source in self.pitch:
            self.pitch[var] = self.pitch[source]

    def call(self, var: Var | None, call: Call) -> None:
        name = call.op.name
        if name == "tile.store":
            self.store(var, call)
            return
        assert var is not None
        if name == "tile.alloc":
            return
        if name == "tile.load":
            data = self.window(call)
            for row, col, width in self.chunks(var):
                self.chunk(var, row, col, width)[:] = data[row, col : col + width]
        elif name == "tile.slice":
            source = call.args[0]
            item = np.dtype(NUMPY[var.type.dtype]).itemsize
            pitch = self.pitch.get(source, self.shape(source)[1] * item)
            r, c = self.dims(call.args[2])
            self.start[var] = self.address(var)
            assert self.start[var] == self.place(source) + r * pitch + c * item, "the slice lies elsewhere"
            self.pitch[var] = pitch
        elif name == "tile.reshape":
            self.start[var] = self.address(var)
            assert call.args[0] not in self.pitch and self.place(var) == self.place(call.args[0])
        elif name == "tile.assemble":
            target, source = call.args[0], call.args[1]
            assert self.place(target) == self.place(var)
            r, c = self.dims(call.args[2])
            for row, col, width in self.chunks(source):
                self.chunk(var, r + row, c + col, width)[:] = self.chunk(source, row, col, width).copy()
        else:
            function = ELEMENTWISE[name]
            with np.errstate(all="ignore"):
                for row, col, width in self.chunks(var):
                    parts = [self.chunk(a, row, col, width).copy() for a in call.args]
                    self.chunk(var, row, col, width)[:] = function(*parts)
