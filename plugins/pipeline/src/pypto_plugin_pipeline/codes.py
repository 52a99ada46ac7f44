"""Pages of the codes of this plugin."""

from __future__ import annotations

from pypto_core.contract import CodePage

PAGES = (
    CodePage(
        "PT350",
        "A pipelined loop whose step is no constant",
        "Copies of the body stand a known distance apart. Give `pl.pipeline` a constant step other than 0, or write "
        "`pl.range` for a loop whose trips need not overlap.",
    ),
    CodePage(
        "PT351",
        "A pipelined loop that counts down between bounds of run time",
        "How many trips are left over for the tail is computed for loops that count up. Count up and compute the "
        "descending index in the body: `j = n - 1 - i`.",
    ),
    CodePage(
        "PT352",
        "A pipelined loop that is not replicated",
        "The property `pipeline.LoopsReplicated` is said to hold and does not: a pass made a pipelined loop after "
        "LowerPipelineLoops. That pass has to declare the effect `ir.control-flow`.",
    ),
    CodePage(
        "PT353",
        "A pipelined loop that goes to the other core and back",
        "The property `pipeline.CrossCoreSequential` is said to hold and does not: a pass put transfers into a "
        "pipelined loop after SkewCrossCorePipeline. That pass has to declare the effect `ir.calls`.",
    ),
)
