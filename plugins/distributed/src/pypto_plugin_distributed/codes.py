"""What the errors of this plugin mean."""

from __future__ import annotations

from pypto_core.contract import CodePage

PAGES = (
    CodePage(
        "PT390",
        "no PTO text for communication",
        "A kernel that reaches other devices can be compiled, placed in memory and run on the simulator, but not be "
        "written as PTO text: how the assembler wants signals and remote transfers written is not known here. Stop "
        'at the planned program with `goal="AllocatedMemoryAddr"`, or keep what communicates in kernels of its own.',
    ),
    CodePage(
        "PT391",
        "a window that can't be reached remotely",
        "A remote operator is given a window of a distributed tensor that leaves out one of its last axes, as "
        "`data[:, i]` does. What goes to another device are tiles of rows and columns: keep the axis, as in "
        "`data[:, i : i + 1]`.",
    ),
    CodePage(
        "PT392",
        "no time for transfers between devices",
        "`pypto profile` and the engine `time` put the operators of one device on its pipes. How long a transfer to "
        "another device takes is not known here, and depends on what the others do. Time the kernels that compute "
        "by themselves, with `--entry`.",
    ),
    CodePage(
        "PT393",
        "an operator that belongs elsewhere",
        "Host functions allocate windows, ahead of their loops, and launch kernels; they are no device. Kernels ask "
        "for their rank, signal, wait and transfer, and know only of their own device. The message says which "
        "operator is on the wrong side, or in a loop.",
    ),
)
"""One page per code."""
