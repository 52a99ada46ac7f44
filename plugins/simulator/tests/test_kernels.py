"""Whole kernels against numpy, and the comparison of two forms of one kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pypto_core.host import load_host
from pypto_core.ir import (
    ConstFloat,
    DataType,
    ForKind,
    Function,
    MemorySpace,
    ParamDirection,
    Var,
    mul,
    scalar_type,
)
from pypto_core.testing import assert_same_behaviour, random_array, same_elements
from pypto_core.testing import build as b
from pypto_plugin_simulator import plugin
from pypto_plugin_simulator.meanings.matmul import accumulate
from pypto_plugin_simulator.values import run

OUT = ParamDirection.Out
Mat, Left, Right = MemorySpace.Mat, MemorySpace.Left, MemorySpace.Right


def softmax(rows: int, columns: int, valid: int, pad: bool = True) -> Function:
    """Row softmax of the first ``valid`` columns."""
    x, out = b.tensor("x", (rows, columns)), b.tensor("out", (rows, columns))
    shape = b.dims(rows, columns)
    steps: list[Any] = [b.let("t", b.op("tile.load", x, b.dims(0, 0), shape, b.dims(rows, valid)))]

    def step(name: str, *args: Any) -> Var:
        steps.append(b.let(name.replace("tile.", ""), b.op(name, *args)))
        return steps[-1].var

    tile = steps[0].var
    scratch = b.let("tmp", b.op("tile.create", shape, dtype=DataType.FP32))
    steps.append(scratch)
    largest = step("tile.row_max", tile, scratch.var)
    powers = step("tile.exp", step("tile.row_expand_sub", tile, largest))
    total = step("tile.row_sum", powers, scratch.var)
    parts = step("tile.row_expand_div", powers, total)
    last = step("tile.fillpad", parts) if pad else parts
    steps.append(b.do(b.op("tile.store", last, b.dims(0, 0), out)))
    return b.kernel("softmax", [x, (out, OUT)], steps)


@pytest.mark.parametrize("valid", [1, 40, 64])
def test_softmax(valid: int) -> None:
    x = random_array(np.random.default_rng(valid), DataType.FP32, (16, 64))
    result = run(softmax(16, 64, valid), [x]).outputs["out"]
    part = x[:, :valid].astype(np.float64)
    powers = np.exp(part - part.max(axis=1, keepdims=True))
    want = np.zeros((16, 64))
    want[:, :valid] = powers / powers.sum(axis=1, keepdims=True)
    assert np.abs(result - want).max() < 1e-6
    assert np.isfinite(result).all()


def tiled_matmul(
    size: int, m: int, n: int, k: int, dtype: DataType = DataType.BF16, move: bool = False
) -> Function:
    """``out = x @ y`` of ``size`` x ``size`` in tiles of [m, n], over K in steps of k."""
    x, y, out = (
        b.tensor("x", (size, size), dtype),
        b.tensor("y", (size, size), dtype),
        b.tensor("out", (size, size)),
    )

    def operand(name: str, source: Var, offset: Any, shape: Any, space: MemorySpace) -> list[Any]:
        loaded = b.let(name, b.op("tile.load", source, offset, shape, target_memory=Mat))
        return (
            [loaded, b.let(f"{name}_in", b.op("tile.move", loaded.var, target_memory=space))]
            if move
            else [loaded]
        )

    def over_k(i: Any, j: Any) -> list[Any]:
        def step(p: Any, acc: Any) -> list[Any]:
            lhs = operand("l", x, b.dims(mul(i, m), mul(p, k)), b.dims(m, k), Left)
            rhs = operand("r", y, b.dims(mul(p, k), mul(j, n)), b.dims(k, n), Right)
            more = b.let("c", b.op("tile.matmul_acc", acc, lhs[-1].var, rhs[-1].var))
            return [*lhs, *rhs, more, b.give(more.var)]

        seed = b.let("s", b.op("tile.full", b.dims(m, n), ConstFloat(0.0), dtype=DataType.FP32))
        loop = b.loop(size // k, step, carries={"acc": seed.var}, var="p")
        store = b.do(b.op("tile.store", loop.return_vars[0], b.dims(mul(i, m), mul(j, n)), out))
        return [seed, loop, store]

    rows = b.loop(
        size // m, lambda i: [b.loop(size // n, lambda j: over_k(i, j), var="j")], kind=ForKind.Parallel
    )
    return b.kernel("matmul", [x, y, (out, OUT)], [rows])


@pytest.mark.parametrize("tile", [(64, 64, 64), (16, 32, 8), (32, 16, 64)])
def test_tiled_matmul(tile: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(1)
    x, y = (random_array(rng, DataType.BF16, (64, 64)) for _ in range(2))
    result = run(tiled_matmul(64, *tile), [x, y]).outputs["out"]
    assert same_elements(result, accumulate(x, y, None)).all()


def simulator_host() -> Any:
    return load_host(entry_points=[], extra_plugins=[plugin])


def test_other_tilings_behave_the_same() -> None:
    before, after = tiled_matmul(32, 32, 32, 32), tiled_matmul(32, 16, 8, 16, move=True)
    assert_same_behaviour(before, after, host=simulator_host())


def test_a_lost_valid_extent_is_noticed() -> None:
    host = simulator_host()
    assert_same_behaviour(softmax(8, 32, 20), softmax(8, 32, 20), host=host)
    with pytest.raises(AssertionError, match="output 'out' differs"):
        assert_same_behaviour(softmax(8, 32, 20), softmax(8, 32, 21), host=host)
    # Not padded, the rest of the output keeps what it held.
    with pytest.raises(AssertionError, match="output 'out' differs"):
        assert_same_behaviour(softmax(8, 32, 20), softmax(8, 32, 20, pad=False), host=host)


def test_ragged_rows_by_a_runtime_extent() -> None:
    n = Var("n", scalar_type(DataType.INDEX))
    x, out = b.tensor("x", (8, 16), DataType.FP16), b.tensor("out", (8, 16), DataType.FP16)

    def body(i: Any) -> list[Any]:
        load = b.let("t", b.op("tile.load", x, b.dims(i, 0), b.dims(1, 16), b.dims(1, n)))
        more = b.let("u", b.op("tile.adds", load.var, ConstFloat(1.0, DataType.FP16)))
        return [load, more, b.do(b.op("tile.store", more.var, b.dims(i, 0), out))]

    kernel = b.kernel("k", [x, n, (out, ParamDirection.InOut)], [b.loop(8, body)])
    source, target = np.ones((8, 16), np.float16), np.zeros((8, 16), np.float16)
    for valid in (0, 5, 16):
        result = run(kernel, [source, valid, target]).outputs["out"]
        assert (result[:, :valid] == 2).all() and (result[:, valid:] == 0).all()


def test_the_engine_is_registered() -> None:
    host = simulator_host()
    assert host.engine("values").load() is run
    assert host.engines.get("values") is host.engine("values")
    assert not host.failed
    assert "tile.matmul" in host.executors
