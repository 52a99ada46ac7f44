"""Random kernels of windows: views of views, writes into them, and loops and branches that carry them.

A kernel is a list of steps, which become source text for the compiler and are executed by numpy, where every name is
an array that nothing changes.
"""

from __future__ import annotations

from random import Random
from typing import Any

import attrs
import numpy as np

ROWS, COLS = 64, 64
STEP = 8
Step = tuple[Any, ...]
Shape = tuple[int, int]


@attrs.define(eq=False)
class Maker:
    """Draws one kernel. ``shapes``: of the tiles that were named so far. ``strided``: those that may have gaps between
    their rows."""

    rng: Random
    left: int
    shapes: dict[str, Shape] = attrs.field(factory=dict)
    strided: set[str] = attrs.field(factory=set)
    number: int = 0

    def name(self, stem: str, shape: Shape) -> str:
        self.number += 1
        name = f"{stem}{self.number}"
        self.shapes[name] = shape
        return name

    def load(self) -> Step:
        shape = (self.rng.choice([16, 32]), self.rng.choice([16, 32]))
        at = tuple(
            STEP * self.rng.randrange((n - m) // STEP + 1) for n, m in zip((ROWS, COLS), shape, strict=True)
        )
        return "load", self.name("l", shape), shape, at

    def place(self, whole: Shape, part: Shape, index: str) -> tuple[int | str, int]:
        """Where a part starts; the row may follow the trip of a loop."""
        room = (whole[0] - part[0]) // STEP
        row: int | str = STEP * self.rng.randrange(room + 1)
        if index and room >= 2 and self.rng.random() < 0.4:
            row = index
        return row, STEP * self.rng.randrange((whole[1] - part[1]) // STEP + 1)

    def step(self, pool: list[str], index: str) -> Step:
        made = self.drawn(pool, index)
        kind, name, x, *_ = made
        if kind in ("slice", "assemble") and (x in self.strided or self.shapes[name][1] < self.shapes[x][1]):
            self.strided.add(name)
        return made

    def drawn(self, pool: list[str], index: str) -> Step:
        rng = self.rng
        x = rng.choice(pool[-6:] if rng.random() < 0.7 else pool)
        h, w = shape = self.shapes[x]
        choice = rng.random()
        if choice < 0.3 and h * w > STEP * STEP:
            part = (
                rng.choice([n for n in (8, 16, 32) if n <= h]),
                rng.choice([n for n in (8, 16, 32) if n <= w]),
            )
            return "slice", self.name("w", part), x, part, self.place(shape, part, index)
        if choice < 0.4 and x not in self.strided:
            other = (w, h) if h != w else (h // 2, w * 2) if h > 8 and w < 32 else (h * 2, w // 2)
            if min(other) >= 8:
                return "reshape", self.name("v", other), x, other
        if choice < 0.75:
            parts = [
                y for y in pool if y != x and all(a <= c for a, c in zip(self.shapes[y], shape, strict=True))
            ]
            if parts:
                y = rng.choice(parts)
                return "assemble", self.name("s", shape), x, y, self.place(shape, self.shapes[y], index)
        same = [y for y in pool if self.shapes[y] == shape]
        if choice < 0.85:
            return "add", self.name("e", shape), x, rng.choice(same)
        if choice < 0.95:
            return "neg", self.name("u", shape), x
        return self.load()

    def body(self, pool: list[str], depth: int, index: str) -> list[Step]:
        """Steps; ``pool`` grows by what they name."""
        out: list[Step] = []
        for _ in range(self.rng.randrange(2, 8)):
            if self.left <= 0:
                break
            self.left -= 1
            choice = self.rng.random()
            if depth < 2 and choice < 0.14:
                out.append(self.loop(pool, depth))
            elif index and depth < 3 and choice < 0.24:
                out.append(self.branch(pool, depth, index))
            else:
                out.append(self.step(pool, index))
                pool.append(out[-1][1])
        return out

    def like(self, pool: list[str], shape: Shape) -> str:
        """A tile of that shape, a late one as a rule."""
        fitting = [y for y in pool if self.shapes[y] == shape]
        return self.rng.choice(fitting[-2:] if self.rng.random() < 0.7 else fitting)

    def inherits(self, name: str, *sources: str) -> None:
        """A loop or branch that turns out to be taken once, or never, leaves just what it is given."""
        if not self.strided.isdisjoint(sources):
            self.strided.add(name)

    def loop(self, pool: list[str], depth: int) -> Step:
        inits = [self.rng.choice(pool[-5:]) for _ in range(self.rng.randrange(1, 3))]
        carries = [self.name("k", self.shapes[x]) for x in inits]
        for carry, init in zip(carries, inits, strict=True):
            self.inherits(carry, init)
        inner = [*pool, *carries]
        index = f"i{depth}"
        steps = self.body(inner, depth + 1, index)
        yields = [self.like(inner, self.shapes[x]) for x in inits]
        results = [self.name("r", self.shapes[x]) for x in inits]
        for group in zip(results, inits, yields, strict=True):
            self.inherits(*group)
        pool += results
        return "loop", results, index, self.rng.randrange(1, 3), inits, carries, steps, yields

    def branch(self, pool: list[str], depth: int, index: str) -> Step:
        shapes = [self.shapes[self.rng.choice(pool)] for _ in range(self.rng.randrange(1, 3))]
        arms: list[tuple[list[Step], list[str]]] = []
        for _ in range(2):
            inner = list(pool)
            steps = self.body(inner, depth + 1, index)
            arms.append((steps, [self.like(inner, shape) for shape in shapes]))
        results = [self.name("p", shape) for shape in shapes]
        for group in zip(results, *(yields for _, yields in arms), strict=True):
            self.inherits(*group)
        pool += results
        return "if", results, index, *arms


@attrs.frozen
class Kernel:
    """Steps, and the tiles that are stored at the end, one below the other."""

    steps: list[Step]
    stored: list[str]


def draw(seed: int, size: int) -> Kernel:
    """A kernel of about ``size`` steps."""
    maker = Maker(Random(seed), size)
    steps = [maker.load(), maker.load()]
    pool = [step[1] for step in steps]
    while maker.left > 0:
        steps += maker.body(pool, 0, "")
    picked = maker.rng.sample(pool, min(4, len(pool)))
    return Kernel(steps, list(dict.fromkeys([*picked, pool[-1]])))


# -- as source text


def source(kernel: Kernel) -> str:
    """The program that the compiler is given."""
    lines = [
        "import pypto_core.language as pl",
        "",
        "",
        "@pl.program",
        "class Windows:",
        "    @pl.function(type=pl.FunctionType.InCore)",
        "    def k(",
        f"        self, x: pl.Tensor[[{ROWS}, {COLS}], pl.FP32],",
        f"        out: pl.Out[pl.Tensor[[{ROWS * len(kernel.stored)}, {COLS}], pl.FP32]],",
        "    ):",
    ]
    for step in kernel.steps:
        lines += _lines(step, 2)
    for at, name in enumerate(kernel.stored):
        lines.append(f"        out = pl.store({name}, [{ROWS * at}, 0], out)")
    return "\n".join([*lines, "        return out", ""])


def _lines(step: Step, depth: int) -> list[str]:
    indent = "    " * depth
    kind, name, *rest = step
    if kind == "load":
        shape, at = rest
        return [f"{indent}{name} = pl.load(x, {list(at)}, {list(shape)})"]
    if kind == "slice":
        x, shape, (row, col) = rest
        return [f"{indent}{name} = pl.tile.slice({x}, {list(shape)}, [{_row(row)}, {col}])"]
    if kind == "reshape":
        return [f"{indent}{name} = pl.tile.reshape({rest[0]}, {list(rest[1])})"]
    if kind == "assemble":
        x, y, (row, col) = rest
        return [f"{indent}{name} = pl.tile.assemble({x}, {y}, [{_row(row)}, {col}])"]
    if kind in ("add", "neg"):
        return [f"{indent}{name} = pl.tile.{kind}({', '.join(rest)})"]
    if kind == "loop":
        index, trips, inits, carries, steps, yields = rest
        inner = [line for s in steps for line in _lines(s, depth + 1)]
        return [
            f"{indent}for {index}, ({', '.join(carries)},) in pl.range({trips}, init_values=({', '.join(inits)},)):",
            *inner,
            f"{indent}    {_yield(name, yields)}",
        ]
    index, *both = rest
    arms = [
        [*(line for s in steps for line in _lines(s, depth + 1)), f"{indent}    {_yield(name, yields)}"]
        for steps, yields in both
    ]
    return [f"{indent}if {index} == 0:", *arms[0], f"{indent}else:", *arms[1]]


def _row(row: int | str) -> str:
    return f"{row} * {STEP}" if isinstance(row, str) else str(row)


def _yield(results: list[str], values: list[str]) -> str:
    return f"{', '.join(results)} = pl.yield_({', '.join(values)})"


# -- by numpy


def golden(kernel: Kernel, x: np.ndarray) -> dict[str, np.ndarray]:
    """What is stored, by name."""
    values: dict[str, np.ndarray] = {}
    _run(kernel.steps, values, x, {})
    return {name: values[name] for name in kernel.stored}


def _run(steps: list[Step], values: dict[str, np.ndarray], x: np.ndarray, at: dict[str, int]) -> None:
    for kind, name, *rest in steps:
        if kind == "load":
            (h, w), (row, col) = rest
            values[name] = x[row : row + h, col : col + w].copy()
        elif kind == "slice":
            (h, w), (row, col) = rest[1], _at(rest[2], at)
            values[name] = values[rest[0]][row : row + h, col : col + w].copy()
        elif kind == "reshape":
            values[name] = values[rest[0]].reshape(rest[1])
        elif kind == "assemble":
            part, (row, col) = values[rest[1]], _at(rest[2], at)
            whole = values[rest[0]].copy()
            whole[row : row + part.shape[0], col : col + part.shape[1]] = part
            values[name] = whole
        elif kind == "add":
            values[name] = values[rest[0]] + values[rest[1]]
        elif kind == "neg":
            values[name] = -values[rest[0]]
        elif kind == "loop":
            index, trips, inits, carries, inner, yields = rest
            held = [values[v] for v in inits]
            for trip in range(trips):
                values.update(zip(carries, held, strict=True))
                _run(inner, values, x, {**at, index: trip})
                held = [values[v] for v in yields]
            values.update(zip(name, held, strict=True))
        else:
            inner, yields = rest[1] if at[rest[0]] == 0 else rest[2]
            _run(inner, values, x, at)
            values.update(zip(name, [values[v] for v in yields], strict=True))


def _at(place: tuple[int | str, int], at: dict[str, int]) -> tuple[int, int]:
    row, col = place
    return (at[row] * STEP if isinstance(row, str) else row), col
