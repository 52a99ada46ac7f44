"""Diagnostic checks: what each finds, when it runs, and where its findings go."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pypto
import pypto.language as pl
from pypto import DataType, backend, ir, passes
from pypto.ir.pass_manager import PassManager

U = ir.Span.unknown()
C, PRE, POST = (
    passes.DiagnosticCheck,
    passes.DiagnosticPhase.PRE_PIPELINE,
    passes.DiagnosticPhase.POST_PIPELINE,
)
ALL = passes.DiagnosticCheckRegistry.get_all_checks()

SUSPICIOUS = """
@pl.program
class Suspicious:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(self, a: pl.Tensor[[64, 16], pl.FP32], n: pl.Scalar[pl.INDEX],
               out: pl.Out[pl.Tensor[[64, 16], pl.FP32]]) -> pl.Tensor[[64, 16], pl.FP32]:
        t = pl.load(a, [0, 0], [64, 16])
        idle = pl.exp(t)
        _meant = pl.exp(t)
        for i, (k,) in pl.range(4, init_values=(n,)):
            more = k + i
            last = pl.yield_(more)
        stored = pl.store(t, [0, 0], out)
        return out

    @pl.function
    def main(self, x: pl.Tensor[[64, 16], pl.FP32], out: pl.Out[pl.Tensor[[64, 16], pl.FP32]]):
        lost = pl.tensor.assemble(out, x, [0, 0])
"""


@pytest.fixture
def program() -> Iterator[Any]:
    """One finding for each check; the 910B wants rows of 512 bytes, these have 64."""
    backend.reset_for_testing()
    backend.set_backend_type(backend.BackendType.Ascend910B)
    yield pl.parse_program(SUSPICIOUS)
    backend.reset_for_testing()


def found(checks: Any, phase: Any, program: Any) -> list[tuple[str, str, str]]:
    """Severity, rule and the quoted names of each finding."""
    result = passes.DiagnosticCheckRegistry.run_checks(checks, phase, program)
    return [(d.severity.name, d.rule_name, "/".join(d.message.split("'")[1::2])) for d in result]


def test_what_each_check_finds(program: Any) -> None:
    assert found(ALL, PRE, program) == [
        ("Warning", "UnusedVariableCheck", "idle"),
        ("Warning", "UnusedControlFlowResultCheck", "last"),
        ("Warning", "OutParamWriteDropped", "out/lost"),
    ]
    one = passes.DiagnosticCheckSet([C.UnusedControlFlowResult])
    assert [rule for _, rule, _ in found(one, PRE, program)] == ["UnusedControlFlowResultCheck"]
    assert found(ALL, passes.DiagnosticPhase.POST_PASS, program) == []
    (load, store) = passes.DiagnosticCheckRegistry.run_checks(ALL, POST, program)
    assert (load.severity, load.hint_code, load.rule_name) == (
        passes.DiagnosticSeverity.PerfHint, "PH001", "TileInnermostDimGranularity",
    )  # fmt: skip
    assert "64 bytes" in load.message and "512" in load.message and "tile.store" in store.message
    backend.reset_for_testing()
    assert passes.DiagnosticCheckRegistry.run_checks(ALL, POST, program) == []


def test_the_sets_of_checks() -> None:
    registry = passes.DiagnosticCheckRegistry
    assert registry.get_perf_hint_checks().to_list() == [C.TileInnermostDimGranularity]
    assert not registry.get_warning_checks().contains(C.TileInnermostDimGranularity)
    assert registry.get_warning_checks().union_with(registry.get_perf_hint_checks()) == ALL


def test_pipelines_print_warnings_first_and_hints_last(program: Any, capsys: Any) -> None:
    with passes.PassContext([]):  # one check is off by default
        PassManager().run_passes(program)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split("]")[0] for line in lines] == [
        "[warning PT411",
        "[warning PT413",
        *["[perf_hint PH001"] * 2,
    ]
    assert lines[0] == "[warning PT411] UnusedVariableCheck: variable 'idle' is never used at <string>:8:9"
    assert lines[-1].startswith(
        "[perf_hint PH001] TileInnermostDimGranularity: buffer.store moves 64 bytes per row"
    )
    with passes.PassContext([], disabled_diagnostics=ALL):
        PassManager().run_passes(program)
    with passes.PassContext([], diagnostic_phase=passes.DiagnosticPhase.NONE):
        PassManager().run_passes(program)
    assert capsys.readouterr().err == ""
    passes.PassPipeline().run(program)  # without a context none is off
    assert "PT412" in capsys.readouterr().err


def test_hints_go_to_the_report_and_one_line_says_so(program: Any, tmp_path: Path, capsys: Any) -> None:
    with passes.PassContext([passes.ReportInstrument(tmp_path)], disabled_diagnostics=()):
        PassManager().run_passes(program)
    hints = (tmp_path / "perf_hints.log").read_text().splitlines()
    assert hints[-1].startswith("[perf_hint PH001]")
    err = capsys.readouterr().err
    assert "[perf_hint PH001]" not in err and str(tmp_path / "perf_hints.log") in err


def test_an_instrument_of_its_own_stands_in_for_the_pipelines_checks(program: Any, capsys: Any) -> None:
    only = passes.DiagnosticInstrument(passes.DiagnosticCheckSet([C.UnusedControlFlowResult]))
    with passes.PassContext([only]):
        passes.PassPipeline().run(program)
    assert [line.split()[1] for line in capsys.readouterr().err.splitlines()] == ["PT412]"]


def test_what_a_pass_reports_is_printed_at_once(program: Any, capsys: Any, tmp_path: Path) -> None:
    kernel = pl.parse_program("""
