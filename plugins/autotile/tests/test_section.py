"""The report's part on tiles: the pick and the runners-up of every product that was asked about."""

from __future__ import annotations

from pathlib import Path

from pypto_core.host import load_host
from pypto_core.ir import DataType
from pypto_core.run import compile
from pypto_plugin_autotile.chooser import choose_l0_tile, config_for, schedule_gates
from pypto_plugin_autotile.section import report_section

KERNEL = """
import pypto_core.language as pl

@pl.program
class Kernel:
    @pl.function(type=pl.FunctionType.InCore)
    def main(self, a: pl.Tensor[[256, 512], pl.BF16], b: pl.Tensor[[512, 256], pl.BF16],
             out: pl.Out[pl.Tensor[[256, 256], pl.FP32]]) -> pl.Tensor[[256, 256], pl.FP32]:
        x = pl.load(a, [0, 0], [256, 512], target_memory=pl.Mem.Mat)
        y = pl.load(b, [0, 0], [512, 256], target_memory=pl.Mem.Mat)
        big = pl.matmul(x, y)
        return pl.store(big, [0, 0], out)
"""


def test_the_pick_comes_first(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL)
    backend = load_host().backend("910b")
    text = report_section(compile(path, backend="910b"))
    config = config_for(backend, 256, 256, 512, DataType.BF16, **schedule_gates())
    best = choose_l0_tile(config)
    lines = text.splitlines()
    assert lines[0].startswith("**big**") and "256 x 256 x 512" in lines[0] and "kernel.py:11:" in lines[0]
    assert lines[4].startswith(f"| {best.m}, {best.n}, {best.k} |")
    assert 1 < len(lines[4:]) <= 7


def test_nothing_is_said_without_products() -> None:
    example = Path(__file__).resolve().parents[3] / "examples" / "kernels" / "softmax.py"
    assert report_section(compile(example, backend="910b")) == ""
