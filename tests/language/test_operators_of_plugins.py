"""Operators of installed plugins are known wherever kernels are read; nobody else pays for looking."""

from __future__ import annotations

import os
import subprocess
import sys

TEXT = """
import pypto_core.language as pl
import pypto_core.language.distributed as pld

@pl.function(type=pl.FunctionType.InCore)
def f(x: pld.DistributedTensor[[4, 1], pl.INT32]):
    pld.tensor.barrier(x)
"""
PLAIN = """
import pypto_core.language as pl

@pl.function(type=pl.FunctionType.InCore)
def f(x: pl.Tensor[[16, 16], pl.FP32]):
    t = pl.load(x, [0, 0], [16, 16])
    u = pl.create_tile([16, 16], dtype=pl.FP32)
    pl.store(pl.add(t, u), [0, 0], x)
"""


def said(code: str, plugins: str | None = None) -> str:
    """What a new process prints."""
    environment = {k: v for k, v in os.environ.items() if k != "PYPTO_PLUGINS"}
    if plugins is not None:
        environment["PYPTO_PLUGINS"] = plugins
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_text_is_read_outside_of_any_context() -> None:
    code = f"""
from pypto_core.language import parse
from pypto_core.ops import op_of
from pypto_core.text import print_program
read = parse({TEXT!r})
print(print_program(read))
"""
    assert "pld.tensor.barrier(x)" in said(code)


def test_a_program_from_bytes_is_printed_in_a_process_that_read_nothing() -> None:
    stored = said(f"""
from pypto_core.language import parse
from pypto_core.text import dumps
print(dumps(parse({TEXT!r})).hex())
""").strip()
    code = f"""
from pypto_core.text import loads, print_program
print(print_program(loads(bytes.fromhex({stored!r}))))
"""
    assert "pld.tensor.barrier(x)" in said(code)


def test_a_kernel_of_the_kernels_own_operators_loads_no_plugin() -> None:
    code = f"""
import sys
import pypto_core.language as pl
import pypto_core.language.distributed
pl.parse({PLAIN!r})
pl.load, pl.tile.matmul, pl.create_tensor, pl.tensor.add
print(sorted(name for name in sys.modules if name.startswith("pypto_plugin_")))
"""
    assert said(code).strip() == "[]"


def test_what_to_do_about_a_plugin_that_is_left_out() -> None:
    code = f"""
import pypto_core.language as pl
import pypto_core.language.distributed as pld
from pypto_core.diagnostics import DiagnosticError
try:
    pl.parse({TEXT!r})
except DiagnosticError as error:
    print(error.diagnostics[0].message, "|", error.diagnostics[0].remedy)
try:
    pld.window
except AttributeError as error:
    print(error)
"""
    assert said(code, "-distributed").splitlines() == [
        "pld has no 'tensor.barrier' | unblock pypto-plugin-distributed: PYPTO_PLUGINS leaves it out",
        "pld has no 'window': unblock pypto-plugin-distributed: PYPTO_PLUGINS leaves it out",
    ]
