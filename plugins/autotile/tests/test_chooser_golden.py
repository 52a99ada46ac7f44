"""Picks that are known: every published row, with the wall where one is known."""

from __future__ import annotations

from typing import Any

import pytest

from pypto_plugin_autotile.chooser import L0TileConfig, Stationarity, choose_l0_tile

C910 = {"l0a_bytes": 65536, "l0b_bytes": 65536, "l0c_bytes": 131072}
C950 = {
    "l0a_bytes": 65536, "l0b_bytes": 65536, "l0c_bytes": 262144,
    "bw_a": 206.3, "bw_b": 223.8, "bw_drain": 30.0, "drain_fixed_cycles": 343.4, "drain_row_cycles": 4.59,
    "drain_penalty_cycles": 0.26, "mad_head": 25, "mad_fp32_passes": 8,
}  # fmt: skip

GATES = {
    "S": {"allow_a_stationary": True, "allow_b_stationary": True},
    "D": {"allow_double_buffer_c": True},
    "K": {"allow_k_boundary": True},
    "-": {},
}
STATS = {
    "OS": Stationarity.OutputStationary,
    "A": Stationarity.AStationary,
    "B": Stationarity.BStationary,
}


def choose(machine: dict[str, Any], dims: str, width: int, gates: str, **extra: Any) -> Any:
    fields: dict[str, Any] = dict(zip("MNK", map(int, dims.split(",")), strict=True)) | machine
    fields |= {"bytes_a": width, "bytes_b": width}
    for gate in gates:
        fields |= GATES[gate]
    return choose_l0_tile(L0TileConfig(**(fields | extra)))


# M,N,K | bytes of a and b | extra fields | m,n,k | os_holds_a | wall
CLOSED_GATES = [
    ("16,256,512", 2, {}, "16,256,64", 1, 3499),
    ("4096,4096,4096", 2, {}, "128,256,64", 0, 18118031),
    ("4096,4096,4096", 2, {"allow_double_buffer_c": True}, "128,256,64", 0, 18118031),
    ("4096,4096,4096", 2, {"min_k": 64, "align_k": 64}, "128,256,64", 0, 18118031),
    ("512,128,2048", 2, {}, "256,128,64", 0, 36718),
    ("128,512,2048", 2, {}, "128,256,64", 1, 36662),
    ("16,4096,512", 2, {}, "16,1024,16", 1, 52496),
    ("16,320,128", 2, {}, "16,320,32", 1, 1495),
    ("64,64,64", 2, {}, "64,64,64", 1, 608),
    ("256,256,64", 2, {}, "128,256,64", 0, 3616),
    ("272,272,64", 2, {}, "144,128,64", 1, 6683),
    ("320,320,64", 2, {}, "160,128,64", 1, 7302),
    ("256,256,256", 4, {}, "128,256,32", 0, 19270),
    ("256,256,256", 2, {}, "128,256,64", 0, 6814),
    ("128,128,192", 2, {}, "128,128,96", 1, 1688),
    ("512,512,64", 2, {}, "128,256,64", 0, 14462),
    ("1024,1024,1024", 2, {}, "128,256,64", 0, 313689),
    ("16,512,2048", 2, {}, "16,512,32", 1, 25504),
    ("512,16,2048", 2, {}, "512,16,32", 1, 19379),
    ("256,4096,64", 2, {}, "128,256,64", 0, 57849),
    ("7,256,512", 2, {"allow_padding": True}, "16,256,64", 1, 3428),
]


@pytest.mark.parametrize(("dims", "width", "extra", "tile", "hold_a", "wall"), CLOSED_GATES)
def test_closed_gates_on_910b(
    dims: str, width: int, extra: dict[str, Any], tile: str, hold_a: int, wall: int
) -> None:
    got = choose(C910, dims, width, "-", **extra)
    assert got.tile == tuple(map(int, tile.split(",")))
    assert (got.stationarity, got.double_buffer_c) == (Stationarity.OutputStationary, False)
    assert (got.os_holds_a, got.estimated_cost_cycles) == (bool(hold_a), wall)
    assert bool(got.perf_hint) == (dims == "7,256,512")


