"""Kernels brought to the place where it is decided about them, and through the whole of the default pipeline."""

from __future__ import annotations

from functools import cache
from typing import Any

from buffer_parts import FP32_64, source

from pypto_core.diagnostics import DiagnosticError
from pypto_core.host import Host, load_host
from pypto_core.ir import Function, FunctionIRStage, Program
from pypto_core.run import Compiled, compile
from pypto_plugin_buffer_ir.select.decide import why_tile


@cache
def host() -> Host:
    """What is installed."""
    return load_host()


class _Stop:
    """Keeps the program behind one pass."""

    def __init__(self, name: str) -> None:
        self.name, self.program = name, None

    def after_pass(self, run: Any, step: Any) -> None:
        if step.pass_.name == self.name:
            self.program = run.program


def behind(name: str, program: Program, planner: str = "pypto", **options: Any) -> Program:
    """The program behind a pass of the default pipeline."""
    stop = _Stop(name)
    try:
        compile(
            program, backend="910b", planner=planner, host=host(), instruments=[stop], emit=False,
            verification="none", **options,
        )  # fmt: skip
    except DiagnosticError:
        if stop.program is None:
            raise
    assert stop.program is not None, f"{name} does not run"
    return stop.program


def placed(program: Program, planner: str = "pypto") -> Function:
    """Kernel ``k`` with MemRefs, as it is judged."""
    return behind("InitMemRef", program, planner, enable_buffer_ir=False)["k"]


def reason(body: str | Program, params: str = FP32_64, planner: str = "pypto") -> str:
    """Why a kernel stays in tiles; empty when it does not."""
    program = source(body, params) if isinstance(body, str) else body
    found = why_tile(placed(program, planner))
    return "" if found is None else str(found)


def compiled(program: Program, planner: str = "pypto", backend: str = "910b", **options: Any) -> Compiled:
    """All the way, without reading each step's text back: that is what other tests do."""
    return compile(program, backend=backend, planner=planner, host=host(), verification="basic", **options)


def on_buffers(program: Program, name: str = "k") -> bool:
    """Whether a kernel ended on buffers."""
    return program[name].ir_stage is FunctionIRStage.Buffer
