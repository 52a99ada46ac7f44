"""Machines under PyPTO's names. The chosen one belongs to the current context (thread or task), not to the process."""

from __future__ import annotations

import enum
import json
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import attrs

from pypto.plugins import module_of
from pypto_core import contract
from pypto_core.diagnostics import UserError
from pypto_core.host import Host, load_host
from pypto_core.ir import CoreType, DataType, MemorySpace
from pypto_core.run import PassContext


class BackendType(enum.Enum):
    """The machines that PyPTO knows; their names are aliases of the installed ones."""

    Ascend910B = 0
    Ascend950 = 1


_PLATFORMS = {
    "a2a3": BackendType.Ascend910B,
    "a2a3sim": BackendType.Ascend910B,
    "a5": BackendType.Ascend950,
    "a5sim": BackendType.Ascend950,
}

_chosen: ContextVar[BackendType | None] = ContextVar("pypto_backend_type", default=None)


def type_of_platform(platform: str) -> BackendType:
    """The machine of a platform (``a2a3``, ``a2a3sim``, ``a5``, ``a5sim``); ValueError for any other name."""
    found = _PLATFORMS.get(platform)
    if found is None:
        raise UserError(
            f"there is no platform '{platform}'", code="PT701", remedy="use one of: " + ", ".join(_PLATFORMS)
        )
    return found


def set_backend_type(backend_type: BackendType) -> None:
    """Choose the machine; ValueError when another one is chosen already."""
    current = _chosen.get()
    if current is not None and current is not backend_type:
        raise UserError(
            f"the backend is {current.name} and can't become {backend_type.name}",
            code="PT811",
            remedy="call reset_for_testing() first, or compile for the other machine in a context of its own",
        )
    _chosen.set(backend_type)


def get_backend_type() -> BackendType:
    """The chosen machine; ValueError when none is."""
    current = _chosen.get()
    if current is None:
        raise UserError(
            "no backend is chosen",
            code="PT813",
            remedy="call backend.set_backend_type(BackendType.Ascend910B) first",
        )
    return current


def is_backend_configured() -> bool:
    """Whether a machine is chosen."""
    return _chosen.get() is not None


def reset_for_testing() -> None:
    """Choose none."""
    _chosen.set(None)


def _host() -> Host:
    active = PassContext.current()
    return active.host if active is not None and active.host is not None else load_host()


def installed(backend_type: BackendType) -> contract.Backend:
    """The kernel's value for a machine; UserError (PT701), saying what to install, when it is absent."""
    return _host().backend(backend_type.name)


def configured() -> contract.Backend | None:
    """The kernel's value for the chosen machine, None when none is chosen."""
    current = _chosen.get()
    return None if current is None else installed(current)


def get_backend_instance(backend_type: BackendType | None = None) -> Backend:
    """A machine, by default the chosen one."""
    chosen = get_backend_type() if backend_type is None else backend_type
    return Backend(chosen, installed(chosen))


def get_buffer_elementwise_recipe_names() -> list[str]:
    """The tile operators that are lowered to buffers element by element, in order of the alphabet."""
    rules = module_of("buffer_ir", "rules").RULES
    return sorted(rule.tile for rule in rules.values() if rule.recipe is not None)


@attrs.frozen
class Backend:
    """A machine: sizes in bytes, and a handler with the rest. ``soc`` is the kernel's value."""

    type: BackendType
    soc: contract.Backend = attrs.field(repr=False)

    def get_type_name(self) -> str:
        """``910B`` or ``950``."""
        return self.type.name.removeprefix("Ascend")

    def get_mem_size(self, space: MemorySpace) -> int:
        """Bytes a kernel may use in a space; 0 for a space without a size of its own."""
        return self.soc.capacity(space)

    def get_core_count(self, core_type: CoreType) -> int:
        """Cores of a kind on the chip."""
        return self.soc.cores.cube if core_type is CoreType.CUBE else self.soc.cores.vector

    def find_mem_path(self, src: MemorySpace, dst: MemorySpace) -> list[MemorySpace]:
        """The spaces that data passes through, both ends included; empty when there is no way."""
        if src is dst:
            return [src]
        route = self.soc.route(src, dst)
        return [src, *(step.dst for step in route)] if route else []

    def get_handler(self) -> BackendHandler:
        """The rest of what passes ask."""
        return BackendHandler(self.soc)

    def export_to_file(self, path: str | Path) -> None:
        """Write everything that is known of the machine as JSON."""
        data = {"backend": self.type.name, "soc": self.soc.to_json()}
        Path(path).write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")

    @staticmethod
    def import_from_file(path: str | Path) -> Backend:
        """The machine that was written; ValueError when the installed one is described differently."""
        data: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
        found = get_backend_instance(BackendType[data["backend"]])
        if json.loads(json.dumps(found.soc.to_json())) != data["soc"]:
            raise UserError(
                f"{path} describes another {data['backend']} than the installed one",
                code="PT503",
                remedy="export it again with the installed version",
            )
        return found


