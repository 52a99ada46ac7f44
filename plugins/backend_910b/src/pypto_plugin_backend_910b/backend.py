"""The Ascend 910B (A2/A3 family) as one value."""

from __future__ import annotations

from pypto_core.contract import Backend, CoreCounts, MemorySpec
from pypto_core.ir import DataType, MemorySpace, PipeType, TileLayout
from pypto_plugin_backend_910b import dtypes, rates

_KIB = 1024

MEMORIES = (
    MemorySpec(space=MemorySpace.Vec, capacity=184 * _KIB, reserved=8 * _KIB, record_alignment=128),
    MemorySpec(space=MemorySpace.Mat, capacity=512 * _KIB, record_alignment=128),
    MemorySpec(space=MemorySpace.Left, capacity=64 * _KIB, address_alignment=512, record_alignment=64),
    MemorySpec(space=MemorySpace.Right, capacity=64 * _KIB, address_alignment=512, record_alignment=64),
    MemorySpec(space=MemorySpace.Acc, capacity=128 * _KIB, address_alignment=512, record_alignment=128),
    MemorySpec(space=MemorySpace.Bias, capacity=1 * _KIB, record_alignment=64),
)

BACKEND = Backend(
    name="910b",
    title="Ascend 910B",
    aliases=("Ascend910B", "a2a3", "a2a3sim"),
    pto_arch="a3",
    pto_target_arch="a2a3",
    memories=MEMORIES,
    paths=rates.PATHS,
    cost_model=rates.COST_MODEL,
    vector=rates.VECTOR,
    cores=CoreCounts(dies=1, cube_per_die=24, vector_per_die=48),
    frequency_mhz=rates.FREQUENCY_MHZ,
    frequency_source=rates.FREQUENCY_SOURCE,
    acc_rows={DataType.INT32: 32},
    mat_to_bias=dtypes.MAT_TO_BIAS,
    acc_to_gm=dtypes.ACC_TO_GM,
    mat_scratch_dtypes=dtypes.MAT_SCRATCH,
    atomic_add_dtypes=dtypes.ATOMIC_ADD,
    matmul_dtypes=dtypes.MATMUL_DTYPES,
    casts=dtypes.CASTS,
    vector_dtypes=dtypes.VECTOR_DTYPES,
    left_blayout=TileLayout.row_major,
    recommended_inner_bytes=512,
    gm_granularity_bytes=512,
    features=(
        "isa.gm_pipe_buffer",
        "isa.no_split_dual_aiv",
        "isa.runtime_subblock_bridge",
        "isa.split_load_tpop_workaround",
        "runtime.buffer_ir",
    ),
    op_pipes={"tpop_from_aic": PipeType.MTE2, "tpop_from_aiv": PipeType.MTE2},
)
"""Cube and vector cores exchange data through global memory, so a pop is a load."""
