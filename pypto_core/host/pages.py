"""The pages behind the kernel's own codes, for ``pypto explain``."""

from __future__ import annotations

from pypto_core.host.pages_contract import HOST_PAGES, MACHINE_PAGES, TEXT_PAGES
from pypto_core.host.pages_language import GENERAL_PAGES, LANGUAGE_PAGES, OPERATOR_PAGES
from pypto_core.host.pages_run import COMMAND_PAGES, FAULT_PAGES, JIT_PAGES, RUN_PAGES
from pypto_core.host.pages_solver import SOLVER_PAGES, VERIFICATION_PAGES

CORE_PAGES = (
    *GENERAL_PAGES,
    *LANGUAGE_PAGES,
    *OPERATOR_PAGES,
    *SOLVER_PAGES,
    *VERIFICATION_PAGES,
    *MACHINE_PAGES,
    *TEXT_PAGES,
    *HOST_PAGES,
    *RUN_PAGES,
    *JIT_PAGES,
    *COMMAND_PAGES,
    *FAULT_PAGES,
)