def test_worked_example_reports_its_traffic_and_volume() -> None:
    got = choose(C910, "16,256,512", 2, "-")
    assert (got.estimated_traffic_bytes, got.padded_compute_volume) == (294912, 2097152)


def test_reading_the_accumulator_counts_in_the_traffic_alone() -> None:
    plain, read = (choose(C910, "16,256,512", 2, "-", c_read=flag) for flag in (False, True))
    assert read.tile == plain.tile and read.estimated_cost_cycles == plain.estimated_cost_cycles
    assert read.estimated_traffic_bytes - plain.estimated_traffic_bytes == 4 * 16 * 256


CAPS = "max_n max_n_pipelined max_n_nested_pipelined"


def caps(flat: int, one: int, two: int) -> dict[str, int]:
    return dict(zip(CAPS.split(), (flat, one, two), strict=True))


A_GATE, B_GATE = {"allow_a_stationary": True}, {"allow_b_stationary": True}
WIDE_B = {"l0b_bytes": 131072}

# M,N,K | bytes | gates | extra fields | m,n,k | schedule | os_holds_a (None: not published) | dbC | wall
OPEN_GATES = [
    ("16,256,128", 2, "D", {}, "16,128,128", "OS", 1, 2, 1034),
    ("256,16,128", 2, "D", {}, "128,16,128", "OS", 0, 2, 1744),
    ("16,192,128", 2, "D", {"min_n": 128, "align_n": 128}, "16,128,128", "OS", 1, 1, 1078),
    ("192,16,128", 2, "D", {"min_m": 128, "align_m": 128}, "128,16,128", "OS", 0, 1, 1894),
    ("512,512,64", 2, "D", {}, "64,256,64", "OS", 0, 2, 11787),
    ("256,256,256", 2, "SD", {}, "64,128,256", "B", 0, 2, 4713),
    ("16,1024,128", 1, "-", {"l0c_align_m": 32}, "16,1024,32", "OS", 1, 1, 2270),
    ("16,1152,128", 1, "-", {"l0c_align_m": 16}, "16,1152,16", "OS", 1, 1, 2864),
    ("16,1152,128", 1, "-", {"l0c_align_m": 32}, "16,768,32", "OS", 1, 1, 3086),
    ("656,80,768", 1, "K", {"l0c_align_m": 32, "box_align_m": 16, "box_align_n": 32}, "336,64,96", "OS", 1, 1,
     15844),
    ("656,80,768", 1, "K", {"l0c_align_m": 32}, "336,80,96", "OS", 0, 1, 15683),
    ("16,16,64", 1, "K", {"l0a_bytes": 2048, "box_align_m": 32}, "16,16,32", "OS", None, 1, 279),
    ("16,16,64", 1, "K", {"l0b_bytes": 2048, "box_align_n": 32}, "16,16,32", "OS", None, 1, 279),
    ("256,1024,128", 2, "-", caps(64, 0, 0), "256,64,64", "OS", 1, 1, 32005),
    ("256,256,64", 2, "-", B_GATE | caps(256, 128, 64) | {"bw_a": 1000.0, "bw_b": 1.0}, "128,256,64", "B", 0, 1,
     35350),
    ("512,1024,128", 2, "D", A_GATE | WIDE_B | caps(256, 32, 16) | {"bw_a": 1.0, "bw_b": 1000.0}, "176,32,128",
     "A", 1, 2, 132806),
    ("128,512,16", 2, "-", caps(512, 128, 64) | {"bw_a": 1000.0, "bw_b": 1.0}, "64,128,16", "OS", 0, 1, 19991),
    ("256,256,16", 2, "-", caps(256, 128, 64) | {"bw_a": 1.0, "bw_b": 1000.0}, "256,64,16", "OS", 1, 1, 13413),
    ("240,240,480", 2, "-", {}, "240,128,48", "OS", 1, 1, 10084),
    ("240,240,480", 2, "SKD", {}, "240,128,64", "OS", 1, 1, 10000),
    ("400,112,256", 2, "-", {}, "400,64,32", "OS", None, 1, 7718),
    ("400,112,256", 2, "SKD", {}, "64,64,256", "OS", 0, 2, 6560),
    ("1024,64,512", 2, "-", {}, "512,64,32", "OS", None, 1, 14504),
    ("1024,64,512", 2, "SKD", {}, "32,64,512", "B", None, 2, 10082),
    ("272,160,384", 2, "-", {}, "144,160,96", "OS", None, 1, 9374),
    ("272,160,384", 2, "SKD", {}, "32,64,384", "B", None, 2, 8505),
    ("256,256,32", 2, "-", {}, "128,256,32", "OS", 0, 1, 3104),
    ("256,256,32", 2, "SKD", {}, "64,256,32", "OS", 0, 2, 3027),
    ("640,384,64", 2, "-", {}, "160,128,64", "OS", 0, 1, 14604),
    ("640,384,64", 2, "SKD", {}, "128,128,64", "OS", 0, 2, 11281),
    ("768,768,48", 2, "-", {}, "128,256,48", "OS", 0, 1, 30236),
    ("768,768,48", 2, "SKD", {}, "64,256,48", "OS", 0, 2, 26111),
    ("16,320,144", 2, "K", {}, "16,320,48", "OS", 1, 1, 1619),
    ("272,160,304", 2, "K", {}, "144,160,80", "OS", 0, 1, 8473),
    ("256,256,240", 2, "K", {}, "128,256,64", "OS", 0, 1, 6558),
    ("128,512,2064", 2, "K", {}, "128,256,64", "OS", 1, 1, 36960),
]  # fmt: skip


