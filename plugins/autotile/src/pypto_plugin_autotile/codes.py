"""Pages for the hints and errors of this plugin."""

from __future__ import annotations

from pypto_core.contract import CodePage

_STAYS = (
    "\n\nThe product is left as it is. It compiles when it happens to fit L0, and fails in memory planning "
    "otherwise."
)

PAGES = (
    CodePage(
        "PH-AT-003",
        "elements narrower than a byte are not tiled",
        "An operand or the accumulator has a type of which several elements share a byte. Windows of it would begin "
        "within a byte. Convert the operands with `pl.cast` to a type of at least 8 bits." + _STAYS,
    ),
    CodePage(
        "PH-AT-005",
        "no L0 tile exists for this product",
        "The chooser found no legal tile. Most often M or N is below the least tile of 16: pad the operands to 16 "
        "and narrow what is valid with `valid_shape`. The hint repeats the chooser's own reason; `pypto tile M N K` "
        "shows the search." + _STAYS,
    ),
    CodePage(
        "PH-AT-006",
        "the best grid has no place to go",
        "A result larger than L0C, or one that is faster in pieces, is computed window by window. The windows need a "
        "place: one 2-D store of the whole result in the same block, or a tile in Mat when products alone read it. "
        "Neither was found, for the reason that the hint gives. Common cases:\n\n"
        "- the accumulator is the caller's (`matmul_acc`): write the reduction as `tile.create`, one `pl.pipeline` "
        "loop and one store; a predicate has to test that loop's own counter against 0;\n"
        "- the left operand comes from the vector core;\n"
        "- the result is read more than once, stored inside of a nested block, or goes through another name;\n"
        "- the store stands alone: write `out = pl.store(c, [0, 0], out)`, not `pl.store(c, [0, 0], out)`;\n"
        "- the result is kept on chip and is larger than Mat.\n\n"
        "When the whole result fits L0C the product is split along K alone, which is slower than the grid but right; "
        "the hint says so. Otherwise it is left as it is.",
    ),
    CodePage(
        "PH-AT-007",
        "K is no multiple of the cube's fractal",
        "A block of K takes whole fractals of 16 elements, the last one too. Pad K to the next multiple and narrow "
        "what is valid with `valid_shape`." + _STAYS,
    ),
    CodePage(
        "PH-AT-008",
        "the product is smaller than the least tile",
        "The chooser fell back to a tile larger than the product, so that part of each step computes padding. A "
        "product of 8 x 64 x 64, say, takes as long as one of 16 x 64 x 64. Nothing is wrong; several small "
        "products made one by a larger M would use the cube better.",
    ),
    CodePage(
        "PH-AT-009",
        "a chained result is too wide for Mat",
        "Only products read this result, so it would stay on chip, but this machine's Mat takes accumulators in half "
        "width alone. Convert before the next product: `pl.cast(x, pl.BF16, mode='rint')`; the drain of the "
        "accumulator then does it on the way.",
    ),
    CodePage(
        "PH-AT-010",
        "a cast between products stays on the vector unit",
        "The drain of the accumulator converts fp32 to bfloat16 or fp16, to nearest with ties to even, which a cast "
        "asks for with `mode='rint'`. Any other cast goes to the vector unit and back, and its tile has to fit "
        "there. The default mode rounds ties away from zero, which the drain can't.",
    ),
    CodePage(
        "PH-AT-011",
        "a biased product can't be cut into windows",
        "Each window of columns needs its part of the bias in the bias table. That fails when the machine can't "
        "move this type there, when an operand is not in Mat or not aligned to whole boxes, when the table is too "
        "small, or when the bias is no plain load of one row right before the product, used there alone. Between "
        "the product and its store nothing but loads may stand, as the bias would be read later than written. When "
        "the whole result fits L0C the product is split along K alone.",
    ),
    CodePage(
        "PT601",
        "a question to the tile chooser makes no sense",
        "An extent, capacity, alignment or cap is missing, negative or contradicts another one: the field "
        "`l0a_bytes` of an `L0TileConfig` is 0, say, or `min_m` is above `M` where no padding is allowed. The "
        "message names the field. Take the sizes from a backend instead of writing them down.",
    ),
    CodePage(
        "PT602",
        "no tile is legal",
        "Every tile breaks a rule: K has a remainder that no block covers, or the operands and the accumulator of "
        "even the least tile exceed L0. Pad K to a multiple of the step.",
    ),
    CodePage(
        "PT603",
        "a product too large to count",
        "The work of the product does not fit 64 bits, so that no two tiles could be compared. No product that fits "
        "global memory comes near that: an extent is most likely wrong. Otherwise cut the tensors before they reach "
        "a core.",
    ),
    CodePage(
        "PT604",
        "a picture needs matplotlib",
        "`pypto tile --plot FILE` draws the walls of all tiles, for which matplotlib is needed. Install it with "
        "`pip install 'pypto-core[plot]'`. The table and `--json` do without.",
    ),
    CodePage(
        "PT610",
        "an operand placed by hand is larger than L0",
        "A tile in Left or Right is a decision of the author's and is not tiled again. This one alone is larger than "
        "the memory, which no reuse of buffers can help. Keep the operand in Mat and pass it to the product, or "
        "extract a smaller tile.",
    ),
    CodePage(
        "PT611",
        "no machine is chosen",
        "Tiling asks how large L0 is and what its loads and drains cost, which only a backend says. Choose one: "
        "`--backend NAME`, or `compile(..., backend=...)`; `pypto backends` lists them.",
    ),
    CodePage(
        "PT612",
        "`pypto tile` can't read what it was asked",
        "The machine, the element type or a tile to ask about is missing or unknown. M, N and K are positive "
        "numbers, `--dtype` is the name of an element type such as `bf16`, and `--ask` three numbers: `--ask "
        "128,256,64`.",
    ),
    CodePage(
        "PT613",
        "`pypto sweep` can't read its list of products",
        "The file is a CSV whose first line names the columns: `m,n,k`, and `dtype` where the element types differ. "
        "Every other line has three whole numbers. The message names the line.",
    ),
)
