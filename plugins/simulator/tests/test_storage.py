"""Storage that operators hold in their hands, in both engines, and elements of every width in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pypto_core.contract import ArrayValue, ExecContext, OpExecutor, TileStorage
from pypto_core.diagnostics import UserError
from pypto_core.host import PluginInfo, hookimpl, load_host
from pypto_core.ir import (
    VOID,
    DataType,
    MemorySpace,
    ParamDirection,
    TensorType,
    TileLayout,
    TileType,
    TileView,
    element_map,
)
from pypto_core.ops import Kind, OpDef, Param
from pypto_core.testing import build as b
from pypto_plugin_simulator import plugin
from pypto_plugin_simulator.arena import NOBODY, Arena, Event, Ledger, Tile, peek_part, read_part, write_part
from pypto_plugin_simulator.formats import numpy_dtype
from pypto_plugin_simulator.machine import run as on_bytes
from pypto_plugin_simulator.values import run as as_values

KIND = TileType([16, 32], DataType.FP32, memory_space=MemorySpace.Vec)
X = np.random.default_rng(0).standard_normal((16, 32)).astype(np.float32)


@attrs.frozen(eq=False)
class Acme:
    """One operator ``acme.work`` on a tensor, with a meaning of the test's choice."""

    meaning: Callable[..., Any]

    @hookimpl
    def pypto_plugin(self) -> PluginInfo:
        return PluginInfo(name="acme", summary="works on storage", requires_api=">=1,<2")

    @hookimpl
    def pypto_ops(self) -> list[OpDef]:
        return [WORK]

    @hookimpl
    def pypto_executors(self) -> list[OpExecutor]:
        return [OpExecutor("acme.work", self.meaning)]


WORK = OpDef(
    name="acme.work",
    params=(Param("x", Kind.TENSOR),),
    deduce=lambda args, options: VOID,
)


def work(engine: Any, meaning: Callable[[ExecContext, ArrayValue], Any], **options: Any) -> Any:
    """The tensor after the operator has had it."""
    host = load_host(entry_points=[], extra_plugins=[plugin, Acme(meaning)])
    x = b.tensor("x", (16, 32))
    function = b.kernel("k", [(x, ParamDirection.InOut)], [b.do(b.raw_op("acme.work", [x], VOID))])
    return engine(function, [X], host=host, **options).outputs["x"]


ENGINES = pytest.mark.parametrize("engine", [as_values, on_bytes], ids=["values", "bytes"])


@ENGINES
@pytest.mark.parametrize("address", [None, 4096])
def test_what_is_stored_is_loaded(engine: Any, address: int | None) -> None:
    def meaning(ctx: ExecContext, x: ArrayValue) -> None:
        root = ctx.storage(KIND, address, name="buffer")
        assert (root.shape, root.valid, root.dtype, root.space) == (
            (16, 32),
            (16, 32),
            DataType.FP32,
            MemorySpace.Vec,
        )
        root.store(x.defined)
        window = root.window((4, 8), (8, 16))
        total = ctx.compute("tile.add", TileType([8, 16], DataType.FP32), window.load(), window.load())
        root.window((8, 8), (8, 16)).window((4, 0), (2, 16)).store(total.defined[:2], (0, 0))
        x.data[...] = root.load().defined

    want = X.copy()
    want[12:14, 8:24] = 2 * X[4:6, 8:24]
    np.testing.assert_array_equal(work(engine, meaning), want)


@ENGINES
def test_other_descriptors_read_the_same_bytes(engine: Any) -> None:
    def meaning(ctx: ExecContext, x: ArrayValue) -> None:
        root = ctx.storage(KIND)
        root.store(x.defined)
        flat = root.relabel(TileType([32, 16], DataType.INT32, memory_space=MemorySpace.Vec))
        bits = flat.load().data
        assert bits.dtype == np.int32
        x.data[...] = bits.view(np.float32).reshape(16, 32)[::-1]

    np.testing.assert_array_equal(work(engine, meaning), X[::-1])


@ENGINES
def test_valid_extents_belong_to_the_handle(engine: Any) -> None:
    def meaning(ctx: ExecContext, x: ArrayValue) -> None:
        root = ctx.storage(KIND, valid=(3, 32))
        root.store(x.defined[:3])
        assert root.load().valid == (3, 32)
        root.set_valid((2, 4))
        x.data[...] = 0
        x.data[:2, :4] = root.load().defined

    out = work(engine, meaning)
    np.testing.assert_array_equal(out[:2, :4], X[:2, :4])
    assert not out[2:].any()


@ENGINES
def test_operators_keep_things_between_calls(engine: Any) -> None:
    seen: list[Any] = []

    def meaning(ctx: ExecContext, x: ArrayValue) -> None:
        seen.append(ctx.run_state.setdefault("acme.pipe", []))

    work(engine, meaning, block_num=2)
    assert seen[0] is not seen[1]


def test_values_leave_undefined_what_bytes_refuse() -> None:
    def meaning(ctx: ExecContext, x: ArrayValue) -> None:
        x.data[...] = ctx.storage(KIND).load().data

    assert np.isnan(work(as_values, meaning)).all()
    with pytest.raises(UserError, match="was never written"):
        work(on_bytes, meaning)


