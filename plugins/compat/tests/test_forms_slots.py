"""LowerPipelineToSlots and declared allocations through PyPTO's names: forms, gates, and the words of refusals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import pypto.language as pl
from pypto import backend, codegen, ir, passes
from pypto.ir.pass_manager import PassManager
from pypto.language.parser.diagnostics import ParserTypeError

PTOAS, PYPTO = passes.MemoryPlanner.PTOAS, passes.MemoryPlanner.PYPTO
MAX = 2**63 - 1


@pytest.fixture(autouse=True)
def machine() -> Iterator[None]:
    """The 950, as for all passes."""
    backend.reset_for_testing()
    backend.set_backend_type(backend.BackendType.Ascend950)
    yield
    backend.reset_for_testing()


def kernel(body: str, declared: str = "") -> Any:
    """A kernel of this body."""
    code = "".join(f"        {line}\n" for line in [*body.strip().splitlines(), "return out"])
    return pl.parse_program(
        f"import pypto.language as pl\n{declared}\n@pl.program\nclass Kernel:\n"
        "    @pl.function(type=pl.FunctionType.InCore)\n"
        "    def main(self, a: pl.Tensor[[512, 64], pl.FP32], n: pl.Scalar[pl.INDEX], "
        "out: pl.Out[pl.Tensor[[512, 64], pl.FP32]]) -> pl.Tensor[[512, 64], pl.FP32]:\n" + code
    )


def pipelined(loop: str, place: str = "") -> Any:
    """A load and a store in a loop."""
    return kernel(
        f"""
for i in {loop}:
    t: pl.Tile[[64, 64], pl.FP32, {place}pl.Mem.Vec] = pl.tile.load(a, [i * 64, 0], [64, 64])
    pl.tile.store(t, [i * 64, 0], out)
