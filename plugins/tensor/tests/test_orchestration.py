"""Around kernels: tensors that loops hand on, launches and clusters as functions, scopes of outer levels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pypto_core.ir import Call, FunctionType, Level, walk
from pypto_core.run import compile

T = "pl.Tensor[[16, 64], pl.FP32]"
TO_TILES = ("OutlineIncoreScopes", "ConvertTensorToTileOps")
OPTIMIZE = "OptimizeOrchTensors"
AT = "with pl.at(level=pl.Level.CORE_GROUP, name_hint="


def lowered(kit: Any, params: str, body: str, result: str = T) -> Any:
    return kit.apply(kit.front(kit.main(params, body, result)), *TO_TILES)


def optimized(kit: Any, params: str, body: str, result: str = T) -> Any:
    return kit.prove(lowered(kit, params, body, result), OPTIMIZE, holds=["SplitIncoreOrch", "IncoreTileOps"])


def made(program: Any, function: str = "main") -> int:
    """How often the host creates a tensor, as written."""
    return sum(isinstance(n, Call) and n.name == "tensor.create" for n in walk(program[function].body))


STEP = f"""
{AT}"first"):
    x = pl.neg(a)
for i in pl.range(4):
    {AT}"step"):
        x = pl.add(pl.mul(x, 0.5), w)
{AT}"last"):
    out[:, :] = pl.exp(x)
return out
"""
PARAMS = f"a: {T}, w: {T}, out: pl.Out[{T}]"


def test_a_carried_tensor_is_replaced_where_it_lies(kit: Any) -> None:
    before, after = lowered(kit, PARAMS, STEP), optimized(kit, PARAMS, STEP)
    assert (made(before), made(after)) == (2, 1)
    assert [d.name for d in after["step"].param_directions] == ["InOut", "In"]
    kit.everywhere(kit.main(PARAMS, STEP, T))


def test_two_carried_tensors(kit: Any) -> None:
    body = STEP.replace("x = pl.neg(a)", "x = pl.neg(a)\n    y = pl.exp(a)").replace(
        "x = pl.add(pl.mul(x, 0.5), w)", "x = pl.add(pl.mul(x, 0.5), w)\n        y = pl.sub(y, w)"
    ).replace("pl.exp(x)", "pl.add(x, y)")  # fmt: skip
    assert (made(lowered(kit, PARAMS, body)), made(optimized(kit, PARAMS, body))) == (4, 2)


KEPT = {
    "the start is used again": STEP.replace("pl.exp(x)", "pl.add(x, start)").replace(
        "for i in", "start = x\nfor i in"
    ),
    "it starts from a parameter": STEP.replace(f'{AT}"first"):\n    x = pl.neg(a)\n', "x = a\n"),
    "trips run at the same time": STEP.replace("pl.range(4)", "pl.parallel(4)"),
}


REASONS = {
    "the start is used again": "what it starts from is read again",
    "it starts from a parameter": "it starts from a tensor that the function does not make itself",
    "trips run at the same time": "the trips of its loop may run at the same time",
}


@pytest.mark.parametrize("name", KEPT)
def test_what_has_to_stay(kit: Any, name: str) -> None:
    before = lowered(kit, PARAMS, KEPT[name])
    assert kit.apply(before, OPTIMIZE) is before
    hints = compile(kit.main(PARAMS, KEPT[name], T), backend="910b", host=kit.host).hints
    [hint] = [h for h in hints if h.code == "PH-OT-001"]
    assert REASONS[name] in hint.message and dict(hint.facts)["kernel"] == "step"


def test_what_is_merged_is_no_hint(kit: Any) -> None:
    hints = compile(kit.main(PARAMS, STEP, T), backend="910b", host=kit.host).hints
    assert not [h for h in hints if h.code == "PH-OT-001"]


@pytest.mark.parametrize(("second", "same"), [("w", False), ("x", True)])
def test_a_kernel_that_reads_after_it_writes(kit: Any, second: str, same: bool) -> None:
    program = kit.program(f"""
    @pl.program
    class P:
        @pl.function(type=pl.FunctionType.InCore)
        def step(self, x: {T}, w: {T}, y: pl.Out[{T}]) -> {T}:
            t = pl.load(x, [0, 0], [16, 64])
            y = pl.store(pl.muls(t, 0.5), [0, 0], y)
            u = pl.load({second}, [8, 0], [8, 64])
            return pl.store(u, [0, 0], y)
        @pl.function(type=pl.FunctionType.InCore)
        def first(self, a: {T}, x: pl.Out[{T}]) -> {T}:
            return pl.store(pl.load(a, [0, 0], [16, 64]), [0, 0], x)
        @pl.function(type=pl.FunctionType.Orchestration)
        def main(self, a: {T}, w: {T}, out: pl.Out[{T}]) -> {T}:
            x = self.first(a, pl.create_tensor([16, 64], dtype=pl.FP32))
            for i in pl.range(3):
                y = pl.create_tensor([16, 64], dtype=pl.FP32)
                x = self.step(x, w, y)
            out = pl.assemble(out, x, [0, 0])
            return out
    """)
    before = kit.front(program)
    after = kit.prove(before, OPTIMIZE)
    assert (after is before) is same


def test_other_names_of_what_a_loop_starts_from_are_followed(kit: Any) -> None:
    """A kernel that writes two tensors and hands back one: the name it gives it is the start's, and is read later."""
    program = kit.program(f"""
    @pl.program
    class P:
        @pl.function(type=pl.FunctionType.InCore)
        def both(self, a: {T}, log: pl.Out[{T}], x: pl.Out[{T}]) -> {T}:
            t = pl.load(a, [0, 0], [16, 64])
            pl.store(t, [0, 0], log)
            return pl.store(pl.neg(t), [0, 0], x)
        @pl.function(type=pl.FunctionType.InCore)
        def again(self, log: pl.Out[{T}], x: pl.InOut[{T}]) -> {T}:
            t = pl.load(x, [0, 0], [16, 64])
            pl.store(t, [0, 0], log)
            return pl.store(pl.add(t, t), [0, 0], x)
        @pl.function(type=pl.FunctionType.InCore)
        def step(self, x: {T}, y: pl.Out[{T}]) -> {T}:
            return pl.store(pl.exp(pl.load(x, [0, 0], [16, 64])), [0, 0], y)
        @pl.function(type=pl.FunctionType.Orchestration)
        def main(self, a: {T}, log: pl.Out[{T}], more: pl.Out[{T}], out: pl.Out[{T}]) -> {T}:
            x = self.both(a, log, pl.create_tensor([16, 64], dtype=pl.FP32))
            other = self.again(more, x)
            h = other
            for i in pl.range(2):
                h = self.step(h, pl.create_tensor([16, 64], dtype=pl.FP32))
            out[0:8, :] = h[0:8, :]
            out[8:16, :] = other[8:16, :]
            return out
    """)
    before = kit.front(program)
    assert kit.prove(before, OPTIMIZE) is before


