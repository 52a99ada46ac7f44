"""What the simulator lets pass comes out the same in any order of the devices; what it refuses, it always does."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

from pypto_core.diagnostics import UserError
from pypto_plugin_simulator.devices import world

DEVICES = 3
ROWS = 4


def script(rng: random.Random) -> str:
    """A section between barriers, or two: each device copies, looks, notifies and waits by a list of its own."""
    lines: list[str] = []
    row = 0
    sent: Counter[tuple[int, int]] = Counter()
    for section in range(rng.randint(1, 2)):
        told: Counter[tuple[int, int]] = Counter()
        parts: list[list[str]] = []
        for me in range(DEVICES):
            part: list[str] = []
            for _ in range(rng.randint(1, 4)):
                kind = rng.choice(("put", "look", "look", "notify", "notify"))
                peer, at = rng.randrange(DEVICES), rng.randrange(ROWS)
                if kind == "put":
                    part.append(
                        f"pld.tensor.put(data[{at}:{at + 1}, :], peer={peer}, src=x[{at}:{at + 1}, :])"
                    )
                elif kind == "look":
                    part.append(
                        f"pld.tensor.get(y[{row}:{row + 1}, :], peer={peer}, src=data[{at}:{at + 1}, :])"
                    )
                    row += 1
                else:
                    told[me, peer] += 1
                    part.append(
                        f"pld.system.notify(signal, peer={peer}, offsets=[{8 + me}, 0], value=1, "
                        "op=pld.NotifyOp.AtomicAdd)"
                    )
            parts.append(part)
        for (sender, me), count in told.items():
            if rng.random() < 0.7:
                wanted = sent[sender, me] + rng.randint(1, count)
                parts[me].insert(
                    rng.randrange(len(parts[me]) + 1),
                    f"pld.system.wait(signal, offsets=[{8 + sender}, 0], expected={wanted}, cmp=pld.WaitCmp.Ge)",
                )
        sent += told
        for me, part in enumerate(parts):
            if part:
                lines.append(f"if me == {me}:")
                lines += [f"    {line}" for line in part]
        if section == 0 and rng.random() < 0.8:
            lines.append("pld.tensor.barrier(signal[0:8, :])")
    return "\n".join(lines)


def outcome(kit: Any, program: Any) -> str:
    """What is refused, or what is left behind."""
    arrays = kit.inputs(program, DEVICES)
    try:
        return kit.run(program, DEVICES, arrays=arrays).tobytes().hex()
    except UserError as error:
        return error.diagnostics[0].code


@pytest.mark.parametrize("group", range(4))
def test_the_order_of_devices_changes_nothing(kit: Any, monkeypatch: pytest.MonkeyPatch, group: int) -> None:
    rng = random.Random(group)
    seen: Counter[str] = Counter()
    for _ in range(25):
        body = script(rng)
        program = kit.program(body, shape=(32, 8))
        with monkeypatch.context() as patch:
            wanted = outcome(kit, program)
            for seed in range(4):
                chance = random.Random(seed)
                patch.setattr(world, "next_in_turn", lambda able, last, chance=chance: chance.choice(able))
                assert outcome(kit, program) == wanted, body
        seen[wanted if wanted.startswith("SIM") else "done"] += 1
    assert set(seen) <= {"done", "SIM-020", "SIM-021"} and min(seen["done"], seen["SIM-021"]) >= 2, seen


def test_a_program_that_passes_is_what_it_says(kit: Any) -> None:
    """The same kernel, once without and once with a mistake, under the plain order: only the signals differ."""
    good = """
if me == 0:
    pld.tensor.put(data[0:1, :], peer=1, src=x[2:3, :])
    pld.system.notify(signal, peer=1, offsets=[8, 0], value=1, op=pld.NotifyOp.AtomicAdd)
if me == 1:
    pld.system.wait(signal, offsets=[8, 0], expected=1, cmp=pld.WaitCmp.Ge)
    pld.tensor.get(y[0:1, :], peer=1, src=data[0:1, :])
"""
    program = kit.program(good, shape=(32, 8))
    arrays = kit.inputs(program, 2)
    found = kit.run(program, 2, arrays=arrays)
    assert np.array_equal(found[1, 0], arrays["x"][0, 2])
    bad = kit.program(good.replace("expected=1", "expected=0"), shape=(32, 8))
    assert outcome(kit, bad) == "SIM-021"
