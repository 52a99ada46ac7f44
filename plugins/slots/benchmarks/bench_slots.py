"""How much text a pipelined loop becomes: one body over slots, against a copy per stage and the trips left over."""

from __future__ import annotations

import attrs

from benchmarks.figures import Figure, best_of
from pypto_core.host import Host, load_host
from pypto_core.ir import Program
from pypto_core.language import parse_program
from pypto_core.run import PassContext, compile
from pypto_plugin_slots.rotate import lower_pipeline_to_slots

PASS = "LowerPipelineToSlots"
KERNEL = """
import pypto_core.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def main(self, a: pl.Tensor[[4096, 64], pl.FP32], out: pl.Out[pl.Tensor[[4096, 64], pl.FP32]],
             n: pl.Scalar[pl.INDEX]):
        for i in pl.pipeline(0, n, 1, stage={stages}):
            x = pl.load(a, [i * 16, 0], [16, 64])
            y = pl.exp(x)
            z = pl.add(x, y)
            pl.store(z, [i * 16, 0], out)
"""


def lines(program: Program, host: Host) -> int:
    """Lines of the module under the planner ``ptoas``."""
    compiled = compile(program, backend="910b", planner="ptoas", host=host, verification="NONE")
    return sum(str(artifact.data).count("\n") for artifact in compiled.artifacts)


def run() -> list[Figure]:
    """Lines for 2, 4 and 8 stages with trips of run time, and the time of the pass on a function of 100 loops."""
    host = load_host()
    kept = {name: row for name, row in host.passes.rows.items() if name != PASS}
    without = attrs.evolve(host, passes=type(host.passes).of("pass", kept))
    figures: list[Figure] = []
    for stages in (2, 4, 8):
        program = parse_program(KERNEL.format(stages=stages))
        figures.append(
            Figure(
                name=f"slots: lines of a loop of {stages} stages",
                value=float(lines(program, host)),
                unit="lines",
                peer=float(lines(program, without)),
                peer_name="replicated",
            )
        )
    head, _, loop = KERNEL.partition("        for")
    many = parse_program(head + "        for" + "        for".join([loop] * 100).format(stages=2))
    context = PassContext(planner="ptoas", host=host)
    seconds = best_of(lambda: lower_pipeline_to_slots(many["main"], context), repeat=3)
    figures.append(Figure(name="slots: the pass on 100 loops", value=seconds, unit="s"))
    return figures
