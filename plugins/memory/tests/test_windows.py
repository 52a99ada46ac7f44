"""Views of views and writes into them: every placed kernel of them computes, on its bytes, what numpy does.

PYPTO_KERNELS=1000 draws that many kernels; the tests do a few.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from memory_windows import COLS, ROWS, Kernel, draw, golden, source

import pypto_core.language as pl
from pypto_core.host import load_host
from pypto_core.run import compile

KERNELS = int(os.environ.get("PYPTO_KERNELS", "16"))
FOUND = (123, 1022, 1039, 1050, 1052)
"""Kernels that went wrong once: windows were cut at the pitch of a tile that their value had left."""
WHOLE, PART = (32, 32), (16, 16)
BEGIN = [("load", "a", WHOLE, (0, 0)), ("load", "b", PART, (8, 8))]
BY_HAND = {
    "a part of what was written into a window that is needed again": (
        [
            *BEGIN,
            ("slice", "w", "a", PART, (8, 8)),
            ("assemble", "s", "w", "b", (0, 0)),
            ("slice", "v", "s", (8, 8), (8, 8)),
        ],
        ["v", "a"],
    ),
    "what follows is written in place, and parts of parts of it are looked at": (
        [
            *BEGIN,
            ("slice", "w", "a", PART, (8, 8)),
            ("slice", "c", "b", (8, 8), (0, 8)),
            ("assemble", "s", "w", "c", (8, 0)),
            ("slice", "q", "s", (8, 16), (8, 0)),
            ("assemble", "t", "q", "c", (0, 8)),
            ("slice", "v", "t", (8, 8), (0, 8)),
        ],
        ["v", "t", "w"],
    ),
    "a loop that writes into a part of its carry, which begins as a window": (
        [
            *BEGIN,
            ("slice", "w", "a", PART, (8, 8)),
            ("loop", ["r"], "i0", 2, ["w"], ["k"], [
                ("slice", "v", "k", (8, 8), ("i0", 8)),
                ("slice", "c", "b", (8, 8), (0, 8)),
                ("assemble", "t", "k", "v", (0, 0)),
                ("assemble", "s", "t", "c", ("i0", 0)),
            ], ["s"]),
            ("slice", "z", "r", (8, 8), (8, 0)),
        ],
        ["r", "z", "w"],
    ),
    "both arms leave windows, of which a part is looked at": (
        [
            *BEGIN,
            ("loop", ["r"], "i0", 2, ["b"], ["k"], [
                ("if", ["p"], "i0", ([("slice", "w", "a", PART, (8, 8))], ["w"]),
                    ([("slice", "x1", "a", PART, (16, 0)), ("assemble", "y1", "x1", "k", (0, 0))], ["y1"])),
                ("slice", "v", "p", (8, 8), (8, 8)),
                ("assemble", "s", "p", "v", (0, 0)),
            ], ["s"]),
        ],
        ["r", "a"],
    ),
    "a result over its operand, which begins within its storage": (
        [
            *BEGIN,
            ("slice", "w", "a", (16, 32), (8, 0)),
            ("assemble", "s", "w", "b", (0, 0)),
            ("neg", "u", "s"),
        ],
        ["u"],
    ),
    "a part of a tile one row further down, within rows that are not adjacent": (
        [
            *BEGIN,
            ("slice", "w", "a", (32, 16), (0, 0)),
            ("slice", "c", "a", (8, 8), (16, 8)),
            ("assemble", "s", "w", "c", (17, 8)),
        ],
        ["s"],
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def on_bytes() -> Any:
    """The engine that runs a kernel on the bytes of its plan."""
    host = load_host()
    if "bytes" not in host.engines:
        pytest.skip("no plugin brings the engine 'bytes'")
    return host.engine("bytes").load()


def check(on_bytes: Any, kernel: Kernel) -> None:
    x = np.random.default_rng(len(kernel.steps)).integers(-9, 10, (ROWS, COLS)).astype(np.float32)
    want = golden(kernel, x)
    program = pl.parse(source(kernel))
    for machine in ("910b", "a5"):
        for planner in ("pypto", "dsa_rp", "ptoas"):
            compiled = compile(program, backend=machine, planner=planner, verification="basic")
            backend = load_host().backend(machine)
            have = on_bytes(compiled.program, {"x": x}, backend=backend).outputs["out"]
            for at, (name, array) in enumerate(want.items()):
                rows, cols = array.shape
                found = have[ROWS * at : ROWS * at + rows, :cols]
                np.testing.assert_array_equal(found, array, err_msg=f"{name} on {machine} under {planner}")


@pytest.mark.parametrize("seed", [*range(KERNELS), *FOUND])
def test_random_windows(on_bytes: Any, seed: int) -> None:
    check(on_bytes, draw(seed, 4 + seed % 16))


@pytest.mark.parametrize("what", BY_HAND)
def test_windows(on_bytes: Any, what: str) -> None:
    check(on_bytes, Kernel(*BY_HAND[what]))
