"""The Python names of the PyPTO C++ compiler, on top of ``pypto_core``.

``import pypto.language as pl``; ``from pypto import ir, passes, backend``. Everything here is a re-export or a small
adapter: programs, passes and errors are those of the kernel, and objects of both packages mix freely. What the
kernel's classes learn on import, and what differs, stands in the README of the distribution.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pypto_core.diagnostics import DiagnosticError as Error
from pypto_core.diagnostics import InternalError, UserError
from pypto_core.ir import DataType
from pypto_plugin_compat.guard import refuse_beside_another

refuse_beside_another()

from pypto import spellings  # noqa: E402 - not before the check above
from pypto.log import (  # noqa: E402
    LogLevel,
    get_log_level,
    log_debug,
    log_error,
    log_event,
    log_fatal,
    log_info,
    log_warn,
    set_log_level,
)

if TYPE_CHECKING:
    from pypto import backend, ir, jit, language, pypto_core, runtime
    from pypto.ir import compile
    from pypto.pypto_core import codegen, passes, testing

spellings.teach_all()

DT_BOOL = DataType.BOOL
DT_INT4 = DataType.INT4
DT_INT8 = DataType.INT8
DT_INT16 = DataType.INT16
DT_INT32 = DataType.INT32
DT_INT64 = DataType.INT64
DT_INDEX = DataType.INDEX
DT_UINT4 = DataType.UINT4
DT_UINT8 = DataType.UINT8
DT_UINT16 = DataType.UINT16
DT_UINT32 = DataType.UINT32
DT_UINT64 = DataType.UINT64
DT_FP4 = DataType.FP4
DT_FP8E4M3FN = DataType.FP8E4M3FN
DT_FP8E5M2 = DataType.FP8E5M2
DT_FP8E8M0 = DataType.FP8E8M0
DT_FP16 = DataType.FP16
DT_FP32 = DataType.FP32
DT_BF16 = DataType.BF16
DT_HF4 = DataType.HF4
DT_HF8 = DataType.HF8
DT_TASK_ID = DataType.TASK_ID

_MODULES = {
    "backend": "pypto.backend",
    "codegen": "pypto.pypto_core.codegen",
    "ir": "pypto.ir",
    "jit": "pypto.jit",
    "language": "pypto.language",
    "passes": "pypto.pypto_core.passes",
    "pypto_core": "pypto.pypto_core",
    "runtime": "pypto.runtime",
    "testing": "pypto.pypto_core.testing",
}

__all__ = [
    "DT_BF16",
    "DT_BOOL",
    "DT_FP4",
    "DT_FP8E4M3FN",
    "DT_FP8E5M2",
    "DT_FP8E8M0",
    "DT_FP16",
    "DT_FP32",
    "DT_HF4",
    "DT_HF8",
    "DT_INDEX",
    "DT_INT4",
    "DT_INT8",
    "DT_INT16",
    "DT_INT32",
    "DT_INT64",
    "DT_TASK_ID",
    "DT_UINT4",
    "DT_UINT8",
    "DT_UINT16",
    "DT_UINT32",
    "DT_UINT64",
    "DataType",
    "Error",
    "InternalError",
    "LogLevel",
    "backend",
    "check",
    "codegen",
    "compile",
    "get_log_level",
    "internal_check",
    "ir",
    "jit",
    "language",
    "log_debug",
    "log_error",
    "log_event",
    "log_fatal",
    "log_info",
    "log_warn",
    "passes",
    "pypto_core",
    "runtime",
    "set_log_level",
    "testing",
]


def check(condition: object, message: str = "check failed") -> None:
    """Raise a ValueError with this message when the condition does not hold."""
    if not condition:
        raise UserError(message, code="PT001")


def internal_check(condition: object, message: str = "internal check failed") -> None:
    """Raise an InternalError with this message when the condition does not hold."""
    if not condition:
        raise InternalError(message)


def __getattr__(name: str) -> Any:
    """The modules and ``compile`` when they are first used."""
    if name in _MODULES:
        value: Any = import_module(_MODULES[name])
    elif name == "compile":
        value = import_module("pypto.ir").compile
    else:
        raise AttributeError(f"module 'pypto' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
