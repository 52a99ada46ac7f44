"""A backend value: its lookups, its checks and what it promises to passes."""

from __future__ import annotations

import json
import pickle

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pypto_core.contract import Backend, CoreCounts, CostModel, MemoryPath, MemorySpec, VectorRates
from pypto_core.diagnostics import UserError
from pypto_core.ir import DataType, MemorySpace, PipeType

COST = CostModel(
    bw_l0a=100.0,
    bw_l0b=50.0,
    bw_drain=64.0,
    drain_fixed_cycles=10.0,
    drain_row_cycles=2.0,
    drain_penalty_cycles=0.5,
    drain_c0_bytes=32,
    mad_head=7,
    mad_k_fractal_bytes=32,
    mad_fp32_passes=2,
    sources={"*": "made up"},
)
VECTOR = VectorRates(
    repeat_bytes=128,
    startup_cycles=3.0,
    completion_cycles=4.0,
    repeat_cycles=1.0,
    slow_ops=(("exp", 9.0, 2.0),),
    sources={"*": "made up"},
)


def path(src: str, dst: str, pipe: PipeType, rate: float = 16.0, head: float = 0.0) -> MemoryPath:
    return MemoryPath(
        src=MemorySpace[src],
        dst=MemorySpace[dst],
        pipe=pipe,
        bytes_per_cycle=rate,
        head_cycles=head,
        source="made up",
    )


PATHS = (
    path("DDR", "Vec", PipeType.MTE2, 8.0, 20.0),
    path("DDR", "Mat", PipeType.MTE2),
    path("Vec", "DDR", PipeType.MTE3),
    path("Vec", "Vec", PipeType.V),
    path("Mat", "Left", PipeType.MTE1),
    path("Mat", "Right", PipeType.MTE1),
    path("Acc", "Mat", PipeType.FIX),
    path("Acc", "DDR", PipeType.FIX),
)


def memories() -> tuple[MemorySpec, ...]:
    sizes = {"Vec": 4096, "Mat": 8192, "Left": 1024, "Right": 1024, "Acc": 2048}
    return tuple(MemorySpec(space=MemorySpace[name], capacity=size) for name, size in sizes.items())


def machine(**changes: object) -> Backend:
    fields: dict[str, object] = {
        "name": "toy",
        "title": "Toy",
        "aliases": ("ToyBoard", "toysim"),
        "pto_arch": "toy",
        "memories": memories(),
        "paths": PATHS,
        "cost_model": COST,
        "vector": VECTOR,
        "cores": CoreCounts(dies=2, cube_per_die=3, vector_per_die=5),
        "frequency_mhz": 1000.0,
        "frequency_source": "made up",
    }
    return Backend(**(fields | changes))  # type: ignore[arg-type]


def test_names_are_found_in_any_case() -> None:
    toy = machine()
    assert [toy.answers_to(n) for n in ("toy", "TOY", "toyboard", "ToySim", "to", "")] == [True] * 4 + [
        False
    ] * 2


def test_capacity_of_a_missing_space_is_no_bound() -> None:
    toy = machine()
    assert toy.capacity(MemorySpace.Acc) == 2048
    assert toy.capacity(MemorySpace.DDR) == toy.capacity(MemorySpace.Bias) == 0
    assert toy.memory(MemorySpace.Bias) is None


def test_reserved_bytes_are_on_top_of_the_usable_ones() -> None:
    spec = MemorySpec(space=MemorySpace.Vec, capacity=1000, reserved=24)
    assert spec.physical == 1024


def test_core_counts_multiply_by_dies() -> None:
    assert (machine().cores.cube, machine().cores.vector) == (6, 10)


def test_accumulator_rows_follow_the_table_and_else_the_fractal() -> None:
    toy = machine(acc_rows={DataType.INT32: 32}, fractal_alignment=8)
    assert toy.acc_row_alignment(DataType.INT32) == 32
    assert toy.acc_row_alignment(DataType.FP32) == 8


