"""Code generation: PTO text from a program after its passes."""

from __future__ import annotations

from typing import Any

from pypto.pypto_core.passes.context import kernel_context
from pypto_core.contract import Artifact
from pypto_core.host import load_host
from pypto_core.run import as_program

TARGET = "pto"


class PTOCodegen:
    """Writes a program, as the last pass left it, in the PTO dialect."""

    def artifacts(self, program: Any) -> tuple[Artifact, ...]:
        """The files that the installed PTO target makes, with the settings of the active context.

        Raises UserError (PT703), saying what to install, when there is no such target.
        """
        context = kernel_context()
        target = (context.host or load_host()).target(TARGET)
        with context:
            return tuple(target.load()(as_program(program), context))

    def generate(self, program: Any) -> str:
        """The text, one file after the other."""
        return "\n".join(item.content.decode("utf-8") for item in self.artifacts(program) if _is_pto(item))


def _is_pto(artifact: Artifact) -> bool:
    return artifact.name.endswith(".pto")


def generate_pto(program: Any) -> str:
    """The PTO text of a program after its passes."""
    return PTOCodegen().generate(program)


__all__ = ["PTOCodegen", "generate_pto"]
