"""How long operators take: the figures of the published formulas, worked out by hand."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest

from pypto_core.contract import ArrayValue, BlockPosition, OpExecutor
from pypto_core.diagnostics import UNKNOWN_SPAN, InternalError, UserError
from pypto_core.host import load_host
from pypto_core.ir import UNKNOWN, DataType, MemorySpace, PipeType
from pypto_core.testing import build as b
from pypto_plugin_simulator.cycles import SCALAR_CYCLES, cycles_of
from pypto_plugin_simulator.trace import Step

BF16, FP32, FP16, INT8, INT4 = (DataType[n] for n in ("BF16", "FP32", "FP16", "INT8", "INT4"))
DDR, MAT, LEFT, RIGHT, ACC, VEC = (MemorySpace[n] for n in ("DDR", "Mat", "Left", "Right", "Acc", "Vec"))

GM_TO_L1 = 135.0 * 2**30 / 1.85e9
GM_TO_UB = 100.9 * 2**30 / 1.85e9
UB_TO_GM = 188.46 * 2**30 / 1.85e9


@pytest.fixture(scope="module")
def machines() -> Any:
    return load_host().backends


def tile(shape: tuple[int, ...], dtype: DataType, space: MemorySpace, valid: tuple[int, ...] = ()) -> Any:
    return ArrayValue(np.empty(0), dtype, valid or shape, shape, space is DDR), space


def step(machine: Any, name: str, operands: list[Any], result: Any = None, **options: Any) -> Step:
    """A step as a run would record it: each operand is a value and where it lies, None for numbers."""
    spaces = tuple(space for _, space in operands)
    value, target = result or (None, spaces[-1])
    source = spaces[1] if name == "tile.assemble" else spaces[0]
    return Step(
        index=0,
        call=b.raw_op(name, [], UNKNOWN),
        pipe=machine.pipe_of(name, source, target),
        operands=tuple(operand for operand, _ in operands),
        spaces=spaces,
        result=value,
        target=target,
        reads=(),
        writes=(),
        block=BlockPosition(),
        span=UNKNOWN_SPAN,
    )


ZERO = ((0, 0), None)

# (operator, operands, result, cycles on the 910B)
CASES: dict[str, tuple[str, list[Any], Any, float]] = {
    "load to L1": (
        "tile.load", [tile((512, 512), BF16, DDR), ZERO], tile((64, 64), BF16, MAT), 200 + 64 * 64 * 2 / GM_TO_L1,
    ),
    "load of a part": (
        "tile.load", [tile((512, 512), FP32, DDR), ZERO], tile((64, 64), FP32, VEC, (10, 64)),
        200 + 10 * 64 * 4 / GM_TO_UB,
    ),
    "load of nothing": ("tile.load", [tile((8, 8), FP32, DDR), ZERO], tile((8, 8), FP32, VEC, (0, 8)), 0),
    "left": ("tile.move", [tile((128, 64), BF16, MAT)], tile((128, 64), BF16, LEFT), 128 * 64 * 2 / 129.7),
    "right": ("tile.extract", [tile((512, 512), FP32, MAT), ZERO], tile((64, 32), FP32, RIGHT), 64 * 32 * 4 / 85.4),
    "four bits": ("tile.move", [tile((16, 33), INT4, MAT)], tile((16, 33), INT4, LEFT), 16 * 17 / 129.7),
    "bf16 product": (
        "tile.matmul", [tile((128, 64), BF16, LEFT), tile((64, 256), BF16, RIGHT)], tile((128, 256), FP32, ACC),
        21 + 8 * 4 * 16,
    ),
    "fp32 takes two passes over fractals of 8": (
        "tile.matmul_acc",
        [tile((32, 32), FP32, ACC), tile((32, 64), FP32, LEFT), tile((64, 32), FP32, RIGHT)],
        tile((32, 32), FP32, ACC),
        21 + 2 * 2 * 8 * 2,
    ),
    "int8 takes fractals of 32": (
        "tile.matmul", [tile((16, 64), INT8, LEFT), tile((64, 16), INT8, RIGHT)], tile((16, 16), FP32, ACC), 21 + 2,
    ),
    "a product of a part": (
        "tile.matmul", [tile((64, 64), BF16, LEFT, (5, 64)), tile((64, 16), BF16, RIGHT)],
        tile((64, 16), FP32, ACC, (5, 16)), 21 + 4,
    ),
    # 16 rows of 256 fp32: 164 + 16 * max(4.45, 1024 / 118), no odd factor among the 32 fractals
    "drain": ("tile.store", [tile((16, 256), FP32, ACC), ZERO, tile((16, 256), FP32, DDR)], None, 302.8474576),
    # 96 columns are 12 fractals, odd part 3: two extra passes of 2.6 a row
    "drain with extra passes": (
        "tile.store", [tile((32, 96), FP32, ACC), ZERO, tile((64, 96), FP32, DDR)], None, 164 + 32 * (4.45 + 5.2),
    ),
    "drain into L1": (
        "tile.assemble", [tile((64, 64), FP16, MAT), tile((16, 16), FP32, ACC), ZERO], tile((64, 64), FP16, MAT),
        164 + 16 * 4.45,
    ),
    "store": (
        "tile.store", [tile((64, 64), FP32, VEC), ZERO, tile((64, 64), FP32, DDR)], None, 50 + 16384 / UB_TO_GM,
    ),
    # 16 KiB are 64 repeats of 256 bytes
    "add": ("tile.add", [tile((64, 64), FP32, VEC)] * 2, tile((64, 64), FP32, VEC), 14 + 19 + 64),
    "exp": ("tile.exp", [tile((64, 64), FP32, VEC)], tile((64, 64), FP32, VEC), 14 + 26 + 2 * 64),
    "row sum works on its operand": ("tile.row_sum", [tile((64, 64), FP32, VEC)], tile((64, 1), FP32, VEC), 97),
    "cast works at the wider type": ("tile.cast", [tile((64, 64), FP16, VEC)], tile((64, 64), FP32, VEC), 97),
    "vector copy": (
        "tile.move", [tile((64, 64), FP32, VEC)], tile((64, 64), FP32, VEC), 16384 / (1024 * 2**30 / 1.85e9),
    ),
    "push to the vector core, by way of global memory": (
        "tile.tpush_to_aiv", [tile((16, 256), FP32, ACC)], None, 302.8474576,
    ),
    "push to the cube core": ("tile.tpush_to_aic", [tile((64, 64), FP32, VEC)], None, 50 + 16384 / UB_TO_GM),
    "pop": (
        "tile.tpop_from_aic", [((64, 64), None)], tile((64, 64), FP32, VEC), 200 + 16384 / GM_TO_UB,
    ),
    "scalar": ("tile.read", [tile((64, 64), FP32, VEC), ZERO], (1.0, None), SCALAR_CYCLES),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_figures_of_the_910b(machines: Any, name: str) -> None:
    op, operands, result, wanted = CASES[name]
    assert cycles_of(machines["910b"], step(machines["910b"], op, operands, result)) == pytest.approx(wanted)


def test_figures_of_the_a5(machines: Any) -> None:
    """25 + 8 cycles for each fp32 fractal; a drain row of 1024 bytes at 30 a cycle."""
    product = step(
        machines["a5"],
        "tile.matmul",
        [tile((128, 64), FP32, LEFT), tile((64, 256), FP32, RIGHT)],
        tile((128, 256), FP32, ACC),
    )
    assert cycles_of(machines["a5"], product) == 25 + 8 * 8 * 8 * 16
    drain = step(machines["a5"], "tile.store", [tile((16, 256), FP32, ACC), ZERO, tile((16, 256), FP32, DDR)])
    assert cycles_of(machines["a5"], drain) == pytest.approx(343.4 + 16 * 1024 / 30)


def test_a_transfer_that_the_machine_lacks(machines: Any) -> None:
    missing = step(machines["910b"], "tile.move", [tile((16, 16), FP32, ACC)], tile((16, 16), FP32, VEC))
    with pytest.raises(UserError, match="can't move data from Acc to Vec"):
        cycles_of(machines["910b"], missing)


def test_a_product_outside_of_l0(machines: Any) -> None:
    outside = step(
        machines["910b"], "tile.matmul", [tile((16, 16), FP32, VEC)] * 2, tile((16, 16), FP32, ACC)
    )
    with pytest.raises(UserError) as caught:
        cycles_of(machines["910b"], outside)
    assert caught.value.diagnostics[0].code == "SIM-042"


def swish(ctx: Any, x: ArrayValue, *, times: int = 1) -> float:
    if times < 0:
        raise ctx.error("times must not be negative")
    return 7.0 * times * x.valid[0]


def test_operators_of_other_plugins_bring_their_own_time(machines: Any) -> None:
    operands = [tile((8, 8), FP32, VEC)]
    call = step(machines["910b"], "acme.swish", operands, tile((8, 8), FP32, VEC))
    assert cycles_of(machines["910b"], call) == 14 + 19 + 1, "like any vector operator, when nothing is said"

    def ask(cycles: Any) -> float:
        return cycles_of(
            machines["910b"], call, {"acme.swish": OpExecutor("acme.swish", swish, cycles=cycles)}
        )

    assert ask(swish) == 56
    with pytest.raises(UserError, match="times must not be negative"):
        ask(lambda ctx, x: swish(ctx, x, times=-1))
    with pytest.raises(UserError, match="can't take -1"):
        ask(lambda ctx, x: -1)
    with pytest.raises(UserError, match="can't take nan"):
        ask(lambda ctx, x: float("nan"))
    with pytest.raises(InternalError, match=r"the cycles of acme\.swish failed: KeyError"):
        ask(lambda ctx, x: {}["no"])


def test_a_foreign_transfer_without_a_time(machines: Any) -> None:
    call = step(machines["910b"], "acme.fetch", [ZERO], (1.0, None))
    with pytest.raises(UserError, match="acme.fetch runs on MTE2, and it is not clear what it moves"):
        cycles_of(machines["910b"], attrs.evolve(call, pipe=PipeType.MTE2))
