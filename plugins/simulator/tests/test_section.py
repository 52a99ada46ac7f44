"""The report's part on time says what the engine says."""

from __future__ import annotations

import re
from pathlib import Path

from pypto_core.contract import entry_function
from pypto_core.host import load_host
from pypto_core.run import compile
from pypto_core.testing import random_inputs
from pypto_plugin_simulator.timing.section import report_section

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "kernels"


def test_every_operation_has_a_box_and_the_times_are_those_of_the_engine() -> None:
    compiled = compile(EXAMPLES / "softmax.py", backend="910b")
    text = report_section(compiled)
    host = load_host()
    function = entry_function(compiled.source)
    result = host.engine("time").load()(
        compiled.program, random_inputs(function), backend=compiled.context.backend, host=host
    )
    core = result.report["time"].slowest
    assert text.count("<rect ") == len(core.schedule.works)
    assert f"{result.report['time'].wall:,.0f} cycles" in text
    rows = re.findall(r"<tr><td>(\w+)</td><td class=\"n\">(\d+)</td>", text)
    assert [(name, int(count)) for name, count in rows] == [(r.pipe.name, r.count) for r in core.pipes]


def test_what_cannot_be_run_is_said(tmp_path: Path) -> None:
    kernel = tmp_path / "long.py"
    kernel.write_text(
        """
import pypto_core.language as pl

@pl.program
class Long:
    @pl.function(type=pl.FunctionType.InCore)
    def main(self, a: pl.Tensor[[16, 32], pl.FP32], out: pl.Out[pl.Tensor[[16, 32], pl.FP32]]):
        for i in pl.range(0, 1000000):
            x = pl.load(a, [0, 0], [16, 32])
            pl.store(x, [0, 0], out)
"""
    )
    shown = report_section(compile(kernel, backend="910b"))
    assert (
        "Not timed: this loop takes 1000000 trips of at least 4 steps each, and a run stops after 100000"
        in shown
    )
