"""The rules of the property BufferIR: for each a function that keeps it and one that breaks it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pypto_core.host import load_host
from pypto_core.ir import (
    VOID,
    AssignStmt,
    BufferType,
    Call,
    ConstInt,
    DataType,
    EvalStmt,
    ForStmt,
    Function,
    FunctionIRStage,
    FunctionType,
    IfStmt,
    IterArg,
    MemorySpace,
    MultiBufferType,
    Op,
    ParamDirection,
    Program,
    ReturnStmt,
    TensorType,
    TileType,
    TupleGetItemExpr,
    TupleType,
    Var,
    WhileStmt,
    YieldStmt,
    add,
    as_dims,
    cast,
    const_index,
    lt,
    mul,
    scalar_type,
    seq,
)
from pypto_core.ops import using_registry
from pypto_core.testing import build as b
from pypto_plugin_buffer_ir import verify as v
from pypto_plugin_buffer_ir.ops import define, pair, written
from pypto_plugin_buffer_ir.places import Places
from pypto_plugin_buffer_ir.verify import verify_buffer_ir

D, S = DataType, MemorySpace
INDEX, IN = scalar_type(D.INDEX), ParamDirection.In
GM = Var("t", TensorType(as_dims((64, 64)), D.FP32))
OUT = Var("o", TensorType(as_dims((64, 64)), D.FP32))
N = Var("n", INDEX)


def kind(shape=(16, 64), valid=(), dtype=D.FP32, space=S.Vec):
    return BufferType(shape, dtype, space, valid)


def alloc(name, address=None, of=None, valid=()):
    of = of or kind()
    place = (
        [] if address is None else [address if not isinstance(address, int) else ConstInt(address, D.INT64)]
    )
    return AssignStmt(Var(name, of), define("buffer.alloc", (pair(valid), *place), of))


def view(name, source, rows, cols, at, valid=None):
    of = kind((rows, cols), valid or ())
    offsets = pair(const_index(x) if isinstance(x, int) else x for x in at)
    return AssignStmt(Var(name, of), define("buffer.subview", (source.var, offsets), of))


def relabel(name, source, of):
    return AssignStmt(Var(name, of), define("buffer.reshape", (source.var,), of))


def do(name, *args):
    operands = tuple(a.var if isinstance(a, AssignStmt) else a for a in args)
    return EvalStmt(written(f"buffer.{name}", operands))


def dims(*values):
    return pair(const_index(x) if isinstance(x, int) else x for x in values)


def function(*stmts, returns=(), params=()):
    return Function(
        "k", (GM, OUT, N, *params), returns, seq([*stmts, ReturnStmt(())]),
        param_directions=(IN, ParamDirection.Out, IN, *(IN for _ in params)),
        func_type=FunctionType.InCore, ir_stage=FunctionIRStage.Buffer,
    )  # fmt: skip


def problems(*stmts, **parts):
    return list(verify_buffer_ir(Program("P", [function(*stmts, **parts)])))


def numbers(*stmts, **parts):
    return {p.number for p in problems(*stmts, **parts) if p.rule == "BufferIR"}


with using_registry(load_host().ops):
    A, B = alloc("a", 0), alloc("b", 4096)
    WHOLE = alloc("w", 0, kind((64, 64)))


def test_a_whole_kernel_is_in_order():
    x, y = alloc("x", 0), alloc("y", 4096)
    load = do("load", GM, dims(0, 0), dims(16, 64), x)
    stmts = [x, y, load, do("add", x, x, y), do("store", y, dims(0, 0), dims(16, 64), OUT)]
    assert problems(*stmts) == []


def test_functions_in_tiles_are_left_alone():
    tile = b.let("x", b.op("tile.create", b.dims(16, 64), dtype=D.FP32, target_memory=S.Vec))
    plain = Function("k", (), (), seq([tile, ReturnStmt(())]), func_type=FunctionType.InCore)
    assert list(verify_buffer_ir(Program("P", [plain]))) == []


TILE_TYPE = TileType(as_dims((16, 64)), D.FP32, None, None, S.Vec)


def test_no_tile_is_left():
    value = Call(Op("ext.make"), (), type=TILE_TYPE)
    assert numbers(AssignStmt(Var("x", TILE_TYPE), value)) == {v.TILE}
    both = TupleType((INDEX, TILE_TYPE))
    assert v.TILE in numbers(AssignStmt(Var("x", both), Call(Op("ext.make"), (), type=both)))
    assert numbers(EvalStmt(Call(Op("tile.store"), (), type=VOID))) == {v.TILE_OP}
    assert numbers(EvalStmt(Call(Op("pld.tile.anything"), (), type=VOID))) == {v.TILE_OP}
    assert v.TILE in numbers(params=(Var("p", TILE_TYPE),))


def test_no_pointer_is_a_value():
    base = b.let("m", b.op("tile.alloc", memory_space=S.Vec, size=64))
    assert v.POINTER in numbers(base)


def test_no_buffer_leaves():
    assert numbers(A, returns=(kind(),)) == {v.ESCAPES}
    assert v.ESCAPES in numbers(returns=(TupleType((INDEX, MultiBufferType(kind(), 2))),))
    assert numbers(A, ReturnStmt((A.var,))) == {v.CARRIED}


def test_a_handle_has_one_name():
    assert numbers(A, AssignStmt(Var("b", kind()), A.var)) == {v.ALIAS}
    given = Var("p", kind())
    again = AssignStmt(given, define("buffer.alloc", (pair(()),), kind()))
    assert numbers(again, params=(given,)) == {v.ALIAS}
    assert numbers(do("add", given, given, given), params=(given,)) == set()


def test_a_handle_out_of_a_tuple_is_no_alias():
    both = TupleType((kind(), kind()))
    made = AssignStmt(Var("t", both), Call(Op("ext.two"), (), type=both))
    taken = AssignStmt(Var("x", kind()), TupleGetItemExpr(made.var, 0))
    assert v.ALIAS not in numbers(made, taken)


def test_handles_stand_only_where_operators_take_them():
    x = A.var
    arg = IterArg("k", kind(), init_value=x)
    out = Var("r", kind())
    body = YieldStmt((arg,))
    one, ten = const_index(1), const_index(10)
    loop = ForStmt(Var("i", INDEX), const_index(0), ten, one, (arg,), body, (out,))
    assert v.CARRIED in numbers(A, loop)
    again = WhileStmt(lt(N, 3), (arg,), body, (out,))
    assert v.CARRIED in numbers(A, again)
    phi = IfStmt(lt(N, 3), YieldStmt((x,)), YieldStmt((x,)), (out,))
    assert v.CARRIED in numbers(A, phi)
    assert v.CARRIED in numbers(A, EvalStmt(Call(Op("system.bar_v"), (x,), type=VOID)))
    assert v.CARRIED in numbers(A, EvalStmt(Call(Op("system.bar_v"), (), attrs={"of": x}, type=VOID)))
    assert v.CARRIED in numbers(A, AssignStmt(Var("n", INDEX), Call(Op("ext.f"), (pair((x,)),), type=INDEX)))


def test_numbers_are_carried():
    arg = IterArg("k", INDEX, init_value=const_index(0))
    loop = ForStmt(
        Var("i", INDEX),
        const_index(0),
        N,
        const_index(1),
        (arg,),
        YieldStmt((add(arg, 1),)),
        (Var("r", INDEX),),
    )
    assert problems(A, loop) == []


def test_operators_on_buffers_are_registered_ones():
    assert numbers(EvalStmt(Call(Op("buffer.sort"), (), type=VOID))) == {v.UNKNOWN_OP}
    made = AssignStmt(Var("x", kind()), Call(Op("ext.make"), (), type=kind()))
    assert numbers(made) == {v.FOREIGN}


def test_results_are_bound_and_only_they():
    lost = EvalStmt(define("buffer.alloc", (pair(()),), kind()))
    assert numbers(lost) == {v.PLACEMENT}
    assert numbers(EvalStmt(written("buffer.get_block_idx", ()))) == {v.PLACEMENT}
    assert numbers(AssignStmt(Var("i", INDEX), written("buffer.get_block_idx", ()))) == set()
    void = AssignStmt(Var("x", VOID), written("buffer.add", (A.var, A.var, A.var)))
    assert v.PLACEMENT in numbers(A, void)


def test_calls_keep_their_contract():
    wrong = Call(Op("buffer.add"), (A.var, alloc("s", of=kind((8, 8))).var, A.var), type=VOID)
    found = [p for p in problems(A, EvalStmt(wrong)) if p.number == v.CALL]
    assert "Invalid buffer call 'buffer.add'" in found[0].message
    bad = AssignStmt(Var("x", kind((99, 99))), Call(Op("buffer.reshape"), (A.var,), type=kind((99, 99))))
    assert v.CALL in numbers(A, bad)


def test_extents_of_views_stay():
    whole = alloc("w", 0, kind((32, 64), (-1, -1)), (const_index(32), const_index(64)))
    assert numbers(whole, do("set_validshape", whole, dims(3, N))) == set()
    of = kind((16, 64), (-1, -1))
    offsets = dims(0, 0)
    part = AssignStmt(Var("p", of), define("buffer.subview", (whole.var, offsets, dims(N, N)), of))
    assert numbers(whole, part, do("set_validshape", part, dims(3, N))) == {v.VIEW_EXTENTS}


# -- which bytes


def clash(*stmts):
    found = problems(*stmts)
    assert {p.number for p in found} <= {v.BYTES}, found
    return " ".join(p.message for p in found)


@pytest.mark.parametrize(
    ("left", "right", "said"),
    [
        (0, 4096, ""),
        (0, 0, ""),
        (0, 2048, "partially overlapping"),
        (4064, 0, "partially overlapping"),
        (None, None, ""),
        (0, None, "provably disjoint constant addresses"),
        (N, 4096, "provably disjoint constant addresses"),
    ],
)
def test_allocations_by_their_addresses(left, right, said):
    x, y = alloc("x", left), alloc("y", right)
    found = clash(x, y, do("exp", x, y))
    assert said in found and bool(said) == bool(found)
    copied = clash(x, y, do("copy", x, y))
    assert said in copied and bool(said) == bool(copied)


def test_addresses_are_computed_through_scalars():
    four = AssignStmt(Var("f", INDEX), mul(const_index(1024), 4))
    near = AssignStmt(Var("g", INDEX), add(four.var, -32))
    far, close = alloc("y", cast(four.var, D.INT64)), alloc("z", near.var)
    assert clash(four, A, far, do("exp", A, far)) == ""
    assert "partially overlapping" in clash(four, near, A, close, do("exp", A, close))
    tiny = AssignStmt(Var("i", scalar_type(D.INT8)), mul(ConstInt(100, D.INT8), ConstInt(2, D.INT8)))
    wraps = alloc("y", cast(tiny.var, D.INT64))
    assert "provably disjoint" in clash(tiny, A, wraps, do("exp", A, wraps))


def test_memories_are_apart():
    left, right = alloc("x", 0, kind(space=S.Mat)), alloc("y", 0, kind(space=S.Left))
    assert clash(left, right, do("copy", left, right)) == ""


def test_disjoint_means_not_even_the_same():
    same = alloc("y", 0)
    assert clash(A, same, do("exp", A, same)) == ""
    assert "requires disjoint" in clash(A, same, do("recip", A, same))
    assert clash(A, B, do("recip", A, B)) == ""
    part = view("p", WHOLE, 16, 64, (8, 0))
    own = view("q", WHOLE, 16, 64, (24, 0))
    assert "requires disjoint" in clash(WHOLE, part, do("extract", WHOLE, N, N, part))
    assert clash(WHOLE, part, own, do("extract", part, const_index(0), const_index(0), own)) == ""


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        # (row, column) of two 16 x 32 windows of a 64 x 64 tile: a row has 256 bytes, of which a window takes 128.
        ((0, 0), (16, 0), ""),
        ((0, 0), (0, 0), ""),
        ((0, 0), (15, 0), "partially overlapping"),
        # Side by side, they share no element; the bytes between the rows count all the same.
        ((0, 0), (0, 32), "partially overlapping"),
        ((0, 32), (16, 0), ""),
        ((0, 0), (15, 32), ""),
    ],
)
def test_windows_with_the_gaps_between_their_rows(first, second, said):
    x, y = view("x", WHOLE, 16, 32, first), view("y", WHOLE, 16, 32, second)
    found = clash(WHOLE, x, y, do("exp", x, y))
    assert said in found and bool(said) == bool(found)


def test_a_runtime_window_is_all_of_its_source():
    here, there = view("x", WHOLE, 16, 64, (N, 0)), view("y", WHOLE, 16, 64, (48, 0))
    assert "partially overlapping" in clash(WHOLE, here, there, do("exp", here, there))
    other = alloc("z", 16384)
    assert clash(WHOLE, here, other, do("exp", here, other)) == ""
    # A constant window of one stays as vague: its offset counts from where the first one is.
    inner = view("u", here, 8, 64, (0, 0))
    below = view("y", WHOLE, 8, 64, (56, 0))
    assert "partially overlapping" in clash(WHOLE, here, inner, below, do("exp", inner, below))


def test_two_runtime_windows_are_one_only_by_equal_offsets():
    first, same = view("x", WHOLE, 16, 64, (N, 0)), view("y", WHOLE, 16, 64, (N, 0))
    other = view("z", WHOLE, 16, 64, (add(N, 1), 0))
    assert clash(WHOLE, first, same, do("exp", first, same)) == ""
    assert "partially overlapping" in clash(WHOLE, first, other, do("exp", first, other))


def test_bytes_are_followed_through_other_looks():
    wide = relabel("r", A, kind((8, 128)))
    assert clash(A, wide, do("exp", wide, wide)) == ""
    low = view("l", wide, 4, 128, (0, 0))
    again = relabel("g", low, kind((8, 64)))
    high = view("h", A, 8, 64, (8, 0))
    assert clash(A, wide, low, again, high, do("exp", again, high)) == ""
    middle = view("m", A, 8, 64, (4, 0))
    assert "partially overlapping" in clash(A, wide, low, again, middle, do("exp", again, middle))


def test_rows_that_are_apart_have_no_other_look():
    part = view("p", WHOLE, 16, 32, (0, 0))
    assert "rows are not adjacent" in clash(WHOLE, part, relabel("r", part, kind((8, 64))))


def test_a_view_of_nothing_known_is_refused():
    made = AssignStmt(Var("x", kind((64, 64))), Call(Op("ext.make"), (), type=kind((64, 64))))
    part = view("p", made, 16, 64, (0, 0))
    found = problems(made, part, A, do("exp", part, A))
    assert "source-window provenance" in " ".join(p.message for p in found if p.number == v.BYTES)
    assert "allocation provenance" in " ".join(p.message for p in found if p.number == v.BYTES)


def test_ssa_and_scopes_are_checked_too():
    assert {p.rule for p in problems(do("exp", A, A))} & {
        "UseAfterDef",
        "UseAfterDefCheck",
        "SSAVerify",
        "SSAForm",
    }
    twice = problems(A, AssignStmt(A.var, A.value))
    assert any(p.number == v.ALIAS for p in twice)


def test_the_finding_names_function_and_bytes():
    x, y = alloc("x", 0), alloc("y", 2048)
    [found] = problems(x, y, do("exp", x, y))
    assert found.rule == "BufferIR" and "'k'" in found.message
    facts = dict(found.facts)
    assert (
        facts["source"] == "'x': 0 + 0 to 0 + 4096" and facts["destination"] == "'y': 2048 + 0 to 2048 + 4096"
    )


@st.composite
def windows(draw, rows=8, cols=16):
    """Nested constant windows of one tile: (row, column, rows, columns) of each in the one before."""
    found = []
    for _ in range(draw(st.integers(0, 3))):
        height, width = draw(st.integers(1, rows)), draw(st.integers(1, cols))
        at = (draw(st.integers(0, rows - height)), draw(st.integers(0, cols - width)))
        found.append((*at, height, width))
        rows, cols = height, width
    return found


def built(places, name, base, address, chain):
    """Handles of a chain of windows; the last one, and the bytes of its elements by counting."""
    of = kind((8, 16))
    place = [] if address is None else [ConstInt(address, D.INT64)]
    handle = Var(name, of)
    places.define(handle, define("buffer.alloc", (pair(()), *place), of))
    row, col, rows, cols = 0, 0, 8, 16
    for number, (down, right, rows, cols) in enumerate(chain):
        inner = Var(f"{name}{number}", kind((rows, cols)))
        places.define(inner, define("buffer.subview", (handle, dims(down, right)), inner.type))
        handle, row, col = inner, row + down, col + right
    elements = {
        (base, (address or 0) + ((row + r) * 16 + col + c) * 4) for r in range(rows) for c in range(cols)
    }
    return handle, elements


@given(
    windows(),
    windows(),
    st.sampled_from([(0, 0), (0, 128), (128, 0), (0, 4096), (None, None)]),
    st.booleans(),
)
def test_no_overlap_is_missed(first, second, addresses, exact):
    """Bytes of elements, counted one by one, are the oracle: what is let pass is disjoint, or the very same."""
    places = Places()
    symbolic = addresses == (None, None)
    left, mine = built(places, "x", "x" if symbolic else "", addresses[0], first)
    right, theirs = built(places, "y", "y" if symbolic else "", addresses[1], second)
    said = places.clash(left, right, exact)
    if not said:
        assert not mine & theirs or (exact and mine == theirs)
    # Nothing is refused but what overlaps once the gaps between rows count.
    if said:
        spans = [range(min(b for _, b in part), max(b for _, b in part) + 4) for part in (mine, theirs)]
        assert max(spans[0].start, spans[1].start) < min(spans[0].stop, spans[1].stop)
        assert not symbolic
