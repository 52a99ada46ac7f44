"""Every name of ``pypto.backend``, ``pypto.codegen`` and ``pypto.runtime`` that applies here, and compiling."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pypto
from pypto import backend, ir, passes
from pypto.ir.pass_manager import PassManager
from pypto.language import parse
from pypto.runtime import RunConfig

SOURCE = """
import pypto.language as pl

@pl.program
class Main:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(self, a: pl.Tensor[[64, 64], pl.FP32], out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]) -> pl.Tensor[[64, 64], pl.FP32]:
        x = pl.load(a, [0, 0], [64, 64])
        x = pl.add(x, 1.0)
        return pl.store(x, [0, 0], out)
"""  # noqa: E501


@pytest.fixture(autouse=True)
def machine() -> Iterator[None]:
    """Nothing chosen before and after."""
    backend.reset_for_testing()
    yield
    backend.reset_for_testing()


@pytest.fixture
def program() -> Any:
    return parse(SOURCE)


# Machines


def test_choosing_a_machine() -> None:
    assert not backend.is_backend_configured()
    with pytest.raises(ValueError, match="no backend is chosen"):
        backend.get_backend_type()
    backend.set_backend_type(backend.BackendType.Ascend910B)
    backend.set_backend_type(backend.BackendType.Ascend910B)
    assert backend.is_backend_configured() and backend.get_backend_type() is backend.BackendType.Ascend910B
    with pytest.raises(ValueError, match="the backend is Ascend910B and can't become Ascend950"):
        backend.set_backend_type(backend.BackendType.Ascend950)
    seen: list[bool] = []
    thread = threading.Thread(target=lambda: seen.append(backend.is_backend_configured()))
    thread.start()
    thread.join()
    assert seen == [False], "the choice belongs to the context, not to the process"
    assert [b.value for b in backend.BackendType] == [0, 1]


HANDLER = {
    # name: (910B, 950); figures of the two machines
    "get_l0a_capacity_bytes": (65536, 65536),
    "get_l0b_capacity_bytes": (65536, 65536),
    "get_l0c_capacity_bytes": (131072, 262144),
    "get_mat_capacity_bytes": (524288, 524288),
    "get_bias_capacity_bytes": (1024, 4096),
    "get_l0_fractal_alignment": (16, 16),
    "get_min_l0_tile_dim": (16, 16),
    "get_recommended_innermost_dim_bytes": (512, 128),
    "get_gm_access_granularity_bytes": (512, 128),
    "requires_gm_pipe_buffer": (True, False),
    "requires_split_load_tpop_workaround": (True, False),
    "requires_runtime_subblock_bridge": (True, False),
    "requires_no_split_dual_aiv_dispatch": (True, False),
    "requires_vto_c_fractal_adapt": (False, True),
    "get_extra_ptoas_flags": (["--pto-arch=a3"], ["--pto-arch=a5"]),
    "get_default_sim_platform": ("a2a3sim", "a5sim"),
    "get_pto_target_arch": ("a2a3", "a5"),
}


@pytest.mark.parametrize("name", HANDLER)
def test_the_handler(name: str) -> None:
    machines = [backend.get_backend_instance(b).get_handler() for b in backend.BackendType]
    assert tuple(getattr(machine, name)() for machine in machines) == HANDLER[name]


def test_the_rest_of_a_machine(tmp_path: Path) -> None:
    backend.set_backend_type(backend.BackendType.Ascend910B)
    one = backend.get_backend_instance()
    other = backend.get_backend_instance(backend.BackendType.Ascend950)
    assert (one.get_type_name(), other.get_type_name()) == ("910B", "950")
    assert [one.get_mem_size(s) for s in (ir.Vec, ir.DDR, ir.LeftScale, ir.ScalarLocal)] == [
        184 * 1024,
        0,
        0,
        0,
    ]
    assert [other.get_mem_size(s) for s in (ir.Vec, ir.LeftScale)] == [240 * 1024, 4096]
    assert (one.get_core_count(ir.CoreType.CUBE), one.get_core_count(ir.CoreType.VECTOR)) == (24, 48)
    assert (other.get_core_count(ir.CoreType.CUBE), other.get_core_count(ir.CoreType.VECTOR)) == (36, 72)
    assert one.find_mem_path(ir.DDR, ir.Left) == [ir.DDR, ir.Mat, ir.Left]
    assert one.find_mem_path(ir.Vec, ir.Vec) == [ir.Vec]
    handler = one.get_handler()
    rows = [handler.get_l0c_m_alignment(d) for d in (ir.DataType.INT32, ir.DataType.FP32)]
    assert rows == [32, 16] and other.get_handler().get_l0c_m_alignment(ir.DataType.INT32) == 16
    bf16, fp32 = ir.DataType.BF16, ir.DataType.FP32
    assert [b.get_handler().supports_mat_to_bias_move(bf16, fp32) for b in (one, other)] == [False, True]
    assert handler.get_l2_cache_line_bytes() == one.soc.l2_line_bytes
    one.export_to_file(tmp_path / "soc.json")
    assert backend.Backend.import_from_file(tmp_path / "soc.json") == one
    text = (tmp_path / "soc.json").read_text()
    (tmp_path / "soc.json").write_text(text.replace("131072", "131073"))
    with pytest.raises(ValueError, match="another Ascend910B than the installed one"):
        backend.Backend.import_from_file(tmp_path / "soc.json")


# Compiling


def test_settings_of_a_run() -> None:
    config = RunConfig(
        platform="a5", memory_planner=passes.MemoryPlanner.PTOAS, save_kernels=True, save_kernels_dir="x"
    )
    options = config.compile_options()
    assert (options["platform"], options["memory_planner"], options["output_dir"]) == (
        "a5",
        passes.MemoryPlanner.PTOAS,
        "x",
    )
    with pytest.raises(ValueError, match="there is no platform 'a7'"):
        RunConfig(platform="a7")


def test_compile_takes_the_machine_and_planner_that_are_asked_for(program: Any, tmp_path: Path) -> None:
    options = RunConfig(platform="a5sim").compile_options() | {"output_dir": tmp_path, "dump_passes": True}
    compiled = ir.compile(program, **options)
    assert compiled.compiled.context.backend is not None
    assert (compiled.compiled.context.backend.name, compiled.compiled.context.planner) == ("a5", "pypto")
    assert (compiled.source is program, compiled.output_dir) == (True, str(tmp_path))
    assert (tmp_path / "ptoas" / "kernel.pto").is_file() and (
        tmp_path / "passes_dump" / "00_frontend.py"
    ).is_file()
    assert compiled.program is compiled.compiled.program
    backend.reset_for_testing()
    default = ir.compile(program).compiled.context.backend
    assert default is not None and default.name == "910b"
    for wrong, error, message in (
        ({"skip_ptoas": False}, ValueError, "ptoas is not run from here"),
        (
            {"platform": "a5", "backend_type": backend.BackendType.Ascend910B},
            ValueError,
            "platform a5 is not",
        ),
    ):
        with pytest.raises(error, match=message):
            ir.compile(program, **wrong)
    with passes.PassContext([], memory_planner=passes.MemoryPlanner.PTOAS):
        with pytest.raises(
            RuntimeError, match="planner pypto is asked for inside a context with planner ptoas"
        ):
            ir.compile(program, memory_planner=passes.MemoryPlanner.PYPTO, platform="a2a3")
        assert ir.compile(program, platform="a2a3").compiled.context.planner == "ptoas"


def test_text_from_a_lowered_program(program: Any) -> None:
    backend.set_backend_type(backend.BackendType.Ascend910B)
    with passes.PassContext([]):
        lowered = PassManager().run_passes(program)
        text = pypto.codegen.PTOCodegen().generate(lowered)
    compiled = ir.compile(program)
    assert text == compiled.compiled.artifacts[0].data and "pto.tadds" in text
    with passes.PassContext([]):
        assert pypto.codegen.generate_pto(lowered) == text
