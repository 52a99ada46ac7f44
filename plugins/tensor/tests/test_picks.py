"""Comparisons, rows that are picked, lines cut out of tiles, hints: what models use beside arithmetic."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pypto_core.diagnostics import UserError
from pypto_core.ir import SLOT_NUM, SPLIT, Call, SplitMode, walk
from pypto_core.run import compile

TO_TILES = ("OutlineIncoreScopes", "ConvertTensorToTileOps")
PLANNERS = ("pypto", "dsa_rp", "ptoas")
COMPARE = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)


def kernel(kit: Any, params: str, body: str) -> Any:
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    return kit.main(params, f"with pl.at(level=pl.Level.CORE_GROUP, name_hint='k'):\n{lines}\nreturn out")


def values(kit: Any, program: Any, **given: Any) -> Any:
    return kit.host.engine("values").load()(program, given).outputs["out"]


def calls(program: Any, name: str) -> list[Call]:
    return [n for f in program if f.is_incore for n in walk(f.body) if isinstance(n, Call) and n.name == name]


OPERANDS = {"matrix": (16, 64), "row": (1, 64), "column": (16, 1), "scalar": ()}


@pytest.mark.parametrize("other", OPERANDS)
@pytest.mark.parametrize("code", range(6))
@pytest.mark.parametrize("dtype", ["FP32", "INT32"])
def test_comparisons_give_one_or_nought(kit: Any, other: str, code: int, dtype: str) -> None:
    shape = OPERANDS[other]
    right = "1" if not shape else "y"
    more = f", y: pl.Tensor[{list(shape)}, pl.{dtype}]" if shape else ""
    program = kernel(
        kit,
        f"x: pl.Tensor[[16, 64], pl.{dtype}]{more}, out: pl.Out[pl.Tensor[[16, 64], pl.{dtype}]]",
        f"out[:, :] = pl.add(pl.cmp(x, {right}, cmp_type={code}), pl.cmp(x, {right}, cmp_type={code}))",
    )
    after = kit.prove(kit.front(program), *TO_TILES, holds=["IncoreTileOps"])
    rng = np.random.default_rng(code)
    element = np.dtype(np.float32 if dtype == "FP32" else np.int32)
    x, y = (rng.integers(-1, 3, s).astype(element) for s in ((16, 64), shape or (1,)))
    given = {"x": x, "y": y} if shape else {"x": x}
    want = 2 * COMPARE[code](x, y if shape else 1).astype(element)
    for what in (program, after):
        assert np.array_equal(values(kit, what, **given), want)


@pytest.mark.parametrize("line", ["[16, 1]", "[1, 64]", "[1, 8]"])
def test_comparisons_of_lines(kit: Any, line: str) -> None:
    """The bits of a row lie side by side: a column lies down for it."""
    program = kernel(
        kit,
        f"x: pl.Tensor[{line}, pl.FP32], y: pl.Tensor[{line}, pl.FP32], out: pl.Out[pl.Tensor[{line}, pl.FP32]]",
        "out[:, :] = pl.cmp(x, y, cmp_type=2)",
    )
    kit.prove(kit.front(program), *TO_TILES, holds=["IncoreTileOps"])
    kit.everywhere(program, planners=PLANNERS)


def test_comparisons_of_what_holds_data(kit: Any) -> None:
    program = kernel(
        kit,
        "x: pl.Tensor[[16, 64], pl.FP32], n: pl.Scalar[pl.INDEX], out: pl.InOut[pl.Tensor[[16, 64], pl.FP32]]",
        "part = pl.slice(x, [16, 64], [0, 0], valid_shape=[n, 40])\nout[:, :] = pl.cmp(part, 0.0, cmp_type=4)",
    )
    rng = np.random.default_rng(3)
    x, out = (rng.standard_normal((16, 64), dtype=np.float32) for _ in range(2))
    want = out.copy()
    want[:11, :40] = x[:11, :40] > 0
    for planner in PLANNERS:
        compiled = compile(program, backend="910b", planner=planner, host=kit.host)
        assert np.array_equal(values(kit, compiled.program, x=x, n=11, out=out), want)


LINES = {
    "a row spread": "pl.col_expand_mul(y, y[3:4, :])",
    "a row beside": "pl.add(y, y[3:4, :])",
    "a row stretched": "pl.maximum(pl.col_expand(y, y[5:6, :]), y)",
    "a column spread": "pl.row_expand_mul(y, y[:, 3:4])",
    "a column beside": "pl.sub(y, y[:, 63:64])",
    "a column of a row": "pl.mul(y, y[2:3, 7:8])",
}


@pytest.mark.parametrize("what", LINES)
def test_lines_cut_out_of_a_computed_tile(kit: Any, what: str) -> None:
    program = kernel(
        kit,
        "x: pl.Tensor[[16, 64], pl.FP32], out: pl.Out[pl.Tensor[[16, 64], pl.FP32]]",
        f"y = pl.exp(x)\nout[:, :] = {LINES[what]}",
    )
    kit.prove(kit.front(program), *TO_TILES, holds=["IncoreTileOps"])
    kit.everywhere(program, planners=PLANNERS)


# -- rows by index

TABLE = "table: pl.Tensor[[40, 64], pl.BF16], names: pl.Tensor[[3, 24], pl.INT32]"


def table() -> dict[str, Any]:
    rng = np.random.default_rng(9)
    return {
        "table": rng.standard_normal((40, 64)).astype(ml_dtypes.bfloat16),
        "names": np.stack([rng.permutation(40)[:24] for _ in range(3)]).astype(np.int32),
    }


@pytest.mark.parametrize("held", ["8", "n"])
def test_rows_into_a_part_of_the_destination(kit: Any, held: str) -> None:
    program = kernel(
        kit,
        f"{TABLE}, n: pl.Scalar[pl.INDEX], out: pl.Out[pl.Tensor[[16, 64], pl.BF16]]",
        f"""room = pl.full([16, 64], dtype=pl.BF16, value=2.0)