@pl.program
class Odd:
    @pl.function(type=pl.FunctionType.InCore)
    def main(self, a: pl.Tensor[[16, 2040], pl.BF16], b: pl.Tensor[[2040, 64], pl.BF16],
             out: pl.Out[pl.Tensor[[16, 64], pl.FP32]]) -> pl.Tensor[[16, 64], pl.FP32]:
        lhs = pl.load(a, [0, 0], [16, 2040], target_memory=pl.Mem.Mat)
        rhs = pl.load(b, [0, 0], [2040, 64], target_memory=pl.Mem.Mat)
        c = pl.matmul(lhs, rhs)
        done = pl.store(c, [0, 0], out)
        return done
""")
    assert passes.auto_tile_matmul_l0()(kernel) is kernel
    start = (
        "[perf_hint PH-AT-007] AutoTileMatmulL0: tile.matmul: K=2040 is not a multiple of the cube fractal 16"
    )
    assert capsys.readouterr().err.startswith(start)
    with passes.PassContext([passes.ReportInstrument(tmp_path)]):
        passes.auto_tile_matmul_l0()(kernel)
    assert (tmp_path / "perf_hints.log").read_text().startswith(
        start
    ) and start not in capsys.readouterr().err
    level = pypto.log.LOGGER.level
    pypto.set_log_level(pypto.LogLevel.ERROR)
    passes.auto_tile_matmul_l0()(kernel)
    pypto.log.LOGGER.setLevel(level)
    assert capsys.readouterr().err == ""


def test_numbers_of_findings_have_names() -> None:
    x, y = ir.Var("x", ir.ScalarType(DataType.INT64), U), ir.Var("y", ir.ScalarType(DataType.INT64), U)
    twice = ir.SeqStmts([ir.AssignStmt(y, x, U), ir.AssignStmt(y, x, U), ir.ReturnStmt([y], U)], U)
    program = ir.Program([ir.Function("f", [x], [x.type], twice, U)], "p", U)
    (found,) = passes.PropertyVerifierRegistry.verify([passes.IRProperty.SSAForm], program)
    assert found.error_code == passes.SSAErrorType.MULTIPLE_ASSIGNMENT == 1
    bounds = (passes.TypeCheckErrorType, 101, 111), (passes.NestedCallErrorType, 201, 205)
    assert all(sorted(cls) == [*range(first, last + 1)] for cls, first, last in bounds)
    assert passes.UseAfterDefErrorType.USE_BEFORE_DEF == 401 and issubclass(pypto.Error, Exception)


def test_the_weak_form_of_canonical_views_needs_no_strides() -> None:
    view = ir.TensorView([], ir.TensorLayout.DN)
    a = ir.Var("a", ir.TensorType([64, 32], DataType.FP32, None, view), U)
    program = ir.Program([ir.Function("f", [a], [], ir.SeqStmts([], U), U)], "p", U)
    assert passes.verify_tensor_view_canonical(program) == []
    assert len(passes.verify_tensor_view_canonical(program, require_materialized=True)) == 1
