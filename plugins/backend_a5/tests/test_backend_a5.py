"""The A5's figures and predicates, against a second copy of the published ones."""

from __future__ import annotations

import subprocess
import sys

from pypto_core.ir import DataType, MemorySpace, PipeType, TileLayout
from pypto_plugin_backend_a5.backend import BACKEND

KIB = 1024
D = DataType

# space: usable, physical, record alignment, constant address alignment
MEMORIES = {
    "Vec": (240 * KIB, 248 * KIB, 128, 32),
    "Mat": (524288, 524288, 128, 32),
    "Left": (65536, 65536, 64, 512),
    "Right": (65536, 65536, 64, 512),
    "Acc": (262144, 262144, 128, 512),
    "Bias": (4096, 4096, 64, 32),
    "LeftScale": (4096, 4096, 32, 32),
    "RightScale": (4096, 4096, 32, 32),
}

COST = {
    "bw_l0a": 206.3,
    "bw_l0b": 223.8,
    "bw_drain": 30.0,
    "drain_fixed_cycles": 343.4,
    "drain_row_cycles": 4.59,
    "drain_penalty_cycles": 0.26,
    "drain_c0_bytes": 32,
    "mad_head": 25,
    "mad_k_fractal_bytes": 32,
    "mad_fp32_passes": 8,
}

EDGES = {
    ("DDR", "Vec"): "MTE2",
    ("DDR", "Mat"): "MTE2",
    ("Vec", "Mat"): "MTE3",
    ("Vec", "DDR"): "MTE3",
    ("Vec", "Vec"): "V",
    ("Mat", "Left"): "MTE1",
    ("Mat", "Right"): "MTE1",
    ("Mat", "Bias"): "MTE1",
    ("Mat", "LeftScale"): "MTE1",
    ("Mat", "RightScale"): "MTE1",
    ("Acc", "Vec"): "FIX",
    ("Acc", "Mat"): "FIX",
    ("Acc", "DDR"): "FIX",
}


def test_memories() -> None:
    found = {
        m.space.name: (m.capacity, m.physical, m.record_alignment, m.address_alignment)
        for m in BACKEND.memories
    }
    assert found == MEMORIES


def test_cost_model() -> None:
    assert {row.name: row.value for row in BACKEND.cost_model.rows()} == COST


def test_rates_without_a_published_figure_say_so() -> None:
    for path in BACKEND.paths:
        measured = path.source.startswith("cost model")
        assert measured or path.source.startswith("assumed"), path
    assert BACKEND.frequency_source.startswith("assumed")


def test_paths_and_their_pipes() -> None:
    assert {(p.src.name, p.dst.name): p.pipe.name for p in BACKEND.paths} == EDGES


def test_all_accumulators_take_16_rows() -> None:
    assert {BACKEND.acc_row_alignment(d) for d in (D.INT32, D.FP32, D.BF16)} == {16}


def test_tile_minima_and_granularities() -> None:
    assert (BACKEND.fractal_alignment, BACKEND.min_l0_tile_dim) == (16, 16)
    assert (BACKEND.recommended_inner_bytes, BACKEND.gm_granularity_bytes) == (128, 128)
    assert BACKEND.l2_line_bytes == 512


def test_legality_tables() -> None:
    assert (D.BF16, D.FP32) in BACKEND.mat_to_bias and len(BACKEND.mat_to_bias) == 4
    assert {dst for _, dst in BACKEND.acc_to_gm} == {D.INT32, D.FP32, D.FP16, D.BF16}
    assert D.BF16 not in BACKEND.atomic_add_dtypes
    assert not BACKEND.needs_low_precision_mat_scratch
    assert D.BF16 in (BACKEND.vector_op_dtypes("tile.add") or ())
    assert D.BF16 not in (BACKEND.vector_op_dtypes("tile.mul") or ())
    assert D.INT32 in (BACKEND.vector_op_dtypes("tile.div") or ())


def test_capabilities() -> None:
    assert BACKEND.capabilities == {
        "backend:a5",
        "isa.bf16_bias",
        "isa.mx_matmul",
        "isa.vec_to_cube_fractal_adapt",
    }


def test_names() -> None:
    assert all(BACKEND.answers_to(n) for n in ("a5", "A5", "Ascend950", "a5sim"))
    assert (BACKEND.pto_arch, BACKEND.pto_target_arch) == ("a5", "a5")
    assert BACKEND.left_blayout is TileLayout.col_major


def test_cores() -> None:
    assert (BACKEND.cores.dies, BACKEND.cores.cube, BACKEND.cores.vector) == (2, 36, 72)


def test_vector_and_cube_exchange_data_directly() -> None:
    assert BACKEND.pipe_of("tile.move", MemorySpace.Vec, MemorySpace.Mat) is PipeType.MTE3
    assert BACKEND.pipe_of("tile.move", MemorySpace.Acc, MemorySpace.Vec) is PipeType.FIX
    assert BACKEND.pipe_of("tile.tpop_from_aiv", None, MemorySpace.Mat) is None


def test_plugin_module_registers_the_value_and_loads_nothing_heavy() -> None:
    from pypto_plugin_backend_a5 import plugin

    assert tuple(plugin.pypto_backends()) == (BACKEND,)
    info = plugin.pypto_plugin()
    assert (info.name, info.requires_api) == ("backend_a5", ">=1,<2")
    code = (
        "import sys, pypto_plugin_backend_a5.plugin;"
        "sys.exit(any(m in sys.modules for m in ('numpy', 'networkx', 'pypto_plugin_backend_a5.backend')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
