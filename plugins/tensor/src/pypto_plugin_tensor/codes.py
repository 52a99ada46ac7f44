"""Pages of the codes of this plugin."""

from __future__ import annotations

from pypto_core.contract import CodePage

PAGES = (
    CodePage(
        "PT370",
        "A scalar that leaves its scope",
        "A kernel hands back tensors. Scalars that follow from indices and extents are computed again outside; one "
        "that depends on what the kernel computed is not known there. Write it into a tensor of one element with "
        "`pl.write` and read it outside with `pl.read`.",
    ),
    CodePage(
        "PT371",
        "A tile on both sides of a scope",
        "A scope becomes a kernel, and tiles live only while a kernel runs. Store the tile into a tensor in the "
        "scope that makes it and load it in the one that uses it.",
    ),
    CodePage(
        "PT372",
        "An extent that is not known at compile time",
        "The tile behind a tensor has constant extents. Take a window of constant extents and say with "
        "`valid_shape` how much of it holds data: `pl.slice(x, [64, 128], [row, 0], valid_shape=[pl.min(64, n - "
        "row), 128])`. An extent with a constant upper bound, such as `pl.min(64, n)`, is taken for that by itself.",
    ),
    CodePage(
        "PT373",
        "A sum that does not start from a product",
        "`pl.matmul_acc` adds in the accumulator, and nothing can be moved there. Begin with `pl.matmul`, or with a "
        "tensor of zeros, and add anything else to the result with `pl.add`.",
    ),
    CodePage(
        "PT374",
        "A tensor operator that tiles don't have",
        "Within a kernel every operator becomes one on tiles. Compute this one outside of kernels, or write it with "
        "others; `pypto ops tile` lists them.",
    ),
    CodePage(
        "PT375",
        "A sum from zeros that may stay empty",
        "The accumulator can't be filled with zeros: the first product takes their place. That needs a product in "
        "every trip, and at least one trip. Give the loop constant bounds, or begin with `pl.matmul` ahead of it.",
    ),
    CodePage(
        "PT376",
        "A tensor on chip where memory is needed",
        "Some operators, and calls of other kernels, work on tensors in global memory. What a kernel computes lies "
        "on chip until it is written to a tensor.",
    ),
    CodePage(
        "PT377",
        "A product of more than two axes",
        "The matrix unit multiplies one pair of matrices. Loop over the leading axes: in each trip take one matrix "
        "of either side, `a[i, :, :]`, and write one of the result.",
    ),
    CodePage(
        "PT378",
        "A returned tensor of unknown extents",
        "The caller makes the tensor that a kernel returns, so its extents have to follow from the kernel's "
        "parameters. One that is computed in the kernel is not known there. Pass the tensor in as a `pl.Out` "
        "parameter of the largest extent.",
    ),
    CodePage(
        "PT379",
        "A tile that is no matrix",
        "Tiles are matrices on chip: leading axes are counted as rows. That does not work for windows and valid "
        "parts that leave gaps between those rows, nor for operators along columns of several matrices at once. "
        "Loop over the leading axes, or reshape first.",
    ),
    CodePage(
        "PH-OT-001",
        "A tensor is made in each trip of a loop",
        "A loop hands a tensor on from trip to trip, and a kernel computes the next one from it. Where the kernel "
        "has read all of the old one before it writes, is called in one place, and nothing else looks at what the "
        "loop started from, both lie in one place. The hint says what stands against that.",
    ),
)
