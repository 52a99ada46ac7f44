"""Pages of the codes of this plugin."""

from __future__ import annotations

from pypto_core.contract import CodePage

PAGES = (
    CodePage(
        "PT620",
        "A declared allocation contradicts itself",
        "All tiles bound to one `pl.MemRef` declaration lie in one memory, have constant shapes and agree on how "
        "many slots there are. Declare one allocation per memory and bind every tile to that declaration.",
    ),
    CodePage(
        "PT621",
        "A declared allocation is too large to be counted",
        "The slots together take more than 64 bits can say, and so more than any memory has: `slots=` or an extent "
        "is most likely wrong. Declare fewer slots or smaller tiles.",
    ),
    CodePage(
        "PT622",
        "A single slot under a planner without addresses",
        "Binding a tile to an allocation with one slot only tells a planner which address to share. The planner "
        "`ptoas` leaves addresses to the assembler: declare a ring with `slots=N`, or choose another planner.",
    ),
    CodePage(
        "PT623",
        "A binding on a tile that has no storage of its own",
        "Views, results in place and aliases lie where their source lies, so an annotation can't put them "
        "elsewhere. Bind the tile that the view is cut from, or copy first: a `pl.move` within Vec has storage of "
        "its own.",
    ),
    CodePage(
        "PT624",
        "A window of four-bit elements that starts within a byte",
        "Two elements share a byte, so a slice has to start at a constant even element. `x[:, 3:7]` of such a tile "
        "starts in the middle of a byte. Start at 2 and skip an element, or convert to a wider type first.",
    ),
    CodePage(
        "PT625",
        "A tile without a memory space",
        "Places are given per memory, and this tile is in none yet. In a pipeline that was put together by hand, run "
        "InferTileMemorySpace first, or name the space: `target_memory=pl.Mem.Vec`, or the annotation "
        "`pl.Tile[[64, 64], pl.FP32, pl.Mem.Vec]`.",
    ),
    CodePage(
        "PT626",
        "Two live tiles in one slot",
        "Tiles bound to the same constant slot of a declared allocation must take turns: one is read for the last "
        "time before the next is written. Use another slot, or end the first tile's life earlier.",
    ),
    CodePage(
        "PT627",
        "Reserved buffers overlap",
        "Two `reserve_buffer` calls name ranges with common bytes of one memory. The message names both. Leave the "
        "base of one out, and a free range is chosen, or move it behind the other.",
    ),
    CodePage(
        "PT628",
        "A tile in a memory that the machine does not have",
        "Machines differ in their memories: one without scale buffers has no place for a tile that names "
        "`pl.Mem.LeftScale`. `pypto backends` lists what each has. Compile for a machine that has the memory, or write "
        "the kernel with the memories of this one.",
    ),
    CodePage(
        "PT640",
        "A copy that no instruction makes",
        "A value is overwritten in place while it is still needed, so it would have to be kept by a copy, and its "
        "memory can't be copied within: only Vec can. Typical for accumulators: use the old accumulator before "
        "`matmul_acc`, or start a second one.",
    ),
    CodePage(
        "PT641",
        "Tiles that share storage do not fit together",
        "Before tiles have addresses, each allocation is looked at by itself: a run of the kernel in which bytes hold "
        "names found a tile that is read after something else was written where it lies, a value of a loop or branch "
        "that is not where it is handed on, or an operator that writes over an operand which it has still to read. "
        "`MaterializeSemanticAliases` makes storage such (property `memory.StorageClosed`). A kernel as written can't "
        "break it: after that pass, the pass named in the message is at fault. Report it with the kernel.",
    ),
    CodePage(
        "PT642",
        "A planned tile is overwritten while it is needed",
        "With the addresses that tiles have, a run of the kernel in which bytes hold names found a tile that is read "
        "after something else was written there, or an operator that writes over an operand which it has still to "
        "read (property `memory.PlanKept`). Lifetimes were computed wrongly, or a later pass moved a tile or a "
        "statement: report it with the kernel. Another planner may do meanwhile: `--planner dsa_rp`.",
    ),
    CodePage(
        "PT643",
        "The tiles of a kernel have no place yet",
        "Whether tiles overwrite each other was asked of a kernel before anything placed them. In a pipeline that was "
        "put together by hand, run `InitMemRef` first, and `AllocateMemoryAddr` for addresses.",
    ),
    CodePage(
        "PT632",
        "A memory map can't be drawn in that form",
        "`pypto memory --picture` writes SVG, which every browser shows. Give a name that ends in `.svg`.",
    ),
    CodePage(
        "PT930",
        "A planner fails, or its answer breaks a rule",
        "A planner that raises, or returns something else than a placement, is named with the distribution that it "
        "comes from. The kernel checks every plan; the facts name the blocks and the rule. Report it to whoever "
        "provides the planner; another planner can be chosen meanwhile.",
    ),
    CodePage(
        "PH-MR-001",
        "A pipeline has fewer buffers than stages",
        "The tiles of all stages do not fit beside everything else that is alive, so some stages share a buffer "
        "and wait for each other. Make the tiles smaller, use fewer stages, or free memory of the other tiles.",
    ),
    CodePage(
        "PH-DSA-001",
        "Pipeline stages share storage",
        "No placement keeps all stages apart within the capacity, so that rule was relaxed. Every pair that shares "
        "bytes makes one stage wait for the other. Use fewer stages or smaller tiles.",
    ),
    CodePage(
        "PH-DSA-002",
        "Not all pairs of tiles were weighed against each other",
        "Where tiles share bytes, one pipe may have to wait for another, and a planner may avoid that. All pairs of "
        "tiles that lie in one memory and are used in one region (a loop body, an arm of an `if`, the rest) are "
        "weighed while there are at most 447 such tiles. The pairs grow with the square of the tiles, so with more of "
        "them only those that are made soon after each other are weighed: up to 105 definitions apart of 1,000 tiles, "
        "64 of 1,600 and more. The plan is as safe as ever; a wait that could have been avoided may be left in it.",
    ),
)
