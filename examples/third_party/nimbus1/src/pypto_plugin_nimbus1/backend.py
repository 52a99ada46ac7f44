"""The machine nimbus1 as one value. There is no such chip: its figures are made up."""

from __future__ import annotations

from pypto_core.contract import Backend, CoreCounts, CostModel, MemoryPath, MemorySpec, VectorRates
from pypto_core.ir import DataType, MemorySpace, PipeType, TileLayout

KIB = 1024
MADE_UP = "made up, as the chip is"

DDR, VEC, MAT = MemorySpace.DDR, MemorySpace.Vec, MemorySpace.Mat
LEFT, RIGHT, ACC, BIAS = MemorySpace.Left, MemorySpace.Right, MemorySpace.Acc, MemorySpace.Bias
FP32, FP16, BF16, INT8, INT32 = DataType.FP32, DataType.FP16, DataType.BF16, DataType.INT8, DataType.INT32

# Bytes that a kernel may use. L0 memories are addressed in steps of 512 bytes.
MEMORIES = (
    MemorySpec(space=VEC, capacity=96 * KIB),
    MemorySpec(space=MAT, capacity=192 * KIB),
    MemorySpec(space=LEFT, capacity=32 * KIB, address_alignment=512),
    MemorySpec(space=RIGHT, capacity=32 * KIB, address_alignment=512),
    MemorySpec(space=ACC, capacity=64 * KIB, address_alignment=512),
    MemorySpec(space=BIAS, capacity=1 * KIB),
)

# From, to, the pipe that moves it, bytes a cycle, cycles before the first byte.
ROUTES = (
    (DDR, VEC, PipeType.MTE2, 64.0, 200.0),
    (DDR, MAT, PipeType.MTE2, 64.0, 200.0),
    (VEC, DDR, PipeType.MTE3, 64.0, 50.0),
    (VEC, VEC, PipeType.V, 256.0, 0.0),
    (MAT, LEFT, PipeType.MTE1, 128.0, 0.0),
    (MAT, RIGHT, PipeType.MTE1, 64.0, 0.0),
    (MAT, BIAS, PipeType.MTE1, 64.0, 0.0),
    (ACC, MAT, PipeType.FIX, 128.0, 100.0),
    (ACC, DDR, PipeType.FIX, 128.0, 100.0),
)

COST_MODEL = CostModel(
    bw_l0a=128.0,
    bw_l0b=64.0,
    bw_drain=128.0,
    drain_fixed_cycles=100.0,
    drain_row_cycles=4.0,
    drain_penalty_cycles=2.0,
    drain_c0_bytes=32,
    mad_head=20,
    mad_k_fractal_bytes=32,
    mad_fp32_passes=2,
    sources={"*": MADE_UP},
)

VECTOR = VectorRates(
    repeat_bytes=256,
    startup_cycles=14.0,
    completion_cycles=19.0,
    repeat_cycles=1.0,
    slow_ops=(("exp", 26.0, 2.0), ("log", 26.0, 2.0), ("sqrt", 27.0, 2.0), ("div", 19.0, 4.0)),
    sources={"*": MADE_UP},
)

BACKEND = Backend(
    name="nimbus1",
    title="Nimbus 1",
    aliases=("nimbus",),
    # Which instruction set the assembler writes for.
    pto_arch="a3",
    pto_target_arch="a2a3",
    memories=MEMORIES,
    paths=[
        MemoryPath(src=src, dst=dst, pipe=pipe, bytes_per_cycle=rate, head_cycles=head, source=MADE_UP)
        for src, dst, pipe, rate, head in ROUTES
    ],
    cost_model=COST_MODEL,
    vector=VECTOR,
    cores=CoreCounts(cube_per_die=8, vector_per_die=16),
    frequency_mhz=1000.0,
    frequency_source=MADE_UP,
    acc_rows={INT32: 32},
    matmul_dtypes=((FP16, FP32), (BF16, FP32), (INT8, INT32)),
    mat_to_bias=((FP32, FP32), (INT32, INT32)),
    acc_to_gm=((FP32, FP32), (FP32, FP16), (FP32, BF16), (INT32, INT32)),
    mat_scratch_dtypes=(BF16, FP16),
    atomic_add_dtypes=(FP32, FP16, INT32),
    casts=((FP32, FP16), (FP16, FP32), (FP32, BF16), (BF16, FP32), (FP32, INT32), (INT32, FP32)),
    left_blayout=TileLayout.row_major,
)