def test_a_kernel_of_several_calls_keeps_its_parameters(kit: Any) -> None:
    program = kit.program(f"""
    @pl.program
    class P:
        @pl.function(type=pl.FunctionType.InCore)
        def step(self, x: {T}, w: {T}) -> {T}:
            return pl.add(pl.mul(x, 0.5), w)
        @pl.function(type=pl.FunctionType.Orchestration)
        def main(self, a: {T}, w: {T}, out: pl.Out[{T}]) -> {T}:
            x = self.step(a, w)
            for i in pl.range(4):
                x = self.step(x, w)
            out = pl.assemble(out, x, [0, 0])
            return out
    """)
    before = kit.apply(kit.front(program), *TO_TILES)
    assert kit.apply(before, OPTIMIZE) is before


def test_results_become_parts_of_what_they_would_be_copied_to(kit: Any) -> None:
    """With FuseCreateAssembleToSlice behind it: kernels write straight into the result."""
    body = f"""
    for i in pl.range(4):
        {AT}"part"):
            x = pl.exp(a[i * 16:(i + 1) * 16, :])
        out = pl.assemble(out, x, [i * 16, 0])
    return out
    """
    wide = "pl.Tensor[[64, 64], pl.FP32]"
    before = lowered(kit, f"a: {wide}, out: pl.Out[{wide}]", body, wide)
    after = kit.prove(before, OPTIMIZE, "FuseCreateAssembleToSlice")
    assert (made(before), made(after)) == (1, 0)


LAUNCH = """
for core in pl.spmd(COUNT, name_hint="parts", sync_start=True):
    out[core * 4:(core + 1) * 4, :] = pl.exp(a[core * 4:(core + 1) * 4, :])
return out
"""


def test_launches_become_functions(kit: Any) -> None:
    before = kit.apply(
        kit.front(kit.main(f"a: {T}, out: pl.Out[{T}]", LAUNCH.replace("COUNT", "4"), T)),
        "OutlineIncoreScopes",
    )
    after = kit.prove(before, "OutlineClusterScopes", holds=["SplitIncoreOrch", "ClusterOutlined"])
    [launch] = [f for f in after if f.func_type is FunctionType.Spmd]
    assert dict(launch.attrs) == {"sync_start": True, "core_num": 4}
    kit.prove(after, "ConvertTensorToTileOps", holds=["IncoreTileOps", "ClusterOutlined"])


def test_a_launch_of_a_number_known_at_run_time(kit: Any) -> None:
    program = kit.main(f"a: {T}, n: pl.Scalar[pl.INDEX], out: pl.InOut[{T}]", LAUNCH.replace("COUNT", "n"), T)
    before = kit.apply(kit.front(program), "OutlineIncoreScopes")
    rng = np.random.default_rng(0)
    inputs = {"a": rng.standard_normal((16, 64), dtype=np.float32), "n": 3}
    inputs["out"] = inputs["a"]
    after = kit.prove(before, "OutlineClusterScopes", holds=["ClusterOutlined"], inputs=inputs)
    [launch] = [f for f in after if f.func_type is FunctionType.Spmd]
    assert "core_num" not in launch.attrs


def test_clusters_become_groups(kit: Any) -> None:
    body = f"""
    with pl.cluster():
        {AT}"one"):
            x = pl.exp(a)
        {AT}"two"):
            out[:, :] = pl.neg(x)
    return out
    """
    before = kit.apply(kit.front(kit.main(f"a: {T}, out: pl.Out[{T}]", body, T)), "OutlineIncoreScopes")
    after = kit.prove(before, "OutlineClusterScopes", holds=["ClusterOutlined"])
    assert [f.func_type.name for f in after if not f.is_incore] == ["Orchestration", "Group"]


def test_scopes_of_outer_levels_become_functions(kit: Any) -> None:
    body = f"""
    with pl.at(level=pl.Level.HOST, name_hint="outer"):
        {AT}"inner"):
            out[:, :] = pl.neg(a)
    return out
    """
    front = kit.front(kit.main(f"a: {T}, out: pl.Out[{T}]", body, T))
    holds = ["HierarchyOutlined", "OrchestrationReferencesResolved"]
    after = kit.prove(front, "OutlineHierarchyScopes", holds=holds)
    assert after["outer"].level is Level.HOST
    both = kit.prove(after, "OutlineIncoreScopes", holds=[*holds, "SplitIncoreOrch"])
    assert sorted(both.functions) == ["inner", "main", "outer"]