@pytest.mark.parametrize(
    ("src", "dst", "hops"),
    [
        ("DDR", "Left", ["Mat", "Left"]),
        ("Acc", "Right", ["Mat", "Right"]),
        ("Vec", "Right", ["DDR", "Mat", "Right"]),
        ("Acc", "DDR", ["DDR"]),
        ("Left", "DDR", []),
        ("Vec", "Vec", []),
    ],
)
def test_route_takes_the_fewest_transfers(src: str, dst: str, hops: list[str]) -> None:
    assert [p.dst.name for p in machine().route(MemorySpace[src], MemorySpace[dst])] == hops


@pytest.mark.parametrize(
    ("op", "src", "dst", "pipe"),
    [
        ("tile.matmul", "Left", "Acc", PipeType.M),
        ("buffer.matmul_acc", "Left", "Acc", PipeType.M),
        ("tile.load", "DDR", "Vec", PipeType.MTE2),
        ("buffer.load", "DDR", "Mat", PipeType.MTE2),
        ("tile.store", "Vec", "DDR", PipeType.MTE3),
        ("tile.store", "Acc", "DDR", PipeType.FIX),
        ("tile.extract", "Mat", "Left", PipeType.MTE1),
        ("tile.extract", "Vec", "Vec", PipeType.V),
        ("tile.assemble", "Acc", "Mat", PipeType.FIX),
        ("tile.add", "Vec", "Vec", PipeType.V),
        ("acme.anything", "Vec", "Vec", PipeType.V),
        ("tile.read", "Vec", None, PipeType.S),
        ("tile.slice", "Mat", "Mat", None),
        ("tile.get_block_idx", None, None, None),
        ("tile.move", "Vec", "Mat", None),
        ("tile.load", "DDR", None, None),
        ("acme.anything", "Mat", "Mat", None),
    ],
)
def test_pipe_of(op: str, src: str | None, dst: str | None, pipe: PipeType | None) -> None:
    ends = [MemorySpace[name] if name else None for name in (src, dst)]
    assert machine().pipe_of(op, *ends) is pipe


def test_a_backend_can_place_an_operator_on_another_pipe() -> None:
    toy = machine(op_pipes={"anything": PipeType.S, "slice": PipeType.V})
    assert toy.pipe_of("acme.anything", MemorySpace.Vec, MemorySpace.Vec) is PipeType.S
    assert toy.pipe_of("tile.slice") is PipeType.V
    assert toy.pipe_of("tile.reshape") is None


def test_transfers_cost_head_plus_bytes_and_drains_cost_their_formula() -> None:
    toy = machine()
    assert toy.transfer_cycles(MemorySpace.DDR, MemorySpace.Vec, 4, 8, 2) == 20 + 64 / 8
    # 80 fp32 columns are 10 fractals of 8: odd part 5, so 4 extra passes a row of max(2, 320 / 64) cycles.
    assert toy.transfer_cycles(MemorySpace.Acc, MemorySpace.DDR, 16, 80, 4) == 10 + 16 * (5 + 0.5 * 4)


def test_a_missing_path_is_an_error_that_names_the_detour() -> None:
    with pytest.raises(UserError, match="can't move data from DDR to Left") as caught:
        machine().transfer_cycles(MemorySpace.DDR, MemorySpace.Left, 16, 16, 2)
    assert "Mat" in caught.value.diagnostics[0].remedy
    with pytest.raises(UserError) as caught:
        machine().transfer_cycles(MemorySpace.Left, MemorySpace.DDR, 16, 16, 2)
    assert "no sequence" in caught.value.diagnostics[0].remedy


def test_capabilities_are_the_name_the_features_and_facts_of_the_tables() -> None:
    bare = machine()
    assert bare.capabilities == {"backend:toy", "isa.low_precision_mat_scratch"}
    rich = machine(
        features=("isa.mx_matmul",),
        atomic_add_dtypes=(DataType.BF16,),
        mat_scratch_dtypes=(DataType.FP32,),
        mat_to_bias=((DataType.BF16, DataType.FP32),),
        acc_rows={DataType.INT32: 32},
    )
    assert rich.capabilities == {
        "backend:toy",
        "isa.mx_matmul",
        "isa.bf16_atomic_add",
        "isa.bf16_bias",
        "isa.wide_acc_rows",
    }


