"""The pages behind the codes of the language and of the operators: PT0xx, PT1xx and PT2xx.

The first Python block of a page is the mistake itself: tests parse it and expect the page's code.
"""

from __future__ import annotations

from pypto_core.contract import CodePage


def _block(*lines: str) -> str:
    return "\n\n```python\n" + "\n".join(lines) + "\n```\n\n"


def _kernel(*lines: str, kind: str = "type=pl.FunctionType.InCore") -> str:
    """A kernel with these lines as its body."""
    head = (f"@pl.function({kind})", "def kernel(x: pl.Tensor[[16, 16], pl.FP32], n: pl.Scalar[pl.INDEX]):")
    return _block(*head, *("    " + line for line in lines))


GENERAL_PAGES = (
    CodePage(
        "PT000",
        "a diagnostic without a code of its own",
        "The base class of all errors was raised without saying what is wrong. Only code outside of the installed "
        "packages does that: give `UserError` or one of its relatives a `code=` and a `remedy=`.",
    ),
    CodePage(
        "PT001",
        "something was asked for that can't be done",
        "The general code of a user's mistake, for cases that have no page of their own. The sentence says what, and "
        "the last line how to mend it. Examples: `pypto.check(...)` failed in code that uses the names of PyPTO, an "
        "`IRBuilder` was closed in the wrong order, `compile(..., skip_ptoas=False)` asked for the assembler.",
    ),
    CodePage(
        "PT002",
        "an argument of the Python API has the wrong type",
        "`compile`, `PassContext`, `Pipeline`, the decorators and the engines check what they are given against their "
        "signatures: the message names the argument, what it takes and what it got. Text where several names belong, "
        'as in `disabled_diagnostics="PT816"`, is refused too: write `["PT816"]`. The error is a `TypeError` and a '
        "`UserError`.",
    ),
)

LANGUAGE_PAGES = (
    CodePage(
        "PT100",
        "a program text can't be read",
        "The general code of the parser, used where none of PT101 to PT107 says more. The caret shows the place.",
    ),
    CodePage(
        "PT101",
        "the text is not in the language",
        "Kernel code keeps to Python's syntax and to the statements of `pl`. The caret shows where reading stopped. "
        "A missing bracket or colon is reported where Python notices it, which may be a line later."
        + _kernel("y = pl.load(x, [0, 0], [16, 16]")
        + "Close the bracket.",
    ),
    CodePage(
        "PT102",
        "an annotation or argument has the wrong type",
        "What was written and what is needed stand in the facts. An annotation may leave parts out (memory space, "
        "view); the parts that it gives have to agree with what the expression is."
        + _kernel("y: pl.Tile[[16, 32], pl.FP32] = pl.load(x, [0, 0], [16, 16])")
        + "Write `[16, 16]`, or leave the annotation out.",
    ),
    CodePage(
        "PT103",
        "a name is assigned twice under strict_ssa",
        "With `strict_ssa=True` every name may be assigned once."
        + _kernel(
            "y = pl.load(x, [0, 0], [16, 16])",
            "y = pl.exp(y)",
            kind="type=pl.FunctionType.InCore, strict_ssa=True",
        )
        + "Choose another name, or leave the option out: reassignment then becomes a phi or a loop carry.",
    ),
    CodePage(
        "PT104",
        "a name is used that nothing defines",
        "Names of kernels are parameters, assignments before the use, module constants and what closures hold."
        + _kernel("y = pl.exp(z)")
        + "Assign the name first, or define it as a constant above the kernel. Numbers, strings, lists of them, "
        "element types, enum members and other kernels are constants; other Python objects are not.",
    ),
    CodePage(
        "PT105",
        "Python that is not part of the kernel language",
        "Augmented assignment, assertions, conditional expressions, chained comparisons, comprehensions and calls of "
        "ordinary Python functions have no meaning on the device."
        + _kernel("i = 0", "i += 1")
        + "The remedy names the form to write instead, here `i = i + 1`.",
    ),
    CodePage(
        "PT106",
        "an operation that does not exist or does not apply here",
        "Either no operator has this name (`pypto ops` lists them), or it does not take what it was given: a tile "
        "where a tensor is needed, or the other way round."
        + _kernel("y = pl.tile.exp(x)")
        + "`x` is a tensor in global memory: `pl.load` it into a tile first.",
    ),
    CodePage(
        "PT107",
        "a loop's own name is used after the loop",
        "The variable of a loop, and the names that carry values from trip to trip, belong to the loop."
        + _kernel("for i in pl.range(0, 4):", "    y = pl.load(x, [0, 0], [16, 16])", "z = pl.add(i, 1)")
        + "Compute what you need inside of the loop. Of a carried value, use the name that takes what `pl.yield_` "
        "hands out at the end of the body.",
    ),
    CodePage(
        "PT110",
        "an extent can't be used as one",
        "Shapes are made of integers, `pl.dynamic` symbols and arithmetic on them. A symbol's name is a Python name, "
        "and a constant of an element type has a value that the type holds."
        + _block('M = pl.dynamic("rows of x")')
        + 'Write `M = pl.dynamic("M")`.',
    ),
    CodePage(
        "PT111",
        "a MemRef declaration contradicts itself",
        "A declared allocation has one name, one number of slots (at least 1) and one memory space for all its users; "
        "a subscript has to be within the slots."
        + _block("ring = pl.MemRef(slots=2)", "third = ring[2]")
        + "Slots are counted from 0. Declare `slots=3`, or use `ring[0]` and `ring[1]`.",
    ),
    CodePage(
        "PT112",
        "a word of kernels was called by Python",
        "The operations and loops of `pl` have a meaning in the body of a kernel, which is read and never executed."
        + _block("tile = pl.load(None, [0, 0], [16, 16])")
        + "Move the call into a function under `@pl.function`, `@pl.program` or `@pl.jit`. The same message appears "
        "when such a function is called by Python without its decorator.",
    ),
    CodePage(
        "PT113",
        "a program's file or text can't be opened",
        "`pl.loads` and the commands take the path of a readable `.py` file in UTF-8; `pl.parse` takes the text "
        "itself. The message says which of these fails: no such file, a folder, another encoding, an object that is "
        "neither. Check the path, or save the file as UTF-8.",
    ),
    CodePage(
        "PT114",
        "not exactly one program in a file",
        "A file that is compiled holds one class under `@pl.program`, or one function under `@pl.function`. Constants "
        "and helpers may stand beside it. A program that a function makes is read where the file calls that function, "
        "`PROGRAM = build(64, 128)`, and for the defaults of its parameters where the file calls nothing."
        + _block("ROWS = 16")
        + "Decorate the kernel. Several functions go into one class under `@pl.program`; several programs go into "
        "several files.",
    ),
)

