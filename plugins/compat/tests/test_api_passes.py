"""Every name of ``pypto.passes``, ``pypto.backend`` and their modules that applies here, with what it gives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pypto
from pypto import backend, ir, passes
from pypto.ir.pass_manager import OptimizationStrategy, PassManager
from pypto.language import parse
from pypto.pypto_core.passes import factory_name, l0_tile_chooser, stmt_dependency_analysis
from pypto_core.host import load_host

PASSES = """
Pass PassPipeline PassProperties IRPropertySet IRProperty DiagnosticCheckSet PassContext PassInstrument
CallbackInstrument VerificationInstrument ReportInstrument MemoryPlanner VerificationLevel VerificationMode
DiagnosticPhase DiagnosticSeverity DiagnosticCheck RuntimeKind runtime_kind_from_name runtime_kind_to_name
run_verifier create_function_pass create_program_pass PropertyVerifierRegistry verify_properties
get_structural_properties get_verified_properties get_default_verify_properties
get_default_verification_level get_default_diagnostic_phase l0_tile_chooser stmt_dependency_analysis
"""
BACKEND = """
BackendType set_backend_type get_backend_type is_backend_configured reset_for_testing get_backend_instance
Backend
"""
P = passes.IRProperty

SOURCE = """
import pypto.language as pl

@pl.program
class Main:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(self, a: pl.Tensor[[64, 64], pl.FP32], out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]) -> pl.Tensor[[64, 64], pl.FP32]:
        x = pl.load(a, [0, 0], [64, 64])
        x = pl.add(x, 1.0)
        return pl.store(x, [0, 0], out)
