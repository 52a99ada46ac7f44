"""Writes into tensors that are declared as inputs are warned of where they are first made, others are not."""

from __future__ import annotations

import pytest

import pypto_core.language as pl
from pypto_core.host import load_host
from pypto_core.ir import Program
from pypto_core.run import compile
from pypto_core.verify.inputs import written_inputs

HEAD = "import pypto_core.language as pl\n\n\n@pl.program\nclass P:\n"
TENSOR = "pl.Tensor[[16, 16], pl.FP32]"
OUT, INOUT = f"pl.Out[{TENSOR}]", f"pl.InOut[{TENSOR}]"


def parsed(body: str, out: str = TENSOR, kind: str = "InCore", more: str = "") -> Program:
    return pl.parse(HEAD + more + function("main", kind, out, body))


def function(name: str, kind: str, out: str, body: str) -> str:
    head = (
        f"    @pl.function(type=pl.FunctionType.{kind})\n"
        f"    def {name}(self, x: {TENSOR}, n: pl.Scalar[pl.INDEX], out: {out}):\n"
    )
    return head + "".join(f"        {line}\n" for line in body.strip("\n").splitlines()) + "\n"


def warned(program: Program) -> list[tuple[str, str]]:
    """(message, the source line that it points at)."""
    found = list(written_inputs(program))
    assert {d.code for d in found} <= {"PT414"}
    return [(d.message, d.span.line_text().strip()) for d in found]


STORE = """
t = pl.load(x, [0, 0], [16, 16])
out = pl.store(t, [0, 0], out)
out = pl.store(t, [0, 0], out)
return out
"""
BARE = """
t = pl.load(x, [0, 0], [16, 16])
same = out
pl.store(t, [0, 0], same)
"""
LOOP = """
for i, (part,) in pl.range(2, init_values=(out,)):
    t = pl.load(x, [i * 8, 0], [8, 16])
    stored = pl.store(t, [i * 8, 0], part)
    last = pl.yield_(stored)
return last
"""
BRANCH = """
t = pl.load(x, [0, 0], [16, 16])
if n > 0:
    chosen = pl.yield_(out)
else:
    chosen = pl.yield_(out)
pl.store(t, [0, 0], chosen)
"""
PART = """
with pl.at(level=pl.Level.CORE_GROUP):
    out[0:8, :] = pl.neg(x[8:16, :])
return out
"""
HANDED = """
out = self.kernel(x, n, out)
return out
"""
OWN = """
with pl.at(level=pl.Level.CORE_GROUP):
    mine = pl.create_tensor([16, 16], dtype=pl.FP32)
    mine[:] = pl.add(x, out)
return mine
"""
READ = """
t = pl.load(x, [0, 0], [16, 16])
u = pl.load(out, [0, 0], [16, 16])
return
"""
KERNEL = function("kernel", "InCore", OUT, STORE)
WRITES = {
    "store": (STORE, "InCore", "'tile.store'", "out = pl.store(t, [0, 0], out)"),
    "another name": (BARE, "InCore", "'tile.store'", "pl.store(t, [0, 0], same)"),
    "carry": (LOOP, "InCore", "'tile.store'", "stored = pl.store(t, [i * 8, 0], part)"),
    "branch": (BRANCH, "InCore", "'tile.store'", "pl.store(t, [0, 0], chosen)"),
    "part": (PART, "Orchestration", "'tensor.assemble'", "out[0:8, :] = pl.neg(x[8:16, :])"),
    "callee": (HANDED, "Orchestration", "function 'kernel'", "out = self.kernel(x, n, out)"),
}


@pytest.mark.parametrize("case", WRITES)
def test_a_write_into_an_input_is_warned_of_once(case: str) -> None:
    body, kind, what, line = WRITES[case]
    more = KERNEL if case == "callee" else ""
    message = f"'out' is an input of function 'main', and {what} writes it"
    assert warned(parsed(body, kind=kind, more=more)) == [(message, line)]
    for out in (OUT, INOUT):
        assert warned(parsed(body, out, kind, more)) == []


@pytest.mark.parametrize(("body", "kind"), [(OWN, "Orchestration"), (READ, "InCore"), (PART, "Inline")])
def test_reads_tensors_of_ones_own_and_inline_functions_are_in_order(body: str, kind: str) -> None:
    assert warned(parsed(body, kind=kind)) == []


def test_compiling_says_it_and_can_be_told_not_to() -> None:
    host = load_host()
    if not {"910b"} <= set(host.backends) or "InitMemRef" not in host.passes:
        pytest.skip("no plugins that compile")
    compiled = compile(parsed(STORE), backend="910b", goal="HasMemRefs")
    assert [d.code for d in compiled.warnings] == ["PT414"]
    for name in ("PT414", "InputWritten"):
        quiet = compile(parsed(STORE), backend="910b", goal="HasMemRefs", disabled_diagnostics=[name])
        assert quiet.diagnostics == ()
