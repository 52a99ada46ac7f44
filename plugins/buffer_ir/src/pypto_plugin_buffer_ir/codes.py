"""Pages of the errors and hints."""

from __future__ import annotations

from pypto_core.contract import CodePage

PAGES: tuple[CodePage, ...] = (
    CodePage(
        "PT360",
        "A kernel stays in tiles: its shape",
        "Kernels on buffers take packed matrices and numbers, call no other kernel, and return their output "
        "parameters once, at the end, under the types that they state. Loops count in INDEX by a constant step "
        "above 0; loops and branches hand on numbers, whole tiles, and each parameter as itself. Tiles of the "
        "matrix unit have to stay where they are, for nothing copies within its memories.\n\n"
        "Nothing is lost: the kernel is compiled as before.",
    ),
    CodePage(
        "PT361",
        "A kernel stays in tiles: an operator",
        "One operator without a form on buffers keeps all of its kernel in tiles: reductions, casts, element types "
        "beyond those of its row, options that change how it transfers, numbers that come from calls, and "
        "arithmetic on unsigned numbers. Such work may be put into a kernel of its own.",
    ),
    CodePage(
        "PT362",
        "A kernel stays in tiles: a tile",
        "Tiles in Vec have two constant extents and dense unpadded rows of a multiple of 32 bytes, those of the "
        "matrix unit are unpadded; each has an allocation of its own. All tiles of an elementwise operator have one "
        "shape and one rectangle of valid elements.",
    ),
    CodePage(
        "PT363",
        "A kernel stays in tiles: a window",
        "A window begins at a multiple of 32 bytes whatever its offsets are: write a column that is known at run "
        "time as a multiple, such as `block * 8` of FP32 elements. It may be looked at under another shape when its "
        "offset is constant and its rows are adjacent, once; loops and branches don't hand it on. A tile is "
        "assembled into a whole tile with rows at the same distance. One allocation has windows of one shape only.",
    ),
    CodePage(
        "PT364",
        "A kernel stays in tiles: extents that are known at run time",
        "Tiles with such extents are loaded, computed, stored and given new ones outside of loops and branches. "
        "After `set_validshape` only its result is used, not the tile that it was given, and windows are cut anew. "
        "The tiles of an operator have extents that are computed alike: that both are only known at run time says "
        "nothing.",
    ),
    CodePage(
        "PT365",
        "a kernel has no form on buffers",
        "A kernel is written as buffers as a whole or not at all. Something in it has no operator on buffers, or "
        "lies in memory in a way that handles can't say: the message names it. By default such kernels stay in "
        "tiles; this error comes from a pipeline that asks for buffers of its own, or from a kernel that was "
        "selected before it changed. `pypto explain FILE --buffer` tells why a kernel would stay in tiles.",
    ),
    CodePage(
        "PT366",
        "the storage of a kernel on buffers is not legal",
        "Loops and branches hand their tiles on in one place, and no operator overwrites bytes that it still reads. "
        "The findings below the message name the places. Nothing of the program was changed.",
    ),
    CodePage(
        "PT960",
        "storage that should be in order is not",
        "Earlier passes decide where tiles lie, and writing them as buffers found two of their decisions in "
        "conflict. This is a fault of the compiler: report it with the program.",
    ),
)
