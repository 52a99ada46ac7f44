"""Compile the example kernels for every installed machine, run them on this computer and check them against numpy.

For each kernel and machine it prints the pipeline with the reason for each step, what lies where in memory, the
file for the assembler, and the numeric check with its largest error. Exit code 1 when a check fails.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from pypto_core.cli.memory import memory_rows, print_memory
from pypto_core.cli.output import console, error_console, table
from pypto_core.diagnostics import DiagnosticError
from pypto_core.host import load_host
from pypto_core.ir import Program
from pypto_core.run import Compiled, compile

HERE = Path(__file__).resolve().parent
OUTPUT = HERE.parent / "build" / "demo"
KERNELS = ("add", "scale_add", "softmax", "matmul", "matmul_acc")
PLANNER = "pypto"


def load_example(name: str) -> tuple[ModuleType, Program]:
    """A file of ``examples/kernels`` and the program in it."""
    path = HERE / "kernels" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"pypto_example_{name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    [program] = [value for value in vars(module).values() if isinstance(value, Program)]
    return module, program


def check(module: ModuleType, compiled: Compiled, execute: Any) -> tuple[bool, list[tuple[Any, ...]]]:
    """Run what was compiled; a row per output: name, shape, largest error, tolerance, verdict."""
    arrays = module.inputs(np.random.default_rng(0))
    outputs = execute(compiled.program, arrays).outputs
    rows: list[tuple[Any, ...]] = []
    passed = True
    for name, wanted in module.golden(**arrays).items():
        difference = np.abs(outputs[name].astype(np.float64) - wanted.astype(np.float64))
        error = float(difference.max())
        ok = bool(np.all(difference <= module.TOLERANCE))
        passed &= ok
        shape = "x".join(map(str, wanted.shape))
        rows.append((name, shape, f"{error:.3g}", module.TOLERANCE, "ok" if ok else "WRONG"))
    return passed, rows


def show(compiled: Compiled, folder: Path) -> None:
    """Pipeline, memory and files."""
    out = console()
    steps = [(i, s.instance, s.here, s.origin) for i, s in enumerate(compiled.plan.steps, 1)]
    out.print(table(("", "pass", "why it is here", "from"), steps, right=("",)))
    out.print()
    print_memory(out, memory_rows(compiled))
    for path in compiled.write(folder):
        out.print(f"\nwritten {path.relative_to(HERE.parent)} ({path.stat().st_size} bytes)")


def main() -> int:
    """Run the demo."""
    out, host = console(), load_host()
    execute = host.engine("values").load()
    verdicts: list[tuple[str, str, str]] = []
    for name in KERNELS:
        module, program = load_example(name)
        for backend in host.backends.values():
            out.print(f"\n=== {name} on {backend.title}, planner {PLANNER}\n")
            compiled = compile(program, backend=backend, planner=PLANNER, host=host)
            show(compiled, OUTPUT / name / backend.name)
            passed, rows = check(module, compiled, execute)
            out.print()
            out.print(table(("output", "shape", "max error", "tolerance", "against numpy"), rows))
            verdicts.append((name, backend.name, "ok" if passed else "WRONG"))
    out.print("\n=== summary\n")
    out.print(table(("kernel", "machine", "result"), verdicts))
    return 0 if all(verdict == "ok" for _, _, verdict in verdicts) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except DiagnosticError as error:
        error_console().print(error.render())
        sys.exit(2)
