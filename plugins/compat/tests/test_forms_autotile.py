"""AutoTileMatmulL0 through PyPTO's names: exact programs before and after, as the requirement documents them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import pypto.language as pl
from pypto import backend, ir, passes
from pypto.backend import BackendType

A2, A5 = BackendType.Ascend910B, BackendType.Ascend950


@pytest.fixture(autouse=True)
def fresh_machine() -> Iterator[None]:
    """None chosen before or after a test."""
    backend.reset_for_testing()
    yield
    backend.reset_for_testing()


def kernel(params: str, result: str, body: str, loads: str) -> Any:
    """A kernel that loads operands into Mat, and returns ``res``."""
    lines = [f"{m} = pl.load({t}, [0, 0], {w}, target_memory=pl.Mem.Mat)" for m, t, w in _loads(loads)]
    code = "".join(f"        {line}\n" for line in [*lines, *body.strip().splitlines(), "return res"])
    return pl.parse_program(
        "@pl.program\nclass Kernel:\n    @pl.function(type=pl.FunctionType.InCore)\n"
        f"    def main(self, {params}, out: pl.Out[{result}]) -> {result}:\n{code}"
    )


def _loads(text: str) -> Iterator[tuple[str, str, str]]:
    for line in text.strip().splitlines():
        mat, tensor, window = line.split(" ", 2)
        yield mat, tensor, window


def tensor(name: str, rows: int, cols: int, dtype: str) -> str:
    """A parameter."""
    return f"{name}: pl.Tensor[[{rows}, {cols}], pl.{dtype}]"


def product(m: int, k: int, n: int, body: str, dtype: str = "BF16", more: str = "", extra: str = "") -> Any:
    """``am`` [m, k] times ``bm`` [k, n]; ``more`` parameters and ``extra`` loads."""
    acc = "INT32" if dtype == "INT8" else "FP32"
    return kernel(
        ", ".join([tensor("a", m, k, dtype), tensor("b", k, n, dtype), *filter(None, [more])]),
        f"pl.Tensor[[{m}, {n}], pl.{acc}]",
        body,
        f"am a [{m}, {k}]\nbm b [{k}, {n}]\n{extra}",
    )


STORE = "res = pl.store(c, [0, 0], out)\n"
LEFT, RIGHT = "target_memory=pl.Mem.Left", "target_memory=pl.Mem.Right"


def loop(m: int, n: int, start: int, stop: int, k: int, init: str, result: str, predicate: str = "") -> str:
    """The loop over blocks of K."""
    return f"""
for ko, (ci,) in pl.pipeline({start}, {stop}, {k}, init_values=({init},), stage=2):
    sa = pl.tile.extract(am, 0, ko, [{m}, {k}], {LEFT})
    sb = pl.tile.extract(bm, ko, 0, [{k}, {n}], {RIGHT})
    ca = pl.tile.matmul_acc(ci, sa, sb{predicate})
    {result} = pl.yield_(ca)
"""


def blocks(m: int, n: int, at: int, k: int, suffix: str) -> str:
    """One block of both operands outside of a loop."""
    return f"""
a{suffix} = pl.tile.extract(am, 0, {at}, [{m}, {k}], {LEFT})
b{suffix} = pl.tile.extract(bm, {at}, 0, [{k}, {n}], {RIGHT})
"""


FIRST_K = "first_k: pl.Scalar[pl.INDEX]"
CREATE = "init = pl.tile.create([{0}, {1}], dtype=pl.{2}, target_memory=pl.Mem.Acc)\n"
BIAS = tensor("bias", 1, 64, "FP32")

FORMS: dict[str, tuple[BackendType, Any, Any]] = {
    "one predicated accumulation, no branch": (
        A5,
        lambda: product(16, 2048, 64, "c = pl.tile.matmul(am, bm)\n" + STORE),
        lambda: product(
            16, 2048, 64,
            CREATE.format(16, 64, "FP32") + loop(16, 64, 0, 2048, 256, "init", "c", ", ko == 0") + STORE,
        ),
    ),
    "the caller's predicate joins the loop's, and the tail has none": (
        A5,
        lambda: product(
            64, 544, 64,
            CREATE.format(64, 64, "FP32") + "c = pl.tile.matmul_acc(init, am, bm, first_k == 0)\n" + STORE,
            more=FIRST_K,
        ),
        lambda: product(
            64, 544, 64,
            CREATE.format(64, 64, "FP32")
            + loop(64, 64, 0, 384, 192, "init", "cm", ", (first_k == 0) and (ko == 0)")
            + blocks(64, 64, 384, 160, "t") + "c = pl.tile.matmul_acc(cm, at, bt)\n" + STORE, more=FIRST_K,
        ),
    ),
    "a single whole block passes the caller's predicate through": (
        A5,
        lambda: product(
            64, 272, 64,
            CREATE.format(64, 64, "FP32") + "c = pl.tile.matmul_acc(init, am, bm, init_cond=first_k == 0)\n" + STORE,
            more=FIRST_K,
        ),
        lambda: product(
            64, 272, 64,
            CREATE.format(64, 64, "FP32") + blocks(64, 64, 0, 144, "0")
            + "c0 = pl.tile.matmul_acc(init, a0, b0, first_k == 0)\n" + blocks(64, 64, 144, 128, "t")
            + "c = pl.tile.matmul_acc(c0, at, bt)\n" + STORE,
            more=FIRST_K,
        ),
    ),
    "the first block with the bias stands before the loop": (
        A2,
        lambda: product(
            16, 2048, 64, "c = pl.tile.matmul_bias(am, bm, vm)\n" + STORE, more=BIAS, extra="vm bias [1, 64]"
        ),
        lambda: product(
            16, 2048, 64,
            "v = pl.tile.move(vm, target_memory=pl.Mem.Bias)\n" + blocks(16, 64, 0, 256, "0")
            + "s = pl.tile.matmul_bias(a0, b0, v)\n" + loop(16, 64, 256, 2048, 256, "s", "c") + STORE,
            more=BIAS, extra="vm bias [1, 64]",
        ),
    ),
    "narrowed rows begin in a compact seed": (
        A2,
        lambda: product(64, 2048, 128, NARROW + "c = pl.tile.matmul(an, bm)\n" + STORE, "INT8"),
        lambda: product(
            64, 2048, 128,
            NARROW + CREATE.format(64, 128, "INT32").replace("Acc)", "Acc, compact=True)")
            + "seed = pl.tile.set_validshape(init, 16, 128)\n"
            + loop(64, 128, 0, 2048, 256, "seed", "c", ", ko == 0").replace("extract(am", "extract(an") + STORE,
            "INT8",
        ),
    ),
    "one operand stays, and columns that are left over are peeled": (
        A2,
        lambda: product(256, 128, 544, "c = pl.tile.matmul(am, bm)\n" + STORE),
        lambda: product(
            256, 128, 544,
            f"""
