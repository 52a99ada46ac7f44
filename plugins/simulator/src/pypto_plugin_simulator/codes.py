"""Pages for the codes of the simulator's errors."""

from __future__ import annotations

from pypto_core.contract import CodePage

PAGES = (
    CodePage(
        "SIM-000",
        "no number format",
        "The program holds elements of a type whose numbers the simulator can't represent. Use one of the "
        "formats that the error lists.",
    ),
    CodePage(
        "SIM-001",
        "arithmetic without a result",
        "An integer was divided by zero, shifted by more bits than it has, or raised to a negative power. "
        "Floats don't raise this: they become infinite or NaN. Guard the operation with an `if`, or fill "
        "the divisor's padding.",
    ),
    CodePage(
        "SIM-002",
        "a variable without a value",
        "A variable is read on a path on which nothing was assigned to it, or a region hands on another "
        "number of values than its loop or branch takes. Assign the variable on every path.",
    ),
    CodePage(
        "SIM-003",
        "arguments that don't fit",
        "The inputs of a run, or the arguments of a call, don't match the parameters: one is missing or "
        "unknown, or its element type, its rank or an extent differs. Symbolic extents of one name have "
        "to agree.",
    ),
    CodePage(
        "SIM-004",
        "nothing the simulator can run",
        "A statement or expression has no meaning outside of the machine, such as text for the host.",
    ),
    CodePage(
        "SIM-005",
        "a run without end",
        "More steps were taken than the limit allows, a loop has step zero, or a function calls itself. "
        "Check the loop's end, or raise the limit with `max_steps`.",
    ),
    CodePage(
        "SIM-006",
        "an access out of bounds",
        "An operator reads or writes outside of a tile or tensor, or uses elements that hold no data. The "
        "error names window, axis and extent. Mend the offset, narrow `valid_shape`, or read with "
        "`clamp=True`.",
    ),
    CodePage(
        "SIM-007",
        "a meaning that failed",
        "The function that says what an operator computes raised an error that is not the program's: "
        "report it to whoever registered the operator's executor.",
    ),
    CodePage(
        "SIM-008",
        "an operator without a meaning",
        "The program applies an operator whose meaning nobody registered. A plugin that brings an "
        "operator gives its meaning with the hook `pypto_executors`.",
    ),
)
"""One page per code."""