@attrs.frozen
class BackendHandler:
    """What passes ask of a machine."""

    _soc: contract.Backend = attrs.field(repr=False)

    def get_l0a_capacity_bytes(self) -> int:
        """Bytes of L0A (Left)."""
        return self._soc.capacity(MemorySpace.Left)

    def get_l0b_capacity_bytes(self) -> int:
        """Bytes of L0B (Right)."""
        return self._soc.capacity(MemorySpace.Right)

    def get_l0c_capacity_bytes(self) -> int:
        """Bytes of L0C (Acc)."""
        return self._soc.capacity(MemorySpace.Acc)

    def get_mat_capacity_bytes(self) -> int:
        """Bytes of L1 (Mat)."""
        return self._soc.capacity(MemorySpace.Mat)

    def get_bias_capacity_bytes(self) -> int:
        """Bytes of the bias table."""
        return self._soc.capacity(MemorySpace.Bias)

    def get_l0_fractal_alignment(self) -> int:
        """Elements that extents in L0 are a multiple of."""
        return self._soc.fractal_alignment

    def get_min_l0_tile_dim(self) -> int:
        """The least extent of a tile in L0, in elements."""
        return self._soc.min_l0_tile_dim

    def get_l0c_m_alignment(self, dtype: DataType) -> int:
        """Rows to which an accumulator of an element type is padded."""
        return self._soc.acc_row_alignment(dtype)

    def get_recommended_innermost_dim_bytes(self) -> int:
        """Bytes of a row from which transfers are efficient."""
        return self._soc.recommended_inner_bytes

    def get_gm_access_granularity_bytes(self) -> int:
        """Bytes that an access to global memory moves at least."""
        return self._soc.gm_granularity_bytes

    def get_l2_cache_line_bytes(self) -> int:
        """Bytes of a line of the L2 cache."""
        return self._soc.l2_line_bytes

    def supports_mat_to_bias_move(self, src: DataType, dst: DataType) -> bool:
        """Whether a bias of type ``src`` in L1 can become one of type ``dst`` in the bias table."""
        return (src, dst) in self._soc.mat_to_bias

    def requires_gm_pipe_buffer(self) -> bool:
        """Whether cube and vector cores exchange tiles through global memory."""
        return "isa.gm_pipe_buffer" in self._soc.features

    def requires_split_load_tpop_workaround(self) -> bool:
        """Whether loads and pops must not share a pipe's queue."""
        return "isa.split_load_tpop_workaround" in self._soc.features

    def requires_runtime_subblock_bridge(self) -> bool:
        """Whether the index of the vector core comes from the runtime."""
        return "isa.runtime_subblock_bridge" in self._soc.features

    def requires_no_split_dual_aiv_dispatch(self) -> bool:
        """Whether an unsplit kernel still runs on both vector cores."""
        return "isa.no_split_dual_aiv" in self._soc.features

    def requires_vto_c_fractal_adapt(self) -> bool:
        """Whether tiles change their fractal form on the way from vector to cube."""
        return "isa.vec_to_cube_fractal_adapt" in self._soc.features

    def get_pto_target_arch(self) -> str:
        """The architecture attribute of emitted modules."""
        return self._soc.pto_target_arch

    def get_extra_ptoas_flags(self) -> list[str]:
        """Flags for the assembler."""
        return [f"--pto-arch={self._soc.pto_arch}"]

    def get_default_sim_platform(self) -> str:
        """The platform of the machine's simulator."""
        return next(name for name in self._soc.aliases if name.endswith("sim"))