@pytest.mark.parametrize(
    ("dims", "width", "gates", "extra", "tile", "stat", "hold_a", "depth", "wall"), OPEN_GATES
)
def test_open_gates_on_910b(
    dims: str,
    width: int,
    gates: str,
    extra: dict[str, Any],
    tile: str,
    stat: str,
    hold_a: int | None,
    depth: int,
    wall: int,
) -> None:
    got = choose(C910, dims, width, gates, **extra)
    assert got.tile == tuple(map(int, tile.split(",")))
    assert (got.stationarity, got.double_buffer_c) == (STATS[stat], depth == 2)
    assert got.estimated_cost_cycles == wall
    assert hold_a is None or got.os_holds_a == bool(hold_a)


# machine | M,N,K | bytes | gates | extra | m,n,k | schedule, None: not published | dbC
INT8_BIAS = {
    "l0c_align_m": 32, "align_n": 32, "align_k": 32, "min_n": 32, "min_k": 32, "box_align_m": 16,
    "box_align_n": 32,
}  # fmt: skip
PASS_LEVEL = [
    (C950, "16,64,2048", 2, "SK", {}, "16,64,256", "OS", 1),
    (C910, "16,64,2048", 2, "SK", {}, "16,64,256", "OS", 1),
    (C950, "64,64,64", 2, "SK", {}, "64,64,64", "OS", 1),
    (C950, "512,512,512", 4, "SK", {}, "256,256,32", "OS", 1),
    (C950, "384,384,512", 4, "SK", {}, "192,192,32", "OS", 1),
    (C910, "256,256,256", 4, "SK", {}, "128,256,32", "OS", 1),
    (C910, "384,640,64", 2, "SK", {}, "192,128,64", "OS", 1),
    (C910, "384,256,64", 2, "SK", {}, "128,256,64", "OS", 1),
    (C910, "384,512,64", 2, "SK", {}, "128,256,64", "OS", 1),
    (C910, "272,416,32", 2, "SK", {}, "96,256,32", "OS", 1),
    (C910, "256,544,128", 2, "SK", {}, "256,128,128", "A", 1),
    (C910, "192,512,64", 2, "SK", {}, "64,512,64", "B", 1),
    (C910, "16,128,128", 4, "SK", {}, "16,128,64", "OS", 1),
    (C910, "16,128,128", 4, "SKD", {}, "16,128,64", "OS", 1),
    (C910, "64,128,192", 4, "SK", {}, "64,128,64", "OS", 1),
    (C910, "64,128,192", 4, "SKD", {}, "64,128,64", "OS", 1),
    (C910, "64,256,256", 4, "SK", {}, "64,256,32", "OS", 1),
    (C910, "64,256,256", 4, "SKD", {}, "64,32,256", "A", 2),
    (C910, "128,64,384", 4, "SKD", {}, "128,64,64", "OS", 1),
    (C910, "64,288,384", 2, "SKD", {}, "64,32,384", "A", 2),
    (C910, "64,256,80", 2, "SKD", {}, "32,256,80", "B", 2),
    (C910, "48,96,352", 2, "SKD", {}, "48,32,352", "A", 2),
    (C910, "160,160,64", 4, "SKD", {}, "80,128,64", "OS", 2),
    (C910, "144,144,64", 4, "SKD", {}, "48,128,64", "OS", 2),
    (C910, "256,256,64", 4, "SKD", {}, "32,256,64", "B", 2),
    (C910, "448,448,64", 4, "SKD", {}, "112,128,64", "OS", 2),
    (C910, "320,320,64", 4, "SKD", {}, "64,128,64", None, 2),
    (C910, "384,256,64", 4, "SKD", {}, "32,256,64", "B", 2),
    (C910, "256,256,64", 2, "SK", {}, "128,256,64", "OS", 1),
    (C910, "256,256,64", 2, "SKD", {}, "64,256,64", "OS", 2),
    (C910, "16,256,128", 2, "SK", {}, "16,256,64", "OS", 1),
    (C910, "16,256,128", 2, "SKD", {}, "16,128,128", "OS", 2),
    (C910, "256,16,128", 2, "SKD", {}, "128,16,128", "OS", 2),
    (C910, "128,512,128", 2, "SK", {}, "128,256,128", "B", 1),
    (C910, "128,512,128", 2, "K", {}, "128,256,64", "OS", 1),
    (C910, "128,512,128", 2, "SKD", {}, "64,256,128", "B", 2),
    (C910, "128,272,64", 2, "SK", {}, "128,128,64", "OS", 1),
    (C910, "256,256,32", 2, "SK", {}, "128,256,32", "OS", 1),
    (C910, "128,128,64", 2, "SK", {}, "128,128,64", "OS", 1),
    (C910, "128,128,512", 2, "SK", {}, "128,128,128", "OS", 1),
    (C910, "128,128,256", 2, "SK", {}, "128,128,128", "OS", 1),
    (C950, "64,64,544", 2, "SK", {}, "64,64,192", "OS", 1),
    (C950, "64,64,272", 2, "SK", {}, "64,64,144", "OS", 1),
    (C910, "16,1152,128", 1, "K", {"l0c_align_m": 32, "box_align_m": 16, "box_align_n": 32}, "16,768,32", "OS", 1),
    (C910, "272,144,128", 1, "K", {"l0c_align_m": 32, "box_align_m": 16, "box_align_n": 32}, "144,128,128", "OS", 1),
    (C910, "272,144,384", 1, "K", {"l0c_align_m": 32, "box_align_m": 16, "box_align_n": 32}, "144,128,192", "OS", 1),
    (C910, "576,48,128", 1, "K", {"l0c_align_m": 32, "box_align_m": 16, "box_align_n": 32}, "288,48,64", "OS", 1),
    (C910, "512,288,384", 1, "SK", {"l0c_align_m": 32}, "256,128,128", "OS", 1),
    (C910, "64,128,2048", 1, "SK", {"l0c_align_m": 32}, "64,128,256", "OS", 1),
    (C910, "16,64,2048", 1, "SK", INT8_BIAS | caps(256, 128, 64), "16,64,512", "OS", 1),
    (C910, "256,512,1024", 1, "SK", INT8_BIAS | caps(256, 128, 64), "256,128,128", "OS", 1),
    (C910, "16,512,32", 1, "SK", INT8_BIAS | caps(256, 128, 64), "16,256,32", "B", 1),
    (C910, "528,256,64", 2, "SK", {"min_n": 256, "max_n": 256}, "112,256,64", "OS", 1),
    (C950, "528,528,32", 2, "SK", caps(1024, 512, 256), "528,64,32", "A", 1),
    (C950, "256,512,192", 2, "SK", caps(1024, 512, 256), "256,256,64", "OS", 1),
    (C950, "208,192,128", 2, "SK", caps(1024, 512, 256), "208,192,64", "OS", 1),
    (C910, "128,192,688", 2, "SK", {}, "128,192,64", None, 1),
    (C910, "128,192,688", 2, "SKD", {}, "128,192,64", None, 1),
    (C910, "16,512,128", 2, "SK", {}, "16,512,32", None, 1),
    (C910, "512,512,512", 2, "SK", {}, "128,256,64", "OS", 1),
    (C910, "512,512,512", 2, "SKD", {}, "32,64,512", "B", 2),
    (C910, "1024,1024,64", 2, "SKD", {}, "64,256,64", None, 2),
    (C910, "64,512,256", 2, "SK", {}, "64,512,32", None, 1),
    (C910, "64,512,256", 2, "SKD", {}, "64,64,256", None, 2),
    (C910, "48,96,1024", 2, "SK", {}, "48,96,128", None, 1),
    (C910, "112,224,320", 2, "SK", {}, "112,128,80", None, 1),
    (C910, "2048,128,128", 2, "SK", {}, "256,128,128", "A", 1),
    (C910, "2048,128,128", 2, "SKD", {}, "128,128,128", "OS", 2),
    (C910, "128,64,272", 2, "SK", {}, "128,64,16", None, 1),
    (C950, "128,192,688", 2, "SK", {}, "128,192,80", None, 1),
    (C950, "128,128,688", 2, "SK", {}, "128,128,128", None, 1),
    (C950, "256,256,256", 2, "SK", {}, "256,256,64", None, 1),
    (C950, "256,256,256", 2, "SKD", {}, "128,64,256", "A", 2),
    (C950, "512,512,512", 2, "SKD", {}, "256,256,64", None, 1),
    (C950, "1024,1024,64", 2, "SKD", {}, "256,128,64", None, 2),
    (C950, "112,224,320", 2, "SK", {}, "112,224,64", None, 1),
    (C950, "2048,128,128", 2, "SK", {}, "512,128,32", None, 1),
    (C950, "2048,128,128", 2, "SKD", {}, "128,128,128", None, 2),
    (C950, "256,256,64", 4, "SK", {}, "256,256,32", None, 1),
    (C950, "256,256,64", 4, "SKD", {}, "32,128,64", None, 2),
    (C950, "64,1024,256", 1, "SK", {}, "64,1024,32", None, 1),
]  # fmt: skip


