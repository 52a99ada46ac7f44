"""Building calls: what is refused and how it reads, registries as values, and who shares storage with whom."""

from __future__ import annotations

from typing import Any

import pytest

from pypto_core.diagnostics import InvalidOperationError, OpError, SourceText, Span, UserError
from pypto_core.ir import (
    INDEX_ZERO,
    VOID,
    ArgEffect,
    AtomicType,
    Call,
    CastMode,
    DataType,
    GlobalVar,
    MakeTuple,
    MemorySpace,
    TileType,
    Var,
    scalar_type,
)
from pypto_core.ops import (
    Kind,
    OpDef,
    OpMemory,
    Param,
    active_registry,
    alias_forbidden,
    alias_source,
    builtin_registry,
    create_call,
    dims_text,
    effect_of,
    extent_text,
    is_view,
    may_write,
    op_of,
    op_ref,
    rebuild_call,
    touches_memory,
    type_text,
    using_registry,
    written_arguments,
    written_span,
)

D = DataType
HERE = Span("kernel.py", 2, 5, 2, 20, SourceText.of("def f():\n    pl.tile.add(x, y)\n", "kernel.py"))


def test_errors_point_at_the_call_and_name_the_operator(kit: Any) -> None:
    with pytest.raises(OpError) as caught:
        create_call("tile.add", (kit.tile(64, 64), kit.tile(32, 64)), span=HERE)
    text = caught.value.render()
    assert "shapes [64, 64] and [32, 64] don't match" in text
    assert "kernel.py:2:5" in text and "^" in text and "operator = tile.add" in text and "fix:" in text


def test_unknown_operators_are_told_their_neighbours() -> None:
    with pytest.raises(InvalidOperationError, match="no operator 'tile.matmull'") as caught:
        create_call("tile.matmull", ())
    assert "tile.matmul" in caught.value.diagnostics[0].remedy


def test_unknown_options_are_told_their_neighbours(kit: Any) -> None:
    with pytest.raises(OpError) as caught:
        kit.of("tile.load", kit.tensor(16, 16), [0, 0], [16, 16], target_memry=MemorySpace.Vec)
    found = caught.value.diagnostics[0]
    assert "'target_memory'" in found.remedy and dict(found.facts)["options"] == "target_memory, clamp"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target_type": "fp32", "mode": CastMode.rint}, "must be an element type"),
        ({"target_type": D.BF16, "mode": "rint"}, "must be a CastMode"),
    ],
)
def test_option_types(kit: Any, options: Any, message: str) -> None:
    with pytest.raises(OpError, match=message) as caught:
        kit.of("tile.cast", kit.tile(16, 16), **options)
    assert caught.value.diagnostics[0].remedy


def test_argument_counts_and_kinds(kit: Any) -> None:
    for args, message in (
        ((kit.tile(16, 16),), "takes 2 arguments, not 1"),
        ((kit.tile(16, 16),) * 3, "takes 2 arguments, not 3"),
        ((kit.tile(16, 16), kit.scalar()), "argument 'rhs' of tile.add must be a tile, not Scalar"),
    ):
        with pytest.raises(OpError, match=message):
            create_call("tile.add", args)
    with pytest.raises(OpError, match="takes 3 to 4 arguments"):
        create_call("tile.matmul_acc", ())
    floats = MakeTuple((kit.scalar("a", D.FP32), kit.scalar("b", D.FP32)))
    with pytest.raises(OpError, match="'offset' of tile.assemble must be a list of integer scalars"):
        create_call("tile.assemble", (kit.tile(16, 16), kit.tile(16, 16), floats))


def test_the_call_carries_what_it_was_given(kit: Any) -> None:
    call = create_call(
        "tile.cast", (kit.tile(16, 16),), {"target_type": D.BF16, "mode": CastMode.rint}, HERE, {"note": 1}
    )
    assert call.span is HERE and call.attrs == {"note": 1} and list(call.kwargs) == ["target_type", "mode"]
    assert call.op is op_ref("tile.cast") and op_of(call) is builtin_registry()["tile.cast"]
    again = rebuild_call(call, (kit.tile(32, 16),))
    assert (again.span, again.attrs, again.kwargs) == (call.span, call.attrs, call.kwargs)
    assert type_text(again.type) == "Tile[[32, 16], bfloat16, Vec]"
    assert rebuild_call(call, call.args, {"other": 2}).attrs == {"other": 2}


def test_calls_of_functions_keep_their_type(kit: Any) -> None:
    call = Call(GlobalVar("f"), (kit.tile(16, 16),), type=scalar_type(D.INDEX))
    again = rebuild_call(call, (kit.tile(8, 8),))
    assert again.type is call.type and again.op is call.op and op_of(call) is None
    assert alias_source(call) is None and effect_of(call, 0) is ArgEffect.Read and not touches_memory(call)
    assert written_arguments(call) == () and alias_forbidden(call) == () and not is_view(call)


def _twice() -> OpDef:
    return OpDef(
        name="demo.twice",
        params=(Param("tile", Kind.TILE), Param("times", Kind.INT)),
        deduce=lambda args, options: args[0].type,
        memory=OpMemory(inputs=((MemorySpace.Vec,),), output=MemorySpace.Vec),
    )


