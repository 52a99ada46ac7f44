"""A machine for tests: the memories of a cube-and-vector core, with capacities that a test may change."""

from __future__ import annotations

from typing import Any

from pypto_core.contract import Backend, CoreCounts, CostModel, MemoryPath, MemorySpec, VectorRates
from pypto_core.ir import DataType, MemorySpace, PipeType

KIB = 1024
S = MemorySpace
CAPACITY = {S.Vec: 184 * KIB, S.Mat: 512 * KIB, S.Left: 64 * KIB, S.Right: 64 * KIB, S.Acc: 128 * KIB}
PATHS = (
    (S.DDR, S.Vec, PipeType.MTE2), (S.DDR, S.Mat, PipeType.MTE2), (S.Vec, S.DDR, PipeType.MTE3),
    (S.Vec, S.Vec, PipeType.V), (S.Mat, S.Left, PipeType.MTE1), (S.Mat, S.Right, PipeType.MTE1),
    (S.Acc, S.DDR, PipeType.FIX), (S.Acc, S.Mat, PipeType.FIX),
)  # fmt: skip


def machine(rows: int = 32, features: tuple[str, ...] = (), **capacity: int) -> Backend:
    """``rows``: of INT32 accumulators. ``capacity``: bytes by name of the space."""
    sizes = {space: capacity.get(space.name, size) for space, size in CAPACITY.items()}
    return Backend(
        name="test",
        title="Test machine",
        pto_arch="t",
        memories=[
            MemorySpec(space=space, capacity=size, address_alignment=32 if space in (S.Vec, S.Mat) else 512)
            for space, size in sizes.items()
        ],
        paths=[
            MemoryPath(src=src, dst=dst, pipe=pipe, bytes_per_cycle=100.0, source="made up")
            for src, dst, pipe in PATHS
        ],
        cost_model=CostModel(
            bw_l0a=1.0, bw_l0b=1.0, bw_drain=1.0, drain_fixed_cycles=1.0, drain_row_cycles=1.0,
            drain_penalty_cycles=1.0, drain_c0_bytes=32, mad_head=1, mad_k_fractal_bytes=32, mad_fp32_passes=2,
            sources={"*": "made up"},
        ),
        vector=VectorRates(
            repeat_bytes=256, startup_cycles=1.0, completion_cycles=1.0, repeat_cycles=1.0, sources={"*": "made up"}
        ),
        cores=CoreCounts(cube_per_die=1, vector_per_die=2),
        frequency_mhz=1000.0,
        frequency_source="made up",
        acc_rows={DataType.INT32: rows},
        features=features,
    )  # fmt: skip


def context(planner: str = "pypto", backend: Any = ..., **capacity: int) -> Any:
    """A pass context for this machine."""
    from pypto_core.run import PassContext

    return PassContext(backend=machine(**capacity) if backend is ... else backend, planner=planner)
