"""How long it takes to write a kernel as buffers: select, put storage in order, lower, verify."""

from __future__ import annotations

import gc

from benchmarks.figures import Figure, clock
from pypto_core.host import load_host
from pypto_core.ir import Program, collector_paused
from pypto_core.language import parse_program
from pypto_core.run import compile

OURS = frozenset({"SelectBufferIRFunctions", "LegalizeTileStorage", "VerifyTileStorage", "LowerTileToBuffer"})
HEAD = """
import pypto_core.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: pl.Tensor[[4096, 64], pl.FP32], o: pl.Out[pl.Tensor[[4096, 64], pl.FP32]], n: pl.Scalar[pl.INDEX]):
"""
STEP = """
        x{0} = pl.load(a, [{1}, 0], [16, 64])
        y{0} = pl.add(x{0}, x{0})
        z{0} = pl.mul(y{0}, x{0})
        w{0} = pl.slice(z{0}, [8, 64], [n, 0])
        e{0} = pl.exp(w{0})
        o = pl.store(e{0}, [{1}, 0], o)
"""


def kernel(statements: int) -> Program:
    """A kernel of about so many statements: loads, arithmetic, windows and stores."""
    return parse_program(HEAD + "".join(STEP.format(i, i % 240 * 16) for i in range(statements // 6)))


def seconds(statements: int, planner: str) -> float:
    """Time of this plugin's passes, what they make verified; without the garbage collector, as all figures are."""
    gc.collect()
    with collector_paused():
        started = clock()
        compiled = compile(
            kernel(statements), backend="910b", planner=planner, goal="pto", verification="BASIC"
        )
        total = clock() - started
    found = [spent for name, spent in compiled.timings if name in OURS]
    assert len(found) == len(OURS), f"{sorted(OURS)} did not all run in {total:.1f} s"
    return sum(found)


def run() -> list[Figure]:
    """The stage on 500 statements under each planner, and on 5,000 against ten times that."""
    load_host()
    figures = [
        Figure(
            name=f"buffer_ir: the stage on 500 statements, {planner}",
            value=min(seconds(500, planner) for _ in range(3)),
            unit="s",
            target=0.4,
        )
        for planner in ("pypto", "dsa_rp", "ptoas")
    ]
    small = min(seconds(500, "ptoas") for _ in range(3))
    large = min(seconds(5000, "ptoas") for _ in range(3))
    figures.append(
        Figure(
            name="buffer_ir: 5,000 statements against ten times 500",
            value=large / (10 * small),
            unit="x",
            target=1.5,
        )
    )
    return figures