@pytest.mark.parametrize(("machine", "dims", "width", "gates", "extra", "tile", "stat", "depth"), PASS_LEVEL)
def test_picks_of_the_pass(
    machine: dict[str, Any],
    dims: str,
    width: int,
    gates: str,
    extra: dict[str, Any],
    tile: str,
    stat: str | None,
    depth: int,
) -> None:
    got = choose(machine, dims, width, gates, **extra)
    assert got.tile == tuple(map(int, tile.split(",")))
    assert got.double_buffer_c == (depth == 2)
    assert stat is None or got.stationarity is STATS[stat]


WALLS = [
    (C950, "16,64,2048", 2, "SK", 1969),
    (C910, "16,64,2048", 2, "SK", 3810),
    (C950, "512,512,512", 4, "SK", 562214),
    (C950, "384,384,512", 4, "SK", 317946),
    (C910, "384,640,64", 2, "SK", 14234),
    (C910, "384,256,64", 2, "SK", 5423),
    (C910, "384,512,64", 2, "SK", 10847),
    (C910, "272,416,32", 2, "SK", 7261),
    (C910, "256,544,128", 2, "SK", 11741),
    (C910, "192,512,64", 2, "SK", 5423),
    (C910, "64,256,256", 4, "SKD", 4713),
    (C910, "64,288,384", 2, "SKD", 4369),
    (C910, "64,256,80", 2, "SKD", 1163),
    (C950, "64,64,544", 2, "SK", 1538),
    (C950, "64,64,272", 2, "SK", 1214),
    (C910, "128,128,256", 2, "SK", 2006),
    (C910, "512,512,512", 2, "SK", 44310),
    (C910, "512,512,512", 4, "-", 143958),
    (C950, "1024,1024,1024", 2, "-", 413849),
    (C950, "256,256,256", 2, "-", 13278),
]


