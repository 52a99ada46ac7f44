"""FuseCreateAssembleToSlice: which buffers become parts of their targets, and which must not."""

from __future__ import annotations

from typing import Any

import pytest

from pypto_core.ir import AssignStmt, Call, Var, walk_stmts
from pypto_plugin_tile.create_assemble import fuse_create_assemble_to_slice

T, PART = "pl.Tensor[[64, 64], pl.FP32]", "pl.Tensor[[16, 64], pl.FP32]"
KERNELS = f"""
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: {T}, o: pl.Out[{PART}]) -> {PART}:
        t = pl.load(a, [0, 0], [16, 64])
        e = pl.exp(t)
        return pl.store(e, [0, 0], o)

    @pl.function(type=pl.FunctionType.InCore)
    def both(self, a: {T}, o: pl.Out[{PART}], p: pl.Out[{PART}]) -> tuple[{PART}, {PART}]:
        t = pl.load(a, [16, 0], [16, 64])
        one = pl.store(t, [0, 0], o)
        e = pl.neg(t)
        two = pl.store(e, [0, 0], p)
        return one, two

    @pl.function(type=pl.FunctionType.InCore)
    def adds(self, a: {T}, o: pl.InOut[{PART}]) -> {PART}:
        t = pl.load(a, [0, 0], [16, 64])
        u = pl.load(o, [0, 0], [16, 64])
        w = pl.add(t, u)
        return pl.store(w, [0, 0], o)

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, a: {T}, out: pl.InOut[{T}]) -> {T}:
"""
BUFFER = "pl.create_tensor([16, 64], pl.FP32)"


def fused(kit: Any, body: str) -> tuple[Any, Any]:
    lines = "".join(" " * 8 + line + "\n" for line in body.strip("\n").splitlines())
    program = kit.program(KERNELS + lines)
    transform = kit.run(fuse_create_assemble_to_slice)
    after = kit.prove(transform, program, kept=("SSAForm", "SplitIncoreOrch"))
    assert transform(after) is after
    return program, after


def ops(program: Any) -> list[str]:
    out = []
    for s in walk_stmts(program["main"].body):
        if isinstance(s, AssignStmt):
            out.append(s.value.name.rpartition(".")[2] if isinstance(s.value, Call) else "=")
    return out


def test_a_buffer_becomes_its_place_in_the_target(kit: Any) -> None:
    _, after = fused(kit, f"b = {BUFFER}\nr = self.k(a, b)\nt = pl.assemble(out, r, [32, 0])\nreturn t")
    assert ops(after) == ["slice", "k", "="]
    window, _, name = [s for s in walk_stmts(after["main"].body) if isinstance(s, AssignStmt)]
    assert window.value.args[0] is after["main"].params[1] and isinstance(name.value, Var)
    assert [o.value for o in window.value.args[2].elements] == [32, 0]


def test_in_a_loop_over_blocks(kit: Any) -> None:
    body = f"""
for i, (acc,) in pl.range(0, 4, 1, init_values=(out,)):
    b = {BUFFER}
    r = self.k(a, b)
    t = pl.assemble(acc, r, [i * 16, 0])
    y = pl.yield_(t)
return y
"""
    _, after = fused(kit, body)
    assert ops(after) == ["slice", "k", "="]


def test_one_behind_the_other_into_one_target(kit: Any) -> None:
    body = f"""
b = {BUFFER}
r = self.k(a, b)
t = pl.assemble(out, r, [0, 0])
c = {BUFFER}
s = self.k(a, c)
u = pl.assemble(t, s, [8, 0])
return u
"""
    _, after = fused(kit, body)
    assert ops(after) == ["slice", "k", "=", "slice", "k", "="]


def test_two_results_of_one_kernel(kit: Any) -> None:
    """The second copy is behind the first, whose target it shares: its buffer is not where it would have to be."""
    body = f"""
b = {BUFFER}
c = {BUFFER}
r = self.both(a, b, c)
one = r[0]
two = r[1]
t = pl.assemble(out, one, [0, 0])
u = pl.assemble(t, two, [32, 0])
return u
"""
    _, after = fused(kit, body)
    assert ops(after)[0] == "slice" and ops(after).count("assemble") == 1


FILLED = f"b = {BUFFER}\nr = self.k(a, b)\n"
COPIED = "t = pl.assemble(out, r, [0, 0])\nreturn t"
STAY = {
    "the buffer holds something": FILLED.replace("pl.FP32)", "pl.FP32, init_value=1.0)", 1) + COPIED,
    "the kernel reads it": FILLED.replace("r =", "z =") + "r = self.adds(a, z)\n" + COPIED,
    "the result is read elsewhere": (
        FILLED + "t = pl.assemble(out, r, [0, 0])\nu = pl.assemble(t, r, [16, 0])\nreturn u"
    ),
    "the kernel reads the target": FILLED.replace("(a, b)", "(out, b)") + COPIED,
    "the place is not known yet": (
        FILLED + "v = pl.tensor.dim(r, 0)\nt = pl.assemble(out, r, [v, 0])\nreturn t"
    ),
    "copies are added up": FILLED + COPIED.replace("[0, 0])", "[0, 0], atomic=pl.AtomicType.Add)"),
    "the copy is in another region": (
        FILLED + "if pl.tensor.dim(a, 0) == 64:\n    t = pl.assemble(out, r, [0, 0])\n    y = pl.yield_(t)\n"
        "else:\n    y = pl.yield_(out)\nreturn y"
    ),
}


@pytest.mark.parametrize("what", STAY)
def test_buffers_that_stay(kit: Any, what: str) -> None:
    program, after = fused(kit, STAY[what])
    assert after is program and "create" in ops(after)


def test_a_target_that_is_read_in_between(kit: Any) -> None:
    body = FILLED + f"c = {BUFFER}\ns = self.k(out, c)\n"
    body += "t = pl.assemble(out, r, [0, 0])\nu = pl.assemble(t, s, [16, 0])\nreturn u"
    _, after = fused(kit, body)
    assert ops(after)[:2] == ["create", "k"] and ops(after).count("create") == 2


def test_only_where_kernels_are_called(kit: Any) -> None:
    body = "t = pl.load(a, [0, 0], [16, 64])\npl.store(t, [0, 0], out)"
    program = kit.kernel(f"a: {T}, out: pl.Out[{T}]", body)
    assert fuse_create_assemble_to_slice(program, None) is program
