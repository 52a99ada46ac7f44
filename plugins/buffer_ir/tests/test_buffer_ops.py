"""Each operator on buffers: what it takes, what it refuses, and what it says it does to its operands."""

from __future__ import annotations

import pytest

from pypto_core.diagnostics import OpError
from pypto_core.host import load_host
from pypto_core.ir import (
    VOID,
    BufferType,
    Call,
    ConstFloat,
    ConstInt,
    DataType,
    MakeTuple,
    MemorySpace,
    Op,
    ScalarType,
    TensorType,
    TensorView,
    TileLayout,
    TupleType,
    Var,
    as_dims,
    const_index,
    replace,
    scalar_type,
)
from pypto_core.ops import BufferAccess, BufferResult
from pypto_plugin_buffer_ir.elementwise import RECIPES
from pypto_plugin_buffer_ir.ops import OPS, check_call, define, pair, written

D, S = DataType, MemorySpace
F32, F16, BF16, I32, I8 = D.FP32, D.FP16, D.BF16, D.INT32, D.INT8
N = Var("n", scalar_type(D.INDEX))
NONE, READ, WRITE, BOTH = BufferAccess.NONE, BufferAccess.READ, BufferAccess.WRITE, BufferAccess.READ_WRITE


def kind(shape=(16, 64), dtype=F32, space=S.Vec, valid=(), **layout):
    return BufferType(shape, dtype, space, valid, **layout)


def buf(shape=(16, 64), dtype=F32, space=S.Vec, valid=(), name="b", **layout):
    return Var(name, kind(shape, dtype, space, valid, **layout))


def gm(shape=(64, 64), dtype=F32, valid=()):
    view = TensorView(valid_shape=as_dims(valid)) if valid else None
    return Var("t", TensorType(as_dims(shape), dtype, tensor_view=view))


def at(*values):
    return pair(const_index(v) if isinstance(v, int) else v for v in values)


def call(name, *args, **options):
    return written(f"buffer.{name}", args, options)


def stated(name, result, *args):
    return define(f"buffer.{name}", args, result)


# -- the contract


def test_the_table_is_the_one_that_was_asked_for():
    names = {op.name for op in OPS}
    elementwise = {
        "add", "mul", "sub", "div", "maximum", "minimum", "abs", "exp", "sqrt", "neg", "relu", "log", "recip",
        "adds", "subs", "muls", "divs", "maximums", "minimums", "lrelu", "full",
    }  # fmt: skip
    assert {r.name for r in RECIPES.values()} == elementwise
    others = {
        "alloc", "set_validshape", "load", "store", "copy", "subview", "reshape", "extract", "matmul", "matmul_acc",
        "get_block_idx", "get_block_num", "get_subblock_idx",
    }  # fmt: skip
    assert names == {f"buffer.{n}" for n in elementwise | others}
    assert all(load_host().ops.get(name) is not None for name in names)


EFFECTS = {
    "alloc": [None, None],
    "set_validshape": [(NONE, WRITE), None],
    "load": [(READ, READ), None, None, (WRITE, READ)],
    "store": [(READ, READ), None, None, (WRITE, READ)],
    "copy": [(READ, READ), (WRITE, READ)],
    "subview": [(NONE, READ), None, None],
    "reshape": [(NONE, READ)],
    "extract": [(READ, READ), None, None, (WRITE, READ)],
    "matmul": [(READ, READ), (READ, READ), (WRITE, READ)],
    "matmul_acc": [(READ, READ), (READ, READ), (BOTH, READ)],
    "add": [(READ, READ), (READ, READ), (WRITE, READ)],
    "adds": [(READ, READ), None, (WRITE, READ)],
    "full": [None, (WRITE, READ)],
    "get_block_idx": [],
}


@pytest.mark.parametrize("name", EFFECTS)
def test_what_happens_to_the_operands(name):
    op = load_host().ops[f"buffer.{name}"]
    assert op.buffer is not None and op.memory is None
    have = [None if e is None else (e.data, e.metadata) for e in op.buffer.effects]
    assert have == EFFECTS[name]
    assert len(have) == len(op.operands)


def test_what_the_results_are():
    ops = load_host().ops
    for name, result, alias in (
        ("alloc", BufferResult.ALLOCATE, None),
        ("subview", BufferResult.ALIAS, 0),
        ("reshape", BufferResult.ALIAS, 0),
        ("get_block_num", BufferResult.VALUE, None),
        ("add", BufferResult.NONE, None),
    ):
        use = ops[f"buffer.{name}"].buffer
        assert use is not None
        assert (use.result, use.alias_arg) == (result, alias)
        assert use.states_type == (result in (BufferResult.ALLOCATE, BufferResult.ALIAS))
    assert call("copy", buf(), buf(name="c")).type is VOID
    assert call("get_subblock_idx").type is scalar_type(D.INDEX)


