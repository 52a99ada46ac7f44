"""Kernel files under ``@pl.jit`` run with no edit: settings, in-place outputs, helpers, numbers from numpy."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from pypto import backend, passes
from pypto.backend import BackendType
from pypto.pypto_core.passes import MemoryPlanner
from pypto.runtime import RunConfig

KERNELS = Path(__file__).parent / "kernels"
Array = np.ndarray


@pytest.fixture(autouse=True)
def no_machine_chosen() -> Iterator[None]:
    """As in a fresh process."""
    backend.reset_for_testing()
    yield
    backend.reset_for_testing()


def module(file: str) -> ModuleType:
    """A kernel file, executed as Python does."""
    spec = importlib.util.spec_from_file_location(f"pypto_compat_kernels_{file}", KERNELS / f"{file}.py")
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def random(*shape: int, seed: int = 3) -> Array:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def rms_norm(x: Array, gamma: Array) -> Array:
    return x / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-6) * gamma


Case = tuple[str, str, list[tuple[int, ...]], Callable[..., Array], tuple[int, ...]]
CASES: list[Case] = [
    ("elementwise", "tile_add", [(128, 128)] * 2, lambda a, b: a + b, (128, 128)),
    ("elementwise", "chunked_add", [(512, 128)] * 2, lambda a, b: a + b, (512, 128)),
    ("elementwise", "fused_add_scale", [(128, 128)] * 2, lambda a, b: (a + b) * 2, (128, 128)),
    ("elementwise", "silu", [(64, 96)], lambda x: x / (1 + np.exp(-x)), (64, 96)),
    ("elementwise", "concat", [(32, 16)] * 2, lambda a, b: np.concatenate([a, b], axis=1), (32, 32)),
    ("rows", "softmax", [(64, 64)], softmax, (64, 64)),
    ("rows", "rms_norm", [(32, 64), (1, 64)], rms_norm, (32, 64)),
    ("matmul", "matmul_64", [(64, 64)] * 2, lambda a, b: a @ b, (64, 64)),
    ("matmul", "matmul_acc", [(64, 64)] * 2, lambda a, b: a @ b, (64, 64)),
    ("matmul", "fused_linear", [(64, 64)] * 3, lambda x, w, b: np.maximum(x @ w + b, 0), (64, 64)),
    ("matmul", "vector_dag", [(64, 64)] * 2, lambda a, b: 2 * (a + b) + 3.5, (64, 64)),
    ("tensors", "blocks", [(128, 64)], np.exp, (128, 64)),
    ("tensors", "product", [(64, 128), (32, 128)], lambda a, b: a @ b.T, (64, 32)),
    ("tensors", "split_k", [(64, 256), (256, 64)], lambda a, b: a @ b, (64, 64)),
    ("tasks", "task_graph", [(64, 64)] * 2, lambda a, b: 2 * (a + b), (64, 64)),
    ("tasks", "split_k_cores", [(64, 256), (256, 64)], lambda a, b: a @ b, (64, 64)),
    ("tasks", "through_opaque", [(32, 64)], np.exp, (32, 64)),
    ("shapes", "assemble_blocks", [(64, 64)] * 2, lambda x, y: y, (64, 64)),
    ("shapes", "assemble_product", [(32, 32)] * 2, lambda a, b: a @ b, (32, 32)),
    ("shapes", "carried_sum", [(64, 64)], lambda x: x.reshape(4, 16, 64).sum(axis=0), (16, 64)),
]


def check(kernel: Callable[..., object], inputs: list[Array], wanted: Array, **options: object) -> None:
    out = np.zeros(wanted.shape, np.float32)
    assert kernel(*inputs, out, **options) is out
    np.testing.assert_allclose(out, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("file", "name", "shapes", "golden", "shape"), CASES, ids=[c[1] for c in CASES])
def test_kernels_compute_what_numpy_does(file, name, shapes, golden, shape) -> None:
    inputs = [random(*s, seed=i) for i, s in enumerate(shapes)]
    wanted = golden(*(x.astype(np.float64) for x in inputs))
    assert wanted.shape == shape
    check(getattr(module(file), name), inputs, wanted)


def test_windows_of_one_output() -> None:
    a, b = random(128, 64, seed=1), random(128, 64, seed=2)
    gelu = b / (1 + np.exp(-1.702 * b))
    check(module("tensors").halves, [a, b], np.concatenate([(a[:64] + b[:64]) * 2, gelu[64:]]))


def test_products_rounded_in_between() -> None:
    import ml_dtypes

    a, b, d = (
        random(*s, seed=i).astype(ml_dtypes.bfloat16) for i, s in enumerate([(64, 128), (128, 64), (64, 64)])
    )
    hidden = (a.astype(np.float32) @ b.astype(np.float32)).astype(ml_dtypes.bfloat16).astype(np.float64)
    check(module("tasks").chained, [a, b, d], hidden @ d.astype(np.float64))


def test_cube_and_vector_work_in_one_scope_with_a_trip_count_of_the_call() -> None:
    a, b = random(64, 64, seed=1) * np.float32(0.1), random(64, 64, seed=2)
    out = np.zeros((64, 64), np.float32)
    module("tasks").epilogue(a, b, out, 3)
    np.testing.assert_allclose(out[:48], np.exp(a[:48].astype(np.float64) @ b), rtol=1e-4)
    assert not out[48:].any()


def test_one_program_for_any_number_of_rows() -> None:
    kernel = module("tasks").any_rows
    for rows in (16, 80):
        x = random(rows, 64)
        check(kernel, [x], x * 3)
    x = random(32, 64)
    assert kernel.lower(x, x) is kernel.lower(x[:16], x[:16])


def test_several_outputs_and_new_tensors_are_returned() -> None:
    x = random(32, 64)
    exp, negative = np.zeros_like(x), np.zeros_like(x)
    returned = module("tasks").both(x, exp, negative)
    assert returned[0] is exp and returned[1] is negative
    np.testing.assert_allclose(exp, np.exp(x), rtol=1e-5)
    np.testing.assert_array_equal(negative, -x)
    np.testing.assert_allclose(module("tasks").new_tensor(x), np.exp(x), rtol=1e-5)


@pytest.mark.parametrize("length", [1, 13, 64])
def test_extents_read_at_run_time(length: int) -> None:
    x = random(64, 64)
    wanted = x[:, :length].max(axis=1, keepdims=True)
    check(module("tasks").masked_max, [x, np.array([length], np.int32)], wanted)


@pytest.mark.parametrize("is_last", [0, 1])
def test_an_extent_that_a_branch_chooses(is_last: int) -> None:
    x, out = random(16, 64), np.zeros((16, 64), np.float32)
    module("shapes").chosen_length(x, np.array([is_last, 20, 40], np.int64), out)
    length = 20 if is_last else 40
    np.testing.assert_array_equal(out[:, :length], x[:, :length])
    assert (out[:, length:] <= np.finfo(np.float32).min).all()


@pytest.mark.parametrize("count", [0, 1, 4])
def test_a_trip_count_read_at_run_time(count: int) -> None:
    x = random(64, 64)
    wanted = np.where(np.arange(64)[:, None] < 16 * count, np.exp(x), 0)
    check(module("shapes").some_blocks, [x, np.array([count], np.int32)], wanted)


@pytest.mark.parametrize(("op", "golden"), [("exp", np.exp), ("neg", np.negative), ("abs", np.abs)])
def test_kernels_from_a_factory(op: str, golden: Callable[[Array], Array]) -> None:
    x = random(16, 32)
    check(module("shapes").elementwise(16, 32, op), [x], golden(x))


@pytest.mark.parametrize("planner", list(MemoryPlanner))
@pytest.mark.parametrize("platform", ["a2a3", "a2a3sim", "a5", "a5sim"])
def test_run_config_chooses_machine_and_planner(platform: str, planner: MemoryPlanner) -> None:
    config = RunConfig(platform=platform, memory_planner=planner)
    kernel = module("rows").softmax
    x = random(64, 64)
    check(kernel, [x], softmax(x), config=config)
    compiled = kernel.compile(x, x, config=config)
    machine = compiled.compiled.context.backend
    assert machine is not None and machine.answers_to(config.backend_type.name)
    assert compiled.compiled.context.planner == planner.kernel_name
    assert [d.code for d in compiled.warnings] == []


def test_without_settings_the_chosen_machine_or_the_default_one_is_taken() -> None:
    kernel = module("elementwise").tile_add
    x = random(128, 128)

    def machine() -> object:
        return kernel.compile(x, x, x).compiled.context.backend

    assert machine() == backend.get_backend_instance(BackendType.Ascend910B).soc
    backend.set_backend_type(BackendType.Ascend950)
    assert machine() == backend.get_backend_instance(BackendType.Ascend950).soc
    with passes.PassContext([], memory_planner=MemoryPlanner.DSA_RP):
        compiled = kernel.compile(x, x, x).compiled.context
        assert compiled.backend == backend.get_backend_instance(BackendType.Ascend950).soc
        assert compiled.planner == "dsa_rp"


def test_planners_that_contradict_the_context_are_refused() -> None:
    x = random(128, 128)
    with (
        passes.PassContext([], memory_planner=MemoryPlanner.DSA_RP),
        pytest.raises(RuntimeError, match="planner"),
    ):
        module("elementwise").tile_add(x, x, x, config=RunConfig(memory_planner=MemoryPlanner.PTOAS))


def test_code_generation_alone(tmp_path: Path) -> None:
    x = random(128, 128)
    out = np.zeros_like(x)
    config = RunConfig(codegen_only=True, save_kernels=True, save_kernels_dir=str(tmp_path), dump_passes=True)
    compiled = module("elementwise").tile_add(x, x, out, config=config)
    assert not out.any() and [p.suffix for p in tmp_path.glob("*.pto")] == [".pto"]
    assert (tmp_path / "passes_dump" / "00_frontend.py").is_file()
    compiled(x, x, out)
    np.testing.assert_array_equal(out, x + x)


def test_lower_takes_anything_with_extents_and_element_type() -> None:
    class Sample:
        shape, dtype = (128, 128), "torch.float32"

    lowered = module("elementwise").tile_add.lower(Sample(), Sample(), Sample())
    names = list(lowered.functions)
    assert len(names) == 2 and "tile_add" in names
