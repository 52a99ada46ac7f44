"""How kernels are run: the settings that PyPTO's jit and compile functions take."""

from __future__ import annotations

from typing import Any

import attrs

from pypto.backend import BackendType, configured, installed, type_of_platform
from pypto.ir.pass_manager import OptimizationStrategy
from pypto.pypto_core.passes import MemoryPlanner
from pypto.pypto_core.passes.context import BUFFER_IR, DOUBLE_BUFFER
from pypto_core.jit import JitConfig
from pypto_core.run import PassContext

_DEFAULTS = {DOUBLE_BUFFER: False, BUFFER_IR: True}


@attrs.frozen(kw_only=True)
class RunConfig:
    """Settings of a run; there is no device here, so that ``device_id`` is kept and not used.

    ``platform``: ``a2a3``, ``a2a3sim``, ``a5`` or ``a5sim``; ``rtol`` and ``atol`` are the tolerances of a comparison.
    ``codegen_only``: a call compiles to the target and runs nothing. ``world_size``: devices that a host function runs
    its kernels on.
    """

    platform: str = "a2a3sim"
    device_id: int = 0
    rtol: float = 1e-5
    atol: float = 1e-5
    strategy: OptimizationStrategy = OptimizationStrategy.Default
    memory_planner: MemoryPlanner = MemoryPlanner.PYPTO
    enable_pypto_l0c_double_buffer: bool = False
    enable_buffer_ir: bool = True
    dump_passes: bool = False
    save_kernels: bool = False
    save_kernels_dir: str | None = None
    codegen_only: bool = False
    world_size: int = 1

    def __attrs_post_init__(self) -> None:
        type_of_platform(self.platform)

    @property
    def backend_type(self) -> BackendType:
        """The machine of the platform."""
        return type_of_platform(self.platform)

    def jit_config(self) -> JitConfig:
        """The settings as the kernel's jit takes them; switches that stand as by default are left out."""
        switches = {DOUBLE_BUFFER: self.enable_pypto_l0c_double_buffer, BUFFER_IR: self.enable_buffer_ir}
        return JitConfig(
            backend=installed(self.backend_type),
            planner=self.memory_planner.kernel_name,
            options={name: value for name, value in switches.items() if value is not _DEFAULTS[name]},
            world_size=self.world_size,
            execute=not self.codegen_only,
            output_dir=self.save_kernels_dir if self.save_kernels else None,
            dump_passes=self.dump_passes and self.save_kernels,
        )

    def compile_options(self) -> dict[str, Any]:
        """The settings that concern compiling, as :func:`pypto.ir.compile` takes them."""
        return {
            "strategy": self.strategy,
            "platform": self.platform,
            "memory_planner": self.memory_planner,
            "dump_passes": self.dump_passes,
            "output_dir": self.save_kernels_dir if self.save_kernels else None,
            "enable_pypto_l0c_double_buffer": self.enable_pypto_l0c_double_buffer,
            "enable_buffer_ir": self.enable_buffer_ir,
        }


def default_config() -> JitConfig:
    """The settings of a jit call that gives none: those of the active context; the machine chosen, else the default."""
    active = PassContext.current()
    if active is not None and active.backend is not None:
        return JitConfig()
    return JitConfig(backend=configured() or installed(RunConfig().backend_type))