out[:, :] = pl.gather_row(room, table, names[1:2, 0:16], valid_shape=[{held}, 48])""",
    )
    given = table()
    want = np.full((16, 64), 2.0)
    rows = 8 if held == "8" else 5
    want[:rows, :48] = given["table"][given["names"][1, :rows], :48]
    for planner in PLANNERS:
        compiled = compile(program, backend="a5", planner=planner, host=kit.host)
        assert np.array_equal(values(kit, compiled.program, n=5, **given), want)


@pytest.mark.parametrize(("window", "rows"), [("names[b:b + 1, 8:24]", 16), ("names[b:b + 1, 4:12]", 8)])
@pytest.mark.parametrize("planner", PLANNERS)
def test_rows_into_l1(kit: Any, window: str, rows: int, planner: str) -> None:
    """The cube core reads the indices itself: no tile of the vector core is needed, and none is there."""
    program = kernel(
        kit,
        f"{TABLE}, q: pl.Tensor[[16, 64], pl.BF16], b: pl.Scalar[pl.INDEX], "
        f"out: pl.Out[pl.Tensor[[16, {rows}], pl.FP32]]",
        f"""kept = pl.create_l1([{rows}, 64], dtype=pl.BF16)
kept = pl.gather_row(kept, table, {window})
out[:, :] = pl.matmul(q, kept, b_trans=True, out_dtype=pl.FP32)""",
    )
    goal = "HasMemRefs" if planner == "ptoas" else "AllocatedMemoryAddr"
    compiled = compile(program, backend="910b", planner=planner, goal=goal, host=kit.host)
    spaces = {n.type.memory_space.name for n in calls(compiled.program, "tile.load")}
    assert spaces == {"Mat"}
    given = table()
    q = np.random.default_rng(1).standard_normal((16, 64)).astype(ml_dtypes.bfloat16)
    first = int(window.split(", ")[1].split(":")[0])
    picked = given["table"].astype(np.float64)[given["names"][2, first : first + rows]]
    found = values(kit, compiled.program, q=q, b=2, **given)
    np.testing.assert_allclose(found, q.astype(np.float64) @ picked.T, atol=1e-3)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("names[0:2, 0:16]", "the indices of rows for a tile in L1 lie in one row"),
        ("pl.add(names[0:1, 0:16], 1)", "are picked by indices in memory, and"),
    ],
)
def test_rows_into_l1_that_nothing_can_pick(kit: Any, names: str, message: str) -> None:
    program = kernel(
        kit,
        f"{TABLE}, out: pl.Out[pl.Tensor[[16, 16], pl.FP32]]",
        f"""kept = pl.create_l1([16, 64], dtype=pl.BF16)
