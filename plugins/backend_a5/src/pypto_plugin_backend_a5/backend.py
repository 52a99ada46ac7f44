"""The Ascend 950 (A5) as one value."""

from __future__ import annotations

from pypto_core.contract import Backend, CoreCounts, MemorySpec
from pypto_core.ir import MemorySpace, TileLayout
from pypto_plugin_backend_a5 import dtypes, rates

_KIB = 1024

MEMORIES = (
    MemorySpec(space=MemorySpace.Vec, capacity=240 * _KIB, reserved=8 * _KIB, record_alignment=128),
    MemorySpec(space=MemorySpace.Mat, capacity=512 * _KIB, record_alignment=128),
    MemorySpec(space=MemorySpace.Left, capacity=64 * _KIB, address_alignment=512, record_alignment=64),
    MemorySpec(space=MemorySpace.Right, capacity=64 * _KIB, address_alignment=512, record_alignment=64),
    MemorySpec(space=MemorySpace.Acc, capacity=256 * _KIB, address_alignment=512, record_alignment=128),
    MemorySpec(space=MemorySpace.Bias, capacity=4 * _KIB, record_alignment=64),
    MemorySpec(space=MemorySpace.LeftScale, capacity=4 * _KIB, record_alignment=32),
    MemorySpec(space=MemorySpace.RightScale, capacity=4 * _KIB, record_alignment=32),
)

BACKEND = Backend(
    name="a5",
    title="Ascend 950 (A5)",
    aliases=("Ascend950", "a5sim"),
    pto_arch="a5",
    memories=MEMORIES,
    paths=rates.PATHS,
    cost_model=rates.COST_MODEL,
    vector=rates.VECTOR,
    cores=CoreCounts(dies=2, cube_per_die=18, vector_per_die=36),
    frequency_mhz=rates.FREQUENCY_MHZ,
    frequency_source=rates.FREQUENCY_SOURCE,
    mat_to_bias=dtypes.MAT_TO_BIAS,
    acc_to_gm=dtypes.ACC_TO_GM,
    mat_scratch_dtypes=dtypes.MAT_SCRATCH,
    atomic_add_dtypes=dtypes.ATOMIC_ADD,
    matmul_dtypes=dtypes.MATMUL_DTYPES,
    casts=dtypes.CASTS,
    vector_dtypes=dtypes.VECTOR_DTYPES,
    left_blayout=TileLayout.col_major,
    recommended_inner_bytes=128,
    gm_granularity_bytes=128,
    features=("isa.mx_matmul", "isa.vec_to_cube_fractal_adapt"),
)
