"""More wrong programs, each of a kind that a reader of a certain part refuses."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import pypto_core.language as pl
from pypto_core.diagnostics import ParserTypeError

Refused = Callable[[str, str, int, int], None]

# (name, body, fragment of the message, line within the body, column): columns count the four spaces of indentation.
BODIES: list[tuple[str, str, str, int, int]] = [
    (
        "a dictionary as a note of a call",
        "pl.store(t, [0, 0], out, attrs=3)",
        "a dictionary is needed here",
        1,
        36,
    ),
    ("a key that is no string", "pl.store(t, [0, 0], out, attrs={1: 2})", "must be strings", 1, 37),
    ("a key given twice", 'pl.store(t, [0, 0], out, attrs={"a": 2, "a": 3})', "'a' is given twice", 1, 45),
    (
        "a note that can't be kept",
        'pl.store(t, [0, 0], out, attrs={"a": buf})',
        "can't be kept as a note",
        1,
        42,
    ),
    ("a matrix product by operator", "x = n @ n", "'@'", 1, 9),
    ("comparing a list", "x = LIST < 3", "can't be compared", 1, 9),
    ("a complex constant", "x = (-1) ** 0.5", "is complex", 1, 9),
    ("an overflow", "x = 1e300 ** 2.0", "can't be combined: Numerical result out of range", 1, 9),
    ("a shift to the other side", "x = 1 << -1", "can't be combined: negative shift count", 1, 9),
    ("zero to a negative power", "x = 0 ** -1", "can't be combined", 1, 9),
    ("a call of a call", "x = pl.exp(t)(1)", "only operators and functions can be called", 1, 9),
    ("a method of what is not there", "x = torch.exp(t)", "'torch' is not defined", 1, 9),
    ("arguments by name to what is not at hand", "x = self.g(a=n)", "can't be named here", 1, 9),
    ("a function as a value", "x = self.g", "'self.g' is a function", 1, 9),
    ("float of a number", "x = float(3)", "float() only writes infinities", 1, 9),
    ("abs of a tile", "x = abs(t)", "abs takes a scalar", 1, 13),
    ("const of a variable", "x = pl.const(n, pl.INT32)", "is not a constant of type int32", 1, 18),
    ("const without a type", "x = pl.const(3, 4)", "an element type is needed here", 1, 21),
    ("const without arguments", "x = pl.const()", "needs the argument 'value'", 1, 9),
    ("min of three", "x = pl.min(n, n, n)", "takes 2 arguments, not 3", 1, 22),
    ("min of an unknown argument", "x = pl.min(n, c=n)", "has no argument 'c'", 1, 19),
    ("min of an argument twice", "x = pl.min(n, a=n)", "'a' of pl.min is given twice", 1, 19),
    ("cast to no type", "x = pl.cast(n, 3)", "an element type is needed here", 1, 20),
    ("an extent without a name", "x = pl.dynamic(3)", "a symbolic extent needs a name", 1, 9),
    ("no_dep alone", "x = pl.no_dep(a)", "pl.no_dep does not belong here", 1, 9),
    ("an annotated window", "a[0:2, :]: pl.Scalar[pl.INDEX] = n", "only names can be annotated", 1, 5),
    ("unpacking into a window", "x, a[0] = [n, n]", "only names can be unpacked into", 1, 8),
    ("yielding into a window", "if flag:\n    a[0] = pl.yield_(n)", "pl.yield_ binds names", 2, 9),
    ("a named yield", "if flag:\n    r = pl.yield_(x=n)", "takes no named arguments", 2, 23),
    (
        "another space",
        "t: pl.Tile[[64, 64], pl.FP32, pl.Mem.Mat] = pl.load(a, [0, 0], [64, 64])",
        "holds a value of another type",
        1,
        5,
    ),
    ("unnamed yield without else", "if flag:\n    pl.yield_(n)", "must name what it yields", 2, 9),
    (
        "unnamed yield in the else",
        "if flag:\n    x = 1\nelse:\n    pl.yield_(n)",
        "must name what it yields",
        4,
        9,
    ),
    ("four bounds", "for i in pl.range(0, 1, 2, 3):\n    x = i", "at most three bounds", 1, 32),
    (
        "stages twice",
        'for i in pl.pipeline(4, stage=2, attrs={"pipeline_stages": 2}):\n    x = i',
        "is given by stage=",
        1,
        14,
    ),
    (
        "one initial value without a tuple",
        "for i, (c,) in pl.range(4, init_values=n):\n    r = pl.yield_(c)",
        "must be a tuple",
        1,
        44,
    ),
    (
        "nested names",
        "for (i, j), (c,) in pl.range(4, init_values=(n,)):\n    r = pl.yield_(c)",
        "names its variable",
        1,
        9,
    ),
    (
        "a loop of declarations",
        "for i in pl.range(4):\n    i: pl.Scalar[pl.INDEX]",
        "only declarations",
        2,
        9,
    ),
    (
        "while_ with bounds",
        "for (c,) in pl.while_(4):\n    r = pl.yield_(c)",
        "takes init_values alone",
        1,
        17,
    ),
    (
        "while_ without a body",
        "for (c,) in pl.while_(init_values=(n,)):\n    pl.cond(c < 4)",
        "must yield them",
        2,
        9,
    ),
    ("while else", "while flag:\n    x = 1\nelse:\n    y = 1", "else on a loop", 4, 9),
    ("inline of a number", "pl.inline_stmt(3)", "takes strings", 1, 5),
    ("two scopes at once", "with pl.cluster(), pl.cluster():\n    x = 1", "opens one scope", 1, 10),
    ("a scope over two names", "for i, j in pl.spmd(4):\n    x = i", "names one variable", 1, 9),
    (
        "a task id in a tuple",
        "with pl.at(level=pl.Level.CORE_GROUP) as (x, y):\n    z = 1",
        "is one name",
        1,
        46,
    ),
    ("too many arguments of a scope", "with pl.cluster(4):\n    x = 1", "at most 0 positional", 1, 21),
    ("deps that are no list", "with pl.cluster(deps=n):\n    x = 1", "must be a list of task ids", 1, 26),
    (
        "a flag that is none",
        "with pl.spmd(4, sync_start=n):\n    x = 1",
        "sync_start must be True or False",
        1,
        32,
    ),
    (
        "optimizations that are no list",
        "with pl.at(level=pl.Level.CORE_GROUP, optimizations=3):\n    x = 1",
        "must be a list",
        1,
        57,
    ),
    (
        "no optimization",
        "with pl.at(level=pl.Level.CORE_GROUP, optimizations=[n]):\n    x = 1",
        "is no optimization",
        1,
        58,
    ),
    (
        "slot_num",
        "with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.cross_core_slot(slot_num=0)]):\n    x = 1",
        "slot_num must be",
        1,
        86,
    ),
    (
        "an argument that split has not",
        "with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(lanes=2)]):\n    x = 1",
        "pl.split has no argument 'lanes'",
        1,
        67,
    ),
    (
        "an argument of split twice",
        "with pl.spmd(2, optimizations=[pl.split(pl.SplitMode.UP_DOWN, mode=pl.SplitMode.UP_DOWN)]):\n    x = 1",
        "argument 'mode' of pl.split is given twice",
        1,
        67,
    ),
    (
        "an argument of auto_chunk",
        "with pl.spmd(2, optimizations=[pl.auto_chunk(3)]):\n    x = 1",
        "takes at most 0 arguments",
        1,
        50,
    ),
    ("chunks of a range", "for i in pl.range(4, chunk=2):\n    x = i", "pl.range has no chunks", 1, 26),
    ("chunks of none", "for i in pl.parallel(4, chunk=0):\n    x = i", "chunk must be a constant", 1, 35),
    (
        "chunks given twice",
        'for i in pl.parallel(4, chunk=2, attrs={"chunk": 2}):\n    x = i',
        "'chunk' is given by chunk=",
        1,
        14,
    ),
    ("a level that is none", "with pl.at(level=3):\n    x = 1", "level must be a Level", 1, 22),
    (
        "a hint that is no text",
        "with pl.cluster(name_hint=3):\n    x = 1",
        "name_hint must be a string",
        1,
        31,
    ),
    ("lanes", "for i in pl.split_aiv(n):\n    x = i", "number of lanes must be a constant", 1, 14),
    ("a type that is none", "x: pl.TileView = t", "pl.TileView is not a type", 1, 8),
    ("a shape that is no list", "x: pl.Tile[64, pl.FP32] = t", "must be a list of extents", 1, 16),
    (
        "a list with a string",
        'x: pl.Tile[["a", 64], pl.FP32] = t',
        "an extent of a tile must be a scalar",
        1,
        17,
    ),
    ("a type that is no type", "x: pl.Tile[[64, 64], 3] = t", "an element type is needed here", 1, 26),
    (
        "a number in an annotation",
        "x: pl.Tile[[64, 64], pl.FP32, 3] = t",
        "has no meaning in the annotation of a tile",
        1,
        35,
    ),
    (
        "a view by position",
        "x: pl.Tile[[64, 64], pl.FP32, pl.TileView([64, 64])] = t",
        "takes named arguments",
        1,
        47,
    ),
    (
        "a view with a wrong layout",
        "x: pl.Tile[[64, 64], pl.FP32, pl.TileView(blayout=pl.NZ)] = t",
        "blayout must be a TileLayout",
        1,
        55,
    ),
    ("a scalar of two types", "x: pl.Scalar[pl.INDEX, pl.INDEX] = n", "needs one element type", 1, 8),
    ("an array without extent", "x: pl.Array[pl.INT32] = n", "needs a constant extent", 1, 8),
    ("a scalar under a tile", "x: pl.Tile[[64, 64], pl.FP32] = n", "of another kind", 1, 8),
    ("a tile under a scalar", "x: pl.Scalar[pl.INDEX] = pl.exp(t)", "of another kind", 1, 8),
    ("a float under an index", "x: pl.Scalar[pl.INDEX] = f", "element type is not the value's", 1, 8),
    (
        "two elements under one",
        "x: pl.Tuple[pl.Scalar[pl.INDEX]] = [n, n]",
        "another number of elements",
        1,
        8,
    ),
    (
        "an array of another length",
        "x: pl.Array[3, pl.INT32] = pl.array.create(4, pl.INT32)",
        "array is not the value's",
        1,
        8,
    ),
    (
        "memref arguments",
        'x: pl.Tile[[64, 64], pl.FP32, pl.MemRef("z", slot=2), pl.Mem.Vec] = t',
        "has no argument 'slot'",
        1,
        35,
    ),
    (
        "memref of two",
        'x: pl.Tile[[64, 64], pl.FP32, pl.MemRef("z", 2), pl.Mem.Vec] = t',
        "takes a name, or base, offset and size",
        1,
        35,
    ),
    (
        "memref pinned",
        'x: pl.Tile[[64, 64], pl.FP32, pl.MemRef("z", 0, 4, pinned=1), pl.Mem.Vec] = t',
        "pinned must be True or False",
        1,
        63,
    ),
    (
        "memref offset",
        'x: pl.Tile[[64, 64], pl.FP32, pl.MemRef("z", 0.5, 4), pl.Mem.Vec] = t',
        "a byte offset must be an integer",
        1,
        50,
    ),
    (
        "memref size",
        'x: pl.Tile[[64, 64], pl.FP32, pl.MemRef("z", 0, n), pl.Mem.Vec] = t',
        "a size in bytes must be",
        1,
        53,
    ),
    (
        "memref base",
        "x: pl.Tile[[64, 64], pl.FP32, pl.MemRef(n + 1, 0, 4), pl.Mem.Vec] = t",
        "must be a name",
        1,
        45,
    ),
    (
        "memref base that is a tile",
        "x: pl.Tile[[64, 64], pl.FP32, pl.MemRef(t, 0, 4), pl.Mem.Vec] = t",
        "'t' is no allocation",
        1,
        45,
    ),
    ("a subscripted word", "x = pl.range[3]", "pl.range can't be subscripted", 1, 9),
    ("a list by a variable", "x = LIST[n]", "indexed by a constant integer", 1, 14),
    ("a tuple by a variable", "p = [n, n]\nx = p[n]", "indexed by a constant integer", 2, 11),
    ("an array by a float", "p = pl.array.create(4, pl.INT32)\nx = p[0.5]", "indexed by an integer", 2, 11),
    ("a tensor by a float", "x = a[0.5, 0]", "must be an integer, not 0.5", 1, 11),
    ("a window of a call", "pl.exp(t)[0:2, :] = t", "only a window of a variable", 1, 5),
    ("a window of a constant", "LIST[0] = n", "'LIST' can't be assigned to", 1, 5),
    ("an element of a scalar", "n[0] = 3", "elements of a Scalar[index] can't be assigned", 1, 5),
    (
        "an array element from text",
        'p = pl.array.create(4, pl.INT32)\np[0] = "a"',
        "an element must be a scalar",
        2,
        12,
    ),
    ("deps of a task", "x, y = pl.submit(self.g, n, deps=n)", "deps must be a list of task ids", 1, 38),
    (
        "a dependency of another kind",
        "x, y = pl.submit(self.g, n, deps=[n])",
        "deps must be a list of task ids, and a Scalar[index] is none",
        1,
        38,
    ),
    (
        "what a scope can't wait for",
        "with pl.at(level=pl.Level.CORE_GROUP, deps=[None]):\n    x = n",
        "deps must be a list of task ids, and None is none",
        1,
        48,
    ),
    (
        "a flag of a task",
        "x, y = pl.submit(self.g, n, sync_start=3)",
        "sync_start must be True or False",
        1,
        44,
    ),
]


@pytest.mark.parametrize(
    ("body", "fragment", "line", "column"), [b[1:] for b in BODIES], ids=[b[0] for b in BODIES]
)
def test_body(refused: Refused, body: str, fragment: str, line: int, column: int) -> None:
    refused(body, fragment, line, column)


KERNEL = """import pypto_core.language as pl
@pl.function(type=pl.FunctionType.InCore)
def kern(a: pl.Tensor[[64, 64], pl.FP32], n: pl.Scalar[pl.INDEX]):
    t = pl.load(a, [0, 0], [64, 64])
"""
APART = [
    (
        "u = pl.load(a, [0, 0], [64, 64], valid_shape=[n, 64])\nu = pl.load(a, [0, 0], [64, 64])",
        {
            "before": "Tile[[64, 64], fp32], valid extents [n, 64]",
            "now": "Tile[[64, 64], fp32], valid extents [64, 64]",
        },
    ),
    (
        "u = pl.exp(t)\nu = pl.fillpad(t, pad_value=pl.PadValue.min)",
        {"before": "Tile[[64, 64], fp32], pad null", "now": "Tile[[64, 64], fp32], pad min"},
    ),
    (
        "u = pl.exp(t)\nu = pl.load(a, [0, 0], [32, 64])",
        {"before": "Tile[[64, 64], fp32]", "now": "Tile[[32, 64], fp32]"},
    ),
]


@pytest.mark.parametrize(("body", "facts"), APART, ids=["valid extents", "padding", "shape"])
def test_types_that_differ_are_told_apart(body: str, facts: dict[str, str]) -> None:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    with pytest.raises(ParserTypeError, match="'u' already holds a value of another type") as caught:
        pl.parse(KERNEL + lines)
    assert dict(caught.value.diagnostics[0].facts) == facts