# -- accepted


VALID_1 = (-1, -1)
ACCEPTED = {
    "alloc": lambda: stated("alloc", kind(), pair(())),
    "alloc at 0": lambda: stated("alloc", kind(), pair(()), ConstInt(0, D.INT64)),
    "alloc dynamic": lambda: stated("alloc", kind(valid=(16, -1)), at(N)),
    "alloc both": lambda: stated("alloc", kind(valid=VALID_1), at(16, N), N),
    "set": lambda: call("set_validshape", buf(valid=VALID_1), at(0, N)),
    "set static": lambda: call("set_validshape", buf(valid=(16, -1)), at(16, 64)),
    "load": lambda: call("load", gm(), at(48, 0), at(16, 64), buf()),
    "load runtime": lambda: call("load", gm((64, N)), at(N, 0), at(16, N), buf(valid=VALID_1)),
    "load Mat": lambda: call("load", gm(dtype=I8), at(0, 0), at(32, 32), buf((32, 32), I8, S.Mat)),
    "store": lambda: call("store", buf(dtype=BF16), at(0, 0), at(16, 64), gm(dtype=BF16)),
    "store Acc": lambda: call("store", buf((16, 16), F32, S.Acc), at(0, 0), at(16, 16), gm(dtype=F16)),
    "copy": lambda: call("copy", buf(valid=(3, -1)), buf(valid=(3, -1), name="c")),
    "copy Mat": lambda: call("copy", buf(space=S.Mat, blayout=TileLayout.col_major), buf(space=S.Left)),
    "extract": lambda: call("extract", buf(), const_index(8), N, buf((8, 32))),
    "extract Mat": lambda: call("extract", buf(space=S.Mat), N, N, buf((16, 16), space=S.Right)),
    "subview": lambda: stated("subview", kind((8, 32)), buf(), at(8, 32)),
    "subview dynamic": lambda: stated("subview", kind((8, 32), valid=(8, -1)), buf(), at(N, 32), at(8, N)),
    "reshape": lambda: stated("reshape", kind((32, 64), F16), buf()),
    "reshape bytes": lambda: stated("reshape", kind((128, 32), D.UINT8), buf()),
    "reshape Acc": lambda: stated("reshape", kind((16, 16), F32, S.Acc, (8, 16)), buf((16, 16), F32, S.Acc)),
    "add": lambda: call("add", buf(), buf(), buf()),
    "add FP16": lambda: call("add", buf(dtype=F16), buf(dtype=F16), buf(dtype=F16)),
    "mul INT32 runtime": lambda: call("mul", *[buf(dtype=I32, valid=VALID_1)] * 3),
    "exp runtime": lambda: call("exp", buf(valid=VALID_1), buf(valid=VALID_1)),
    "div precise": lambda: call("div", buf(), buf(), buf(), high_precision=True),
    "recip": lambda: call("recip", buf(), buf(name="c")),
    "adds": lambda: call("adds", buf(), ConstFloat(1.0), buf()),
    "full": lambda: call("full", ConstFloat(1.0), buf()),
    "matmul": lambda: call("matmul", *mm()),
    "matmul wide rhs": lambda: call("matmul", *mm(right=(-1, 32))),
    "matmul_acc INT8": lambda: call("matmul_acc", *mm(dtype=I8, out=I32)),
}  # fmt: skip


def mm(dtype=F16, out=F32, left=(), right=(), acc=(), rows=32, k=64, cols=32):
    return (
        buf((rows, k), dtype, S.Left, left),
        buf((k, cols), dtype, S.Right, right),
        buf((rows, cols), out, S.Acc, acc),
    )


@pytest.mark.parametrize("case", ACCEPTED)
def test_accepted(case):
    made = ACCEPTED[case]()
    check_call(made)


# -- refused


