"""Pages for the codes of this plugin's errors and hints."""

from __future__ import annotations

from pypto_core.contract import CodePage

PAGES = (
    CodePage(
        "PT320",
        "an unrolled loop without constant bounds",
        "The trips of `pl.unroll` are written out while compiling, so its bounds and step must be known "
        "then: literals, constants of the enclosing Python code, or variables assigned once to such. Use "
        "`pl.range` for bounds that are known only when the kernel runs.",
    ),
    CodePage(
        "PT321",
        "an unrolled loop that is too large",
        "The trips of this loop would come to more statements than a kernel can sensibly have. Use "
        "`pl.range`, and unroll an inner loop of fewer trips.",
    ),
    CodePage(
        "PT322",
        "a function that can't be inlined",
        "A function of type Inline calls itself, has no body in the program, is submitted as a task, is "
        "called with another number of arguments, or the program holds no function it could be inlined "
        "into. Call it from a kernel, or give it another type.",
    ),
    CodePage(
        "PT323",
        "an exit out of trips that all run",
        "`break`, `continue` or `return` would leave a parallel or unrolled loop, or a scope that runs on "
        "several cores. None of these has an order in which later trips could be left out. Use `pl.range`, "
        "or guard the statements with an `if`.",
    ),
    CodePage(
        "PT330",
        "an exit left before SSA conversion",
        "Phis and carries are made from structured control flow: `break`, `continue` and returns before "
        "the end of the function have to be turned into conditions first. `CtrlFlowTransform` does it.",
    ),
    CodePage(
        "PT331",
        "a variable that may be unassigned",
        "A variable is read where not every path that leads there has assigned it:\n\n"
        "```python\nif n > 4:\n    x = pl.load(a, [0, 0], [16, 16])\ny = pl.add(x, 1.0)  # x, when n <= 4?\n```\n\n"
        "Assign it before the branch or loop. A read under the condition that assigned it (`if n > 4:` again, or "
        "a flag that was set beside it) is understood.",
    ),
    CodePage(
        "PT332",
        "a value that can't be handed out",
        "A tensor or another value gets its first value inside of a branch or loop and is used after it. Such "
        "a value has to exist on every path. Assign it before the branch or loop.",
    ),
    CodePage(
        "PT333",
        "statements behind a yield",
        "A yield hands on the results of its region and must be the last statement of it: what stands behind it would "
        "belong to no trip. Move the statements ahead of `pl.yield_`, or out of the loop or branch.",
    ),
    CodePage(
        "PT334",
        "a valid extent that differs between paths",
        "A tile that branches or trips hand on has one type, so its valid extents must be the same "
        "expression on every path, computed outside of them. Compute the extent before the branch or loop, "
        "or narrow the tile with `pl.set_validshape` after it.",
    ),
    CodePage(
        "PH-ST-001",
        "a loop that lost its kind to an exit",
        "A counted loop that can be left early becomes a while loop, which can't be pipelined: what was said "
        "about its stages is dropped. Guard the body with an `if` instead of leaving the loop.",
    ),
)
"""One page per code."""
