"""Plans corrupted on purpose: whatever changes a result is caught.

Which corruptions do harm says a run on the same bytes without any check (``raw_bytes``). PYPTO_PLANS=200 tries
that many; the tests try a few.
"""

from __future__ import annotations

import os
from collections import Counter
from random import Random
from typing import Any

from bytes_kit import PLANNERS, cube_kernel, host, inputs_of, planned
from raw_bytes import run_raw
from wide_kernels import wide_kernel

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    PTR,
    Add,
    ConstInt,
    DataType,
    Expr,
    Function,
    IterArg,
    MemRef,
    Mutator,
    Program,
    Var,
    add,
    const_index,
    defined_vars,
    floormod,
    map_functions,
    mul,
    replace,
)
from pypto_core.language import parse
from pypto_core.testing import SSA_FEATURES, random_program, same_elements
from pypto_plugin_simulator.places import memref_of

PLANS = int(os.environ.get("PYPTO_PLANS", "18"))

RING = """
import pypto_core.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def main(self, x: pl.Tensor[[256, 32], pl.FP32], n: pl.Scalar[pl.INDEX],
             out: pl.InOut[pl.Tensor[[256, 32], pl.FP32]]):
        last = pl.load(x, [0, 0], [8, 32])
        for i in pl.pipeline({start}, {stop}, {step}, stage={stage}):
            a = pl.load(x, [i * 8, 0], [8, 32])
            b = pl.load(x, [256 - 8 * (i + 1), 0], [8, 32])
            c = pl.add(a, pl.mul(b, last))
            pl.store(c, [i * 8, 0], out)
        pl.store(last, [248, 0], out)
"""


def kernel(rng: Random, seed: int) -> Any:
    """A kernel of one of three kinds: anything, cube loops, rings of slots."""
    kind = seed % 3
    if kind == 0 and seed % 2:
        return wide_kernel(rng, 20)
    if kind == 0:
        return random_program(seed, 25, features=SSA_FEATURES)
    if kind == 1:
        return cube_kernel(rng)
    start, step, stage = rng.choice([0, 1, 4]), rng.choice([1, 2, 3]), rng.choice([2, 3, 4])
    return parse(RING.format(start=start, stop=start + step * rng.choice([3, 5, 7]), step=step, stage=stage))


class Moved(Mutator):
    """Puts variables where a table says."""

    def __init__(self, places: dict[Var, MemRef]) -> None:
        super().__init__()
        self.places = places

    def visit_def(self, var: Var) -> Var:
        """The variable at its new place."""
        if var not in self.places:
            return super().visit_def(var)
        kind = replace(var.type, memref=self.places[var])
        if isinstance(var, IterArg):
            new: Var = IterArg(var.name_hint, kind, self.visit(var.init_value), span=var.span)
        else:
            new = Var(var.name_hint, kind, span=var.span)
        self.remap[var] = new
        return new


def corrupted(rng: Random, function: Function, addressed: bool) -> tuple[str, dict[Var, MemRef]] | None:
    """(what is done to it, wrong places for some of its tiles)."""
    tiles = [v for v in dict.fromkeys(defined_vars(function.body)) if memref_of(v.type) is not None]
    rings = [v for v in tiles if v.type.memref.slot_count > 1]
    if rings and rng.random() < 0.6:
        return _slot(rng, rng.choice(rings))
    fixed = [v for v in tiles if isinstance(v.type.memref.byte_offset, ConstInt)]
    if len(fixed) < 2:
        return None
    victim = rng.choice(fixed)
    others = [v for v in fixed if v.type.memory_space is victim.type.memory_space]
    group = [v for v in fixed if v.type.memref.base is victim.type.memref.base]
    what = rng.choice(["allocation onto another", "name onto another", "name shifted", "alias dropped"])
    other = rng.choice(others).type.memref
    here = victim.type.memref
    if not addressed:  # allocations instead of addresses
        if what == "alias dropped" or what == "name shifted":
            fresh = replace(here, base=Var("elsewhere", PTR))
            return "alias dropped", {victim: fresh}
        if other.base is here.base:
            return None
        chosen = group if what == "allocation onto another" else [victim]
        return what, {v: replace(v.type.memref, base=other.base) for v in chosen}
    by = other.byte_offset.value - here.byte_offset.value
    if what == "name shifted":
        by = 32 * rng.choice([-2, -1, 1, 2, 3])
    elif what == "alias dropped":
        by = (
            max(v.type.memref.byte_offset.value + v.type.memref.size for v in others) - here.byte_offset.value
        )
    chosen = group if what == "allocation onto another" else [victim]
    starts = {v: v.type.memref.byte_offset.value + by for v in chosen}
    if by == 0 or min(starts.values()) < 0:
        return None
    return what, {
        v: replace(v.type.memref, byte_offset=ConstInt(at, DataType.INT64)) for v, at in starts.items()
    }


