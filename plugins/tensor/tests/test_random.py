"""Random kernels on tensors do the same as kernels on tiles."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

SHAPES = ((16, 64), (8, 64), (16, 32), (16, 1), (1, 64), (1, 32))
PASSES = ("OutlineIncoreScopes", "ConvertTensorToTileOps", "FlattenTileNdTo2D")


class Maker:
    """Writes statements over the tensors made so far."""

    def __init__(self, seed: int) -> None:
        self.pick = random.Random(seed)
        self.values: dict[str, tuple[int, int]] = {}
        self.lines: list[str] = []
        self.count = 0

    def name(self) -> str:
        self.count += 1
        return f"t{self.count}"

    def of(self, shape: tuple[int, int]) -> str:
        """A tensor of this shape, made when there is none."""
        known = [n for n, s in self.values.items() if s == shape]
        if known and self.pick.random() < 0.8:
            return self.pick.choice(known)
        rows, cols = shape
        row, col = self.pick.choice((0, 4, 16)), self.pick.choice((0, 32))
        if self.pick.random() < 0.2:
            return self.add(
                f"pl.full([{rows}, {cols}], dtype=pl.FP32, value={self.pick.randint(-3, 3)}.5)", shape, ""
            )
        return self.add(f"{self.pick.choice('ab')}[{row}:{row + rows}, {col}:{col + cols}]", shape, "")

    def add(self, expression: str, shape: tuple[int, int], indent: str) -> str:
        name = self.name()
        self.lines.append(f"{indent}{name} = {expression}")
        self.values[name] = shape
        return name

    def expression(self, shape: tuple[int, int]) -> str:
        rows, cols = shape
        kind = self.pick.randrange(8)
        x = self.of(shape)
        if kind == 0:
            return (
                f"pl.{self.pick.choice(('add', 'sub', 'mul', 'maximum', 'minimum'))}({x}, {self.of(shape)})"
            )
        if kind == 1:
            return f"pl.{self.pick.choice(('neg', 'abs', 'relu'))}({x})"
        if kind == 2:
            return f"pl.cast(pl.cast({x}, pl.BF16, mode='rint'), pl.FP32)"
        if kind == 3 and cols == 1:
            return f"pl.row_{self.pick.choice(('max', 'sum', 'min'))}({self.of((rows, 64))})"
        if kind == 4 and rows == 1 and cols > 1:
            return f"pl.col_{self.pick.choice(('max', 'sum', 'min'))}({self.of((16, cols))})"
        if kind == 5 and rows > 1 and cols > 1:
            line = self.of((16, 1)) if rows == 16 else None
            if line is not None:
                return f"pl.{self.pick.choice(('add', 'sub', 'mul'))}({x}, {line})"
        if kind == 6 and rows > 1 and cols > 1:
            return f"pl.{self.pick.choice(('add', 'sub', 'mul'))}({x}, {self.of((1, cols))})"
        if kind == 7 and shape == (8, 64):
            return f"{self.of((16, 64))}[{self.pick.choice((0, 8))}:{16}, :][0:8, :]"
        return f"pl.mul({x}, {self.pick.choice((0.5, -1.5, 2.0))})"

    def statement(self) -> None:
        shape = self.pick.choice(SHAPES)
        kind = self.pick.randrange(6)
        if kind == 0:  # a sum over trips
            total = self.add(self.expression(shape), shape, "")
            rows, cols = shape
            part = self.name()
            self.lines += [
                f"for i{part} in pl.range({self.pick.randint(1, 3)}):",
                f"    {part} = a[i{part} * 8:i{part} * 8 + {rows}, 0:{cols}]",
                f"    {total} = pl.{self.pick.choice(('add', 'maximum'))}({total}, {part})",
            ]
        elif kind == 1:  # one of two
            one, other = self.expression(shape), self.expression(shape)
            name = self.name()
            self.lines += [
                f"if n > {self.pick.randint(0, 3)}:",
                f"    {name} = {one}",
                "else:",
                f"    {name} = {other}",
            ]
            self.values[name] = shape
        elif kind == 2:  # part of the result, written and perhaps read again
            value = self.of((8, 64))
            row = self.pick.choice((0, 8, 24, 40))
            self.lines.append(f"out[{row}:{row + 8}, :] = {value}")
            if self.pick.random() < 0.5:
                self.add(f"out[{row}:{row + 8}, :]", (8, 64), "")
        else:
            self.add(self.expression(shape), shape, "")

    def program(self, kit: Any, length: int) -> Any:
        T = "pl.Tensor[[64, 96], pl.FP32]"
        for _ in range(length):
            self.statement()
        self.lines.append(f"out[48:64, :] = {self.of((16, 64))}")
        body = "\n".join(f"    {line}" for line in self.lines)
        out = "pl.Tensor[[64, 64], pl.FP32]"
        scope = "with pl.at(level=pl.Level.CORE_GROUP, name_hint='k'):"
        params = f"a: {T}, b: {T}, n: pl.Scalar[pl.INT32], out: pl.InOut[{out}]"
        return kit.main(params, f"{scope}\n{body}\nreturn out", out)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), length=st.integers(1, 12))
def test_random_kernels(kit: Any, seed: int, length: int) -> None:
    program = Maker(seed).program(kit, length)
    kit.prove(kit.front(program), *PASSES, holds=["SplitIncoreOrch", "IncoreTileOps", "TileOps2D"])


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_random_kernels_through_the_whole_pipeline(kit: Any, seed: int) -> None:
    kit.everywhere(Maker(seed).program(kit, 8))


FORMS = {
    "peeled": """
