"""How kernels are run: the settings that PyPTO's jit and compile functions take."""

from __future__ import annotations

from typing import Any

import attrs

from pypto.backend import BackendType, type_of_platform
from pypto.ir.pass_manager import OptimizationStrategy
from pypto.pypto_core.passes import MemoryPlanner


@attrs.frozen(kw_only=True)
class RunConfig:
    """Settings of a run; there is no device here, so that ``device_id`` is kept and not used.

    ``platform``: ``a2a3``, ``a2a3sim``, ``a5`` or ``a5sim``; ``rtol`` and ``atol`` are the tolerances of a comparison.
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

    def __attrs_post_init__(self) -> None:
        type_of_platform(self.platform)

    @property
    def backend_type(self) -> BackendType:
        """The machine of the platform."""
        return type_of_platform(self.platform)

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
