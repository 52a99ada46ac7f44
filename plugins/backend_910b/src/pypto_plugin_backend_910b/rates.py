"""Rates of the Ascend 910B, each with where it comes from. A byte rate is per core and core cycle."""

from __future__ import annotations

from pypto_core.contract import CostModel, MemoryPath, VectorRates
from pypto_core.ir import MemorySpace, PipeType

FREQUENCY_MHZ = 1850.0
FREQUENCY_SOURCE = "cost model of the public ISA library; its published GEMM times imply 1800 to 1810 MHz"

_GIB = 2**30
_CLOCK = FREQUENCY_MHZ * 1e6
_PUBLISHED = "bandwidth constant of the public ISA library, GiB/s over 1.85 GHz"


def _per_cycle(gib_per_second: float) -> float:
    return gib_per_second * _GIB / _CLOCK


COST_MODEL = CostModel(
    bw_l0a=129.7,
    bw_l0b=85.4,
    bw_drain=118.0,
    drain_fixed_cycles=164.0,
    drain_row_cycles=4.45,
    drain_penalty_cycles=2.6,
    drain_c0_bytes=32,
    mad_head=21,
    mad_k_fractal_bytes=32,
    mad_fp32_passes=2,
    sources={
        "bw_l0a": "MTE1 sweep on a 910B2, R2 0.993",
        "bw_l0b": "MTE1 sweep on a 910B2, R2 0.993",
        "mad_head": "operator simulator, within 2 % of the device",
        "mad_fp32_passes": "ISA: an fp32 fractal takes two passes",
        "mad_k_fractal_bytes": "fractal layout: 16 rows of 32 bytes",
        "drain_c0_bytes": "fractal layout: 8 fp32 columns of the accumulator",
        "*": "FIXPIPE sweep on the device, 0.93 to 1.09 of measured times; m 16 to 256, n 16 to 512",
    },
)

VECTOR = VectorRates(
    repeat_bytes=256,
    startup_cycles=14.0,
    completion_cycles=19.0,
    repeat_cycles=1.0,
    slow_ops=(
        ("exp", 26.0, 2.0),
        ("log", 26.0, 2.0),
        ("sqrt", 27.0, 2.0),
        ("rsqrt", 27.0, 2.0),
        ("div", 19.0, 4.0),
        ("divs", 19.0, 4.0),
        ("recip", 19.0, 4.0),
    ),
    sources={
        "repeat_bytes": "width of a vector register",
        "*": "elementwise pages of the ISA documentation: start 13 or 14, completion 19 (exp 26, sqrt 27), "
        "1, 2 or 4 cycles a repeat; which operator takes 2 or 4 is our assignment",
    },
)

_GM_HEAD = 200.0
_L2_HIT = 50.0

PATHS = (
    MemoryPath(
        src=MemorySpace.DDR,
        dst=MemorySpace.Vec,
        pipe=PipeType.MTE2,
        bytes_per_cycle=_per_cycle(100.9),
        head_cycles=_GM_HEAD,
        source=f"{_PUBLISHED}; head: L2 hit 50 and miss 150 cycles",
    ),
    MemoryPath(
        src=MemorySpace.DDR,
        dst=MemorySpace.Mat,
        pipe=PipeType.MTE2,
        bytes_per_cycle=_per_cycle(135.0),
        head_cycles=_GM_HEAD,
        source=f"{_PUBLISHED}, agrees with 130 to 140 GiB/s a core in GEMM times; head: L2 hit 50, miss 150 cycles",
    ),
    MemoryPath(
        src=MemorySpace.Vec,
        dst=MemorySpace.DDR,
        pipe=PipeType.MTE3,
        bytes_per_cycle=_per_cycle(188.46),
        head_cycles=_L2_HIT,
        source=f"{_PUBLISHED}; head: L2 hit 50 cycles",
    ),
    MemoryPath(
        src=MemorySpace.Vec,
        dst=MemorySpace.Vec,
        pipe=PipeType.V,
        bytes_per_cycle=_per_cycle(1024.0),
        source=_PUBLISHED,
    ),
    MemoryPath(
        src=MemorySpace.Mat,
        dst=MemorySpace.Left,
        pipe=PipeType.MTE1,
        bytes_per_cycle=COST_MODEL.bw_l0a,
        source="cost model: bw_l0a",
    ),
    MemoryPath(
        src=MemorySpace.Mat,
        dst=MemorySpace.Right,
        pipe=PipeType.MTE1,
        bytes_per_cycle=COST_MODEL.bw_l0b,
        source="cost model: bw_l0b",
    ),
    MemoryPath(
        src=MemorySpace.Mat,
        dst=MemorySpace.Bias,
        pipe=PipeType.MTE1,
        bytes_per_cycle=COST_MODEL.bw_l0b,
        source="assumed: no published figure, taken as L1 to L0B",
    ),
    MemoryPath(
        src=MemorySpace.Acc,
        dst=MemorySpace.Mat,
        pipe=PipeType.FIX,
        bytes_per_cycle=COST_MODEL.bw_drain,
        head_cycles=COST_MODEL.drain_fixed_cycles,
        source="cost model: drain",
    ),
    MemoryPath(
        src=MemorySpace.Acc,
        dst=MemorySpace.DDR,
        pipe=PipeType.FIX,
        bytes_per_cycle=COST_MODEL.bw_drain,
        head_cycles=COST_MODEL.drain_fixed_cycles,
        source="cost model: drain (the ISA library gives 70 GiB/s, 41 B/cycle, for this path)",
    ),
)
