"""Rates of the Ascend 950 (A5), each with where it comes from. A byte rate is per core and core cycle.

No figure for its global memory is published. Those rates are the 910B's in bytes a cycle, marked as assumed, so
that a simulation gives the right order of magnitude and says that it does no more.
"""

from __future__ import annotations

from pypto_core.contract import CostModel, MemoryPath, VectorRates
from pypto_core.ir import MemorySpace, PipeType

FREQUENCY_MHZ = 1850.0
FREQUENCY_SOURCE = "assumed: no published clock, taken as the 910B's"

_ASSUMED = "assumed: no published A5 figure, taken as the 910B's bytes a cycle"
_GM_TO_VEC, _GM_TO_MAT, _VEC_TO_GM, _VEC_TO_VEC = 58.6, 78.4, 109.4, 594.3
_GM_HEAD, _L2_HIT = 200.0, 50.0

COST_MODEL = CostModel(
    bw_l0a=206.3,
    bw_l0b=223.8,
    bw_drain=30.0,
    drain_fixed_cycles=343.4,
    drain_row_cycles=4.59,
    drain_penalty_cycles=0.26,
    drain_c0_bytes=32,
    mad_head=25,
    mad_k_fractal_bytes=32,
    mad_fp32_passes=8,
    sources={
        "bw_l0a": "A5 simulator, 2-D loads to L0",
        "bw_l0b": "A5 simulator, 2-D loads to L0",
        "bw_drain": "A5 simulator; about four times below what a device is expected to do, ranking-safe",
        "mad_head": "A5 simulator: 25 + 8 cycles a fractal, R2 1",
        "mad_fp32_passes": "A5 simulator: 25 + 8 cycles a fractal, R2 1",
        "mad_k_fractal_bytes": "fractal layout: 16 rows of 32 bytes",
        "drain_c0_bytes": "fractal layout: 8 fp32 columns of the accumulator",
        "*": "FIXPIPE sweep on the A5 simulator",
    },
)

VECTOR = VectorRates(
    repeat_bytes=256,
    startup_cycles=5.0,
    completion_cycles=12.0,
    repeat_cycles=1.0,
    slow_ops=(
        ("exp", 12.0, 2.0),
        ("log", 12.0, 2.0),
        ("sqrt", 12.0, 2.0),
        ("rsqrt", 12.0, 2.0),
        ("div", 12.0, 4.0),
        ("divs", 12.0, 4.0),
        ("recip", 12.0, 4.0),
    ),
    sources={
        "repeat_bytes": "width of a vector register",
        "repeat_cycles": "pipelined; slower operators are taken as on the 910B",
        "*": "elementwise documentation: 5 to 17 cycles of latency in all; the split in two is ours",
    },
)


def _l0(dst: MemorySpace, rate: float, source: str) -> MemoryPath:
    return MemoryPath(src=MemorySpace.Mat, dst=dst, pipe=PipeType.MTE1, bytes_per_cycle=rate, source=source)


def _drain(dst: MemorySpace) -> MemoryPath:
    return MemoryPath(
        src=MemorySpace.Acc,
        dst=dst,
        pipe=PipeType.FIX,
        bytes_per_cycle=COST_MODEL.bw_drain,
        head_cycles=COST_MODEL.drain_fixed_cycles,
        source="cost model: drain",
    )


def _assumed(src: MemorySpace, dst: MemorySpace, pipe: PipeType, rate: float, head: float) -> MemoryPath:
    return MemoryPath(src=src, dst=dst, pipe=pipe, bytes_per_cycle=rate, head_cycles=head, source=_ASSUMED)


PATHS = (
    _assumed(MemorySpace.DDR, MemorySpace.Vec, PipeType.MTE2, _GM_TO_VEC, _GM_HEAD),
    _assumed(MemorySpace.DDR, MemorySpace.Mat, PipeType.MTE2, _GM_TO_MAT, _GM_HEAD),
    _assumed(MemorySpace.Vec, MemorySpace.Mat, PipeType.MTE3, _VEC_TO_GM, 0.0),
    _assumed(MemorySpace.Vec, MemorySpace.DDR, PipeType.MTE3, _VEC_TO_GM, _L2_HIT),
    _assumed(MemorySpace.Vec, MemorySpace.Vec, PipeType.V, _VEC_TO_VEC, 0.0),
    _l0(MemorySpace.Left, COST_MODEL.bw_l0a, "cost model: bw_l0a"),
    _l0(MemorySpace.Right, COST_MODEL.bw_l0b, "cost model: bw_l0b"),
    _l0(MemorySpace.Bias, COST_MODEL.bw_l0b, "assumed: no published figure, taken as L1 to L0B"),
    _l0(MemorySpace.LeftScale, COST_MODEL.bw_l0a, "assumed: no published figure, taken as L1 to L0A"),
    _l0(MemorySpace.RightScale, COST_MODEL.bw_l0b, "assumed: no published figure, taken as L1 to L0B"),
    _drain(MemorySpace.Vec),
    _drain(MemorySpace.Mat),
    _drain(MemorySpace.DDR),
)
