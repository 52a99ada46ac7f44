"""Functions of several products, with what happens to their results mixed at random: stores later and in any order,
chains through casts, accumulations, loops and branches around them."""

from __future__ import annotations

from typing import Any

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st

MAT, ACC = "target_memory=pl.Mem.Mat", "target_memory=pl.Mem.Acc"
SIZES = (16, 32, 48, 64, 96, 128, 160, 192, 256, 272, 320, 512)


@attrs.define
class Text:
    """A kernel under construction."""

    draw: Any
    params: list[str] = attrs.field(factory=list)
    lines: list[str] = attrs.field(factory=list)
    waiting: list[tuple[str, str]] = attrs.field(factory=list)
    outs: list[str] = attrs.field(factory=list)
    count: int = 0
    indent: str = ""

    def say(self, line: str) -> None:
        self.lines += [self.indent + part for part in line.splitlines()]

    def fresh(self) -> int:
        self.count += 1
        return self.count

    def size(self, most: int = 512) -> int:
        return self.draw(st.sampled_from([n for n in SIZES if n <= most]))

    def panel(self, rows: int, cols: int, dtype: str = "BF16") -> str:
        i = self.fresh()
        self.params.append(f"t{i}: pl.Tensor[[{rows}, {cols}], pl.{dtype}]")
        self.say(f"p{i} = pl.load(t{i}, [0, 0], [{rows}, {cols}], {MAT})")
        return f"p{i}"

    def out(self, rows: int, cols: int) -> str:
        i = self.fresh()
        self.params.append(f"o{i}: pl.InOut[pl.Tensor[[{rows}, {cols}], pl.FP32]]")
        self.outs.append(f"o{i}")
        return f"o{i}"

    def flush(self) -> None:
        """Store what waits, in any order."""
        for value, target in self.draw(st.permutations(self.waiting)):
            self.say(f"s{self.fresh()} = pl.store({value}, [0, 0], {target})")
        self.waiting = []


def product(text: Text) -> None:
    """A product, a biased one, or two chained, whose result is stored now or later."""
    M, N, K = text.size(), text.size(), text.size(320)
    kind = text.draw(st.sampled_from(("plain", "bias", "chain", "round", "accumulate")))
    lhs, rhs = text.panel(M, K), text.panel(K, N)
    i = text.fresh()
    if kind == "bias":
        row = text.panel(1, N, "FP32")
        text.say(f"c{i} = pl.tile.matmul_bias({lhs}, {rhs}, {row})")
    elif kind == "accumulate":
        text.say(f"z{i} = pl.tile.create([{M}, {N}], pl.FP32, {ACC})")
        text.say(f"y{i} = pl.tile.matmul_acc(z{i}, {lhs}, {rhs}, True)")
        text.say(f"c{i} = pl.tile.matmul_acc(y{i}, {lhs}, {rhs})")
    else:
        text.say(f"c{i} = pl.tile.matmul({lhs}, {rhs})")
    if kind in ("chain", "round"):
        P = text.size(128)
        other = text.panel(N, P)
        mode = "rint" if kind == "chain" else "round"
        text.say(f'b{i} = pl.tile.cast(c{i}, pl.BF16, mode="{mode}")')
        text.say(f"d{i} = pl.tile.matmul(b{i}, {other})")
        text.waiting.append((f"d{i}", text.out(M, P)))
    else:
        text.waiting.append((f"c{i}", text.out(M, N)))
    if text.draw(st.booleans()):
        text.flush()


def repeated(text: Text) -> None:
    """A loop over row blocks of one product."""
    m, N, K, trips = text.size(192), text.size(), text.size(320), text.draw(st.integers(1, 3))
    a, b, out, i = text.fresh(), text.fresh(), text.out(m * trips, N), text.fresh()
    text.params += [f"t{a}: pl.Tensor[[{m * trips}, {K}], pl.BF16]", f"t{b}: pl.Tensor[[{K}, {N}], pl.BF16]"]
    text.say(f"r{i} = pl.load(t{b}, [0, 0], [{K}, {N}], {MAT})")
    text.say(f"for i{i}, (v{i},) in pl.range({trips}, init_values=({out},)):")
    text.say(f"    l{i} = pl.load(t{a}, [i{i} * {m}, 0], [{m}, {K}], {MAT})")
    text.say(f"    c{i} = pl.tile.matmul(l{i}, r{i})")
    text.say(f"    w{i} = pl.store(c{i}, [i{i} * {m}, 0], v{i})")
    text.say(f"    q{i} = pl.yield_(w{i})")


def branched(text: Text) -> None:
    """A product on one side of a branch."""
    M, N, K = text.size(256), text.size(), text.size(320)
    lhs, rhs, out, i = text.panel(M, K), text.panel(K, N), text.out(M, N), text.fresh()
    text.say(f"if flag == {text.draw(st.integers(1, 2))}:")
    text.say(f"    c{i} = pl.tile.matmul({lhs}, {rhs})")
    text.say(f"    w{i} = pl.store(c{i}, [0, 0], {out})")
    text.say(f"    q{i} = pl.yield_(w{i})")
    text.say("else:")
    text.say(f"    q{i} = pl.yield_({out})")


@st.composite
def kernels(draw: Any) -> Text:
    text = Text(draw)
    for _ in range(draw(st.integers(1, 4))):
        draw(st.sampled_from((product, product, product, repeated, branched)))(text)
    text.flush()
    return text


@settings(max_examples=50)
@given(
    text=kernels(), backend=st.sampled_from(("910b", "a5")), planner=st.sampled_from(("pypto", "dsa_rp", "ptoas")),
    opted=st.booleans(),
)  # fmt: skip
def test_mixed_functions(kit: Any, text: Text, backend: str, planner: str, opted: bool) -> None:
    params = ["flag: pl.Scalar[pl.INDEX]", *text.params]
    body = "\n".join([*text.lines, "return flag"])
    program = kit.program(params, "pl.Scalar[pl.INDEX]", body)
    options = {"enable_pypto_l0c_double_buffer": True} if opted else {}
    tiled = kit.tile(program, backend, planner, check=None, **options)
    if tiled.after is not program:
        kit.same(tiled, dims={"flag": 1})
