"""FlattenTileNdTo2D: tiles of one to five axes become matrices and the kernel does the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pypto_core.diagnostics import UserError
from pypto_core.ir import Call, TileType, walk
from pypto_core.run import compile
from pypto_core.testing import assert_same_behaviour

FLAT = ("ConvertTensorToTileOps", "FlattenTileNdTo2D")
SHAPES = {1: "64", 2: "8, 64", 3: "4, 8, 32", 4: "2, 3, 8, 32", 5: "2, 1, 3, 8, 32"}


def tensor(shape: str) -> str:
    return f"pl.Tensor[[{shape}], pl.FP32]"


def whole(rank: int) -> str:
    return ", ".join([":"] * rank)


def flattened(kit: Any, params: str, body: str, result: str, **options: Any) -> Any:
    before = kit.front(kit.main(params, body, result, kind="InCore"))
    after = kit.prove(before, *FLAT, holds=["IncoreTileOps", "TileOps2D"], **options)
    for node in walk(after["main"].body):
        if isinstance(node, Call) and isinstance(node.type, TileType) and node.name != "tile.load":
            assert len(node.type.shape) == 2, node.name
    return after


@pytest.mark.parametrize("rank", SHAPES)
def test_element_by_element(kit: Any, rank: int) -> None:
    kind = tensor(SHAPES[rank])
    body = f"""
    y = pl.mul(pl.exp(x[{whole(rank)}]), 0.5)
    out[{whole(rank)}] = pl.add(y, pl.full([{SHAPES[rank]}], dtype=pl.FP32, value=2.0))
    return out
    """
    flattened(kit, f"x: {kind}, out: pl.Out[{kind}]", body, kind)
    program = kit.main(f"x: {kind}, out: pl.Out[{kind}]", body, kind, kind="InCore")
    for backend, planner in (("910b", "pypto"), ("a5", "ptoas")):
        compiled = compile(program, backend=backend, planner=planner, host=kit.host)
        assert_same_behaviour(program, compiled.program, host=kit.host)


@pytest.mark.parametrize("rank", [3, 4, 5])
def test_rows_are_reduced_and_spread(kit: Any, rank: int) -> None:
    kind = tensor(SHAPES[rank])
    body = f"""
    y = pl.row_expand_sub(x, pl.row_max(x))
    out[{whole(rank)}] = pl.row_expand_div(pl.exp(y), pl.row_sum(pl.exp(y)))
    return out
    """
    flattened(kit, f"x: {kind}, out: pl.Out[{kind}]", body, kind)


@pytest.mark.parametrize("rank", [2, 3, 4, 5])
def test_loops_carry_matrices(kit: Any, rank: int) -> None:
    kind = tensor(SHAPES[rank])
    body = f"""
    y = x[{whole(rank)}]
    for i in pl.range(3):
        if i > 1:
            y = pl.mul(y, 0.5)
        else:
            y = pl.neg(y)
    out[{whole(rank)}] = y
    return out
    """
    flattened(kit, f"x: {kind}, out: pl.Out[{kind}]", body, kind)


def test_windows_of_leading_axes(kit: Any) -> None:
    kind = tensor("4, 8, 32")
    body = """
    y = pl.exp(x)
    for i in pl.range(4):
        out[i:i + 1, :, :] = pl.neg(y[3 - i:4 - i, :, :])
    z = pl.assemble(y, pl.full([1, 8, 32], dtype=pl.FP32, value=1.0), [2, 0, 0])
    more[:, :, :] = pl.add(z, x)
    first[:, :] = pl.reshape(y[0:1, 2:6, 0:16], [4, 16])
    return out, more, first
    """
    params = f"x: {kind}, out: pl.Out[{kind}], more: pl.Out[{kind}], first: pl.Out[{tensor('4, 16')}]"
    flattened(kit, params, body, f"tuple[{kind}, {kind}, {tensor('4, 16')}]")


def test_reshapes_between_ranks(kit: Any) -> None:
    body = """
    y = pl.reshape(pl.exp(x), [16, 64])
    z = pl.reshape(pl.row_sum(y), [16])
    sums[:] = z
    back = pl.reshape(pl.neg(y), [2, 2, 4, 64])
    out[:, :, :, :] = back
    return out, sums
    """
    four, one = tensor("2, 2, 4, 64"), tensor("16")
    flattened(
        kit,
        f"x: {tensor('4, 4, 64')}, out: pl.Out[{four}], sums: pl.Out[{one}]",
        body,
        f"tuple[{four}, {one}]",
    )


def test_transposes_get_their_scratch(kit: Any) -> None:
    body = """
    y = pl.transpose(pl.exp(x), 1, 2)
    out[:, :, :] = y
    return out
    """
    flattened(kit, f"x: {tensor('1, 8, 32')}, out: pl.Out[{tensor('1, 32, 8')}]", body, tensor("1, 32, 8"))
    tiles = kit.front(
        kit.main(
            f"x: {tensor('8, 32')}, out: pl.Out[{tensor('32, 8')}]",
            """
            t = pl.load(x, [0, 0], [8, 32])
            out = pl.store(pl.transpose(t, 0, 1), [0, 0], out)
            return out
            """,
            tensor("32, 8"), kind="InCore",
        )
    )  # fmt: skip
    after = kit.prove(tiles, "FlattenTileNdTo2D", holds=["TileOps2D"])
    [call] = [n for n in walk(after["main"].body) if isinstance(n, Call) and n.name == "tile.transpose"]
    assert len(call.args) == 4


def test_partly_filled_leading_axes(kit: Any) -> None:
    """The rows of one entry, all before the end: a corner of the matrix still."""
    kind = tensor("4, 8, 32")
    body = """
    y = pl.slice(x, [4, 8, 32], [0, 0, 0], valid_shape=[n, 8, 32])
    out = pl.assemble(out, pl.neg(y), [0, 0, 0])
    return out
    """
    x = np.random.default_rng(0).standard_normal((4, 8, 32), dtype=np.float32)
    inputs = {"x": x, "n": 3, "out": x}
    flattened(kit, f"x: {kind}, n: pl.Scalar[pl.INDEX], out: pl.InOut[{kind}]", body, kind, inputs=inputs)


REFUSED = {
    "a part of every entry": ("pl.exp(x)[:, 2:6, :]", "4, 4, 32", "a part of axis 1"),
    "columns of several": ("pl.col_sum(x)", "4, 1, 32", "works on the columns of one matrix"),
    "leading axes": ("pl.transpose(pl.exp(x), 0, 1)", "8, 4, 32", "can't be exchanged"),
    "gaps": ("pl.neg(pl.slice(x, [4, 8, 32], [0, 0, 0], valid_shape=[4, 5, 32]))", "4, 8, 32", "holds data"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_matrix(kit: Any, name: str) -> None:
    expression, shape, message = REFUSED[name]
    kind = tensor(shape)
    body = f"out = pl.assemble(out, {expression}, [0, 0, 0])\nreturn out"
    before = kit.front(kit.main(f"x: {tensor('4, 8, 32')}, out: pl.InOut[{kind}]", body, kind, kind="InCore"))
    with pytest.raises(UserError, match=message) as caught:
        kit.apply(before, *FLAT)
    [found] = caught.value.diagnostics
    assert found.code == "PT379" and found.remedy


def test_matrices_are_left_alone(kit: Any) -> None:
    body = """
    t = pl.load(x, [0, 0], [8, 32])
    out = pl.store(pl.exp(t), [0, 0], out)
    return out
    """
    kind = tensor("8, 32")
    before = kit.front(kit.main(f"x: {kind}, out: pl.Out[{kind}]", body, kind, kind="InCore"))
    assert kit.apply(before, "FlattenTileNdTo2D") is before
