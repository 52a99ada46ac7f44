"""Pages for the codes of this plugin's errors and of what the checker finds."""

from __future__ import annotations

from pypto_core.contract import CodePage


def _page(number: int, title: str, text: str) -> CodePage:
    return CodePage(f"PTO-{number:03}", title, text)


_WRITING = (
    _page(
        1,
        "an operator without a recipe",
        "No plugin has said how the operator is written as PTO text. For an operator of the kernel the error says "
        "why, and which pass replaces it by others. A plugin that brings an operator brings its recipe with the "
        "hook `pypto_emitters`; `pypto_core.contract.EmitContext` is all that a recipe works with.",
    ),
    _page(
        2,
        "an operand that the instruction does not take",
        "The operator has an instruction, but not for this element type, memory or form on the chosen "
        "machine. The error says what is taken instead; a `pl.cast` or a copy into a tile of its own "
        "usually helps.",
    ),
    _page(
        3,
        "an element type that PTO text does not have",
        "Only types with a name in the assembler's dialect can be written. The error names the type. Convert the "
        "values with `pl.cast` before they get there, or keep them in a type that the machine computes with.",
    ),
    _page(
        4,
        "a tile that PTO text does not have",
        "A tile buffer has two constant extents and lies in a known memory. Flatten tiles to two axes, "
        "and narrow them with `valid_shape` where an extent is known at run time only.",
    ),
    _page(
        5,
        "a scalar expression without an instruction",
        "Powers, tuples of scalars and divisions of integers with `/` have no instruction. Compute them "
        "with `+ - * // %`, `min`, `max`, comparisons and bit operators.",
    ),
    _page(
        6,
        "a variable without a value",
        "A kernel may read its parameters, the symbolic extents of their shapes and what it computes itself. A "
        "variable of another function, or one that a pass left without a definition, has no value here. In a kernel "
        "that you wrote, make it a parameter.",
    ),
    _page(
        7,
        "division by zero",
        "The divisor of a `//` or `%` is the constant 0, written so or folded to it. Integers have no value for "
        "that. Mend the divisor, or guard the division with an `if` where it is an extent that may be 0.",
    ),
    _page(
        8,
        "a tensor that is no parameter",
        "Every tensor of a kernel is a parameter or a window of one: kernels allocate no global memory, "
        "and a variable stands for one tensor on all paths.",
    ),
    _page(
        9,
        "a tile without a buffer",
        "The tile has no place in memory, or was made in another function. Tiles get their places by the "
        "pass InitMemRef.",
    ),
    _page(
        10,
        "a copy that no instruction does",
        "Two values that have to be one buffer lie in different ones, and their memory can't copy within "
        "itself (or a trip of a loop exchanges two tiles). The pass MaterializeSemanticAliases gives them "
        "one buffer.",
    ),
    _page(
        11,
        "an allocation that can't be a ring",
        "`pl.MemRef(slots=N)` becomes one ring of buffers when the assembler places them. All its tiles "
        "have one type and one constant valid extent, each names a slot, 2 to 16 of them, in Vec, Mat or "
        "Acc; no slot is carried by a loop, and a trip of a loop uses one slot. The planner `pypto` gives "
        "each slot an address and has none of these limits.",
    ),
    _page(
        12,
        "a window that can't be looked at in this way",
        "A window of a tile keeps the layout and padding of the tile, and its rows are not adjacent "
        "unless it has all columns. Copy it with `pl.tile.extract` to reshape, pad or transpose it.",
    ),
    _page(
        13,
        "a call inside of a kernel",
        "Kernels call no functions. Declare the function as one whose body takes the place of the call, "
        "`@pl.function(type=pl.FunctionType.Inline)`; InlineFunctions then puts it there.",
    ),
    _page(
        14,
        "a parameter or result that does not cross a kernel's border",
        "Kernels take tensors and numbers and return nothing but the tensors they wrote. A tile lives only while "
        "the kernel runs: store it into a `pl.Out` tensor. A number that the caller wants goes into a tensor of one "
        "element.",
    ),
    _page(
        15,
        "a statement without a form",
        "Scopes, breaks and early returns are lowered by passes before a program is written, and this one still "
        "stands there. With a pipeline of the solver that does not happen; one put together by hand lacks a pass, "
        "such as CtrlFlowTransform or OutlineIncoreScopes.",
    ),
    _page(
        16,
        "a loop that does not count upwards",
        "The step of a kernel's loop is a positive number. Count up and compute the descending index in the body: "
        "`j = n - 1 - i`.",
    ),
    _page(
        17,
        "a kernel of both cores",
        "Cube and vector cores run kernels of their own. The error lists the operators of each side. Split the "
        "kernel in two that hand a tensor on: one with the products, one with the vector work.",
    ),
    _page(
        18,
        "a tile that is not aligned",
        "Tiles with boxes, those of the cube core, are whole boxes: 16 rows of 32 bytes, or 16 by 16 in L0C. Make the "
        "tile larger and narrow it with `valid_shape`. Tiles without boxes may have any extents: their rows (or "
        "columns) are stored in whole blocks of 32 bytes, and what is left of the last block is never valid.",
    ),
    _page(
        19,
        "a layout that no tensor has",
        "A tensor in global memory is row-major (ND), has its last two axes exchanged (DN) or holds the scales of "
        "blocks (MX). NZ is the order of boxes in a tile: `pl.load` puts a tensor into it.",
    ),
    _page(
        20,
        "nothing to write",
        "The program has no function that runs on a device core and has a body: one that is declared with `...` is "
        "bound when the program runs. A kernel says what it is: `@pl.function(type=pl.FunctionType.InCore)`.",
    ),
    _page(
        21,
        "xDSL is missing",
        "`pypto check --types` has xDSL verify the module as well, and it is not installed: "
        "`pip install 'pypto-plugin-pto[types]'`. Without `--types` the checker does without.",
    ),
    _page(
        22,
        "an allocation with addresses that is no ring",
        "With the option `enable_addressed_slots`, allocations of several slots are declared as rings at their "
        "addresses. This one does not have the form of a ring (see PTO-011), so that each of its tiles is a buffer "
        "at an address of its own: the result is the same, and the assembler guards the allocation as a whole.",
    ),
    _page(
        23,
        "a file that can't be checked",
        "`pypto check` reads modules as UTF-8 text. The file can't be opened, or holds bytes that are no such text, "
        "as the output of the assembler does.",
    ),
    _page(
        900,
        "a fault of this plugin",
        "Writing the program broke a rule of the plugin's own, and nothing that you wrote is wrong. Report it with "
        "the program.",
    ),
)