OPERATOR_PAGES = (
    CodePage(
        "PT200",
        "an operator was called with arguments it does not accept",
        "The facts name the operator and the shapes, element types, memories or valid extents that don't fit together."
        + _kernel("y = pl.load(x, [0, 0], [16, 16])", "z = pl.load(x, [0, 0], [16, 8])", "w = pl.add(y, z)")
        + "`pypto ops NAME` shows what an operator takes. Extents have to be equal, or 1 where an operator expands.",
    ),
    CodePage(
        "PT201",
        "scalar arithmetic on operands of the wrong kind",
        "Scalars of one expression are all integers or all floats; booleans are combined with `and`, `or`, `not`. "
        "Nothing is converted silently between these, as rounding would depend on the order."
        + _kernel("m = n * 1.5")
        + "Convert one side, `pl.cast(n, pl.FP32) * 1.5`, or write the constant with a type: `pl.const(2, pl.INDEX)`.",
    ),
    CodePage(
        "PT210",
        "kind and attributes of a loop disagree",
        "A pipelined loop carries `pipeline_stages` and no other loop does."
        + _kernel(
            "for i in pl.range(0, 4, attrs={'pipeline_stages': 2}):", "    y = pl.load(x, [0, 0], [16, 16])"
        )
        + "Write `pl.pipeline(0, 4, stage=2)` for a pipelined loop and `pl.range(0, 4)` otherwise.",
    ),
    CodePage(
        "PT211",
        "a tile without a constant shape has no size",
        "How many bytes a tile takes is needed to place it, and its physical shape has to be constant for that. A "
        "symbol or a value of run time as an extent is refused when the size is asked for, most often by the memory "
        "passes. Give the tile a constant shape and say how much of it holds data:\n\n"
        "    pl.load(x, [row, 0], [64, 128], valid_shape=[pl.min(64, n - row), 128])",
    ),
    CodePage(
        "PT212",
        "the descriptor of a buffer contradicts itself",
        "Physical extents are positive constants. There is one valid extent per axis; it lies between 0 and the "
        "physical one, or is -1, which stands for one that operands give at run time. Passes make these descriptors: "
        "correct the pass, or the program text that was written by hand.",
    ),
    CodePage(
        "PT213",
        "a program is nested too deeply",
        "Expressions within expressions, or blocks within blocks, go deeper than the tools can follow. Generated "
        "kernels are the usual cause, such as a sum of a thousand terms in one expression. Assign parts of long "
        "expressions to variables, and move inner blocks into functions of their own.",
    ),
    CodePage(
        "PT214",
        "a type has too many axes",
        "Tensors and tiles have at most 32 axes; the machines know fewer still."
        + _block(
            "@pl.function",
            "def kernel(x: pl.Tensor[[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,",
            "                         1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 16], pl.FP32]):",
            "    y = x",
        )
        + "Merge axes that are used together.",
    ),
    CodePage(
        "PT220",
        "an operator is registered twice",
        "Two operators share a name: one of the kernel and one of a plugin, of two plugins, or twice in one list. "
        "Which was meant can't be told, so neither is taken. Operators of plugins carry the plugin's name as a "
        "prefix, `acme.swish`, which keeps them apart; rename one of the two.",
    ),
)
