"""The 910B's figures and predicates, against a second copy of the published ones."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pypto_core.ir import DataType, MemorySpace, PipeType, TileLayout
from pypto_plugin_backend_910b.backend import BACKEND

KIB = 1024
D = DataType

# space: usable, physical, record alignment, constant address alignment
MEMORIES = {
    "Vec": (184 * KIB, 192 * KIB, 128, 32),
    "Mat": (524288, 524288, 128, 32),
    "Left": (65536, 65536, 64, 512),
    "Right": (65536, 65536, 64, 512),
    "Acc": (131072, 131072, 128, 512),
    "Bias": (1024, 1024, 64, 32),
}

COST = {
    "bw_l0a": 129.7,
    "bw_l0b": 85.4,
    "bw_drain": 118.0,
    "drain_fixed_cycles": 164.0,
    "drain_row_cycles": 4.45,
    "drain_penalty_cycles": 2.6,
    "drain_c0_bytes": 32,
    "mad_head": 21,
    "mad_k_fractal_bytes": 32,
    "mad_fp32_passes": 2,
}

EDGES = {
    ("DDR", "Vec"): "MTE2",
    ("DDR", "Mat"): "MTE2",
    ("Vec", "DDR"): "MTE3",
    ("Vec", "Vec"): "V",
    ("Mat", "Left"): "MTE1",
    ("Mat", "Right"): "MTE1",
    ("Mat", "Bias"): "MTE1",
    ("Acc", "Mat"): "FIX",
    ("Acc", "DDR"): "FIX",
}


def test_memories() -> None:
    found = {
        m.space.name: (m.capacity, m.physical, m.record_alignment, m.address_alignment)
        for m in BACKEND.memories
    }
    assert found == MEMORIES
    assert {m.alignment for m in BACKEND.memories} == {32}


def test_cost_model() -> None:
    assert {row.name: row.value for row in BACKEND.cost_model.rows()} == COST


def test_every_rate_names_its_source() -> None:
    rows = (*BACKEND.cost_model.rows(), *BACKEND.vector.rows())
    assert all(len(row.source) > 10 for row in rows)
    assert all(p.source for p in BACKEND.paths) and BACKEND.frequency_source


def test_paths_and_their_pipes() -> None:
    assert {(p.src.name, p.dst.name): p.pipe.name for p in BACKEND.paths} == EDGES


@pytest.mark.parametrize(
    ("src", "dst", "rate"),
    [
        ("Mat", "Left", 129.7),
        ("Mat", "Right", 85.4),
        # GiB/s over 1.85 GHz: 135, 100.9, 188.46 and 1024.
        ("DDR", "Mat", 78.4),
        ("DDR", "Vec", 58.6),
        ("Vec", "DDR", 109.4),
        ("Vec", "Vec", 594.3),
    ],
)
def test_path_rates(src: str, dst: str, rate: float) -> None:
    path = BACKEND.path(MemorySpace[src], MemorySpace[dst])
    assert path is not None and path.bytes_per_cycle == pytest.approx(rate, abs=0.05)


def test_int32_accumulators_take_32_rows() -> None:
    assert {d: BACKEND.acc_row_alignment(d) for d in (D.INT32, D.FP32, D.FP16)} == {
        D.INT32: 32,
        D.FP32: 16,
        D.FP16: 16,
    }


def test_tile_minima_and_granularities() -> None:
    assert (BACKEND.fractal_alignment, BACKEND.min_l0_tile_dim) == (16, 16)
    assert (BACKEND.recommended_inner_bytes, BACKEND.gm_granularity_bytes, BACKEND.l2_line_bytes) == (
        512,
    ) * 3


def test_legality_tables() -> None:
    assert set(BACKEND.mat_to_bias) == {(D.INT32, D.INT32), (D.FP32, D.FP32), (D.FP16, D.FP32)}
    assert {src for src, _ in BACKEND.acc_to_gm} == {D.FP32, D.INT32}
    assert {dst for _, dst in BACKEND.acc_to_gm} == {D.INT32, D.FP32, D.FP16, D.BF16}
    assert set(BACKEND.atomic_add_dtypes) == {D.FP32, D.BF16, D.FP16, D.INT32, D.INT16, D.INT8}
    assert BACKEND.needs_low_precision_mat_scratch
    assert set(BACKEND.mat_scratch_dtypes) == {D.BF16, D.FP16}
    assert set(BACKEND.matmul_dtypes) == {
        (D.FP32, D.FP32), (D.FP16, D.FP32), (D.BF16, D.FP32), (D.INT8, D.INT32),
    }  # fmt: skip


def test_casts_are_between_different_types_only() -> None:
    assert len(BACKEND.casts) == len(set(BACKEND.casts)) == 11 * 10
    assert (D.FP32, D.FP32) not in BACKEND.casts and (D.FP32, D.BF16) in BACKEND.casts


def test_bf16_arithmetic_needs_a_detour() -> None:
    for op in ("tile.add", "tile.mul", "tile.exp", "tile.adds", "tile.row_sum"):
        assert D.BF16 not in (BACKEND.vector_op_dtypes(op) or ())
        assert D.FP32 in (BACKEND.vector_op_dtypes(op) or ())
    assert D.BF16 in (BACKEND.vector_op_dtypes("tile.concat") or ())
    assert BACKEND.vector_op_dtypes("tile.not") == (D.INT16, D.UINT16)
    assert D.INT32 not in (BACKEND.vector_op_dtypes("tile.ands") or ())


def test_capabilities() -> None:
    assert BACKEND.capabilities == {
        "backend:910b",
        "isa.bf16_atomic_add",
        "isa.gm_pipe_buffer",
        "isa.low_precision_mat_scratch",
        "isa.no_split_dual_aiv",
        "isa.runtime_subblock_bridge",
        "isa.split_load_tpop_workaround",
        "isa.wide_acc_rows",
        "runtime.buffer_ir",
    }


def test_names() -> None:
    assert all(BACKEND.answers_to(n) for n in ("910b", "910B", "Ascend910B", "a2a3", "a2a3sim"))
    assert (BACKEND.pto_arch, BACKEND.pto_target_arch) == ("a3", "a2a3")
    assert BACKEND.left_blayout is TileLayout.row_major


def test_cores() -> None:
    assert (BACKEND.cores.dies, BACKEND.cores.cube, BACKEND.cores.vector) == (1, 24, 48)


def test_vector_data_reaches_the_cube_through_global_memory() -> None:
    route = BACKEND.route(MemorySpace.Vec, MemorySpace.Mat)
    assert [p.dst.name for p in route] == ["DDR", "Mat"]
    assert BACKEND.pipe_of("tile.move", MemorySpace.Vec, MemorySpace.Mat) is None
    assert BACKEND.pipe_of("tile.tpop_from_aiv", None, MemorySpace.Mat) is PipeType.MTE2


def test_plugin_module_registers_the_value_and_loads_nothing_heavy() -> None:
    from pypto_plugin_backend_910b import plugin

    assert tuple(plugin.pypto_backends()) == (BACKEND,)
    info = plugin.pypto_plugin()
    assert (info.name, info.requires_api) == ("backend_910b", ">=1,<2")
    code = (
        "import sys, pypto_plugin_backend_910b.plugin;"
        "sys.exit(any(m in sys.modules for m in ('numpy', 'networkx', 'pypto_plugin_backend_910b.backend')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