REFUSED = {
    "alloc needs tuple": (lambda: stated("alloc", kind(valid=VALID_1), dims_var(2)), "must be a MakeTuple"),
    "alloc too few": (lambda: stated("alloc", kind(valid=VALID_1), at(16)), "one per dynamic descriptor dimension"),
    "alloc too many": (lambda: stated("alloc", kind(), at(16)), r"0 runtime valid extent\(s\)"),
    "alloc extent": (lambda: stated("alloc", kind(valid=VALID_1), at(17, 64)), "between 0 and 16"),
    "alloc address": (lambda: stated("alloc", kind(), pair(()), ConstInt(-1, D.INT64)), "nonnegative"),
    "alloc type": (lambda: stated("alloc", scalar_type(F32), pair(())), "is a buffer"),
    "set tuple": (lambda: call("set_validshape", buf(valid=VALID_1), dims_var(2)), "must be a MakeTuple"),
    "set count": (lambda: call("set_validshape", buf(valid=VALID_1), at(1)), "one valid extent per physical"),
    "set range": (lambda: call("set_validshape", buf(valid=VALID_1), at(16, 65)), "between 0 and 64"),
    "set static axis": (lambda: call("set_validshape", buf(valid=(16, -1)), at(8, 4)), "cannot change static"),
    "set static n": (lambda: call("set_validshape", buf(valid=(16, -1)), at(N, 4)), "mark changing dimensions"),
    "load dtype": (lambda: call("load", gm(dtype=F16), at(0, 0), at(16, 64), buf()), "matching FP16/BF16/FP32/INT32"),
    "load INT8 Vec": (lambda: call("load", gm(dtype=I8), at(0, 0), at(16, 64), buf(dtype=I8)), "matching"),
    "load Acc": (lambda: call("load", gm(), at(0, 0), at(16, 64), buf(space=S.Acc)), "does not support Acc"),
    "load INT32 Mat": (
        lambda: call("load", gm(dtype=I32), at(0, 0), at(16, 64), buf(dtype=I32, space=S.Mat)), "matching",
    ),
    "load rank": (lambda: call("load", gm((64,)), at(0), at(16), buf()), "rank-2"),
    "load offset": (lambda: call("load", gm(), at(-1, 0), at(16, 64), buf()), "nonnegative"),
    "load offsets": (lambda: call("load", gm(), at(0), at(16, 64), buf()), "rank-2 MakeTuple"),
    "load static": (lambda: call("load", gm(), at(0, 0), at(8, 64), buf()), "static valid dimension"),
    "load range": (lambda: call("load", gm(), at(0, 0), at(16, 65), buf(valid=VALID_1)), "between 0 and"),
    "load window": (lambda: call("load", gm(), at(49, 0), at(16, 64), buf()), "exceeds GM"),
    "load valid window": (lambda: call("load", gm(valid=(64, 60)), at(0, 0), at(16, 64), buf()), "exceeds GM"),
    "store Mat": (lambda: call("store", buf(space=S.Mat), at(0, 0), at(16, 64), gm()), "does not support Mat"),
    "store INT32 Acc": (
        lambda: call("store", buf((16, 16), I32, S.Acc), at(0, 0), at(16, 16), gm()), "cannot convert int32 to fp32",
    ),
    "store Acc INT8": (
        lambda: call("store", buf((16, 16), F32, S.Acc), at(0, 0), at(16, 16), gm(dtype=I8)), "without a scale",
    ),
    "copy shape": (lambda: call("copy", buf(), buf((64, 16))), "identical physical descriptors"),
    "copy valid": (lambda: call("copy", buf(valid=(8, 64)), buf()), "identical physical descriptors"),
    "copy Mat valid": (
        lambda: call("copy", buf(space=S.Mat, valid=(8, 64)), buf(space=S.Left)), "keep the element type",
    ),
    "copy Acc": (lambda: call("copy", buf(space=S.Acc), buf(space=S.Mat)), "got Acc -> Mat"),
    "copy Mat Mat": (lambda: call("copy", buf(space=S.Mat), buf(space=S.Mat)), "must be in Vec memory"),
    "extract spaces": (lambda: call("extract", buf(), N, N, buf((8, 8), space=S.Left)), "Mat -> Left/Right and Vec"),
    "extract dtype": (lambda: call("extract", buf(), N, N, buf((8, 8), F16)), "matching element types"),
    "extract row": (lambda: call("extract", buf(), const_index(9), N, buf((8, 32))), r"row window \[9, 17\)"),
    "extract col": (lambda: call("extract", buf(), N, const_index(40), buf((8, 32))), "column window"),
    "extract big": (lambda: call("extract", buf(), N, N, buf((32, 32))), "exceeds the source"),
    "subview space": (lambda: stated("subview", kind((8, 32), space=S.Mat), buf(), at(0, 0)), "dense rank-2"),
    "subview layout": (
        lambda: stated("subview", kind((8, 32), blayout=TileLayout.col_major), buf(), at(0, 0)), "row-major Vec",
    ),
    "subview dtype": (lambda: stated("subview", kind((8, 32), F16), buf(), at(0, 0)), "keep the element type"),
    "subview offset": (lambda: stated("subview", kind((8, 32)), buf(), at(9, 0)), "capacity on dimension 0"),
    "subview extent": (lambda: stated("subview", kind((8, 65)), buf(), at(0, 0)), "exceeds the source"),
    "subview no valid": (lambda: stated("subview", kind((8, 32), valid=(8, -1)), buf(), at(0, 0)), "a valid-extents"),
    "subview valid": (
        lambda: stated("subview", kind((8, 32)), buf(), at(0, 0), at(8, 31)), "must equal the static descriptor",
    ),
    "subview literal": (
        lambda: stated("subview", kind((8, 32), valid=(8, -1)), buf(), at(0, 0), at(8, 31)), "the constant 31",
    ),
    "reshape space": (lambda: stated("reshape", kind(space=S.Mat), buf()), "same memory space"),
    "reshape bytes": (lambda: stated("reshape", kind((16, 32)), buf()), "equal physical byte sizes"),
    "reshape dynamic": (lambda: stated("reshape", kind(), buf(valid=VALID_1)), "static valid extents"),
    "reshape rows": (lambda: stated("reshape", kind((256, 4)), buf()), "aligned to 32 bytes"),
    "reshape dtype": (lambda: stated("reshape", kind((16, 64), D.UINT32), buf()), "can't have"),
    "reshape Mat dtype": (
        lambda: stated("reshape", kind((16, 128), F16, S.Mat), buf(space=S.Mat)), "same element type",
    ),
    "add BF16": (lambda: call("add", *[buf(dtype=BF16)] * 3), "takes no bfloat16"),
    "sub FP16": (lambda: call("sub", *[buf(dtype=F16)] * 3), "takes no fp16"),
    "add space": (lambda: call("add", *[buf(space=S.Mat)] * 3), "must be in Vec memory"),
    "add valid": (lambda: call("add", buf(valid=(8, 64)), buf(), buf()), "identical physical descriptors"),
    "add layout": (lambda: call("add", *[buf(blayout=TileLayout.col_major)] * 3), "dense"),
    "add count": (lambda: call("add", buf(), buf()), "takes 3 arguments, not 2"),
    "add option": (lambda: call("add", buf(), buf(), buf(), high_precision=True), "no option 'high_precision'"),
    "adds scalar": (lambda: call("adds", buf(), const_index(1), buf()), "matching the destination dtype"),
    "adds buffer": (lambda: call("adds", buf(), buf(), buf()), "a scalar"),
    "full dtype": (lambda: call("full", ConstInt(1, I32), buf(dtype=I32)), "takes no int32"),
    "recip itself": (lambda: call("recip", *[buf()] * 2), "requires a distinct destination"),
    "matmul spaces": (lambda: call("matmul", *reversed(mm())), "rank-2 Left buffer"),
    "matmul dtypes": (lambda: call("matmul", mm()[0], mm(BF16)[1], mm()[2]), "one element type"),
    "matmul INT32": (lambda: call("matmul", *mm(I32, I32)), "does not support int32 Left"),
    "matmul acc": (lambda: call("matmul", *mm(F16, I32)), "requires a fp32 accumulator"),
    "matmul shape": (lambda: call("matmul", mm()[0], mm(k=32)[1], mm()[2]), r"\[M, K\] x \[K, N\]"),
    "matmul K": (lambda: call("matmul", *mm(left=(32, 40), right=(39, 32))), "cover lhs valid K"),
    "matmul out": (lambda: call("matmul", *mm(left=(20, 64))), "must equal the product valid extent 20"),
    "query argument": (lambda: call("get_block_idx", N), "takes 0 arguments"),
}  # fmt: skip


def dims_var(count):
    return Var("d", TupleType((ScalarType(D.INDEX),) * count))


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    build, said = REFUSED[case]
    with pytest.raises(OpError, match=said):
        build()


def test_a_stored_call_is_held_against_what_it_says():
    """Nothing is deduced anew: a type, an option or an operand that was put in past the checks is found."""
    good = stated("subview", kind((8, 32)), buf(), at(8, 32))
    with pytest.raises(OpError, match="exceeds the source"):
        check_call(replace(good, type=kind((8, 99))))
    add = call("add", buf(), buf(), buf())
    with pytest.raises(OpError, match="no option"):
        check_call(replace(add, kwargs={"mode": 1}))
    with pytest.raises(OpError, match="results in"):
        check_call(replace(add, type=kind()))
    with pytest.raises(OpError, match="takes no bfloat16"):
        check_call(Call(Op("buffer.add"), (buf(dtype=BF16),) * 3, type=VOID))


def test_the_tuple_of_offsets_is_written_out():
    assert isinstance(at(1, 2), MakeTuple)
    with pytest.raises(OpError, match="MakeTuple"):
        stated("subview", kind((8, 32)), buf(), dims_var(2))
