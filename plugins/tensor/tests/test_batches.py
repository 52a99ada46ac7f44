"""Products of batches of matrices: what numpy says, for all leading axes, transposes and ways to add them up."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto_core.diagnostics import UserError
from pypto_core.ir import Call, walk
from pypto_core.run import compile
from pypto_core.testing import assert_same_behaviour

TO_TILES = ("OutlineIncoreScopes", "ConvertTensorToTileOps", "FlattenTileNdTo2D")
FORMS = {
    "at once": "acc = pl.matmul(a, b, {flags}, out_dtype=pl.FP32)",
    "in two": """acc = pl.matmul({a0}, {b0}, {flags}, out_dtype=pl.FP32)
    acc = pl.matmul_acc(acc, {a1}, {b1}, {flags})""",
    "peeled": """acc = pl.create_tensor({out}, dtype=pl.FP32)
    for k in pl.range(0, {K}, {half}):
        if k == 0:
            acc = pl.matmul({ak}, {bk}, {flags}, out_dtype=pl.FP32)
        else:
            acc = pl.matmul_acc(acc, {ak}, {bk}, {flags})""",
    "from zeros": """acc = pl.full({out}, dtype=pl.FP32, value=0.0)
    for k in pl.pipeline(0, {K}, {half}, stage=2):
        acc = pl.matmul_acc(acc, {ak}, {bk}, {flags})""",
}


def window(name: str, shape: tuple[int, ...], at: str, extent: int, columns: bool) -> str:
    """A part of K of an operand, whose columns or rows it is."""
    part = f"{at} : {at} + {extent}"
    last = f":, {part}" if columns else f"{part}, :"
    return f"{name}[{':, ' * (len(shape) - 2)}{last}]"


def program(kit: Any, lead: tuple[tuple[int, ...], tuple[int, ...]], mnk: Any, turned: Any, form: str) -> Any:
    """A product of ``lead`` axes ahead of the last two on either side, and the shapes of its operands."""
    M, N, K = mnk
    a = (*lead[0], *((K, M) if turned[0] else (M, K)))
    b = (*lead[1], *((N, K) if turned[1] else (K, N)))
    out = [*np.broadcast_shapes(*lead), M, N]
    half = K // 2
    parts = {
        f"{name}{tag}": window(name, shape, at, half, columns)
        for name, shape, columns in (("a", a, not turned[0]), ("b", b, turned[1]))
        for tag, at in (("0", "0"), ("1", str(half)), ("k", "k"))
    }
    flags = f"a_trans={turned[0]}, b_trans={turned[1]}"
    body = FORMS[form].format(**parts, out=out, K=K, half=half, flags=flags)
    text = f"""
with pl.at(level=pl.Level.CORE_GROUP, name_hint="k"):
    {body}
    out[{", ".join(":" * len(out))}] = acc
return out
"""
    operands = f"a: pl.Tensor[{list(a)}, pl.BF16], b: pl.Tensor[{list(b)}, pl.BF16]"
    return kit.main(f"{operands}, out: pl.Out[pl.Tensor[{out}, pl.FP32]]", text), a, b


def wanted(a: Any, b: Any, turned: Any) -> Any:
    left, right = (
        (np.swapaxes(x, -1, -2) if t else x).astype(np.float64) for x, t in zip((a, b), turned, strict=True)
    )
    return left @ right


def arrays(*shapes: tuple[int, ...]) -> list[Any]:
    rng = np.random.default_rng(5)
    return [rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in shapes]


def values(kit: Any, what: Any, *given: Any) -> Any:
    return kit.host.engine("values").load()(what, given).outputs["out"]


@st.composite
def leads(draw: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Leading axes of two operands that broadcast; at least one of them has some."""
    whole = tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=2)))
    sides: list[tuple[int, ...]] = []
    for _ in range(2):
        kept = whole[draw(st.integers(0, len(whole))) :]
        sides.append(tuple(draw(st.sampled_from((1, n))) for n in kept))
    sides[draw(st.integers(0, 1))] = whole
    return sides[0], sides[1]