acc = pl.create_tensor([{m}, {n}], dtype=pl.{out})
for k in pl.{loop}:
    if k == 0:
        acc = pl.matmul({a}, {b}{flags}, out_dtype=pl.{out})
    else:
        acc = pl.matmul_acc(acc, {a}, {b}{flags})
""",
    "zeros": """
acc = pl.full([{m}, {n}], dtype=pl.{out}, value=0)
for k in pl.{loop}:
    acc = pl.matmul_acc(acc, {a}, {b}{flags})
""",
    "predicate": """
acc = pl.create_tensor([{m}, {n}], dtype=pl.{out})
for k in pl.{loop}:
    acc = pl.matmul_acc(acc, {a}, {b}, k == 0{flags})
""",
}


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_random_products(kit: Any, data: Any) -> None:
    """Every size, orientation, type and form of a sum of products, valid rows known at run time included."""
    draw = data.draw
    m, n = draw(st.sampled_from((1, 5, 8, 16, 24, 48))), draw(st.sampled_from((8, 16, 40, 64)))
    dtype = draw(st.sampled_from(("BF16", "FP16", "FP32", "INT8")))
    step, trips = draw(st.sampled_from((32, 64))), draw(st.integers(1, 4))
    a_trans, b_trans = draw(st.booleans()), draw(st.booleans())
    out = "INT32" if dtype == "INT8" else "FP32"
    depth = step * trips
    a, b = (depth, m) if a_trans else (m, depth), (n, depth) if b_trans else (depth, n)
    part = {False: "[:, k:k + {0}]", True: "[k:k + {0}, :]"}
    loop = draw(st.sampled_from((f"range(0, {depth}, {step})", f"pipeline(0, {depth}, {step}, stage=2)")))
    form = FORMS[draw(st.sampled_from(sorted(FORMS)))].format(
        m=m, n=n, out=out, loop=loop, a="a" + part[a_trans].format(step), b="b" + part[not b_trans].format(step),
        flags=", a_trans=True" * a_trans + ", b_trans=True" * b_trans,
    )  # fmt: skip
    result = f"pl.Tensor[[{m}, {n}], pl.{out}]"
    body = "with pl.at(level=pl.Level.CORE_GROUP, name_hint='k'):" + form.replace("\n", "\n    ")
    left, right = (f"pl.Tensor[[{rows}, {columns}], pl.{dtype}]" for rows, columns in (a, b))
    program = kit.main(
        f"a: {left}, b: {right}, out: pl.Out[{result}]",
        f"{body}\n    out[:, :] = acc\nreturn out",
        result,
    )
    kit.everywhere(program, atol=1e-3)
