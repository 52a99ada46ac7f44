"""The conformance suite of a backend: its figures are sane, kernels fit, come out right and are written acceptably.

See :mod:`pypto_core.testing.pytest_plugin` for how to run it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto_core.contract import Backend, entry_function
from pypto_core.diagnostics import render
from pypto_core.host import Host
from pypto_core.ir import MemorySpace, PipeType
from pypto_core.run import Compiled, compile, memory_table
from pypto_core.testing.corpus import Sample, samples
from pypto_core.testing.inputs import random_inputs

__all__ = [
    "test_a_larger_transfer_never_costs_less",
    "test_accumulators_take_no_less_for_more",
    "test_aliases_find_it",
    "test_every_figure_is_sane_and_has_a_source",
    "test_every_memory_can_be_reached",
    "test_kernels_compute_what_numpy_says",
    "test_kernels_fit_their_memories",
    "test_operators_have_pipes",
    "test_some_kernels_apply",
    "test_text_is_accepted",
    "test_the_smallest_product_fits",
    "test_vector_work_costs_no_less_for_more",
]

_EXTENTS = st.integers(1, 512)
_WIDTHS = st.sampled_from((1, 2, 4))


def test_every_figure_is_sane_and_has_a_source(pypto_backend: Backend) -> None:
    """Each figure of the cost model is finite and has a source; each memory is aligned to its own alignments."""
    for row in (*pypto_backend.cost_model.rows(), *pypto_backend.vector.rows()):
        assert math.isfinite(row.value) and row.value >= 0, row
        assert row.source.strip(), f"{row.name} has no source"
    assert pypto_backend.frequency_mhz > 0 and pypto_backend.frequency_source.strip()
    for memory in pypto_backend.memories:
        assert memory.capacity % memory.alignment == 0, f"{memory.space.name} ends inside an aligned unit"
        assert memory.capacity >= 1024 or memory.space not in _ESSENTIAL, f"{memory.space.name} holds nothing"
    for path in pypto_backend.paths:
        assert math.isfinite(path.bytes_per_cycle) and math.isfinite(path.head_cycles), path
        assert path.source.strip(), f"{path.src.name} to {path.dst.name} has no source"


_ESSENTIAL = frozenset(
    {MemorySpace.Vec, MemorySpace.Mat, MemorySpace.Left, MemorySpace.Right, MemorySpace.Acc}
)


def test_aliases_find_it(pypto_backend: Backend, pypto_host: Host) -> None:
    """Every name, in any case, leads to this backend and to no other."""
    for name in (pypto_backend.name, *pypto_backend.aliases):
        for text in (name, name.upper(), name.lower()):
            found = [b.name for b in pypto_host.backends.values() if b.answers_to(text)]
            assert found == [pypto_backend.name], text


def test_every_memory_can_be_reached(pypto_backend: Backend) -> None:
    """Data gets from global memory into every memory, by products where need be; and back from what holds results."""
    inside = {m.space for m in pypto_backend.memories}
    made_there = {MemorySpace.Acc}  # filled by products, not by transfers
    for space in sorted(inside - made_there, key=lambda s: s.name):
        assert pypto_backend.route(MemorySpace.DDR, space), (
            f"nothing leads from global memory to {space.name}"
        )
    for space in sorted(inside & {MemorySpace.Vec, MemorySpace.Acc}, key=lambda s: s.name):
        assert pypto_backend.route(space, MemorySpace.DDR), (
            f"nothing leads from {space.name} to global memory"
        )


def test_operators_have_pipes(pypto_backend: Backend) -> None:
    """Loads, stores, products and vector work each run somewhere."""
    vec, ddr = MemorySpace.Vec, MemorySpace.DDR
    if pypto_backend.memory(vec) is not None:
        assert pypto_backend.pipe_of("tile.add", vec, vec) is PipeType.V
        assert pypto_backend.pipe_of("tile.load", ddr, vec) is not None
        assert pypto_backend.pipe_of("tile.store", vec, ddr) is not None
    if pypto_backend.memory(MemorySpace.Acc) is not None:
        assert pypto_backend.pipe_of("tile.matmul", MemorySpace.Left, MemorySpace.Acc) is PipeType.M
        assert pypto_backend.pipe_of("tile.store", MemorySpace.Acc, ddr) is not None


def test_the_smallest_product_fits(pypto_backend: Backend) -> None:
    """Two of the smallest operand tiles and one accumulator fit into L0 for every pair of element types."""
    if pypto_backend.memory(MemorySpace.Acc) is None:
        pytest.skip("the machine has no cube")
    edge = pypto_backend.min_l0_tile_dim
    for operand, result in pypto_backend.matmul_dtypes:
        rows = max(edge, pypto_backend.acc_row_alignment(result))
        assert 2 * operand.storage_bytes(edge * edge) <= pypto_backend.capacity(MemorySpace.Left)
        assert 2 * operand.storage_bytes(edge * edge) <= pypto_backend.capacity(MemorySpace.Right)
        assert result.storage_bytes(rows * edge) <= pypto_backend.capacity(MemorySpace.Acc)


@settings(max_examples=60, deadline=None)
@given(rows=_EXTENTS, cols=_EXTENTS, more=st.integers(0, 64), width=_WIDTHS)
def test_a_larger_transfer_never_costs_less(
    pypto_backend: Backend, rows: int, cols: int, more: int, width: int
) -> None:
    """Cycles grow with rows on every path, and with columns on all but the drain, whose passes depend on them."""
    for path in pypto_backend.paths:
        cost = pypto_backend.transfer_cycles(path.src, path.dst, rows, cols, width)
        assert cost > 0
        assert pypto_backend.transfer_cycles(path.src, path.dst, rows + more, cols, width) >= cost
        if path.pipe is not PipeType.FIX:
            assert pypto_backend.transfer_cycles(path.src, path.dst, rows, cols + more, width) >= cost


@settings(max_examples=60, deadline=None)
@given(m=_EXTENTS, n=_EXTENTS, k=_EXTENTS, more=st.integers(0, 64), width=_WIDTHS)
def test_accumulators_take_no_less_for_more(
    pypto_backend: Backend, m: int, n: int, k: int, more: int, width: int
) -> None:
    """Cycles of a multiply-add grow with each extent and with the width of the elements."""
    cost = pypto_backend.cost_model
    base = cost.mad_cycles(m, n, k, width)
    assert base > 0
    for larger in ((m + more, n, k), (m, n + more, k), (m, n, k + more)):
        assert cost.mad_cycles(*larger, width) >= base
    assert cost.load_cycles(m, n + more) >= cost.load_cycles(m, n) > 0


@settings(max_examples=60, deadline=None)
@given(elements=st.integers(0, 1 << 16), more=st.integers(0, 4096), width=_WIDTHS)
def test_vector_work_costs_no_less_for_more(
    pypto_backend: Backend, elements: int, more: int, width: int
) -> None:
    """Cycles of vector operators grow with the number of elements."""
    for op in ("add", *(row[0] for row in pypto_backend.vector.slow_ops)):
        fewer = pypto_backend.vector.cycles(op, elements, width)
        assert pypto_backend.vector.cycles(op, elements + more, width) >= fewer >= 0


def test_some_kernels_apply(pypto_backend: Backend) -> None:
    """The machine computes something that this suite knows."""
    assert samples(pypto_backend)


def _compiled(sample: Sample, backend: Backend, planner: str) -> Compiled:
    return compile(sample.program, backend=backend, planner=planner, verification="roundtrip")


def test_kernels_fit_their_memories(pypto_backend: Backend, pypto_sample: Sample, pypto_planner: str) -> None:
    """Every kernel compiles under every planner, and what it places ends within capacity."""
    compiled = _compiled(pypto_sample, pypto_backend, pypto_planner)
    for row in memory_table(compiled.placed, pypto_backend):
        if row.address is not None:
            assert row.address + row.bytes <= pypto_backend.capacity(row.space), row


def test_kernels_compute_what_numpy_says(
    pypto_backend: Backend,
    pypto_sample: Sample,
    pypto_planner: str,
    pypto_engine: Callable[..., Any],
    pypto_host: Host,
) -> None:
    """The program as written, and as it is after the last pass, gives the numbers that numpy gives."""
    import numpy as np

    compiled = _compiled(pypto_sample, pypto_backend, pypto_planner)
    inputs = random_inputs(entry_function(pypto_sample.program), seed=7)
    expected = pypto_sample.golden(inputs)
    for program in (pypto_sample.program, compiled.program):
        outputs = pypto_engine(program, inputs, host=pypto_host).outputs
        for name, value in expected.items():
            found = outputs[name]
            if found.dtype.kind in "iu":
                np.testing.assert_array_equal(found, value)
            else:
                bound = pypto_sample.tolerance
                np.testing.assert_allclose(found.astype(np.float64), value, rtol=bound, atol=bound)


def _checked(compiled: Compiled) -> Iterator[tuple[str, str]]:
    target = compiled.target
    assert target is not None
    check = target.load_check()
    if check is None:
        pytest.skip(f"target {target.name} has no check of its own")
    for artifact in compiled.artifacts:
        for finding in check(artifact, compiled.context.backend):
            yield artifact.name, render(finding)


def test_text_is_accepted(
    pypto_backend: Backend, pypto_sample: Sample, pypto_planner: str, pypto_host: Host
) -> None:
    """What the target writes passes the target's own check, and is the same each time."""
    if "pto" not in pypto_host.targets:
        pytest.skip("no plugin writes PTO text: install pypto-plugin-pto")
    compiled = _compiled(pypto_sample, pypto_backend, pypto_planner)
    assert compiled.artifacts
    assert list(_checked(compiled)) == []
    again = _compiled(pypto_sample, attrs.evolve(pypto_backend), pypto_planner)
    assert [a.content for a in again.artifacts] == [a.content for a in compiled.artifacts]
