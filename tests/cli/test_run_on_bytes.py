"""``pypto run --engine bytes`` on a plan that is wrong, for a kernel that ends on buffers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest

from pypto_core.cli import main
from pypto_core.cli import run as command
from pypto_core.ir import (
    ConstInt,
    DataType,
    FunctionIRStage,
    MemorySpace,
    Mutator,
    Program,
    TileType,
    Var,
    map_functions,
    replace,
)

KERNEL = """
import pypto_core.language as pl

@pl.program
class Sum:
    @pl.function(type=pl.FunctionType.InCore)
    def sum(self, a: pl.Tensor[[32, 64], pl.FP32], out: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        x = pl.load(a, [0, 0], [16, 64])
        y = pl.load(a, [16, 0], [16, 64])
        return pl.store(pl.add(x, y), [0, 0], out)
"""


class AllAtZero(Mutator):
    """Puts every tile of Vec at the first byte."""

    def visit_def(self, var: Var) -> Var:
        """The variable there."""
        kind = var.type
        if not isinstance(kind, TileType) or kind.memory_space is not MemorySpace.Vec or kind.memref is None:
            return super().visit_def(var)
        new = Var(
            var.name_hint,
            replace(kind, memref=replace(kind.memref, byte_offset=ConstInt(0, DataType.INT64))),
            span=var.span,
        )
        self.remap[var] = new
        return new


def wrongly_planned(program: Program) -> Program:
    made = map_functions(program, lambda f: AllAtZero().visit(f))
    assert isinstance(made, Program)
    return made


def test_a_wrong_plan_shows_although_handles_of_buffers_name_no_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "sum.py"
    path.write_text(KERNEL)
    wanted = ["run", str(path), "-b", "910b", "--engine", "bytes"]
    assert main(wanted) == 0
    compile_ = command.compile

    def wrong(*args: Any, **options: Any) -> Any:
        compiled = compile_(*args, **options)
        assert any(f.ir_stage is FunctionIRStage.Buffer for f in compiled.program)
        in_tiles = [
            attrs.evolve(stage, program=wrongly_planned(stage.program))
            if all(f.ir_stage is FunctionIRStage.Functional for f in stage.program)
            else stage
            for stage in compiled.stages
        ]
        return attrs.evolve(compiled, stages=in_tiles)

    monkeypatch.setattr(command, "compile", wrong)
    capsys.readouterr()
    assert main(wanted) == 2
    shown = capsys.readouterr().err
    assert "SIM-010" in shown and "'x'" in shown
    assert all(f"sum.py:{line}" in shown for line in (8, 9, 10))  # x, what overwrote it, who reads it