def test_a_registry_is_a_value(kit: Any) -> None:
    more = builtin_registry().extended([_twice()])
    assert "demo.twice" in more and "demo.twice" not in builtin_registry()
    with using_registry(more):
        assert active_registry() is more
        call = kit.call("demo.twice", kit.tile(16, 16, space=None), times=2)
        assert (
            isinstance(call.type, TileType) and call.type.memory_space is MemorySpace.Vec
        )  # stamped by its rule
        with pytest.raises(OpError, match="must be an int, not True"):
            kit.call("demo.twice", kit.tile(16, 16), times=True)
    assert active_registry() is builtin_registry()
    with pytest.raises(InvalidOperationError):
        kit.call("demo.twice", kit.tile(16, 16), times=2)
    with pytest.raises(UserError, match="registered twice"):
        more.extended([_twice()])
    with pytest.raises(InvalidOperationError):
        builtin_registry()["demo.twice"]


def test_stamping_a_space_makes_the_view_canonical(kit: Any) -> None:
    row = OpDef(
        name="demo.boxed",
        params=(),
        deduce=lambda args, options: kit.tile(16, 16, space=None, layout="cr").type,
        memory=OpMemory(output=MemorySpace.Mat),
    )
    with using_registry(builtin_registry().extended([row])):
        assert kit.of("demo.boxed").tile_view is None


def test_aliases(kit: Any) -> None:
    tile, out = kit.tile(16, 64), kit.tensor(64, 64)
    store = kit.call("tile.store", tile, [0, 0], out)
    assert alias_source(store) == 2 and written_arguments(store) == (2,) and not may_write(store, 0)
    assert effect_of(store, 2) is ArgEffect.Write and not is_view(store) and touches_memory(store)
    adding = kit.call("tile.store", tile, [0, 0], out, atomic=AtomicType.Add)
    assert effect_of(adding, 2) is ArgEffect.ReadWrite
    window = kit.call("tile.slice", tile, [8, 64], [0, 0])
    assert alias_source(window) == 0 and is_view(window) and not touches_memory(window)
    placed = kit.call("tile.assemble", kit.tile(64, 64), tile, [0, 0])
    assert alias_source(placed) == 0 and may_write(placed, 0) and not is_view(placed)
    assert alias_source(kit.call("tile.move", tile, target_memory=MemorySpace.Mat)) is None
    assert kit.call("tile.write", tile, [0, 0], kit.scalar("v", D.FP32)).type is VOID


def test_what_the_result_may_not_share(kit: Any) -> None:
    tile, column = kit.tile(16, 64), kit.tile(16, 1)
    assert alias_forbidden(kit.call("tile.exp", tile)) == ()
    assert alias_forbidden(kit.call("tile.recip", tile)) == (0,)
    assert alias_forbidden(kit.call("tile.row_sum", tile, tile)) == (0, 1)
    assert alias_forbidden(kit.call("tile.col_sum", tile, tile)) == ()
    mask = kit.tile(16, 64, dtype=D.UINT8)
    assert alias_forbidden(kit.call("tile.sel", mask, tile, tile, tile)) == (0, 3)
    assert alias_forbidden(kit.call("tile.sels", mask, tile, tile, kit.scalar("v", D.FP32))) == (0,)
    whole = kit.tile(16, 64, dtype=D.INT32)
    assert alias_forbidden(kit.call("tile.xor", whole, whole, whole)) == (2,)
    assert alias_forbidden(kit.call("tile.rem", tile, tile, tile)) == (2,)
    assert alias_forbidden(kit.call("tile.row_expand_mul", tile, column)) == (1,)
    assert alias_forbidden(kit.call("tile.row_expand_add", tile, column)) == (1,)
    assert alias_forbidden(kit.call("tile.row_expand_add", tile, column, tile)) == (1, 2)
    for source, target, expected in ((D.FP32, D.BF16, ()), (D.BF16, D.FP32, (0,)), (D.FP16, D.BF16, ())):
        cast = kit.call("tile.cast", kit.tile(16, 64, dtype=source), target_type=target, mode=CastMode.rint)
        assert alias_forbidden(cast) == expected


def test_messages_show_the_authors_names(kit: Any) -> None:
    from pypto_core.ir import add, floordiv, min_, mul, sub

    n, i = Var("n__ssa_v3", scalar_type(D.INDEX)), kit.scalar("i")
    assert extent_text(min_(sub(n, mul(i, 64)), 64)) == "min(n - (i * 64), 64)"
    assert extent_text(mul(add(n, 1), floordiv(i, 2))) == "(n + 1) * (i // 2)"
    assert dims_text((n, INDEX_ZERO)) == "[n, 0]"
    assert type_text(kit.tile(16, n).type) == "Tile[[16, n], fp32, Vec]"


def test_messages_about_arguments_strip_names_too(kit: Any) -> None:
    n = Var("rows__ssa_v1", scalar_type(D.INDEX))
    with pytest.raises(OpError) as caught:
        kit.of("tile.exp", kit.tensor(16, n))
    assert "not Tensor[[16, rows], fp32]" in caught.value.message


def test_the_bytes_that_an_assemble_changes(kit: Any) -> None:
    whole, part = kit.tile(32, 64), kit.tile(8, 16)
    # The first element is number 3 * 64 + 8, the last number 10 * 64 + 23, of four bytes each.
    assert written_span(kit.call("tile.assemble", whole, part, [3, 8])) == (4 * 200, 4 * 664)
    assert written_span(kit.call("tile.assemble", whole, part, [kit.scalar("n"), 8])) is None
    assert written_span(kit.call("tile.exp", whole)) is None
    boxed = kit.call("tile.assemble", kit.tile(64, 32, space="Mat"), kit.tile(16, 16, space="Mat"), [0, 0])
    assert written_span(boxed) is None