"""  # noqa: E501


@pytest.fixture(autouse=True)
def machine() -> Iterator[None]:
    """Nothing chosen before and after."""
    backend.reset_for_testing()
    yield
    backend.reset_for_testing()


@pytest.fixture
def program() -> Any:
    return parse(SOURCE)


def test_the_names_exist() -> None:
    assert [n for n in PASSES.split() if not hasattr(passes, n)] == []
    assert [n for n in BACKEND.split() if not hasattr(backend, n)] == []
    from pypto import pypto_core

    assert pypto_core.passes is passes is pypto.passes
    assert pypto_core.backend.BackendType is backend.BackendType
    assert pypto_core.ir.Var is ir.Var
    assert pypto_core.codegen is pypto.codegen


# Factories


@pytest.mark.parametrize(
    ("name", "factory"),
    [
        ("ConvertToSSA", "convert_to_ssa"),
        ("CanonicalizeIOOrder", "canonicalize_io_order"),
        ("AutoTileMatmulL0", "auto_tile_matmul_l0"),
        ("FlattenTileNdTo2D", "flatten_tile_nd_to_2d"),
        ("InjectGMPipeBuffer", "inject_gm_pipe_buffer"),
        ("InitMemRef", "init_mem_ref"),
        ("SelectBufferIRFunctions", "select_buffer_ir_functions"),
        ("OutlineIncoreScopes", "outline_incore_scopes"),
        ("SynthesizeAllReduceSignals", "synthesize_allreduce_signals"),
        ("InsertMxScaleAddr", "insert_mx_scale_addr"),
        ("MaterializeDistTensorCtx", "materialize_dist_tensor_ctx"),
        ("ClassifyIterArgCarry", "classify_iter_arg_carry"),
    ],
)
def test_factory_names(name: str, factory: str) -> None:
    assert factory_name(name) == factory


def test_every_installed_pass_has_a_factory() -> None:
    installed = load_host().passes
    assert {getattr(passes, factory_name(name))().get_name() for name in installed} == set(installed)
    assert {factory_name(name) for name in installed} <= set(dir(passes))
    pass_ = passes.convert_to_ssa()
    contract = installed["ConvertToSSA"].contract
    assert pass_.get_required_properties().names == sorted(contract.requires)
    assert pass_.get_produced_properties().contains(P.SSAForm)
    assert pass_.get_invalidated_properties() == passes.IRPropertySet([P.NormalizedStmtStructure])
    assert passes.auto_tile_matmul_l0().get_invalidated_properties().empty()
    lost = passes.lower_tile_to_buffer().get_invalidated_properties()
    assert (
        lost.contains(P.HasMemRefs)
        and lost.contains(P.TileStorageLegalized)
        and not lost.contains(P.BufferIR)
    )
    assert passes.lower_tile_to_buffer().get_produced_properties().contains(P.BufferIR)
    with pytest.raises(AttributeError, match="there is no pass 'convert_to_sse'"):
        _ = passes.convert_to_sse
    with pytest.raises(TypeError, match="takes no argument 'deep=True'"):
        passes.convert_to_ssa(deep=True)


def test_a_pass_that_no_distribution_brings_here_says_which_would() -> None:
    missing = sorted(set(dir(passes)) & {"lower_nothing"})
    assert missing == []
    from pypto_core.host import catalogued

    absent = [n for n in catalogued("pass") if n not in load_host().passes]
    for name in absent:
        with pytest.raises(AttributeError, match=f"brings the pass {name}: .*{catalogued('pass')[name]}"):
            getattr(passes, factory_name(name))


def test_calling_a_pass(program: Any) -> None:
    after = passes.convert_to_ssa()(program)
    assert after is not program and passes.convert_to_ssa()(after) is after
    assert "x__ssa_v1" in str(after)
    alone = passes.convert_to_ssa()(program["kernel"])
    ir.assert_structural_equal(alone, after["kernel"])


# Contexts


def test_context_arguments_by_position_and_their_getters() -> None:
    seen = passes.CallbackInstrument()
    checks = passes.DiagnosticCheckSet([passes.DiagnosticCheck.UnusedVariable])
    context = passes.PassContext(
        [seen],
        passes.VerificationLevel.NONE,
        passes.DiagnosticPhase.POST_PASS,
        checks,
        passes.MemoryPlanner.DSA_RP,
        True,
        passes.RuntimeKind.HOST_BUILD_GRAPH,
        enable_buffer_ir=False,
    )
    assert passes.PassContext.current() is None
    with context:
        assert passes.PassContext.current() is context
        with passes.PassContext([]) as inner:
            assert passes.PassContext.current() is inner
        assert passes.PassContext.current() is context
    assert passes.PassContext.current() is None
    assert (context.get_instruments(), context.get_verification_level()) == (
        [seen],
        passes.VerificationLevel.NONE,
    )
    assert context.get_diagnostic_phase() is passes.DiagnosticPhase.POST_PASS
    assert context.get_disabled_diagnostics() is checks
    assert context.get_memory_planner() is passes.MemoryPlanner.DSA_RP
    assert (context.get_enable_pypto_l0c_double_buffer(), context.get_enable_buffer_ir()) == (True, False)
    assert context.get_runtime() is passes.RuntimeKind.HOST_BUILD_GRAPH


def test_defaults_of_a_context() -> None:
    context = passes.PassContext([])
    assert context.get_verification_level() is passes.get_default_verification_level()
    assert context.get_diagnostic_phase() is passes.get_default_diagnostic_phase()
    assert list(context.get_disabled_diagnostics()) == [passes.DiagnosticCheck.UnusedControlFlowResult]
    assert context.get_memory_planner() is passes.MemoryPlanner.PYPTO
    assert context.get_enable_pypto_l0c_double_buffer() is False and context.get_enable_buffer_ir() is True
    assert context.get_runtime() is passes.RuntimeKind.TENSORMAP_AND_RINGBUFFER


def test_a_pass_sees_every_setting(program: Any) -> None:
    seen: list[Any] = []

    def look(node: Any) -> Any:
        seen.append((passes.PassContext.current(), ir.PassContext is passes.PassContext))
        return node

    backend.set_backend_type(backend.BackendType.Ascend950)
    outer = passes.PassContext(
        [], passes.VerificationLevel.NONE, passes.DiagnosticPhase.NONE, ["X"], passes.MemoryPlanner.PTOAS, True,
        passes.RuntimeKind.HOST_BUILD_GRAPH, enable_buffer_ir=False,
    )  # fmt: skip
    with outer:
        passes.create_program_pass(look)(program)
    [(inner, same)] = seen
    assert same and inner is not outer
    assert inner.get_memory_planner() is passes.MemoryPlanner.PTOAS
    assert (inner.get_runtime(), inner.get_diagnostic_phase()) == (
        outer.get_runtime(),
        outer.get_diagnostic_phase(),
    )
    assert (inner.enable_pypto_l0c_double_buffer, inner.enable_buffer_ir) == (True, False)
    assert list(inner.get_disabled_diagnostics()) == ["X"]


def test_the_kernels_context_carries_the_settings() -> None:
    from pypto_core.run import PassContext

    backend.set_backend_type(backend.BackendType.Ascend910B)
    with passes.PassContext([], memory_planner=passes.MemoryPlanner.PTOAS, enable_buffer_ir=False):
        kernel = PassContext.current()
        assert kernel is not None and kernel.backend is not None
        assert (kernel.planner, kernel.backend.name) == ("ptoas", "910b")
        assert kernel.option("enable_buffer_ir") is False
        assert "planner:ptoas" in kernel.capabilities and "option:enable_buffer_ir" not in kernel.capabilities
    with PassContext(planner="dsa_rp"):
        assert passes.PassContext.current().get_memory_planner() is passes.MemoryPlanner.DSA_RP
    with PassContext(planner="mine"), pytest.raises(ValueError, match="planner mine has no name in PyPTO"):
        passes.PassContext.current()


# Instruments


def test_callbacks_hear_of_passes_called_and_run(program: Any) -> None:
    heard: list[tuple[str, str, bool]] = []
    instrument = passes.CallbackInstrument(
        before_pass=lambda p, node: heard.append(("before", p.get_name(), node is program)),
        after_pass=lambda p, node: heard.append(("after", p.get_name(), node is program)),
        name="ears",
    )
    assert instrument.get_name() == "ears"
    assert isinstance(instrument, passes.PassInstrument)
    with passes.PassContext([instrument]):
        passes.convert_to_ssa()(program)
        pipeline = passes.PassPipeline()
        pipeline.add_pass(passes.normalize_stmt_structure())
        pipeline.run(program)
    assert heard == [
        ("before", "ConvertToSSA", True),
        ("after", "ConvertToSSA", False),
        ("before", "NormalizeStmtStructure", True),
        ("after", "NormalizeStmtStructure", True),
    ]


def promises(name: str) -> Any:
    """A pass that says it makes what it does not make."""
    return passes.create_program_pass(
        lambda node: node, "Liar", passes.PassProperties(produced=passes.IRPropertySet([name]))
    )


@pytest.mark.parametrize(
    ("mode", "fails"),
    [
        (passes.VerificationMode.NONE, False),
        (passes.VerificationMode.BEFORE, False),
        (passes.VerificationMode.AFTER, True),
        (passes.VerificationMode.BEFORE_AND_AFTER, True),
    ],
)
def test_verification_looks_when_it_is_told(program: Any, mode: Any, fails: bool) -> None:
    with passes.PassContext([passes.VerificationInstrument(mode)]):
        if not fails:
            assert promises("SSAForm")(program) is program
            return
        with pytest.raises(pypto.Error, match="SSAForm"):
            promises("SSAForm")(program)


def test_verification_before_checks_what_is_required(program: Any) -> None:
    needy = passes.create_program_pass(
        lambda node: node, "Needy", passes.PassProperties(required=passes.IRPropertySet([P.SSAForm]))
    )
    with passes.PassContext([passes.VerificationInstrument(passes.VerificationMode.BEFORE)]):
        with pytest.raises(pypto.Error, match="Pre-verification failed before pass 'Needy'"):
            needy(program)
        assert needy(passes.convert_to_ssa()(program)) is not None
    assert needy(program) is program


def test_reports_are_written(program: Any, tmp_path: Path) -> None:
    instrument = passes.ReportInstrument(tmp_path / "report")
    assert instrument.get_output_dir() == str(tmp_path / "report")
    with passes.PassContext([instrument]):
        passes.convert_to_ssa()(program)
    assert '"pass": "ConvertToSSA"' in (tmp_path / "report" / "passes.json").read_text()


# Pipelines


def test_custom_passes_and_pipelines(program: Any) -> None:
    def rename(function: Any) -> Any:
        return ir.Function(
            "renamed", list(zip(function.params, function.param_directions, strict=True)),
            list(function.return_types), function.body, function.span, type=function.func_type,
        )  # fmt: skip

    pass_ = passes.create_function_pass(rename)
    assert (pass_.get_name(), passes.create_program_pass(rename).get_name()) == (
        "FunctionPass",
        "ProgramPass",
    )
    pipeline = passes.PassPipeline()
    for item in (passes.convert_to_ssa(), pass_):
        pipeline.add_pass(item)
    assert pipeline.get_pass_names() == ["ConvertToSSA", "FunctionPass"]
    assert pipeline.get_passes()[1] is pass_
    assert list(pipeline.run(program).functions) == ["renamed"]


def test_a_pipeline_refuses_a_pass_whose_needs_are_not_met(program: Any) -> None:
    pipeline = passes.PassPipeline()
    pipeline.add_pass(passes.flatten_call_expr())
    with pytest.raises(pypto.Error, match="SSAForm"):
        pipeline.run(program)


def test_the_manager_settles_its_planner(program: Any) -> None:
    def names(planner: passes.MemoryPlanner) -> list[str]:
        with passes.PassContext([], memory_planner=planner):
            return PassManager.get_strategy(OptimizationStrategy.Default).get_pass_names()

    pypto_, dsa, ptoas = map(
        names, (passes.MemoryPlanner.PYPTO, passes.MemoryPlanner.DSA_RP, passes.MemoryPlanner.PTOAS)
    )
    assert "MemoryReuse" in pypto_ and "MemoryReuse" not in dsa + ptoas
    assert (
        "AllocateMemoryAddr" in pypto_ and "AllocateMemoryAddr" in dsa and "AllocateMemoryAddr" not in ptoas
    )
    manager = PassManager(OptimizationStrategy.Default)
    assert manager.pass_names == [p.get_name() for p in manager.passes] == pypto_
    wrong = pytest.raises(RuntimeError, match="made for planner pypto and can't run with planner ptoas")
    with passes.PassContext([], memory_planner=passes.MemoryPlanner.PTOAS), wrong:
        manager.run_passes(program)
    with pytest.raises(ValueError, match="nowhere to dump"):
        manager.run_passes(program, dump_ir=True)
    with pytest.raises(ValueError, match="analyze_auto_scopes_for_deps"):
        PassManager(analyze_auto_scopes_for_deps=True)


def test_a_prefix_of_the_passes_runs_as_a_pipeline(program: Any) -> None:
    pipeline = passes.PassPipeline()
    manager = PassManager()
    for pass_ in manager.passes[: manager.pass_names.index("FlattenCallExpr") + 1]:
        pipeline.add_pass(pass_)
    after = pipeline.run(program)
    assert passes.PropertyVerifierRegistry.verify([P.SSAForm, P.NoNestedCalls], after) == []


@pytest.mark.parametrize("planner", list(passes.MemoryPlanner), ids=lambda p: p.name)
def test_a_run_goes_through_the_passes_of_the_manager(program: Any, planner: Any, tmp_path: Path) -> None:
    backend.set_backend_type(backend.BackendType.Ascend910B)
    with passes.PassContext([], memory_planner=planner):
        manager = PassManager()
        after = manager.run_passes(program, dump_ir=True, output_dir=tmp_path)
        pipeline, one_by_one = passes.PassPipeline(), program
        for pass_ in manager.passes:
            pipeline.add_pass(pass_)
            one_by_one = pass_(one_by_one)
        ir.assert_structural_equal(pipeline.run(program), after)
        ir.assert_structural_equal(one_by_one, after)
    dumped = [path.name for path in sorted(tmp_path.glob("*.py"))]
    names = [f"{number:02}_after_{name}.py" for number, name in enumerate(manager.pass_names, 1)]
    assert dumped == ["00_frontend.py", *names]
    installed = set(load_host().passes) - {"LowerPipelineToAddressedSlots"}
    left_out = {"PYPTO": set(), "DSA_RP": {"MemoryReuse"}, "PTOAS": {"MemoryReuse", "AllocateMemoryAddr"}}
    assert set(manager.pass_names) == installed - left_out[planner.name]
    assert manager.pass_names.count("Simplify") == 2


# Properties and verifiers


def test_property_sets() -> None:
    some = passes.IRPropertySet()
    assert some.empty() and some == passes.IRPropertySet() and str(some) == "{}"
    some.insert(P.TypeChecked)
    some.insert(P.SSAForm)
    some.insert("acme.Padded")
    assert some.to_list() == [P.SSAForm, P.TypeChecked, "acme.Padded"]
    assert str(some) == "{SSAForm, TypeChecked, acme.Padded}" and len(some) == 3
    other = passes.IRPropertySet([P.SSAForm, P.HasMemRefs])
    assert some.contains(P.SSAForm) and not some.contains(P.HasMemRefs)
    assert some.intersection(other).to_list() == [P.SSAForm]
    assert some.union_with(other).contains_all(other) and not some.contains_all(other)
    assert some.difference(other).to_list() == [P.TypeChecked, "acme.Padded"]
    other.remove(P.HasMemRefs)
    other.remove(P.HasMemRefs)
    assert other == passes.IRPropertySet([P.SSAForm]) and hash(other) == hash(
        passes.IRPropertySet([P.SSAForm])
    )
    bits = [p.value for p in (P.SSAForm, P.HierarchyOutlined, P.UnrollResolved, P.AtomicAddDtypeValid)]
    assert bits == [0, 15, 35, 40]
    checks = passes.DiagnosticCheckSet()
    checks.insert(passes.DiagnosticCheck.OutParamWriteDropped)
    assert checks.to_list() == [passes.DiagnosticCheck.OutParamWriteDropped]
    props = passes.PassProperties(some, other)
    assert (props.required, props.produced, props.invalidated.empty()) == (some, other, True)


def test_the_predefined_sets() -> None:
    structural = passes.get_structural_properties()
    assert (
        structural.contains(P.PipelineLoopValid)
        and not structural.contains(P.SSAForm)
        and len(structural) == 11
    )
    assert passes.get_verified_properties().contains_all(passes.IRPropertySet([P.SSAForm, P.AivSplitValid]))
    assert len(passes.get_default_verify_properties()) == 10


def test_verifiers_report_and_raise(program: Any) -> None:
    wanted = passes.IRPropertySet([P.SSAForm])
    [found] = passes.PropertyVerifierRegistry.verify(wanted, program)
    assert (found.severity, found.rule_name, found.hint_code) == (
        passes.DiagnosticSeverity.Error,
        "SSAVerify",
        "",
    )
    assert found.error_code in range(1, 7) and found.span.begin_line == 9 and "x" in found.message
    report = passes.PropertyVerifierRegistry.generate_report([found])
    assert report.startswith("IR Verification Report") and found.message in report
    for call in (
        lambda: passes.PropertyVerifierRegistry.verify_or_throw(wanted, program),
        lambda: passes.verify_properties(wanted, program, "Some"),
        lambda: passes.run_verifier(wanted)(program),
    ):
        with pytest.raises(pypto.Error, match="for properties {SSAForm}"):
            call()
    after = passes.convert_to_ssa()(program)
    assert passes.run_verifier(wanted)(after) is after
    assert passes.run_verifier().get_name() == "IRVerifier"


def test_runtime_kinds() -> None:
    assert passes.runtime_kind_from_name("host_build_graph") is passes.RuntimeKind.HOST_BUILD_GRAPH
    assert passes.runtime_kind_to_name(passes.RuntimeKind.HOST_BUILD_GRAPH) == "host_build_graph"
    with pytest.raises(ValueError, match="there is no runtime 'x'"):
        passes.runtime_kind_from_name("x")
    assert [p.value for p in passes.MemoryPlanner] == [0, 1, 2] and passes.MemoryPlanner.DSA_RP.value == 2


# The tile chooser and dependencies


def test_the_tile_chooser_answers_a_writable_question() -> None:
    config = l0_tile_chooser.L0TileConfig()
    assert (config.l0a_bytes, config.bytes_a, config.align_m, config.bw_a, config.mad_head) == (
        0,
        2,
        16,
        129.7,
        21,
    )
    config.M, config.N, config.K = 16, 256, 512
    with pytest.raises(ValueError, match="L0 capacities must be positive"):
        l0_tile_chooser.choose_l0_tile(config)
    handler = backend.get_backend_instance(backend.BackendType.Ascend910B).get_handler()
    config.l0a_bytes, config.l0b_bytes = handler.get_l0a_capacity_bytes(), handler.get_l0b_capacity_bytes()
    config.l0c_bytes = handler.get_l0c_capacity_bytes()
    result = l0_tile_chooser.choose_l0_tile(config)
    # the pick published for this shape of bfloat16 operands
    assert (result.m, result.n, result.k) == (16, 256, 64)
    assert result.stationarity is l0_tile_chooser.Stationarity.OutputStationary
    assert [s.value for s in l0_tile_chooser.Stationarity] == [0, 1, 2]
    assert isinstance(result, l0_tile_chooser.L0TileResult) and result.perf_hint == ""
    with pytest.raises(AttributeError, match="no field 'l0d_bytes'"):
        config.l0d_bytes = 1
    assert "drain_fixed_cycles" in dir(config)


def test_statement_dependencies() -> None:
    text = """
