"""The pages behind the kernel's own codes, for ``pypto explain``."""

from __future__ import annotations

from pypto_core.contract import CodePage

_TEXTS: tuple[tuple[str, str, str], ...] = (
    (
        "PT101",
        "the text is not in the language",
        (
            "Kernel code keeps to Python's syntax and to the statements of `pl`. The caret shows where "
            "reading stopped. A missing bracket or colon is reported where Python notices it, which may be a "
            "line later."
        ),
    ),
    (
        "PT102",
        "an annotation or argument has the wrong type",
        (
            "What was written and what is needed stand in the facts. An annotation may leave parts out "
            "(memory space, view); the parts that it gives have to agree with what the expression is."
        ),
    ),
    (
        "PT103",
        "a name is assigned twice under strict_ssa",
        (
            "With `strict_ssa=True` every name may be assigned once. Choose another name, or leave the option "
            "out: reassignment then becomes a phi or a loop carry."
        ),
    ),
    (
        "PT104",
        "a name is used that nothing defines",
        (
            "Names of kernels are parameters, assignments before the use, module constants and what closures "
            "hold. After a loop its variable and its carries are gone: use the names that the yield binds."
        ),
    ),
    (
        "PT105",
        "Python that is not part of the kernel language",
        (
            "Augmented assignment, assertions, conditional expressions, chained comparisons, comprehensions "
            "and calls of ordinary Python functions have no meaning on the device. The remedy names the form "
            "to write instead."
        ),
    ),
    (
        "PT106",
        "an operation that does not exist or does not apply here",
        (
            "Either no operator has this name (`pypto ops` lists them), or it does not take what it was "
            "given: a tile where a tensor is needed, or the other way round."
        ),
    ),
    (
        "PT107",
        "a value is used outside the scope that owns it",
        "Scopes such as `pl.split_aiv` keep their values to themselves.",
    ),
    (
        "PT110",
        "an extent can't be used as one",
        "Shapes are made of integers, `pl.dynamic` symbols and arithmetic on them.",
    ),
    (
        "PT111",
        "a MemRef declaration contradicts itself",
        (
            "A declared allocation has one name, one number of slots and one memory space for all its users; "
            "a subscript has to be within the slots."
        ),
    ),
    (
        "PT200",
        "an operator was called with arguments it does not accept",
        "The facts name the operator and the shapes, element types or valid extents that don't fit together.",
    ),
    (
        "PT210",
        "kind and attributes of a loop disagree",
        "A pipelined loop carries `pipeline_stages` and no other loop does.",
    ),
    (
        "PT211",
        "a tile without a constant shape has no size",
        "Give the tile a constant shape and narrow it with `valid_shape`.",
    ),
    (
        "PT212",
        "the descriptor of a buffer contradicts itself",
        (
            "Physical extents are positive constants. A valid extent lies between 0 and the physical one, or is -1, "
            "which stands for one that operands give at run time."
        ),
    ),
    (
        "PT213",
        "a program is nested too deeply",
        (
            "Expressions within expressions, or blocks within blocks, go deeper than the tools can follow. Assign "
            "parts of long expressions to variables, and move inner blocks into functions of their own."
        ),
    ),
    (
        "PT214",
        "a type has too many axes",
        "Tensors and tiles have at most 32 axes; the machines know fewer still. Merge axes that are used together.",
    ),
    (
        "PT301",
        "nothing makes a property that is needed",
        (
            "A pass requires the property, or the goal is the property, and no pass that is installed and "
            "enabled makes it. The explanation names who needs it, and the package that would bring a pass "
            "that makes it, or why an installed plugin could not be loaded."
        ),
    ),
    (
        "PT302",
        "no order of the passes reaches the goals",
        (
            "Every goal can be made, but not all at once: some pass destroys what another still needs, or may "
            "run too few times. The facts listed are a minimal conflict: without any one of them a plan "
            "exists."
        ),
    ),
    (
        "PT303",
        "order facts form a ring",
        (
            "Plugins state that each of some passes comes before the next. The facts name who says each; one "
            "of them has to be withdrawn."
        ),
    ),
    (
        "PT309",
        "the search gave up",
        (
            "The number of states that may be looked at is used up; no answer is given rather than a guess. "
            "Name the passes that matter with `must`, or install fewer plugins that destroy properties."
        ),
    ),
    (
        "PT410",
        "two structures differ",
        "The path leads to the first difference; the reason says what differs there.",
    ),
    (
        "PT800",
        "the input lacks a property that every program has",
        (
            "A program has to be well typed and well formed before any pass runs. The diagnostics say where "
            "it is not."
        ),
    ),
    (
        "PT804",
        "a program does not read back from its printed text",
        (
            "A pass left the program in a state that the printer or parser can't carry. It is a fault of the "
            "compiler: please report it with the program."
        ),
    ),
    (
        "PT810",
        "a pipeline meets a context it was not made for",
        (
            "A pipeline is resolved for one planner, one backend and certain values of the options that switch passes "
            "on and off, and refuses to run under others: resolve it again."
        ),
    ),
    (
        "PT812",
        "no backend is installed",
        "Install one, for example with pip, or unblock it in PYPTO_PLUGINS.",
    ),
    (
        "PT813",
        "several backends are installed",
        "Say which one: `--backend NAME`, or `backend=` in Python.",
    ),
    (
        "PT816",
        "an option that nothing asked for",
        "No pass looked the option up and no contract is gated by it; its name is most likely misspelt.",
    ),
    (
        "PT823",
        "a picture of a kind that can't be written",
        "Graphs are written as SVG: give the file a name that ends in .svg.",
    ),
    (
        "PT830",
        "an argument that no kernel can take",
        (
            "A kernel under `@pl.jit` takes arrays of any library that tells shape and element type, and numbers, "
            "strings, element types, enum members and lists of these. Element types are those of the language: complex "
            "numbers, objects and byte orders of other machines are not among them. Extents are at least 1."
        ),
    ),
    (
        "PT831",
        "a kernel was called with arguments that it has no parameters for",
        "The facts list the parameters. Arguments may be given by name.",
    ),
    (
        "PT832",
        "an output can't be written in place",
        (
            "What a kernel writes belongs into the caller's array. That needs memory of this computer that may be "
            "written: a numpy array, a tensor that shares its memory as one, or whatever hands it out by "
            "`__array_interface__` or DLPack. Read-only views and arrays on a device are refused before anything runs."
        ),
    ),
    (
        "PT833",
        "a setting of the cache can't be read",
        "`PYPTO_CACHE_BYTES` is a number of bytes. `PYPTO_CACHE=off` switches the cache off.",
    ),
    (
        "PT834",
        "a compiled kernel was called with other constants",
        (
            "Numbers that are passed to a kernel are part of it: branches on them were decided and loops over them "
            "measured out. What `compile` returns is the kernel for one set of them; the decorated function takes "
            "any."
        ),
    ),
    (
        "PT857",
        "nothing to explain about a file",
        (
            "What `pypto explain FILE` tells comes from installed plugins, as sections of the report on a compilation. "
            "The flags that choose among them need a file."
        ),
    ),
)

CORE_PAGES = tuple(CodePage(code, title, text) for code, title, text in _TEXTS)