def test_vector_dtypes_are_found_with_and_without_namespace() -> None:
    toy = machine(vector_dtypes={"add": (DataType.FP32,)})
    assert toy.vector_op_dtypes("tile.add") == toy.vector_op_dtypes("add") == (DataType.FP32,)
    assert toy.vector_op_dtypes("tile.exp") is None


def test_equal_descriptions_are_equal_hash_alike_and_survive_pickling() -> None:
    assert machine() == machine()
    assert hash(machine()) == hash(machine())
    assert machine() != machine(name="other")
    assert pickle.loads(pickle.dumps(machine())) == machine()


def test_a_derived_machine_answers_from_its_own_tables() -> None:
    bigger = attrs.evolve(machine(), memories=(*memories(), MemorySpec(space=MemorySpace.Bias, capacity=64)))
    assert bigger.capacity(MemorySpace.Bias) == 64
    assert machine().capacity(MemorySpace.Bias) == 0


def test_json_holds_every_table() -> None:
    data = machine(acc_rows={DataType.INT32: 32}).to_json()
    assert json.loads(json.dumps(data)) == data
    assert data["memories"][0] == {
        "space": "Vec",
        "capacity": 4096,
        "reserved": 0,
        "alignment": 32,
        "address_alignment": 32,
        "record_alignment": 32,
    }
    assert data["acc_rows"] == [["int32", 32]]
    assert data["paths"][0]["pipe"] == "MTE2"
    assert set(data) == {f.name for f in attrs.fields(Backend) if f.init}


TWICE = MemorySpec(space=MemorySpace.Vec, capacity=1)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: MemorySpec(space=MemorySpace.Vec, capacity=0), "capacity must be positive"),
        (lambda: MemorySpec(space=MemorySpace.Vec, capacity=1, reserved=-1), "reserved must not be negative"),
        (
            lambda: MemorySpec(space=MemorySpace.Vec, capacity=1, alignment=24),
            "alignment must be a power of two",
        ),
        (
            lambda: MemorySpec(space=MemorySpace.Vec, capacity=1, alignment=0),
            "alignment must be a power of two",
        ),
        (lambda: path("DDR", "Vec", PipeType.MTE2, 0.0), "bytes_per_cycle must be positive"),
        (lambda: path("DDR", "Vec", PipeType.MTE2, 1.0, -1.0), "head_cycles must not be negative"),
        (lambda: CoreCounts(cube_per_die=0, vector_per_die=1), "cube_per_die must be positive"),
        (lambda: machine(name=""), "name must not be empty"),
        (lambda: machine(frequency_mhz=0.0), "frequency_mhz must be positive"),
        (lambda: machine(memories=(*memories(), TWICE)), "lists a memory space twice"),
        (lambda: machine(memories=(MemorySpec(space=MemorySpace.DDR, capacity=1),)), "global memory"),
        (lambda: machine(paths=(*PATHS, PATHS[0])), "lists a memory path twice"),
        (lambda: machine(paths=(path("Mat", "Bias", PipeType.MTE1),)), "needs a memory the backend lacks"),
        (lambda: machine(acc_rows={DataType.INT32: 24}), "power of two"),
        (lambda: machine(acc_rows=((DataType.INT32, 16), (DataType.INT32, 32))), "row alignment twice"),
        (lambda: machine(features=("mx",)), "named area.name"),
        (lambda: machine(features=("isa.mx", "isa.mx")), "feature twice"),
        (lambda: machine(fractal_alignment=12), "fractal_alignment must be a power of two"),
    ],
)
def test_a_wrong_description_is_refused(build: object, words: str) -> None:
    with pytest.raises(UserError, match=words) as caught:
        build()  # type: ignore[operator]
    assert caught.value.diagnostics[0].remedy


@given(st.sampled_from(list(MemorySpace)), st.sampled_from(list(MemorySpace)))
def test_routes_are_chains_of_listed_paths(src: MemorySpace, dst: MemorySpace) -> None:
    route = machine().route(src, dst)
    assert all(a.dst is b.src for a, b in zip(route, route[1:], strict=False))
    if route:
        assert (route[0].src, route[-1].dst) == (src, dst)
        assert len(route) == 1 or machine().path(src, dst) is None
