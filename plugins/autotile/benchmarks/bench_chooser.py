"""The L0 tile chooser: one cold choice, the median over tiles of real kernels, and three plain loops beside it.

Cold means that no answer is kept: the cache of answers is emptied before each call.
"""

from __future__ import annotations

import importlib.util
import statistics
from pathlib import Path
from types import ModuleType

from benchmarks.figures import Figure, best_of
from pypto_plugin_autotile.chooser import L0TileConfig, choose_l0_tile, schedule_gates

# M, N, K and the width of the left operand, as matmuls in published kernels have them, commonest first.
USER_TILES = (
    (16, 256, 512, 1), (16, 256, 128, 2), (16, 64, 512, 2), (16, 128, 256, 2), (64, 128, 128, 2),
    (128, 64, 512, 2), (16, 32, 512, 2), (128, 32, 512, 2), (16, 64, 128, 2), (16, 32, 256, 4),
    (16, 256, 256, 1), (32, 128, 512, 2), (64, 64, 128, 2), (128, 256, 256, 1), (32, 64, 32, 2),
    (16, 1024, 64, 2), (16, 16, 256, 4), (64, 256, 256, 2), (16, 128, 128, 2), (32, 64, 128, 1),
    (16, 512, 256, 1), (128, 256, 128, 1), (16, 256, 256, 2), (16, 512, 64, 2), (128, 256, 256, 2),
    (16, 192, 512, 2), (16, 128, 512, 2), (16, 16, 2048, 4), (16, 256, 128, 1), (16, 512, 128, 1),
    (128, 128, 256, 2), (16, 128, 128, 1), (16, 256, 64, 2), (32, 128, 128, 2), (64, 64, 64, 4),
    (256, 128, 256, 2), (512, 256, 128, 1), (64, 512, 128, 1), (32, 512, 128, 2), (64, 256, 512, 1),
    (16, 1024, 128, 1), (64, 64, 512, 2),
)  # fmt: skip


def question(m: int, n: int, k: int, width: int) -> L0TileConfig:
    """A product on the 910B with every schedule open."""
    return L0TileConfig(
        M=m,
        N=n,
        K=k,
        l0a_bytes=65536,
        l0b_bytes=65536,
        l0c_bytes=131072,
        bytes_a=width,
        bytes_b=width,
        l0c_align_m=32 if width == 1 else 16,
        **schedule_gates(double_buffer_c=True),
    )


def _brute_force() -> ModuleType:
    path = Path(__file__).parent.parent / "tests" / "brute_force.py"
    spec = importlib.util.spec_from_file_location("autotile_brute_force", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python module")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _cold(config: L0TileConfig) -> None:
    choose_l0_tile.cache_clear()
    choose_l0_tile(config)


def run() -> list[Figure]:
    """Milliseconds a choice; the peer is the loop of the tests over the same questions."""
    brute_force = _brute_force().brute_force
    large = question(4096, 4096, 4096, 2)
    users = [question(*tile) for tile in USER_TILES]
    ours = [best_of(lambda c=c: _cold(c), repeat=5) * 1e3 for c in users]
    loops = [best_of(lambda c=c: brute_force(c), repeat=1) * 1e3 for c in users]
    name = "three Python loops"
    return [
        Figure(
            name="one choice, 4096 cubed, all schedules, cold",
            value=best_of(lambda: _cold(large), repeat=20) * 1e3,
            unit="ms",
            target=5.0,
            peer=best_of(lambda: brute_force(large), repeat=2) * 1e3,
            peer_name=name,
        ),
        Figure(
            name=f"one choice, median of {len(users)} user tiles, cold",
            value=statistics.median(ours),
            unit="ms",
            target=1.5,
            peer=statistics.median(loops),
            peer_name=name,
        ),
        Figure(
            name="one choice, slowest user tile, cold",
            value=max(ours),
            unit="ms",
            peer=max(loops),
            peer_name=name,
        ),
        Figure(
            name="one choice, asked before",
            value=best_of(lambda: choose_l0_tile(large), repeat=5, number=1000) * 1e6,
            unit="us",
        ),
    ]
