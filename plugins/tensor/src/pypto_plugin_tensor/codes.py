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
        "A product of a batch of unknown size",
        "The matrix unit multiplies one pair of matrices: a product of more axes becomes one product per matrix, and "
        "their number has to be known when the kernel is compiled. Loop over the leading axes: in each trip take one "
        "matrix of either side, `a[i : i + 1, :, :]`, and write one of the result.",
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
        "PT380",
        "Optimizations of a launch that only calls kernels",
        "`pl.split` and its slots say how one kernel is divided between the cube and the vector core. A launch whose "
        "body computes becomes a kernel and takes them. One that only calls kernels has none of its own: give them "
        'to the `pl.at` that makes the kernel, or to the kernel itself with `pl.func_attr({"split": '
        "pl.SplitMode.UP_DOWN})`.",
    ),
    CodePage(
        "PH-OT-002",
        "A scope with work for both cores",
        "A kernel runs on the cube or on the vector core. What a scope multiplies and what it computes otherwise "
        "become kernels of their own, and what one makes for the other is written to memory in between. A loop or "
        "branch that needs both cores is executed by the host, which launches kernels in each trip. Scopes for one "
        "core each say the same and leave the choice to you. With `optimizations=[pl.split(...)]` a scope stays one "
        "kernel for both cores.",
    ),
    CodePage(
        "PH-OT-003",
        "A scope for both cores that stays whole",
        "A kernel runs on the cube or on the vector core, and a scope with work for both is dealt out to kernels for "
        "one each where that keeps its meaning. This one stays one kernel for the reason that the hint names, and PTO "
        "text of it is refused (`PTO-017`). Write one scope per core, and hand on what one makes for the other as a "
        "tensor.",
    ),
    CodePage(
        "PH-OT-001",
        "A tensor is made in each trip of a loop",
        "A loop hands a tensor on from trip to trip, and a kernel computes the next one from it. Where the kernel "
        "has read all of the old one before it writes, is called in one place, and nothing else looks at what the "
        "loop started from, both lie in one place. The hint says what stands against that.",
    ),
)