kept = pl.gather_row(kept, table, {names})
out[:, :] = pl.matmul(kept, kept, b_trans=True, out_dtype=pl.FP32)""",
    )
    with pytest.raises(UserError, match=message) as caught:
        kit.apply(kit.front(program), *TO_TILES)
    [found] = caught.value.diagnostics
    assert found.code == "PT376" and found.remedy and found.span.is_valid


# -- hints


def test_a_prefetch_names_the_window_in_memory(kit: Any) -> None:
    program = kernel(
        kit,
        "x: pl.Tensor[[4, 16, 64], pl.FP32], out: pl.Out[pl.Tensor[[4, 16, 64], pl.FP32]]",
        """context = pl.prefetch.make_context()
pl.prefetch.async_prefetch(x, context)
for i in pl.range(4):
    page = x[i]
    pl.prefetch.async_prefetch(page[0:8, :], context)
    pl.prefetch.async_prefetch(page, context, [8, 32], [8, 32])
    out[i] = pl.neg(page)""",
    )
    after = kit.prove(kit.front(program), *TO_TILES, holds=["IncoreTileOps"])
    whole, *parts = calls(after, "prefetch.async_prefetch")
    assert len(whole.args) == 2 and all(call.args[0] is whole.args[0] for call in parts)
    places = [[getattr(e, "value", "i") for e in call.args[2].elements] for call in parts]
    extents = [[e.value for e in call.args[3].elements] for call in parts]
    assert places == [["i", 0, 0], ["i", 8, 32]]
    assert extents == [[1, 8, 64], [1, 8, 32]]


def test_a_prefetch_of_what_is_on_chip_is_refused(kit: Any) -> None:
    program = kernel(
        kit,
        "x: pl.Tensor[[16, 64], pl.FP32], out: pl.Out[pl.Tensor[[16, 64], pl.FP32]]",
        "y = pl.exp(x)\npl.prefetch.async_prefetch(y, pl.prefetch.make_context())\nout[:, :] = y",
    )
    with pytest.raises(UserError, match="'y' is computed on chip") as caught:
        kit.apply(kit.front(program), *TO_TILES)
    assert caught.value.diagnostics[0].code == "PT376"


@pytest.mark.parametrize(
    "head", ["for i in pl.spmd(2, {}):", "with pl.spmd(2, {}):\n    i = pl.tile.get_block_idx()"]
)
def test_a_launch_says_how_its_kernel_is_divided(kit: Any, head: str) -> None:
    asked = head.format("optimizations=[pl.split(pl.SplitMode.LEFT_RIGHT, slot_num=4)]")
    program = kit.main(
        "x: pl.Tensor[[32, 64], pl.FP32], out: pl.Out[pl.Tensor[[32, 64], pl.FP32]]",
        f"{asked}\n    out[i * 16:i * 16 + 16, :] = pl.neg(x[i * 16:i * 16 + 16, :])\nreturn out",
    )
    after = kit.prove(kit.front(program), *TO_TILES)
    [made] = [f for f in after if f.is_incore]
    assert (made.attrs[SPLIT], made.attrs[SLOT_NUM]) == (SplitMode.LEFT_RIGHT, 4)
    launches = [n for n in walk(after["main"].body) if isinstance(n, Call) and n.name == made.name]
    assert launches and not any(SPLIT in n.attrs or SLOT_NUM in n.attrs for n in launches)
    kit.everywhere(program)


def test_a_launch_of_a_made_kernel_says_nothing_about_it(kit: Any) -> None:
    program = kit.program("""
        @pl.program
        class P:
            @pl.function(type=pl.FunctionType.InCore)
            def k(
                self, x: pl.Tensor[[16, 64], pl.FP32], out: pl.Out[pl.Tensor[[16, 64], pl.FP32]]
            ) -> pl.Tensor[[16, 64], pl.FP32]:
                return pl.store(pl.load(x, [0, 0], [16, 64]), [0, 0], out)

            @pl.function(type=pl.FunctionType.Orchestration)
            def main(
                self, x: pl.Tensor[[16, 64], pl.FP32], out: pl.Out[pl.Tensor[[16, 64], pl.FP32]]
            ) -> pl.Tensor[[16, 64], pl.FP32]:
                with pl.spmd(1, optimizations=[pl.cross_core_slot(2)]):
                    out = self.k(x, out)
                return out
    """)
    with pytest.raises(UserError, match="this launch only calls kernels") as caught:
        kit.apply(kit.front(program), "OutlineIncoreScopes", "OutlineClusterScopes")
    [found] = caught.value.diagnostics
    assert (found.code, dict(found.facts)) == ("PT380", {"given": "slot_num"})
