"""Pages of the codes of this plugin."""

from __future__ import annotations

from pypto_core.contract import CodePage

PAGES = (
    CodePage(
        "PT340",
        "A tile can't get to where it is used",
        "The machine has no transfer, nor a chain of them on chip, between the two memories. Load the tile into the "
        "memory that its consumer reads from, twice where consumers differ. What one core computes and the other "
        "core reads goes through a tensor.",
    ),
    CodePage(
        "PT341",
        "A loop or branch that hands on an accumulator on one way only",
        "Nothing can be moved into the accumulator. Let every way produce it with `pl.matmul` or `pl.matmul_acc`; an "
        "accumulation that starts from nothing begins with the predicate of `pl.matmul_acc`.",
    ),
    CodePage(
        "PT342",
        "An accumulator that can't be parked in L1 as it is",
        "On its way to L1 the accumulator has to be narrowed to an element type that the machine lists. Convert it "
        "with `pl.cast(x, pl.BF16, mode='rint')`, which happens on the way.",
    ),
    CodePage(
        "PT343",
        "A conversion that the machine does not have",
        "There is no instruction between the two element types, and none to a type between that holds every value of "
        "the source. Convert in two steps where rounding twice does no harm.",
    ),
    CodePage(
        "PT344",
        "A layout that a tensor can't have",
        "NZ is the order of boxes in a tile: `pl.load` puts a tensor into it, and no tensor in global memory has "
        "it. DN exchanges the last two axes, so that a tensor of one axis can't have it. Leave the layout out for a "
        "tensor stored by rows.",
    ),
    CodePage(
        "PT345",
        "A symbol that nothing defines",
        "A valid extent of a kernel's tensor uses a symbol that is no parameter, no extent of a tensor and never "
        "stands alone in a valid shape, so that no caller could say what it is. Name it alone somewhere, or make it "
        "a parameter.",
    ),
    CodePage(
        "PT346",
        "A call that gives one symbol two extents",
        "A symbol stands for one number, and this call passes tensors of different valid extents in its places. "
        'Pass tensors of one valid extent, or declare two symbols in the kernel: `M = pl.dynamic("M")`, `N = '
        'pl.dynamic("N")`.',
    ),
    CodePage(
        "PT347",
        "A call without the argument that defines a symbol",
        "The symbol's value is the valid extent of an argument that this call leaves out, so that the kernel could "
        "not know it. Pass the argument, or let another parameter have the symbol as an extent.",
    ),
)
