"""The vectorised search against three plain loops, on 5,000 random questions."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pypto_plugin_autotile.chooser import L0TileConfig, choose_l0_tile

CHUNKS, PER_CHUNK = 50, 100

RATES_910B: dict[str, Any] = {
    "bw_a": 129.7, "bw_b": 85.4, "bw_drain": 118.0, "drain_fixed_cycles": 164.0, "drain_row_cycles": 4.45,
    "drain_penalty_cycles": 2.6, "drain_c0_bytes": 32, "mad_head": 21, "mad_k_fractal_bytes": 32,
    "mad_fp32_passes": 2,
}  # fmt: skip
RATES_A5: dict[str, Any] = {
    "bw_a": 206.3, "bw_b": 223.8, "bw_drain": 30.0, "drain_fixed_cycles": 343.4, "drain_row_cycles": 4.59,
    "drain_penalty_cycles": 0.26, "drain_c0_bytes": 32, "mad_head": 25, "mad_k_fractal_bytes": 32,
    "mad_fp32_passes": 8,
}  # fmt: skip
MACHINES = (
    {"l0a_bytes": 65536, "l0b_bytes": 65536, "l0c_bytes": 131072, **RATES_910B},
    {"l0a_bytes": 65536, "l0b_bytes": 65536, "l0c_bytes": 262144, **RATES_A5},
)
WIDTHS = ((2, 2, 4), (4, 4, 4), (1, 1, 4), (2, 1, 4), (1, 2, 2), (2, 2, 2), (4, 2, 4), (8, 8, 8))


def load_brute_force() -> ModuleType:
    path = Path(__file__).with_name("brute_force.py")
    spec = importlib.util.spec_from_file_location("autotile_brute_force", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


brute_force = load_brute_force().brute_force


def random_dims(rng: random.Random, padded: bool) -> dict[str, int]:
    top = rng.choices((8, 16, 40, 96), (50, 30, 17, 3))[0]
    dims = {name: 16 * rng.randint(1, top) for name in "MNK"}
    for name in "MNK":
        if rng.random() < 0.12:
            dims[name] = rng.randint(1 if padded else 16, 16 * top)
    return dims


def random_caps(rng: random.Random) -> dict[str, int]:
    if rng.random() < 0.7:
        return {}
    widest = rng.choice((0, 64, 256, 1024))
    one = rng.choice((0, 16, 48, widest // 2)) if widest else rng.choice((0, 8, 32, 128))
    one = min(one, widest) if widest else one
    two = rng.choice((0, 16, one // 2, one))
    return {"max_n": widest, "max_n_pipelined": one, "max_n_nested_pipelined": min(two, one) if one else two}


def random_grain(rng: random.Random) -> dict[str, int]:
    grain: dict[str, int] = {}
    if rng.random() < 0.3:
        grain |= {"l0c_align_m": 32}
    if rng.random() < 0.3:
        grain |= {"box_align_m": rng.choice((1, 16, 32)), "box_align_n": rng.choice((16, 32, 48))}
    if rng.random() < 0.2:
        grain |= {name: rng.choice((8, 16, 24, 32, 64)) for name in ("min_m", "min_n", "min_k")}
    if rng.random() < 0.2:
        grain |= {name: rng.choice((8, 16, 32)) for name in ("align_m", "align_n", "align_k")}
    return grain


def random_rates(rng: random.Random) -> dict[str, Any]:
    if rng.random() < 0.85:
        return {}
    if rng.random() < 0.3:
        # Loads, drains and MAD heads are free: walls tie in crowds, and the last keys of the order have to decide.
        endless = dict.fromkeys(("bw_a", "bw_b", "bw_drain"), float("inf"))
        free = dict.fromkeys(("drain_fixed_cycles", "drain_row_cycles", "drain_penalty_cycles"), 0.0)
        return endless | free | {"mad_head": 0}
    return {
        "bw_a": rng.choice((1.0, 64.0, 1000.0)),
        "bw_b": rng.choice((1.0, 64.0, 1000.0)),
        "drain_fixed_cycles": rng.choice((0.0, 500.0)),
        "drain_row_cycles": rng.choice((0.0, 3.5)),
        "drain_penalty_cycles": rng.choice((0.0, 2.6)),
        "drain_c0_bytes": rng.choice((1, 32, 64)),
        "mad_head": rng.choice((0, 6, 400)),
        "mad_fp32_passes": rng.choice((0, 1, 4)),
    }


def random_config(rng: random.Random) -> L0TileConfig:
    machine = dict(rng.choice(MACHINES))
    if rng.random() < 0.25:
        for name in ("l0a_bytes", "l0b_bytes", "l0c_bytes"):
            machine[name] = rng.choice((2048, 6000, 16384, 40000, machine[name]))
    widths = dict(zip(("bytes_a", "bytes_b", "bytes_c"), rng.choice(WIDTHS), strict=True))
    gates = {
        f"allow_{name}": rng.random() < 0.5
        for name in ("a_stationary", "b_stationary", "double_buffer_c", "k_boundary")
    }
    padded = rng.random() < 0.12
    fields = machine | widths | gates | {"allow_padding": padded, "c_read": rng.random() < 0.3}
    fields |= random_dims(rng, padded) | random_caps(rng) | random_grain(rng) | random_rates(rng)
    return L0TileConfig(**fields)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_equals_brute_force(chunk: int) -> None:
    rng = random.Random(1000 + chunk)
    answered = 0
    for _ in range(PER_CHUNK):
        config = random_config(rng)
        expected = brute_force(config)
        if expected is None:
            with pytest.raises(ValueError, match=r"."):
                choose_l0_tile(config)
            continue
        answered += 1
        got = choose_l0_tile(config)
        found = (
            *got.tile,
            got.stationarity.name,
            got.os_holds_a,
            got.double_buffer_c,
            got.estimated_cost_cycles,
            got.estimated_traffic_bytes,
            got.padded_compute_volume,
        )
        assert found == tuple(expected), config
    assert answered > PER_CHUNK // 2


LARGE = [
    ((4096, 4096, 4096), (2, 2, 4)),
    ((4096, 64, 1024), (2, 2, 4)),
    ((16, 4096, 512), (1, 1, 4)),
    ((2048, 1536, 96), (4, 4, 4)),
    ((1040, 1072, 2064), (2, 2, 4)),
    ((16, 16, 16384), (4, 4, 4)),
]


@pytest.mark.parametrize("machine", MACHINES, ids=("910b", "a5"))
@pytest.mark.parametrize(("dims", "widths"), LARGE)
def test_large_products_with_all_gates_equal_brute_force(
    machine: dict[str, Any], dims: tuple[int, int, int], widths: tuple[int, int, int]
) -> None:
    config = L0TileConfig(
        **dict(zip("MNK", dims, strict=True)),
        **dict(zip(("bytes_a", "bytes_b", "bytes_c"), widths, strict=True)),
        **machine,
        allow_a_stationary=True,
        allow_b_stationary=True,
        allow_double_buffer_c=True,
        allow_k_boundary=True,
    )
    expected = brute_force(config)
    got = choose_l0_tile(config)
    assert (*got.tile, got.stationarity.name, got.double_buffer_c, got.estimated_cost_cycles) == (
        expected.m,
        expected.n,
        expected.k,
        expected.stationarity,
        expected.double_buffer_c,
        expected.cost,
    )
