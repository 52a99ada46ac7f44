"""Questions made from a backend value, and the chooser's formulas against the backend's own."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pypto_core.contract import Backend, CoreCounts, CostModel, MemorySpec, VectorRates
from pypto_core.ir import DataType, MemorySpace
from pypto_plugin_autotile.chooser import (
    L0TileConfig,
    choose_l0_tile,
    config_for,
    explain,
    schedule_gates,
    tile_report,
)

COST = CostModel(
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
    sources={"*": "test"},
)
BACKEND = Backend(
    name="toy",
    title="Toy",
    pto_arch="toy",
    memories=tuple(
        MemorySpec(space=space, capacity=size)
        for space, size in (
            (MemorySpace.Left, 65536),
            (MemorySpace.Right, 65536),
            (MemorySpace.Acc, 131072),
        )
    ),
    paths=(),
    cost_model=COST,
    vector=VectorRates(
        repeat_bytes=256, startup_cycles=1.0, completion_cycles=1.0, repeat_cycles=1.0, sources={"*": "test"}
    ),
    cores=CoreCounts(cube_per_die=1, vector_per_die=1),
    frequency_mhz=1000.0,
    frequency_source="test",
    acc_rows={DataType.INT32: 32},
)


def test_every_fact_comes_from_the_backend() -> None:
    config = config_for(BACKEND, 64, 128, 256, DataType.BF16)
    assert config == L0TileConfig(
        M=64,
        N=128,
        K=256,
        l0a_bytes=65536,
        l0b_bytes=65536,
        l0c_bytes=131072,
        bytes_a=2,
        bytes_b=2,
        bytes_c=4,
    )


@pytest.mark.parametrize(
    ("types", "widths", "rows"),
    [
        ((DataType.INT8,), (1, 1, 4), 32),
        ((DataType.FP32,), (4, 4, 4), 16),
        ((DataType.FP16, DataType.FP16, DataType.FP16), (2, 2, 2), 16),
        ((DataType.INT8, DataType.INT8, DataType.INT32), (1, 1, 4), 32),
    ],
)
def test_widths_and_accumulator_rows_follow_the_types(
    types: tuple[DataType, ...], widths: tuple[int, int, int], rows: int
) -> None:
    config = config_for(BACKEND, 16, 16, 32, *types)
    assert (config.bytes_a, config.bytes_b, config.bytes_c) == widths
    assert config.l0c_align_m == rows


def test_gates_and_fields_override() -> None:
    gates = schedule_gates(double_buffer_c=True)
    config = config_for(BACKEND, 256, 256, 256, DataType.BF16, **gates, max_n=128, l0c_bytes=1 << 16)
    assert config.allow_a_stationary and config.allow_b_stationary and config.allow_k_boundary
    assert config.allow_double_buffer_c and (config.max_n, config.l0c_bytes) == (128, 65536)
    closed = schedule_gates(output_stationary=True)
    assert [k for k, v in sorted(closed.items()) if v] == ["allow_k_boundary"]


def test_sub_byte_operands_and_unknown_fields_are_refused() -> None:
    with pytest.raises(ValueError, match="no int4 operands"):
        config_for(BACKEND, 16, 16, 32, DataType.INT4)
    with pytest.raises(ValueError, match="no field allow_everything"):
        config_for(BACKEND, 16, 16, 32, DataType.BF16, allow_everything=True)


extents = st.integers(1, 30).map(lambda x: 16 * x)


@given(extents, extents, extents, st.sampled_from([DataType.INT8, DataType.BF16, DataType.FP32]))
def test_costs_are_those_of_the_backends_cost_model(m: int, n: int, k: int, dtype: DataType) -> None:
    best = explain(config_for(BACKEND, m, n, k, dtype, allow_k_boundary=True), top=1).winner
    width, tail = dtype.element_bytes, k % best.k
    mad = (k // best.k) * COST.mad_cycles(best.m, best.n, best.k, width)
    mad += COST.mad_cycles(best.m, best.n, tail, width) if tail else 0
    assert best.mad == best.tiles * mad
    assert best.drain == pytest.approx(best.tiles * COST.drain_cycles(best.m, best.n, 4))
    a, b = width * m * k, width * k * n
    again_a, again_b = (1 if best.held == "A" else best.cols), (1 if best.held == "B" else best.rows)
    assert best.load == pytest.approx(COST.load_cycles(a * again_a, b * again_b))


def test_report_is_a_table_of_strings_with_notes() -> None:
    report = tile_report(BACKEND, 320, 320, 64, DataType.BF16, top=3, ask=[(320, 320, 64), (160, 128, 64)])
    assert report["title"] == "320 x 320 x 64 bfloat16 on Toy"
    assert len(report["rows"]) == 4 and all(len(row) == len(report["columns"]) for row in report["rows"])
    assert report["rows"][0][0] == "160, 128, 64" and report["rows"][0][-1] == "chosen"
    assert any(
        note.startswith("320, 320, 64 under output-stationary: accumulator of") for note in report["notes"]
    )
    assert "160, 128, 64: chosen" in report["notes"]
    assert report["choice"]["winner"]["cost"] == 7302


def test_report_says_when_the_product_is_one_tile_or_padded() -> None:
    whole = tile_report(BACKEND, 64, 64, 64, DataType.BF16)
    assert "the whole product is one L0 tile, so no grid was considered" in whole["notes"]
    padded = tile_report(BACKEND, 7, 64, 64, DataType.BF16, allow_padding=True)
    assert any("smaller than the least tile" in note for note in padded["notes"])


INSTALLED: list[tuple[str, str, tuple[Any, ...], dict[str, bool], tuple[int, int, int]]] = [
    ("910b", "BF16", (4096, 4096, 4096), {}, (128, 256, 64)),
    ("910b", "INT8", (16, 1152, 128), {}, (16, 768, 32)),
    ("a5", "INT8", (16, 1152, 128), {}, (16, 1152, 16)),
    ("a5", "FP32", (384, 384, 512), {}, (192, 192, 32)),
    ("a5", "BF16", (256, 256, 256), {"double_buffer_c": True}, (128, 64, 256)),
    ("910b", "FP32", (64, 256, 256), {"double_buffer_c": True}, (64, 32, 256)),
]


@pytest.mark.parametrize(("name", "dtype", "dims", "gates", "tile"), INSTALLED)
def test_installed_backends_give_the_published_picks(
    name: str, dtype: str, dims: tuple[int, int, int], gates: dict[str, bool], tile: tuple[int, int, int]
) -> None:
    module = pytest.importorskip(f"pypto_plugin_backend_{name}.backend")
    config = config_for(module.BACKEND, *dims, DataType[dtype], **schedule_gates(**gates))
    assert choose_l0_tile(config).tile == tile
