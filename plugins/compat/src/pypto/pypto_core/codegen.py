"""Code generation: PTO text from a program after its passes."""

from __future__ import annotations

from typing import Any

from pypto.pypto_core.passes.context import kernel_context
from pypto_core.contract import Artifact
from pypto_core.host import load_host
from pypto_core.run import as_program

TARGET = "pto"
_WITH_ADDRESSES, _WITHOUT_ADDRESSES = "pypto", "ptoas"


class PTOCodegen:
    """Writes a program, as the last pass left it, in the PTO dialect."""

    def artifacts(self, program: Any, **settings: Any) -> tuple[Artifact, ...]:
        """The files that the installed PTO target makes; settings are those of the active context and ``settings``.

        Raises UserError (PT703), saying what to install, when there is no such target.
        """
        context = kernel_context()
        context = context.derive(
            **{**settings, "options": {**context.options, **settings.get("options", {})}}
        )
        target = (context.host or load_host()).target(TARGET)
        with context:
            return tuple(target.load()(as_program(program), context))

    def generate(
        self, program: Any, emit_tile_addr: bool | None = None, emit_source_loc: bool | None = None
    ) -> str:
        """The text, one file after the other.

        ``emit_tile_addr``: whether buffers have addresses, by default where the planner of the active context gives
        them. ``emit_source_loc``: whether each line says where it comes from, by default as the context has it.
        """
        settings: dict[str, Any] = {}
        planner = kernel_context().planner
        if emit_tile_addr is not None and emit_tile_addr is (planner == _WITHOUT_ADDRESSES):
            settings["planner"] = _WITH_ADDRESSES if emit_tile_addr else _WITHOUT_ADDRESSES
        if emit_source_loc is not None:
            settings["options"] = {"emit_source_loc": emit_source_loc}
        return "\n".join(
            item.content.decode("utf-8") for item in self.artifacts(program, **settings) if _is_pto(item)
        )


def _is_pto(artifact: Artifact) -> bool:
    return artifact.name.endswith(".pto")


def generate_pto(program: Any) -> str:
    """The PTO text of a program after its passes."""
    return PTOCodegen().generate(program)


__all__ = ["PTOCodegen", "generate_pto"]