@pytest.mark.parametrize(("machine", "dims", "width", "gates", "wall"), WALLS)
def test_published_walls(machine: dict[str, Any], dims: str, width: int, gates: str, wall: int) -> None:
    assert choose(machine, dims, width, gates).estimated_cost_cycles == wall


REFUSED = [
    ("7,256,512", "-", {}, "allow_padding=false but M=7"),
    ("256,7,512", "-", {}, "allow_padding=false but N=7"),
    ("256,256,7", "-", {}, "allow_padding=false but K=7"),
    ("64,64,50", "K", {}, r"no legal \(m, n, k\) tile"),
    ("16,320,130", "-", {}, r"no legal \(m, n, k\) tile"),
    ("16,320,130", "K", {}, r"no legal \(m, n, k\) tile"),
    ("0,16,16", "-", {}, "M, N, K must all be positive"),
    ("16,-1,16", "-", {}, "M, N, K must all be positive"),
    ("128,128,128", "-", {"max_n": 8}, r"max_n must be zero \(unbounded\) or at least min_n"),
    ("256,512,64", "SK", {"min_n": 512, "max_n": 256}, "max_n must be zero"),
    ("128,128,128", "-", {"l0a_bytes": 0}, "L0 capacities must be positive"),
    ("128,128,128", "-", {"bytes_c": 0}, "element sizes must be positive"),
    ("128,128,128", "-", {"min_k": 0}, "minimum tile dims must be positive"),
    ("128,128,128", "-", {"box_align_n": 0}, "alignments must be positive"),
    ("128,128,128", "-", {"align_m": -16}, "alignments must be positive"),
    (
        "128,128,128",
        "-",
        {"max_n": 64, "max_n_pipelined": 65},
        "max_n_pipelined must be zero or at most max_n",
    ),
    ("128,128,128", "-", {"max_n_pipelined": -1}, "max_n_pipelined"),
    ("128,128,128", "-", {"max_n_pipelined": 32, "max_n_nested_pipelined": 48}, "max_n_nested_pipelined"),
    ("128,128,128", "-", {"bw_b": 0.0}, "bw_b must be positive"),
    ("128,128,128", "-", {"bw_drain": float("nan")}, "bw_drain must be positive"),
    ("128,128,128", "-", {"drain_row_cycles": -0.5}, "drain_row_cycles must not be negative"),
    ("128,128,128", "-", {"drain_c0_bytes": 0}, "drain_c0_bytes must be positive"),
    ("128,128,128", "-", {"l0a_bytes": 512}, r"L0a capacity 128 elements .* minimum tile \(16 x 16\)"),
    ("128,128,128", "-", {"l0b_bytes": 1000}, r"L0b capacity 250 elements .* minimum tile \(16 x 16\)"),
    ("128,128,128", "-", {"l0c_bytes": 1023}, r"L0c capacity 255 elements .* minimum tile \(16 x 16\)"),
    ("128,128,128", "-", {"bw_a": 1e-300}, r"2\*\*53 cycles"),
    ("4194304,4194304,4194304", "-", {}, "too large to count"),
]


