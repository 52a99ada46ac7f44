"""Wrong programs and what is said about them: the sentence, the line and column, and never a traceback of Python's."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import pypto_core.language as pl
from pypto_core.diagnostics import (
    DiagnosticError,
    InvalidOperationError,
    OpError,
    OpTypeError,
    ParserSyntaxError,
)

Refused = Callable[[str, str, int, int], None]

# (name, body, fragment of the message, line within the body, column): columns count the four spaces of indentation.
BODIES: list[tuple[str, str, str, int, int]] = [
    # names
    ("undefined name", "x = pl.exp(tt)", "'tt' is not defined", 1, 16),
    ("undefined in a shape", "u = pl.load(a, [0, 0], [rows, 64])", "'rows' is not defined", 1, 29),
    ("a module as a value", "x = n + np", "'np' is the module numpy", 1, 13),
    ("a call into a module", "x = np.exp(t)", "'np' is the module numpy", 1, 9),
    ("a method", "x = t.exp()", "has no method 'exp'", 1, 9),
    ("an attribute", "x = t.space", "has no attribute 'space'", 1, 9),
    ("a value that is called", "x = n(1)", "'n' is not a function", 1, 9),
    (
        "loop variable afterwards",
        "for i in pl.range(4):\n    x = i\ny = i",
        "'i' is the variable of a loop",
        3,
        9,
    ),
    (
        "carry afterwards",
        "for i, (c,) in pl.range(4, init_values=(n,)):\n    r = pl.yield_(c + 1)\ny = c",
        "'c' is a value carried by a loop",
        3,
        9,
    ),
    # words of pl
    ("unknown operator", "u = pl.expp(t)", "pl has no 'expp'", 1, 9),
    ("unknown operator of a group", "u = pl.tile.mamtul(t, t)", "pl has no 'tile.mamtul'", 1, 9),
    ("unknown dtype", "u = pl.cast(t, pl.FP31)", "pl has no 'FP31'", 1, 20),
    (
        "unknown member",
        "u = pl.load(a, [0, 0], [64, 64], target_memory=pl.Mem.Vex)",
        "has no member 'Vex'",
        1,
        52,
    ),
    ("loop word as a value", "x = pl.range(4)", "pl.range does not belong here", 1, 9),
    ("scope word as a value", "x = pl.cluster()", "pl.cluster does not belong here", 1, 9),
    ("a word that is no value", "x = pl.tile", "pl.tile is not a value", 1, 9),
    ("declaration inside", "b = pl.MemRef()", "allocations are declared outside of kernels", 1, 9),
    # operators
    ("tile plus tile", "x = t + t", "'+' works on scalars", 1, 9),
    ("tile times number", "x = t * 2.0", "'*' works on scalars", 1, 9),
    ("minus tile", "x = -t", "'-' works on scalars", 1, 9),
    ("int with float", "x = n + f", "index and fp32 don't mix", 1, 9),
    ("number plus truth", "x = n + flag", "don't take booleans", 1, 9),
    ("bit operator on float", "x = f & 1", "don't mix", 1, 9),
    ("invert truth", "x = ~flag", "~ needs an integer", 1, 9),
    ("chained comparison", "x = 0 < n < 4", "chained comparisons", 1, 9),
    ("in", "x = n in LIST", "'in' and 'is'", 1, 9),
    ("more than 64 bits", "x = 2 ** 63", "does not fit index", 1, 5),
    ("constant too large", "x = 10 ** 1000", "too large", 1, 9),
    ("shift too large", "x = 1 << 100000", "too large", 1, 9),
    ("string arithmetic", 'x = "a" + n', "must be a scalar, not 'a'", 1, 9),
    # Python that is not in the language
    ("augmented", "n += 1", "augmented assignments", 1, 5),
    ("conditional expression", "x = n if flag else 0", "conditional expressions", 1, 9),
    ("lambda", "x = lambda: 0", "lambdas", 1, 9),
    ("f-string", 'x = f"{n}"', "f-strings", 1, 9),
    ("set comprehension", "x = {i for i in LIST}", "comprehensions", 1, 9),
    ("comprehension with a condition", "x = [i for i in LIST if i]", "comprehensions of this form", 1, 9),
    ("comprehension over a scalar", "x = [i for i in n]", "runs over range", 1, 21),
    ("comprehension over a run-time range", "x = [i for i in range(n)]", "constant integers", 1, 21),
    ("comprehension over too much", "x = [i for i in range(9999)]", "too long", 1, 21),
    ("dictionary", "x = {1: 2}", "dictionaries", 1, 9),
    ("starred", "x = [*LIST]", "starred", 1, 10),
    ("walrus", "x = (y := 3)", "assignment expressions", 1, 10),
    ("assert", "assert n", "assert is", 1, 5),
    ("try", "try:\n    x = 1\nexcept ValueError:\n    pass", "try is", 1, 5),
    ("nested function", "def g():\n    pass", "functions inside of functions", 1, 5),
    ("import", "import os", "import is", 1, 5),
    ("delete", "del n", "del is", 1, 5),
    ("print", "print(n)", "Python's print()", 1, 5),
    ("len", "x = len(LIST)", "Python's len()", 1, 9),
    ("plain range", "for i in range(4):\n    x = i", "Python's range()", 1, 14),
    ("loop over a list", "for i in LIST:\n    x = i", "a loop runs over pl.range", 1, 14),
    ("chained assignment", "x = y = 1", "chained assignments", 1, 5),
    ("attribute assignment", "t.x = 1", "only names and windows", 1, 5),
    ("for else", "for i in pl.range(4):\n    x = i\nelse:\n    y = 1", "else on a loop", 4, 9),
    ("bytes", 'x = b"a"', "is not part of the kernel language", 1, 9),
    ("no effect", "n + 1", "has no effect", 1, 5),
    # assignments
    ("other type", "t = pl.load(a, [0, 0], [32, 64])", "'t' already holds a value of another type", 1, 5),
    ("scalar of another type", "n = n < 4", "'n' already holds a value of another type", 1, 5),
    ("assigning a loop variable", "for i in pl.range(4):\n    i = i + 1", "is the variable of a loop", 2, 9),
    ("unpacking a tile", "x, y = pl.exp(t)", "can't be unpacked", 1, 12),
    ("unpacking the wrong number", "x, y = [n, n, n]", "3 values for 2 names", 1, 5),
    ("a string as a value", 'x = "abc"', "can't be the value of a variable", 1, 9),
    ("a dtype as a value", "x = pl.FP32", "can't be the value of a variable", 1, 9),
    ("renaming an allocation", "x = buf", "can't be given another name", 1, 9),
    ("type without value", "x: pl.Scalar[pl.INDEX]", "has a type and no value", 1, 8),
    # annotations
    ("bare dtype", "x: pl.INT32 = 3", "is an element type, not a type", 1, 8),
    ("Python type", "x: int = 3", "not a type of the kernel language", 1, 8),
    ("bare tile", "x: pl.Tile = t", "pl.Tile needs its shape", 1, 8),
    ("tile without dtype", "x: pl.Tile[[64, 64]] = t", "needs a shape and an element type", 1, 8),
    (
        "annotated shape",
        "x: pl.Tile[[32, 64], pl.FP32] = pl.exp(t)",
        "the annotation's shape is not the value's",
        1,
        8,
    ),
    ("annotated dtype", "x: pl.Tile[[64, 64], pl.FP16] = pl.exp(t)", "element type is not the value's", 1, 8),
    ("annotated kind", "x: pl.Tensor[[64, 64], pl.FP32] = pl.exp(t)", "of another kind", 1, 8),
    ("int under float", "x: pl.Scalar[pl.FP32] = 3", "3 is an integer", 1, 29),
    ("float under int", "x: pl.Scalar[pl.INT32] = 2.5", "2.5 is no value of type int32", 1, 30),
    ("constant too large for its type", "x: pl.Scalar[pl.INT8] = 300", "300 does not fit int8", 1, 29),
    (
        "space on a tensor",
        "x: pl.Tensor[[64, 64], pl.FP32, pl.Mem.Vec] = a",
        "a tensor has no memory space",
        1,
        37,
    ),
    ("layout on a tile", "x: pl.Tile[[64, 64], pl.FP32, pl.NZ] = t", "does not apply to a tile", 1, 35),
    ("layout DN alone", "x: pl.Tensor[[64, 64], pl.FP32, pl.DN] = a", "layout DN alone", 1, 37),
    (
        "view without layout",
        "x: pl.Tensor[[64, 64], pl.FP32, pl.TensorView(stride=[64, 1])] = a",
        "needs its layout",
        1,
        37,
    ),
    (
        "view argument",
        "x: pl.Tile[[64, 64], pl.FP32, pl.TileView(blayot=1)] = t",
        "has no argument 'blayot'",
        1,
        47,
    ),
    ("negative extent", "x: pl.Tile[[-64, 64], pl.FP32] = t", "must be positive", 1, 17),
    ("extent that is a float", "x: pl.Tile[[64.0, 64], pl.FP32] = t", "must be an integer", 1, 17),
    # MemRefs
    (
        "memref without space",
        "x: pl.Tile[[64, 64], pl.FP32, buf] = pl.exp(t)",
        "explicit memory space",
        1,
        35,
    ),
    (
        "subscript of a single slot",
        "x: pl.Tile[[64, 64], pl.FP32, buf[0], pl.Mem.Vec] = pl.exp(t)",
        "single slot",
        1,
        39,
    ),
    (
        "slot out of range",
        "x: pl.Tile[[64, 64], pl.FP32, ring[2], pl.Mem.Vec] = pl.exp(t)",
        "slot 2 is out of range",
        1,
        40,
    ),
    (
        "memref on a copy",
        "x: pl.Tile[[64, 64], pl.FP32, buf, pl.Mem.Vec] = t",
        "binds only a tile that an operation makes",
        1,
        8,
    ),
    (
        "two spaces",
        (
            "x: pl.Tile[[64, 64], pl.FP32, buf, pl.Mem.Vec] = pl.exp(t)\n"
            "y: pl.Tile[[64, 64], pl.FP32, buf, pl.Mem.Mat] = pl.load(a, [0, 0], [64, 64], target_memory=pl.Mem.Mat)"
        ),
        "disagree on its memory space",
        2,
        35,
    ),
    (
        "two slot counts",
        (
            'x: pl.Tile[[64, 64], pl.FP32, pl.MemRef("z", slots=2)[0], pl.Mem.Vec] = pl.exp(t)\n'
            'y: pl.Tile[[64, 64], pl.FP32, pl.MemRef("z", slots=3)[0], pl.Mem.Vec] = pl.exp(t)'
        ),
        "disagree on how many slots",
        2,
        35,
    ),
    (
        "slots that are no number",
        'x: pl.Tile[[64, 64], pl.FP32, pl.MemRef("z", slots=True)[0], pl.Mem.Vec] = pl.exp(t)',
        "slots must be a positive integer",
        1,
        56,
    ),
    (
        "name that is no literal",
        "x: pl.Tile[[64, 64], pl.FP32, pl.MemRef(n), pl.Mem.Vec] = pl.exp(t)",
        "must be a string literal",
        1,
        45,
    ),
    # calls of operators
    ("tile op on a tensor", "u = pl.tile.exp(a)", "must be a tile, not a Tensor[[64, 64], fp32]", 1, 21),
    ("tensor op on a tile", "u = pl.load(t, [0, 0], [64, 64])", "must be a tensor, not a Tile", 1, 17),
    ("number for a tile", "u = pl.tile.exp(3)", "must be a tile, not 3", 1, 21),
    (
        "unknown argument",
        "u = pl.load(a, [0, 0], [64, 64], target=pl.Mem.Vec)",
        "has no argument 'target'",
        1,
        38,
    ),
    (
        "argument twice",
        "u = pl.load(a, [0, 0], [64, 64], offsets=[0, 0])",
        "'offsets' of pl.tile.load is given twice",
        1,
        38,
    ),
    ("too many arguments", "u = pl.exp(t, t, t)", "takes at most 1 positional", 1, 19),
    ("missing argument", "u = pl.load(a, [0, 0])", "needs the argument 'shapes'", 1, 9),
    ("scalar for a list", "u = pl.load(a, 0, [64, 64])", "must be a list of integers, not 0", 1, 20),
    ("float in a list", "u = pl.load(a, [0.5, 0], [64, 64])", "must be an integer, not 0.5", 1, 20),
    (
        "option that is no constant",
        "u = pl.load(a, [0, 0], [64, 64], clamp=flag)",
        "must be a constant",
        1,
        44,
    ),
    ("option of the wrong type", "u = pl.load(a, [0, 0], [64, 64], clamp=3)", "must be True or False", 1, 44),
    ("unknown mode", 'u = pl.cast(t, pl.FP16, mode="rond")', "can't be 'rond'", 1, 34),
    ("rank of offsets", "u = pl.load(a, [0], [64, 64])", "", 1, 9),
    ("shapes that don't fit", "v = pl.load(a, [0, 0], [32, 48])\nu = pl.add(t, v)", "", 2, 9),
    ("dtypes that don't fit", "u = pl.div(t, h)", "", 1, 9),
    ("window outside", "u = pl.tile.slice(t, [32, 64], [48, 0])", "", 1, 9),
    ("literal out of range", "u = pl.cast(t, pl.INT8)\nv = pl.add(u, 300)", "300 does not fit int8", 2, 19),
    (
        "float literal on ints",
        "u = pl.cast(t, pl.INT32)\nv = pl.add(u, 1.5)",
        "1.5 is no value of type int32",
        2,
        19,
    ),
    ("index beside floats", "u = pl.add(t, n)", "is an index, the elements are fp32", 1, 19),
    ("number before the tile", "u = pl.add(1.0, t)", "must be a tile, not 1.0", 1, 16),
    ("tiles to pl.min", "u = pl.min(t, t)", "pl.min takes two scalars", 1, 16),
    ("double star", "u = pl.exp(**LIST)", "** is not part", 1, 16),
    # subscripts
    ("slice step", "u = a[0:64:2, :]", "a slice with a step", 1, 16),
    ("negative index", "u = a[-1, 0]", "negative subscripts", 1, 11),
    ("None index", "u = a[None]", "None in a subscript", 1, 11),
    ("ellipsis", "u = a[..., 0]", "... in a subscript", 1, 11),
    ("too many subscripts", "u = a[0, 0, 0]", "3 subscripts for 2 axes", 1, 9),
    ("dynamic range of a tile", "u = t[n:64, :]", "needs a constant extent", 1, 11),
    ("empty range", "u = a[8:4, :]", "this range is empty", 1, 11),
    ("element assignment", "a[0, 0] = 1.0", "an element of a tensor can't be assigned", 1, 5),
    ("tile into a tensor", "out[0:32, :] = t", "a window of a tensor takes a tensor", 1, 20),
    ("shape of a window", "out[0:32, :] = a", "the value does not have the shape of the window", 1, 20),
    ("subscript of a scalar", "x = n[0]", "can't be subscripted", 1, 9),
    ("list index out of range", "x = LIST[2]", "index 2 is out of range", 1, 14),
    ("tuple index out of range", "p = [n, n]\nx = p[2]", "tuple index 2 is out of range", 2, 11),
    # loops
    ("stage on range", "for i in pl.range(4, stage=2):\n    x = i", "pl.range has no stages", 1, 26),
    ("pipeline without stage", "for i in pl.pipeline(4):\n    x = i", "needs its number of stages", 1, 14),
    (
        "stage zero",
        "for i in pl.pipeline(4, stage=0):\n    x = i",
        "stage must be a constant of at least 1",
        1,
        35,
    ),
    (
        "unknown loop option",
        "for i in pl.range(4, init_value=(n,)):\n    x = i",
        "has no argument 'init_value'",
        1,
        26,
    ),
    (
        "unroll with carries",
        "for i, (c,) in pl.unroll(4, init_values=(n,)):\n    r = pl.yield_(c)",
        "can't carry values",
        1,
        20,
    ),
    (
        "names without values",
        "for i, (c,) in pl.range(4):\n    x = c",
        "carried values need init_values",
        1,
        9,
    ),
    (
        "one name for two carried values",
        "for i, (c, c) in pl.range(4, init_values=(n, n)):\n    c, d = pl.yield_(c, c)",
        "'c' is bound twice here",
        1,
        16,
    ),
    (
        "the name of the loop's variable for a carried value",
        "for i, (i,) in pl.range(4, init_values=(n,)):\n    c = pl.yield_(i)",
        "'i' is bound twice here",
        1,
        13,
    ),
    (
        "one name for two values of a while loop",
        "for c, c in pl.while_(init_values=(n, n)):\n    pl.cond(c < 4)\n    d, e = pl.yield_(c, c)",
        "'c' is bound twice here",
        1,
        12,
    ),
    (
        "one name for two values of a branch",
        "if flag:\n    c, c = pl.yield_(n, n)\nelse:\n    c, c = pl.yield_(n, n)",
        "'c' is bound twice here",
        2,
        12,
    ),
    (
        "values without names",
        "for i in pl.range(4, init_values=(n,)):\n    x = i",
        "needs names for the carried values",
        1,
        9,
    ),
    (
        "counts",
        "for i, (c, d) in pl.range(4, init_values=(n,)):\n    r = pl.yield_(c)",
        "2 carried names for 1",
        1,
        9,
    ),
    (
        "carries without tuple",
        "for i, c in pl.range(4, init_values=(n,)):\n    r = pl.yield_(c)",
        "named in a tuple",
        1,
        12,
    ),
    ("no yield", "for i, (c,) in pl.range(4, init_values=(n,)):\n    x = c", "must yield them", 2, 9),
    ("yield without carries", "for i in pl.range(4):\n    r = pl.yield_(i)", "carries no values", 2, 13),
    (
        "too many yielded",
        "for i, (c,) in pl.range(4, init_values=(n,)):\n    r = pl.yield_(c, c)",
        "2 yielded values for 1 names",
        2,
        13,
    ),
    (
        "after yield",
        "for i, (c,) in pl.range(4, init_values=(n,)):\n    r = pl.yield_(c)\n    x = 1",
        "nothing may follow",
        3,
        9,
    ),
    ("float bound", "for i in pl.range(f):\n    x = i", "a loop's bound must be an integer", 1, 23),
    ("step zero", "for i in pl.range(0, 4, 0):\n    x = i", "a loop's step can't be 0", 1, 29),
    ("no bound", "for i in pl.range():\n    x = i", "needs its bound", 1, 14),
    ("notes of a loop", 'for i in pl.range(4, attrs={"x": pl.FP32}):\n    x = i', "must be a number", 1, 38),
    (
        "pipeline note on a range",
        'for i in pl.range(4, attrs={"pipeline_stages": 2}):\n    x = i',
        "must not carry",
        1,
        5,
    ),
    ("while on an integer", "while n:\n    x = 1", "must be BOOL, not index", 1, 11),
    (
        "while_ without condition",
        "for (c,) in pl.while_(init_values=(n,)):\n    r = pl.yield_(c)",
        "begins with its condition",
        2,
        9,
    ),
    ("break outside", "break", "break stands in no loop", 1, 5),
    (
        "break of one in parallel",
        "for i in pl.parallel(4):\n    break",
        "break is not supported in pl.parallel",
        2,
        9,
    ),
    (
        "continue of a copy",
        "for i in pl.unroll(4):\n    continue",
        "continue is not supported in pl.unroll",
        2,
        9,
    ),
    (
        "break in a scope in a loop",
        "for i in pl.range(4):\n    with pl.cluster():\n        break",
        "break stands in no loop",
        3,
        13,
    ),
    # branches
    ("condition of a branch", "if n:\n    x = 1", "a condition must be BOOL", 1, 8),
    (
        "one branch yields",
        "if flag:\n    r = pl.yield_(n)\nelse:\n    x = 1",
        "one branch yields values",
        2,
        13,
    ),
    ("yield without else", "if flag:\n    r = pl.yield_(n)", "needs an else", 2, 13),
    (
        "names of the branches",
        "if flag:\n    r = pl.yield_(n)\nelse:\n    s = pl.yield_(n)",
        "under different names",
        4,
        13,
    ),
    (
        "unnamed yields",
        "if flag:\n    pl.yield_(n)\nelse:\n    pl.yield_(n)",
        "must name what it yields",
        2,
        9,
    ),
    ("yield outside", "r = pl.yield_(n)", "pl.yield_ stands at the end", 1, 9),
    # scopes and statements
    ("with something else", "with open(n):\n    x = 1", "opens one scope of pl", 1, 10),
    ("at without level", "with pl.at():\n    x = 1", "pl.at needs its level", 1, 10),
    (
        "at with an unknown option",
        "with pl.at(level=pl.Level.CORE_GROUP, dep=[]):\n    x = 1",
        "has no argument 'dep'",
        1,
        43,
    ),
    ("spmd without count", "with pl.spmd():\n    x = 1", "needs the number of blocks", 1, 10),
    ("yield in a scope", "with pl.cluster():\n    r = pl.yield_(n)", "a scope yields nothing", 2, 13),
    ("late func_attr", 'pl.func_attr({"x": 1})', "must precede every other statement", 1, 5),
    ("dump_tag in a kernel", "pl.dump_tag(a)", "only stands in Orchestration and Inline", 1, 5),
    (
        "failed assertion",
        'pl.static_assert(2 < 1, "two is less")',
        "static assertion failed: two is less",
        1,
        5,
    ),
    (
        "a failed assertion that says a value",
        "pl.static_assert(2 < 1, n + 1)",
        "static assertion failed: n + 1: pl.Scalar[pl.INDEX]",
        1,
        5,
    ),
    ("assertion at run time", "pl.static_assert(n < 4)", "known when the kernel is read", 1, 22),
    ("cond alone", "pl.cond(n < 4)", "the first line of a pl.while_", 1, 5),
    ("submit of nothing", "x, y = pl.submit()", "needs the function to run", 1, 12),
    ("submit of a value", "x, y = pl.submit(n)", "takes a function first", 1, 22),
]


@pytest.mark.parametrize(
    ("body", "fragment", "line", "column"), [b[1:] for b in BODIES], ids=[b[0] for b in BODIES]
)
def test_body(refused: Refused, body: str, fragment: str, line: int, column: int) -> None:
    refused(body, fragment, line, column)


def test_no_row_is_there_twice() -> None:
    assert len({b[1] for b in BODIES}) == len(BODIES) >= 60


@pytest.mark.parametrize(
    ("line", "plain"),
    [
        ("c = pl.tile.add(t, pl.load(a, [0, 0], [32, 64]))", OpError),
        ("c = n + 1.5", OpTypeError),
        ("c = pl.tile.load(a, [0, 0], [64, 65])", OpError),
    ],
)
def test_what_operators_refuse_is_an_error_of_theirs_and_of_the_parser(
    line: str, plain: type[DiagnosticError]
) -> None:
    text = f"""
@pl.function
def f(a: pl.Tensor[[64, 64], pl.FP32], n: pl.Scalar[pl.INDEX]):
    t = pl.load(a, [0, 0], [64, 64])
    {line}
"""
    for caught in (plain, InvalidOperationError, ParserSyntaxError):
        with pytest.raises(caught) as found:
            pl.parse(text)
        diagnostic = found.value.diagnostics[0]
        assert (diagnostic.code, diagnostic.span.begin_line) == (plain.default_code, 5)


def test_a_number_of_another_width_says_how_to_convert_it() -> None:
    text = """
import pypto_core.language as pl
@pl.function(type=pl.FunctionType.InCore)
def kern(n: pl.Scalar[pl.INT32], flag: pl.Scalar[pl.BOOL]):
    BODY
"""
    for body, remedy in (
        ("n = n + 1", "convert it with pl.cast(…, pl.INT32), or use another name for this value"),
        ("n = n < 1", "use another name for this value"),
    ):
        with pytest.raises(DiagnosticError) as caught:
            pl.parse(text.replace("BODY", body))
        assert caught.value.diagnostics[0].remedy == remedy
    pl.parse(text.replace("BODY", "n = pl.cast(n + 1, pl.INT32)"))
