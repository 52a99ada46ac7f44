"""How a kernel is compiled and run when it is called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

import attrs

from pypto_core.contract import Backend
from pypto_core.diagnostics import checked
from pypto_core.run import VerificationLevel


@runtime_checkable
class HasJitConfig(Protocol):
    """Anything that can say how it wants kernels to be compiled: the settings of another package, for one."""

    def jit_config(self) -> JitConfig:
        """The same in the kernel's terms."""
        ...


def _read_only(value: Mapping[str, Any]) -> Mapping[str, Any]:
    return MappingProxyType(dict(value))


@checked("verification")
@attrs.frozen(kw_only=True)
class JitConfig:
    """Settings of one call; what is None comes from the active context, as in :func:`pypto_core.compile`.

    ``goal``: the target of ``compile``; a call and ``lower`` stop at the program that it would be given. ``options``:
    those of passes. ``engine``: what executes calls, on ``world_size`` devices where the kernel is host code; with
    ``execute=False`` a call compiles to the target instead and
    gives the compiled kernel. ``cache``: whether results may be taken from and left in memory and
    on disk. ``output_dir``, ``dump_passes``: as for ``compile``; such a compilation always takes place.
    """

    backend: str | Backend | None = None
    planner: str | None = None
    goal: str = "pto"
    options: Mapping[str, Any] = attrs.field(default=MappingProxyType({}), converter=_read_only)
    engine: str = "values"
    world_size: int = 1
    execute: bool = True
    verification: VerificationLevel | str | None = None
    disabled_diagnostics: frozenset[str] = attrs.field(default=frozenset(), converter=frozenset)
    cache: bool = True
    output_dir: str | PathLike[str] | None = None
    dump_passes: bool = False

    def jit_config(self) -> JitConfig:
        """Itself."""
        return self

    def arguments(self) -> dict[str, Any]:
        """What both :func:`compile` and :func:`compile_context` take of it, ``options`` apart."""
        return {
            "backend": self.backend,
            "planner": self.planner,
            "verification": self.verification,
            "disabled_diagnostics": self.disabled_diagnostics,
        }


Defaults = Callable[[], HasJitConfig]
"""Where settings come from when a call gives none, asked each time."""
