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
        "A statement or expression has no meaning outside of the machine, such as text in another language for the "
        "host, or a function whose body is `...`. Run a kernel of the program by itself, with "
        "`pypto run FILE --entry NAME`.",
    ),
    CodePage(
        "SIM-005",
        "a run without end",
        "More steps were taken than the limit allows, a loop is sure to take more, a loop has step zero, a function "
        "calls itself, or a block waits at `syncall` for one that has ended. Check the loop's end, raise the limit "
        "with `--max-steps` or `max_steps=`, or let all blocks come by the same `syncall`.",
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
    CodePage(
        "SIM-040",
        "a race between two pipes",
        "Two operators on different pipes touch the same bytes, at least one of them writes, and no event or "
        "barrier makes the second wait for the first: which one comes first is up to chance. The finding names "
        "both statements. Set an event after the first and wait for it before the second, or leave events to the "
        "assembler (`--sync auto`).",
    ),
    CodePage(
        "SIM-041",
        "events that don't fit together",
        "An event is waited for and never set, set and never waited for, set again while it still is, or has an "
        "id outside of 0 to 7, the eight that two pipes have. A wait without a set stops the core for good. Pair "
        "every `sync_src` with one `sync_dst` on every path, in the first and last trip of a loop too.",
    ),
    CodePage(
        "SIM-042",
        "an operator that can't be timed",
        "A matrix product has its operands outside of L0, so that it runs on no machine as it stands, or the "
        "`cycles` of an operator's executor gave no number of cycles. Time the compiled program, or mend the "
        "executor.",
    ),
    CodePage(
        "SIM-043",
        "no event left for the assembler",
        "The program uses all eight events between two pipes itself, and more order is needed between these two "
        "than it gives. Leave an id free, or order everything by the program's own events (`--sync program`).",
    ),
    CodePage(
        "SIM-044",
        "a timing that is not clear",
        "The engine `time` needs one machine, and events from `auto` or `program`. Name the backend with "
        "`backend=`, or run inside of a PassContext that has one.",
    ),
    CodePage(
        "SIM-045",
        "a picture that can't be made",
        "Pictures of timelines are drawn by matplotlib, which the extra `pypto-core[plot]` brings, and written as "
        ".svg, .png or .pdf.",
    ),
    CodePage(
        "SIM-046",
        "a race between two blocks",
        "Two blocks of one launch touch the same byte of global memory, at least one of them writes, and not both "
        "add to it atomically. Blocks run in any order and beside each other, so that the result is up to chance. "
        "Give each block its own part, by `get_block_idx`, or store with an atomic addition.",
    ),
    CodePage(
        "SIM-010",
        "bytes of another value",
        "An operator reads bytes that were never written, or that another value has taken over since they were. "
        "The notes name the statement that wrote them last and the one whose value is meant. Either the plan of "
        "the memory is wrong, or the program reads a tile that it created and never filled: write it first, or "
        "narrow its `valid_shape`.",
    ),
    CodePage(
        "SIM-011",
        "outside of the memory",
        "A tile lies outside of its memory, or needs bytes outside of what was planned for it. Compile for "
        "the machine that is run; rows and columns of a tile in boxes have to fill whole boxes.",
    ),
    CodePage(
        "SIM-012",
        "a value that lies elsewhere",
        "A name says that its tile lies in one place, its value was put into another: a copy is missing, a slot "
        "is not the one that its index says, or an operator that works in place has its result elsewhere. "
        "Report it to whoever planned the memory.",
    ),
    CodePage(
        "SIM-013",
        "a result over its operand",
        "The result of an operator, or its scratch, lies over an operand that it still reads, and the operator "
        "can't work in place there. Report it to whoever planned the memory.",
    ),
    CodePage(
        "SIM-014",
        "a layout that does not fit",
        "Elements are read in another order than they were written in: rows of an accumulator at another pitch, "
        "or a reshape of a tile with gaps or boxes. Make the accumulator compact, or move the tile to a plain "
        "layout first.",
    ),
    CodePage(
        "SIM-020",
        "devices that wait for ever",
        "Devices wait for signals or for launches on each other, and none is left that could give one. The message "
        "names each device that waits, where, what it wants and what the signal holds. Usual reasons: the signal "
        "went to another element or device, was replaced instead of added to, or each device waits before it "
        "notifies the other.",
    ),
    CodePage(
        "SIM-021",
        "a race between devices",
        "Two devices use the same elements of a window, at least one of them writes, and no signal orders the two: "
        "the result is up to chance. The writer has to notify the other after it has written, and the other to wait "
        "for that before it reads; a reader tells the writer in the same way when the elements may be overwritten. "
        "`pld.tensor.barrier` does both for all devices.",
    ),
    CodePage(
        "SIM-022",
        "a device that is not there",
        "A kernel is launched on a device, or refers to a peer, that the run does not have, or code runs where it "
        "has no device. The number of devices is the option `world_size` of a run and `--ranks` of `pypto run`; "
        "windows are allocated by host functions, and kernels that use them are launched with `device=`.",
    ),
)
"""One page per code."""
