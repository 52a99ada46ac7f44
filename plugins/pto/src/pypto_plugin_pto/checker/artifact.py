"""The check as the target offers it: of a file that it wrote for some machine."""

from __future__ import annotations

from pypto_core.contract import Artifact, Backend
from pypto_core.diagnostics import Diagnostic
from pypto_plugin_pto.checker.check import check_text


def check_artifact(artifact: Artifact, backend: Backend | None) -> tuple[Diagnostic, ...]:
    """What the assembler would refuse in a file; nothing in files that are no PTO text."""
    if not artifact.name.endswith(".pto") or isinstance(artifact.data, bytes):
        return ()
    arch = None if backend is None else "a5" if backend.pto_arch == "a5" else "a3"
    return check_text(artifact.data, artifact.name, arch=arch).errors