@settings(max_examples=25)
@given(
    lead=leads(), m=st.integers(1, 33), n=st.sampled_from((16, 32, 40)), k=st.sampled_from((32, 64)),
    turned=st.tuples(st.booleans(), st.booleans()), form=st.sampled_from(sorted(FORMS)),
)  # fmt: skip
def test_products_are_those_of_numpy(
    kit: Any, lead: Any, m: int, n: int, k: int, turned: Any, form: str
) -> None:
    if turned[0]:
        m = -(-m // 8) * 8
    before, *shapes = program(kit, lead, (m, n, k), turned, form)
    a, b = arrays(*shapes)
    after = kit.prove(kit.front(before), *TO_TILES, holds=("IncoreTileOps", "TileOps2D"))
    for what in (before, after):
        np.testing.assert_allclose(values(kit, what, a, b), wanted(a, b, turned), atol=2e-3)


@pytest.mark.parametrize("form", FORMS)
def test_they_are_compiled_for_all(kit: Any, form: str) -> None:
    what, *_ = program(kit, ((3,), ()), (16, 64, 64), (False, True), form)
    kit.everywhere(what, planners=("pypto", "dsa_rp", "ptoas"), atol=1e-4)


def test_one_accumulator_is_in_use_at_a_time(kit: Any) -> None:
    """24 results of 16 KiB are three times what L0C holds; each is stored before the next begins."""
    what, *shapes = program(kit, ((24,), (24,)), (16, 256, 128), (False, True), "at once")
    a, b = arrays(*shapes)
    compiled = compile(what, backend="910b", planner="pypto", host=kit.host)
    assert compiled.artifacts
    np.testing.assert_allclose(values(kit, compiled.program, a, b), wanted(a, b, (False, True)), atol=2e-3)


READERS = {
    "element-wise": "out[:, :, :] = pl.mul(acc, 0.5)",
    "one of them": "out[0:1, :, :] = pl.reshape(acc[1], [1, 16, 32])",
    "without its axis": "out[0, :, :] = pl.reshape(acc[2:3, :, :], [16, 32])",
    "narrowed": "out[:, :, :] = pl.cast(pl.cast(acc, pl.BF16, mode='rint'), pl.FP32)",
    "added to memory": "pl.assemble(out, acc, [0, 0, 0], atomic=pl.AtomicType.Add)",
}


@pytest.mark.parametrize("reader", READERS)
def test_whoever_reads_a_batch_gets_it(kit: Any, reader: str) -> None:
    what = kit.main(
        "a: pl.Tensor[[3, 16, 64], pl.BF16], b: pl.Tensor[[64, 32], pl.BF16], "
        "out: pl.InOut[pl.Tensor[[3, 16, 32], pl.FP32]]",
        f"""
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="k"):
            acc = pl.matmul(a, b, out_dtype=pl.FP32)
            {READERS[reader]}
        return out
        """,
    )
    kit.prove(kit.front(what), *TO_TILES, holds=("IncoreTileOps", "TileOps2D"), atol=1e-4)


def test_a_batch_that_leaves_its_kernel_is_stored_by_it(kit: Any) -> None:
    what = kit.main(
        "a: pl.Tensor[[3, 16, 64], pl.BF16], b: pl.Tensor[[3, 64, 32], pl.BF16], "
        "out: pl.Out[pl.Tensor[[3, 16, 32], pl.FP32]]",
        """
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="first"):
            acc = pl.matmul(a, b, out_dtype=pl.FP32)
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="second"):
            out[:, :, :] = pl.neg(acc)
        return out
        """,
    )
    after = kit.prove(kit.front(what), *TO_TILES)
    first = after["first"]
    assert [p.name_hint for p in first.params][-1].endswith("out")
    assert "tile.move" not in {n.name for n in walk(first.body) if isinstance(n, Call)}
    kit.everywhere(what, atol=1e-4)


TILES = """
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(
        self, a: pl.Tensor[[3, 16, 64], pl.BF16], b: pl.Tensor[{b}, pl.BF16],
        out: pl.Out[pl.Tensor[[3, 16, 32], pl.FP32]]
    ) -> pl.Tensor[[3, 16, 32], pl.FP32]:
        {body}

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self, a: pl.Tensor[[3, 16, 64], pl.BF16], b: pl.Tensor[{b}, pl.BF16],
        out: pl.Out[pl.Tensor[[3, 16, 32], pl.FP32]]
    ) -> pl.Tensor[[3, 16, 32], pl.FP32]:
        out = self.k(a, b, out)
        return out
"""
BODIES = {
    "at once": """x = pl.load(a, [0, 0, 0], [3, 16, 64], target_memory=pl.Mem.Mat)
        y = pl.load(b, [0, 0, 0], [3, 64, 32], target_memory=pl.Mem.Mat)
        return pl.store(pl.tile.batch_matmul(x, y), [0, 0, 0], out)""",
    "added up": """acc = pl.create_tile([3, 16, 32], pl.FP32, target_memory=pl.Mem.Acc)
        for k in pl.range(0, 64, 16):
            x = pl.load(a, [0, 0, k], [3, 16, 16], target_memory=pl.Mem.Mat)
            y = pl.load(b, [0, k, 0], [3, 16, 32], target_memory=pl.Mem.Mat)
            if k == 0:
                acc = pl.tile.batch_matmul(x, y)
            else:
                acc = pl.tile.batch_matmul_acc(acc, x, y)
        return pl.store(acc, [0, 0, 0], out)""",
    "shared": """x = pl.load(a, [0, 0, 0], [3, 16, 64], target_memory=pl.Mem.Mat)
        y = pl.load(b, [0, 0], [64, 32], target_memory=pl.Mem.Mat)
        return pl.store(pl.tile.batch_matmul(x, y), [0, 0, 0], out)""",
}


@pytest.mark.parametrize("body", BODIES)
def test_tiles_in_l1(kit: Any, body: str) -> None:
    shape = [64, 32] if body == "shared" else [3, 64, 32]
    what = kit.program(TILES.format(b=shape, body=BODIES[body]))
    a, b = arrays((3, 16, 64), tuple(shape))
    for planner in ("pypto", "dsa_rp", "ptoas"):
        compiled = compile(what, backend="910b", planner=planner, host=kit.host)
        assert compiled.artifacts
        assert_same_behaviour(what, compiled.program, atol=1e-4, host=kit.host)
        np.testing.assert_allclose(
            values(kit, compiled.program, a, b), wanted(a, b, (False, False)), atol=1e-3
        )


def test_a_batch_of_unknown_size_is_refused(kit: Any) -> None:
    what = kit.main(
        "a: pl.Tensor[[3, 16, 64], pl.BF16], b: pl.Tensor[[64, 32], pl.BF16], n: pl.Scalar[pl.INDEX], "
        "out: pl.Out[pl.Tensor[[3, 16, 32], pl.FP32]]",
        """
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="k"):
            acc = pl.matmul(a[0:n, :, :], b, out_dtype=pl.FP32)
            out[0:1, :, :] = acc[0:1, :, :]
        return out
        """,
    )
    with pytest.raises(UserError, match="a batch whose size is not known") as caught:
        kit.apply(kit.front(what), *TO_TILES)
    [found] = caught.value.diagnostics
    assert found.code == "PT377" and found.span.is_valid and "loop over the leading axes" in found.remedy


def test_a_tile_is_what_memory_held_when_it_was_loaded(kit: Any) -> None:
    """The batch is computed where it is stored; its operands are loaded where they were, ahead of a write."""
    body = """x = pl.load(a, [0, 0, 0], [3, 16, 64], target_memory=pl.Mem.Mat)
        y = pl.load(b, [0, 0], [64, 32], target_memory=pl.Mem.Mat)
        first = pl.tile.batch_matmul(x, y)
        out = pl.store(first, [0, 0, 0], out)
        z = pl.load(out, [0, 0, 0], [3, 16, 32], target_memory=pl.Mem.Mat)
        v = pl.load(a, [1, 0, 0], [16, 64], target_memory=pl.Mem.Mat)
        out = pl.store(pl.matmul(v, y), [0, 0, 0], out)
        w = pl.load(b, [0, 0], [32, 32], target_memory=pl.Mem.Mat)
        return pl.store(pl.tile.batch_matmul(z, w), [0, 0, 0], out)"""
    what = kit.program(TILES.format(b=[64, 32], body=body).replace("pl.BF16", "pl.FP32"))
    for planner in ("pypto", "ptoas"):
        compiled = compile(what, backend="910b", planner=planner, host=kit.host)
        assert_same_behaviour(what, compiled.program, atol=1e-3, host=kit.host)