@pytest.mark.parametrize(("dims", "gates", "extra", "words"), REFUSED)
def test_refusals_are_value_errors_with_a_remedy(
    dims: str, gates: str, extra: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        choose(C910, dims, 2, gates, **extra)
    assert caught.value.diagnostics[0].remedy  # type: ignore[attr-defined]


def test_the_first_broken_rule_is_the_one_reported() -> None:
    with pytest.raises(ValueError, match="M, N, K"):
        choose_l0_tile(L0TileConfig())
    with pytest.raises(ValueError, match="capacities"):
        choose_l0_tile(L0TileConfig(M=16, N=16, K=16, bytes_a=0))


@pytest.mark.parametrize(
    "extra",
    [
        {"max_n_pipelined": 8},
        {"max_n_nested_pipelined": 8},
        {"mad_head": 0, "mad_k_fractal_bytes": 0, "mad_fp32_passes": 0},
        {"drain_fixed_cycles": 0.0, "drain_row_cycles": 0.0, "drain_penalty_cycles": 0.0},
    ],
)
def test_legal_oddities_are_answered(extra: dict[str, Any]) -> None:
    assert choose(C910, "64,64,64", 2, "SKD", **extra).tile == (64, 64, 64)


def test_answers_are_kept_by_question() -> None:
    choose_l0_tile.cache_clear()
    first = choose(C910, "256,256,64", 2, "SK")
    assert choose(C910, "256,256,64", 2, "SK") is first
    assert choose(C910, "256,256,64", 2, "SKD") is not first
    assert choose_l0_tile.cache_info().hits == 1