"""
    )


def slotted(program: Any, planner: Any = PTOAS) -> Any:
    with passes.PassContext([], memory_planner=planner):
        return passes.lower_pipeline_to_slots()(program)


RING = 'pl.MemRef("pipe_t", slots={0})[{1}], '


@pytest.mark.parametrize(
    ("before", "after", "slots", "index"),
    [
        ("pl.pipeline(64, stage=2)", "pl.range(64)", 2, "i % 2"),
        ("pl.pipeline(0, n, 1, stage=3)", "pl.range(0, n, 1)", 3, "i % 3"),
        ("pl.pipeline(4, 64, 1, stage=2)", "pl.range(4, 64, 1)", 2, "i % 2"),
        ("pl.pipeline(1, 5, 1, stage=2)", "pl.range(1, 5, 1)", 2, "(i - 1) % 2"),
        ("pl.pipeline(3, 256, 64, stage=2)", "pl.range(3, 256, 64)", 2, "(i - 3) // 64 % 2"),
        (f"pl.pipeline(1, {MAX - 2}, 3, stage=3)", f"pl.range(1, {MAX - 2}, 3)", 3, "(i - 1) // 3 % 3"),
    ],
)
def test_one_body_turns_through_the_slots(before: str, after: str, slots: int, index: str) -> None:
    got, want = slotted(pipelined(before)), pipelined(after, RING.format(slots, index))
    ir.assert_structural_equal(got, want)
    assert got.as_python() == want.as_python()  # equality says nothing of places


@pytest.mark.parametrize(
    "loop",
    [
        "pl.pipeline(64, stage=1)",
        "pl.pipeline(64, stage=17)",
        "pl.pipeline(n, 64, 1, stage=2)",
        "pl.pipeline(0, 64, n, stage=2)",
        "pl.pipeline(0, n, 2, stage=2)",
        f"pl.pipeline({MAX - 4}, {MAX}, 3, stage=3)",
    ],
)
def test_a_loop_that_cannot_turn_stays(loop: str) -> None:
    program = pipelined(loop)
    assert slotted(program) is program


@pytest.mark.parametrize("planner", [PYPTO, passes.MemoryPlanner.DSA_RP])
def test_other_planners_keep_the_loop_and_the_pass_is_in_their_pipelines(planner: Any) -> None:
    program = pipelined("pl.pipeline(8, stage=2)")
    assert slotted(program, planner) is program
    with passes.PassContext([], memory_planner=planner):
        for pass_ in PassManager.get_strategy().passes:
            program = pass_(program)
            if pass_.get_name() == "LowerPipelineToSlots":
                break
        else:
            pytest.fail("the pass is not in the pipeline")
    (loop,) = (s for s in ir.flatten_to_stmts(program["main"].body) if isinstance(s, ir.ForStmt))
    assert loop.kind == ir.ForKind.Pipeline and loop.attrs["pipeline_stages"] == 2


def test_what_the_reference_says_of_a_slot() -> None:
    program = slotted(pipelined("pl.pipeline(8, stage=2)"))
    (loop,) = ir.flatten_to_stmts(program["main"].body)[:1]
    place = ir.flatten_to_stmts(loop.body)[0].var.type.memref
    assert (place.slot_count_, place.is_pinned_, place.base_.name_hint) == (2, True, "pipe_t")
    assert isinstance(place.slot_index_, ir.FloorMod) and place.slot_index_.right == 2
    assert loop.kind == ir.ForKind.Sequential and "pipeline_stages" not in loop.attrs


def load(place: str, name: str = "t", valid: str = "") -> str:
    """A load into a declared place."""
    return f"{name}: pl.Tile[[64, 64], pl.FP32, {place}, pl.Mem.Vec] = pl.load(a, [0, 0], [64, 64]{valid})"


def ring(index: str, slots: int = 2) -> str:
    """A slot of the ring ``b``."""
    return f'pl.MemRef("b", slots={slots})[{index}]'


@pytest.mark.parametrize(
    ("place", "declared", "words"),
    [
        ('pl.MemRef("b", slots=2)[2]', "", "out of range"),
        ('pl.MemRef("b")[0]', "", "single slot"),
        ('pl.MemRef("b", slots=0)[0]', "", "at least one slot"),
        ('pl.MemRef("", slots=2)[0]', "", "string literal"),
        ("c[0]", "c = pl.MemRef(slots=2)\nd = c", "also referenced as"),
    ],
)
def test_declarations_that_are_refused_where_they_are_read(place: str, declared: str, words: str) -> None:
    with pytest.raises(ParserTypeError, match=words):
        kernel(f"{load(place)}\n{load('d[1]', 'u') if declared else ''}", declared)


FRONT = (
    "convert_to_ssa",
    "normalize_stmt_structure",
    "flatten_call_expr",
    "infer_tile_memory_space",
    "init_mem_ref",
)


VIEW = f"""
s = pl.load(a, [0, 0], [64, 64])
t: pl.Tile[[64, 64], pl.FP32, {ring("1")}, pl.Mem.Vec] = pl.tile.reshape(s, [64, 64])
"""


@pytest.mark.parametrize(
    ("body", "planner", "words"),
    [
        (load('pl.MemRef("b")'), PTOAS, "single-slot declared allocation"),
        (VIEW, PYPTO, "lands in its source tile's allocation"),
    ],
)
def test_declarations_that_are_refused_when_they_get_storage(body: str, planner: Any, words: str) -> None:
    program = kernel(f"{body}\npl.store(t, [0, 0], out)")
    with passes.PassContext([], memory_planner=planner), pytest.raises(ValueError, match=words):
        for name in FRONT:
            program = getattr(passes, name)()(program)


def text_of(program: Any) -> str:
    with passes.PassContext([], memory_planner=PTOAS):
        return codegen.PTOCodegen().generate(PassManager().run_passes(program))


STORE = "pl.store(t, [0, 0], out)"
MANY = f"""
for i in pl.range(4):
    {load(ring("i % 17", 17))}
    {STORE}
"""
BOTH = f"""
for i in pl.range(4):
    {load(ring("i % 2"))}
    {load(ring("(i + 1) % 2"), "u")}
    {STORE}
    pl.store(u, [64, 0], out)
"""
WHOLE = f"""
{load('pl.MemRef("b", slots=2)')}
{STORE}
{load(ring("1"), "u")}
pl.store(u, [64, 0], out)
"""
OPEN = f"""
{load(ring("0"), valid=", [n, 64]")}
{STORE}
"""


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (MANY, "2 to 16.*17|17.*2 to 16"),
        (BOTH, "two of its slots are live at once"),
        (WHOLE, "without selecting a slot"),
        (OPEN, "runtime valid shape"),
    ],
)
def test_rings_that_the_text_cannot_describe(body: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        text_of(kernel(body))
    assert 'pl.MemRef("b", slots=' in str(caught.value)


def test_the_text_of_a_ring() -> None:
    text = text_of(pipelined("pl.pipeline(3, 256, 64, stage=2)"))
    ring, slot = (
        next(line for line in text.splitlines() if op in line) for op in ("alloc_multi_tile", "tile_get")
    )
    assert "%pipe_t_mb = pto.alloc_multi_tile valid_row = %c64_index" in ring and "count=2" in ring
    assert "pto.multi_tile_get %pipe_t_mb[" in slot and "addr" not in ring
    operations = [op for op in ("arith.subi", "arith.divsi", "arith.remsi", "arith.select") if op in text]
    assert operations == ["arith.subi", "arith.divsi", "arith.remsi"]