_CHECKING = (
    _page(
        101,
        "syntax",
        "The text does not follow the grammar of the operation at that place: a bracket, comma, colon or type is "
        "missing or too many. Line and column show where reading stopped.",
    ),
    _page(
        102,
        "an unknown operation",
        "The dialect has no operation of that name: it is misspelt, as `pto.taddd`, or belongs to a newer dialect "
        "than the checker knows.",
    ),
    _page(
        103,
        "operands and attributes",
        "Number or kind of the operands does not fit the operation, or an attribute is missing, unknown, or no value "
        "of its kind. The finding says what the operation takes.",
    ),
    _page(
        104,
        "a malformed type",
        "The type's fields are not those of its kind, in another order, or out of range, such as a tile of 0 "
        "columns.",
    ),
    _page(
        105,
        "a tile that is not aligned",
        "A row (or column) without boxes takes a multiple of 32 bytes; tiles with boxes are whole boxes. Make the "
        "tile larger, and state the part that holds data as valid.",
    ),
    _page(
        106,
        "a rule of the instruction",
        "The operands are of the right kind but don't go together: their shapes, valid extents, memories or element "
        "types differ where the instruction wants them equal. The finding names the rule.",
    ),
    _page(
        107,
        "levels",
        "At level 3 every buffer has an address, at level 2 none has: the assembler places them. A module is of one "
        "level, which `--level` states; the planner `ptoas` makes level 2, the others level 3.",
    ),
    _page(
        108,
        "rings of buffers",
        "A ring has 2 to 16 slots of one type, in vec, mat or acc, and a constant slot is one that exists.",
    ),
    _page(
        109,
        "names",
        "A name is defined once, and before it is used, in the region or around it. What an inner region defines is "
        "not seen outside of it.",
    ),
    _page(
        110,
        "types of values",
        "A value is used with another type than it is defined with. Types are written at each use and have to agree.",
    ),
    _page(
        111,
        "element types of the machine",
        "The instruction does not take these elements on the machine that `--arch` names. Convert them before, or "
        "check for the machine that the text was written for.",
    ),
    _page(
        112,
        "structure",
        "Modules, functions and regions are closed and end as they have to: a function with a return, the region of "
        "a loop with a yield, a module with its brace.",
    ),
    _page(
        113,
        "an operation without C++",
        "The text is right, but the assembler has no code to write for the operation and would stop there. Use "
        "another operation for the same.",
    ),
    _page(
        114,
        "a finding of xDSL",
        "xDSL, asked with `--types`, refuses the module in generic form. The finding repeats its reason.",
    ),
)

PAGES: tuple[CodePage, ...] = (*_WRITING, *_CHECKING)
"""One page per code."""