for mo, (oo,) in pl.range(0, 256, 256, init_values=(out,)):
    sa = pl.tile.extract(am, mo, 0, [256, 128], {LEFT})
    for no, (oi,) in pl.pipeline(
        0, 512, 128, init_values=(oo,), stage=2, attrs={{"pipeline_overlap_stores": False}}
    ):
        sb = pl.tile.extract(bm, 0, no, [128, 128], {RIGHT})
        c = pl.tile.matmul(sa, sb)
        done = pl.store(c, [mo, no], oi)
        inner = pl.yield_(done)
    outer = pl.yield_(inner)
ta = pl.tile.extract(am, 0, 0, [256, 128], {LEFT})
tb = pl.tile.extract(bm, 0, 512, [128, 32], {RIGHT})
tc = pl.tile.matmul(ta, tb)
res = pl.store(tc, [0, 512], outer)
""",
        ),
    ),
    "a cast between products becomes a write into Mat": (
        A2,
        lambda: chained('cb = pl.tile.cast(c, pl.BF16, mode="rint")\nd = pl.tile.matmul(cb, em)'),
        lambda: chained(
            "s = pl.tile.create([128, 128], dtype=pl.BF16, target_memory=pl.Mem.Mat)\n"
            "s0 = pl.tile.assemble(s, c, [0, 0])\nd = pl.tile.matmul(s0, em)"
        ),
    ),
}  # fmt: skip
NARROW = "an = pl.load(a, [0, 0], [64, 2048], valid_shape=[16, 2048], target_memory=pl.Mem.Mat)\n"


def chained(rest: str) -> Any:
    """A product whose result another one reads."""
    return kernel(
        ", ".join([tensor("a", 128, 64, "BF16"), tensor("b", 64, 128, "BF16"), tensor("e", 128, 64, "BF16")]),
        "pl.Tensor[[128, 64], pl.FP32]",
        f"c = pl.tile.matmul(am, bm)\n{rest}\nres = pl.store(d, [0, 0], out)",
        "am a [128, 64]\nbm b [64, 128]\nem e [128, 64]",
    )


@pytest.mark.parametrize("name", FORMS)
def test_the_form(name: str) -> None:
    machine, before, after = FORMS[name]
    backend.set_backend_type(machine)
    around = [
        passes.VerificationInstrument(passes.VerificationMode.BEFORE_AND_AFTER),
        ir.make_roundtrip_instrument(),
    ]
    with passes.PassContext(around, memory_planner=passes.MemoryPlanner.PYPTO):
        ir.assert_structural_equal(passes.auto_tile_matmul_l0()(before()), after())


def test_an_operand_that_was_placed_by_hand_and_does_not_fit() -> None:
    backend.set_backend_type(A2)
    big = product(
        16,
        256,
        256,
        f"b_right = pl.tile.move(bm, {RIGHT})\nc = pl.tile.matmul(am, b_right)\n" + STORE,
        "FP16",
    )
    with pytest.raises(
        ValueError, match=r"right operand 'b_right' is already resident in Right \(L0B\)"
    ) as caught:
        passes.auto_tile_matmul_l0()(passes.convert_to_ssa()(big))
    text = str(caught.value)
    assert "physical shape [256, 256]" in text and "requiring 131072 bytes" in text and "65536" in text
    assert "manually extract a smaller Right tile." in text and "__ssa" not in text