def _slot(rng: Random, victim: Var) -> tuple[str, dict[Var, MemRef]]:
    """A ring whose bytes, or whose bytes and index, are those of a wrong slot."""
    memref = victim.type.memref
    assert memref.slot_index is not None
    index, count = memref.slot_index, memref.slot_count
    ways = [const_index(0), floormod(add(index, 1), count), add(index, count), add(index, -count)]
    # a constant outside of the ring can't even be written
    wrong = rng.choice([w for w in ways if not isinstance(w, ConstInt) or 0 <= w.value < count])
    offset: Expr = mul(wrong, memref.size)
    if isinstance(memref.byte_offset, Add):
        offset = Add(memref.byte_offset.left, offset, memref.byte_offset.type)
    if rng.random() < 0.5:
        return "slot of the bytes", {victim: replace(memref, byte_offset=offset)}
    return "slot", {victim: replace(memref, byte_offset=offset, slot_index=wrong)}


def same(want: Any, have: Any) -> bool:
    """Whether two sets of outputs agree bit by bit."""
    return all(bool(same_elements(want[name], have[name]).all()) for name in want)


def attempt(seed: int) -> tuple[str, bool, str] | None:
    """(corruption, whether it does harm, the code that it was caught with) of one plan."""
    rng = Random(seed)
    planner = PLANNERS[seed // 3 % 3]
    program = kernel(rng, seed)
    options = {"enable_buffer_ir": False}  # places are corrupted where tiles have them
    if seed % 3 == 2 and planner != "ptoas":
        options["enable_addressed_slots"] = True
    good, where = planned(program, rng.choice(["910b", "a5"]), planner, **options)
    inputs = {**inputs_of(program, seed), **({"n": 1 + seed % 40} if seed % 3 == 1 else {})}
    want = host().engine("values").load()(program, inputs).outputs
    assert same(want, run_raw(good, inputs, **where, host=host()))  # the oracle itself
    [function] = good.functions.values()
    made = corrupted(rng, function, where["addressed"])
    if made is None:
        return None
    what, places = made
    bad = map_functions(good, lambda f: Moved(places).visit(f))
    assert isinstance(bad, Program)
    try:
        harm = not same(want, run_raw(bad, inputs, **where, host=host()))
    except (UserError, ValueError):  # below the first byte there is none
        harm = True
    try:
        have = host().engine("bytes").load()(bad, inputs, **where).outputs
    except UserError as error:
        return what, harm, error.diagnostics[0].code
    return what, harm or not same(want, have), ""


def test_whatever_does_harm_is_caught() -> None:
    found: Counter[tuple[str, bool, str]] = Counter()
    missed: list[int] = []
    seed = tried = 0
    while tried < PLANS:
        made = attempt(seed)
        if made is not None:
            tried += 1
            found[made] += 1
            what, harm, code = made
            if harm and not code:
                missed.append(seed)
        seed += 1
    assert not missed
    # there was something to catch, of every kind
    assert sum(n for (_, harm, _), n in found.items() if harm) >= PLANS // 6
    assert any(harm and what.startswith("slot") for what, harm, _ in found)


def test_harmless_changes_pass() -> None:
    """What is never read may lie anywhere: the detector does not cry for nothing."""
    program = parse(RING.format(start=0, stop=4, step=1, stage=2))
    good, where = planned(program, "910b", "pypto", enable_buffer_ir=False)
    [function] = good.functions.values()
    tiles = [v for v in defined_vars(function.body) if memref_of(v.type) is not None]
    top = max(v.type.memref.byte_offset.value + v.type.memref.size for v in tiles)
    lift = {
        v: replace(v.type.memref, byte_offset=ConstInt(v.type.memref.byte_offset.value + top, DataType.INT64))
        for v in tiles
    }
    bad = map_functions(good, lambda f: Moved(lift).visit(f))
    inputs = inputs_of(program, 1)
    want = host().engine("values").load()(program, inputs).outputs
    assert same(want, host().engine("bytes").load()(bad, inputs, **where).outputs)
