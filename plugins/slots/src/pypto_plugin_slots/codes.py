"""Pages of the hints: the gates that a loop has to pass, and why each is there."""

from __future__ import annotations

from pypto_core.contract import CodePage

_FALLBACK = "The loop is replicated instead, as it is under other planners: nothing is lost but text size."


def _page(number: int, title: str, text: str) -> CodePage:
    return CodePage(f"PH-LS-{number:03}", title, f"{text}\n\n{_FALLBACK}")


PAGES = (
    _page(
        1,
        "A pipelined loop of more stages than a ring has slots",
        "The assembler's rings have 2 to 16 slots. More stages than that hardly ever hide more latency.",
    ),
    _page(
        2,
        "A pipelined loop inside of one that is replicated",
        "The outer loop's body is copied per stage, and the copies would all select a slot of one ring in one trip, "
        "of which the assembler guards only one. Make the outer loop a `pl.range`, or see its own hint.",
    ),
    _page(
        3,
        "A pipelined loop without a constant step above 0",
        "Trips are counted by dividing by the step, which the assembler's analysis can only follow for a constant.",
    ),
    _page(
        4,
        "A pipelined loop without a constant start from 0 on",
        "Slots are counted from the start. A start that is known at run time can't be bounded, and below 0 the "
        "machine's remainder is negative. Loop from 0 and add the start in the body.",
    ),
    _page(
        5,
        "A stepped pipelined loop whose counter may overflow",
        "The loop adds its step once more behind the last trip and may pass its stop by step - 1, which has to fit "
        "64 bits: the stop is a constant of at most 2**63 - step. With step 1 any stop will do.",
    ),
    _page(
        6,
        "A pipelined loop that does not count in INDEX",
        "A slot is selected by an index of 64 bits. A narrower counter would have to be converted in every trip, "
        "and the assembler would not recognise the rotation.",
    ),
    _page(
        7,
        "A pipelined loop with nothing to rotate",
        "Only loads that are statements of the body itself, and that the author has not bound to an allocation, get "
        "slots. Loads in inner loops and branches belong to those.",
    ),
    _page(
        8,
        "A load into a memory without rings",
        "The assembler takes slots in Vec, Mat and Acc.",
    ),
    _page(
        9,
        "A load whose extents are known at run time only",
        "A ring states one constant valid extent for all its slots. Loops over a remainder often have one trip too "
        "many for that: peel it.",
    ),
    _page(
        10,
        "A load that is carried into a phi",
        "A tile that is yielded, or that a nested loop starts from, shares its buffer with the carry, whatever name "
        "it is yielded by. Its slot would be overwritten while the carry still stands for it.",
    ),
    _page(
        11,
        "A load whose buffer another tile takes over",
        "Views and operators that work in place give their result the buffer of an operand. The result would lie in "
        "the ring with another type than its slots have. Other operands of such operators, such as what is stored "
        "or assembled, are free.",
    ),
    _page(
        12,
        "Rings that do not fit their memory",
        "A ring pins stages x tile bytes, for all of the function, beside all other rings and the author's own "
        "allocations; a planner can't shrink it. Replicated loops can give up stages. Use fewer stages or smaller "
        "tiles.",
    ),
)