def test_roots_that_overlap_by_mistake() -> None:
    held: list[TileStorage] = []

    def meaning(ctx: ExecContext, x: ArrayValue) -> None:
        held[:] = [ctx.storage(KIND, 0, name="first"), ctx.storage(KIND, 1024, name="second")]
        for root in held:
            root.store(x.defined)
        x.data[...] = held[1].load().data
        held[0].load()

    with pytest.raises(
        UserError, match="reads 'first', of which byte 1024 of Vec holds something else"
    ) as caught:
        work(on_bytes, meaning)
    assert "'second'" in caught.value.diagnostics[0].notes[0].message
    work(as_values, meaning)  # storage of its own


def test_roots_and_what_is_stored_stay_inside() -> None:
    backend = load_host().backend("910b")

    def outside(ctx: ExecContext, x: ArrayValue) -> None:
        ctx.storage(KIND, 184 * 1024 - 2016, name="last")

    def across(ctx: ExecContext, x: ArrayValue) -> None:
        ctx.storage(KIND, 0).window((8, 0), (16, 32)).store(x.defined)

    for meaning in (outside, across):
        with pytest.raises(UserError) as caught:
            work(on_bytes, meaning, backend=backend)
        assert caught.value.diagnostics[0].code == "SIM-011"


@pytest.mark.parametrize(("rows", "fits"), [(0, True), (4, False), (8, True)])
def test_what_was_read_is_not_overwritten_from_another_row_on(rows: int, fits: bool) -> None:
    def meaning(ctx: ExecContext, x: ArrayValue) -> None:
        root = ctx.storage(KIND, 0)
        root.store(x.defined)
        source, target = (root.window((first, 0), (8, 32)) for first in (0, rows))
        target.store(source.load().defined)
        x.data[...] = root.load().data

    if fits:
        work(on_bytes, meaning)
    else:
        with pytest.raises(UserError, match="while it reads it"):
            work(on_bytes, meaning)


def test_storage_shows_in_the_record() -> None:
    steps: list[Any] = []

    def meaning(ctx: ExecContext, x: ArrayValue) -> None:
        root = ctx.storage(KIND, 4096)
        root.store(x.defined)
        root.window((0, 0), (2, 8)).load()

    work(on_bytes, meaning, recorder=steps.append)
    [step] = steps
    assert [(r.start, r.stop) for r in step.writes] == [(4096, 4096 + 2048)]
    assert [(r.start, r.stop) for r in step.reads] == [(4096, 4128), (4224, 4256)]


# -- elements in memory


def tile(shape: tuple[int, int], dtype: DataType, view: TileView, ledger: Ledger) -> Tile:
    root = ledger.record(Event("a test"))
    return Tile(
        arena=Arena(MemorySpace.Vec, "", None), start=64, map=element_map(shape, dtype, view), shape=shape,
        valid=shape, root=root, time=root, room=(0, 1 << 20), name="t",
    )  # fmt: skip


@given(
    st.sampled_from([DataType.INT4, DataType.UINT4, DataType.FP4, DataType.BOOL, DataType.FP8E5M2, DataType.BF16,
                     DataType.INT32, DataType.INT64]),
    st.sampled_from([(TileLayout.row_major, TileLayout.none_box), (TileLayout.col_major, TileLayout.none_box),
                     (TileLayout.col_major, TileLayout.row_major), (TileLayout.row_major, TileLayout.col_major)]),
    st.data(),
)  # fmt: skip
def test_parts_are_read_as_they_were_written(dtype: DataType, layout: Any, data: Any) -> None:
    ledger = Ledger()
    place = tile((64, 64), dtype, TileView(blayout=layout[0], slayout=layout[1]), ledger)
    low = [data.draw(st.integers(0, 63)) for _ in range(2)]
    size = tuple(data.draw(st.integers(1, min(64 - o, 40))) for o in low)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    kind = numpy_dtype(dtype)
    whole, part = (
        rng.integers(0, 2 if dtype is DataType.BOOL else 8, n).astype(kind) for n in ((64, 64), size)
    )
    write_part(place, whole, (0, 0), place.root)
    write_part(place, part, tuple(low), place.root)
    want = whole.copy()
    want[low[0] : low[0] + size[0], low[1] : low[1] + size[1]] = part
    np.testing.assert_array_equal(read_part(place, (64, 64), (0, 0), ledger), want)
    used = 64 + dtype.storage_bytes(64 * 64)
    assert (place.arena.marks[:64] == NOBODY).all() and (place.arena.marks[used:] == NOBODY).all()
    assert (place.arena.marks[64:used] == place.root).all()


def test_what_others_have_taken_is_told_apart() -> None:
    ledger = Ledger()
    mine = tile((4, 8), DataType.FP32, TileView(), ledger)
    write_part(mine, np.ones((2, 8), np.float32), (0, 0), mine.root)
    other = attrs.evolve(mine, root=ledger.record(Event("another")))
    write_part(other, np.zeros((1, 3), np.float32), (1, 2), other.root)
    data, good = peek_part(mine, (4, 8), (0, 0), ledger)
    want = np.zeros((4, 8), bool)
    want[:2] = True
    want[1, 2:5] = False
    np.testing.assert_array_equal(good, want)
    assert (data[want] == 1).all() and np.isnan(data[~want]).all()


def test_four_bits_lie_low_half_first() -> None:
    ledger = Ledger()
    place = tile((1, 4), DataType.INT4, TileView(), ledger)
    write_part(place, np.array([[1, -2, 3, 4]]).astype(ml_dtypes.int4), (0, 0), place.root)
    assert place.arena.data[64:66].tolist() == [0x1 | 0xE0, 0x3 | 0x40]
    assert TensorType([1, 4], DataType.INT4).dtype.storage_bytes(4) == 2