import pypto.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def writes(self, a: pl.Tensor[[8, 8], pl.FP32], o: pl.Out[pl.Tensor[[8, 8], pl.FP32]]) -> pl.Tensor[[8, 8], pl.FP32]:
        t = pl.load(a, [0, 0], [8, 8])
        return pl.store(t, [0, 0], o)

    @pl.function(type=pl.FunctionType.Orchestration)
    def good(self, a: pl.Tensor[[8, 8], pl.FP32], b: pl.Tensor[[8, 8], pl.FP32], o: pl.Out[pl.Tensor[[8, 8], pl.FP32]]):
        p = self.writes(a, o)
        q = self.writes(b, b)
        r = self.writes(p, o)
        return r

    @pl.function(type=pl.FunctionType.Orchestration)
    def bad(self, a: pl.Tensor[[8, 8], pl.FP32], b: pl.Tensor[[8, 8], pl.FP32], o: pl.Out[pl.Tensor[[8, 8], pl.FP32]]):
        p = self.writes(a, o)
        q = self.writes(o, b)
        return q
"""  # noqa: E501
    found = parse(text)
    graph = stmt_dependency_analysis.build_stmt_dependency_graph(found["good"].body, found)
    p, q, r, end = graph.stmts
    edges = [graph.get_predecessors(s) for s in (p, q, r, end)]
    # r reads what p made and writes o after p did; q shares nothing with p
    assert edges == [[], [], [p], [r]]
    stmt_dependency_analysis.check_inout_use_discipline(found["good"].body, found)
    with pytest.raises(pypto.Error, match="InOutUseValid"):
        stmt_dependency_analysis.check_inout_use_discipline(found["bad"].body, found)


@pytest.mark.parametrize("made_with", [True, False])
def test_a_manager_keeps_the_switch_that_it_was_made_with(program: Any, made_with: bool) -> None:
    backend.set_backend_type(backend.BackendType.Ascend910B)
    with passes.PassContext([], enable_buffer_ir=made_with):
        manager = PassManager(OptimizationStrategy.Default)
        manager.run_passes(program)
    refused = pytest.raises(RuntimeError, match="enable_buffer_ir changed")
    with passes.PassContext([], enable_buffer_ir=not made_with), refused:
        manager.run_passes(program)
