"""Every name of PyPTO's Python surface, by the place it is looked up in, and which of them nothing stands behind.

The lists are those of the specification of the surface; a name that appears is struck off ``ABSENT``.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

import pypto
import pypto.language as pl
from pypto import DataType, backend, ir, passes

MODULES = """
pypto.language pypto.ir pypto.backend pypto.jit pypto.runtime pypto.ir.pass_manager pypto.ir.builder pypto.ir.op
pypto.ir.printer pypto.ir.instruments pypto.ir.compiled_program pypto.language.parser.diagnostics
pypto.language.parser.diagnostics.exceptions pypto.language.parser.decorator pypto.language.parser.text_parser
pypto.language.typing pypto.jit.decorator pypto.pypto_core pypto.pypto_core.ir pypto.pypto_core.passes
pypto.pypto_core.backend pypto.pypto_core.codegen pypto.pypto_core.testing
"""
NODES = """
Var IterArg MemRef WindowBuffer Call Submit MakeTuple TupleGetItemExpr ConstInt ConstFloat ConstBool BinaryExpr Add Sub
Mul FloorDiv FloorMod FloatDiv Min Max Pow Eq Ne Lt Le Gt Ge And Or Xor BitAnd BitOr BitXor BitShiftLeft BitShiftRight
UnaryExpr Neg Abs Not BitNot Cast AssignStmt EvalStmt SeqStmts ForStmt WhileStmt IfStmt YieldStmt ReturnStmt BreakStmt
ContinueStmt InlineStmt InCoreScopeStmt HierarchyScopeStmt SpmdScopeStmt SplitAivScopeStmt RuntimeScopeStmt
ClusterScopeStmt CommDomainScopeStmt
"""
SURFACE: dict[str, tuple[Any, str]] = {
    "pypto": (
        pypto,
        """language ir backend jit codegen runtime debug DataType Error InternalError LogLevel set_log_level
        get_log_level log_debug log_info log_warn log_error log_fatal log_event check internal_check compile_profiling
        passes testing compile""",
    ),
    "ir": (
        ir,
        NODES
        + """
        IRNode Span Expr Op GlobalVar Stmt ScopeStmt Function Program Type ShapedType TensorType TileType ScalarType
        TupleType ArrayType PtrType UnknownType MemRefType CommCtxType WindowBufferType AsyncEventType AsyncSessionType
        PrefetchAsyncContextType DistributedTensorType TensorView TileView BufferType MultiBufferType VoidType
        MemorySpace Mem TensorLayout TileLayout PadValue CompactMode ForKind FunctionType FunctionIRStage Level Role
        ParamDirection ArgDirection ArgEffect WriteChannel ScopeKind SplitMode CoreType PipeType AtomicType ReduceOp
        NotifyOp WaitCmp InlineLanguage DYNAMIC_DIM OpIRStage BufferAccess BufferResultBehavior get_op_ir_stage
        get_op_output_arity get_op_buffer_arg_effect get_op_buffer_result_spec op_arg_is_workspace create_op_call
        make_call set_call_attrs get_op cast add sub mul truediv floordiv mod pow eq ne lt le gt ge and_ or_ not_ neg
        min_ max_ bit_and bit_or bit_xor bit_not bit_shift_left bit_shift_right op is_op_registered get_op_memory_spec
        get_op_arg_effect op_has_declared_arg_effect op_has_declared_arg_effects get_op_write_channel structural_equal
        assert_structural_equal structural_hash python_print python_print_type serialize deserialize serialize_to_file
        deserialize_from_file register_format_callback make_roundtrip_instrument deep_clone substitute_expr
        substitute_stmt collect_def_vars flatten_to_stmts find_yield_stmt get_last_yield_stmt attach_leading_comments
        deduce_call_return_type ParentStmtAnalysis is_incore_type level_to_linqu_level IRVisitor IRMutator IRBuilder
        register_op_conversion register_op_conversion_custom has_op_conversion ConversionContext compile
        CompiledProgram PassManager OptimizationStrategy PassContext PassDumpLevel VerificationLevel VerificationMode
        DiagnosticCheck DiagnosticCheckSet DiagnosticPhase Vec Mat Left Right Acc DDR InCore Orchestration Opaque""",
    ),
    "passes": (
        passes,
        """run_verifier create_function_pass create_program_pass Pass PassPipeline PassProperties IRPropertySet
        DiagnosticCheckSet IRProperty PassContext PassInstrument CallbackInstrument VerificationInstrument
        DiagnosticInstrument ReportInstrument MemoryPlanner VerificationLevel VerificationMode DiagnosticPhase
        DiagnosticSeverity DiagnosticCheck RuntimeKind runtime_kind_from_name runtime_kind_to_name SSAErrorType
        TypeCheckErrorType NestedCallErrorType UseAfterDefErrorType PropertyVerifierRegistry Diagnostic
        DiagnosticCheckRegistry verify_properties verify_tensor_view_canonical get_structural_properties
        get_verified_properties get_default_verify_properties get_default_verification_level
        get_default_diagnostic_phase l0_tile_chooser stmt_dependency_analysis select_buffer_ir_functions
        verify_tile_storage lower_tile_to_buffer""",
    ),
    "backend": (
        backend,
        """BackendType Backend set_backend_type get_backend_type is_backend_configured reset_for_testing
        get_backend_instance get_buffer_elementwise_recipe_names""",
    ),
    "pl": (
        pl,
        """
        function program inline jit parse parse_program loads loads_program range parallel unroll pipeline while_ spmd
        split_aiv at cluster scope manual_scope submit spmd_submit split cross_core_slot optimizations yield_ cond const
        dynamic DynVar static_print static_assert func_attr dump_tag no_dep adir arg_direction Tensor Tile Scalar Array
        Tuple Ptr PtrType MemRef MemRefType TensorView TileView Out InOut TaskId RUNTIME IntLike Mem MemorySpace
        TensorLayout TileLayout PadValue CompactMode SplitMode FunctionType Level Role ForKind ScopeMode AUTO PipeType
        AtomicType DataType ND DN NZ MX_A_ZZ MX_B_NN tile tensor system array typing parser BOOL INT4 INT8 INT16 INT32
        INT64 INDEX UINT4 UINT8 UINT16 UINT32 UINT64 FP4 FP8E4M3FN FP8E5M2 FP8E8M0 FP16 FP32 BF16 HF4 HF8 TASK_ID""",
    ),
    "pl.jit": (pl.jit, "incore inline opaque host extern"),
    "pl.adir": (pl.adir, "input output inout output_existing no_dep scalar"),
    "IRBuilder": (
        ir.IRBuilder,
        """program function for_loop while_loop if_stmt scope let var assign emit eval_stmt return_stmt break_stmt
        continue_stmt inline_stmt make_tuple memref tensor_type tensor_view tile_type tile_view in_function in_loop
        in_if add_function_attrs""",
    ),
    "DataType": (
        DataType.FP32,
        """code get_bit get_byte is_float is_int is_signed_int is_unsigned_int to_string to_c_type_string
        DEFAULT_CONST_INT DEFAULT_CONST_FLOAT""",
    ),
}
ABSENT = {
    "pypto": "debug compile_profiling",
    "ir": """
        WindowBuffer AsyncEventType AsyncSessionType PrefetchAsyncContextType ReduceOp InlineLanguage
        level_to_linqu_level register_op_conversion register_op_conversion_custom has_op_conversion
        ConversionContext""",
    "pl.jit": "extern",
}


def snake(name: str) -> str:
    """The name of a visitor's method: ``TupleGetItemExpr`` → ``tuple_get_item_expr``."""
    return "".join(f"_{c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(name))


def cases() -> Iterator[tuple[str, str]]:
    """Each place with each of its names."""
    for place, (_, names) in SURFACE.items():
        yield from ((place, name) for name in names.split())


@pytest.mark.parametrize(("place", "name"), list(cases()))
def test_the_name_is_there(place: str, name: str) -> None:
    found = hasattr(SURFACE[place][0], name)
    assert found is (name not in ABSENT.get(place, "").split())


@pytest.mark.parametrize("name", MODULES.split())
def test_the_module_can_be_imported(name: str) -> None:
    assert import_module(name).__doc__


def test_paths_lead_to_the_same_objects() -> None:
    from pypto.ir.instruments import make_roundtrip_instrument
    from pypto.ir.printer import python_print
    from pypto.jit.decorator import jit
    from pypto.language.parser.decorator import function
    from pypto.language.parser.diagnostics import exceptions
    from pypto.language.parser.text_parser import parse

    assert (python_print, make_roundtrip_instrument) == (ir.python_print, ir.make_roundtrip_instrument)
    assert (function, parse, jit) == (pl.function, pl.parse, pl.jit)
    assert exceptions.ParserError is pypto.language.parser.diagnostics.ParserError


@pytest.mark.parametrize("owner", [ir.IRVisitor, ir.IRMutator], ids=lambda owner: owner.__name__)
def test_visitors_have_a_method_for_each_node(owner: type) -> None:
    absent = ABSENT["ir"].split()
    names = ["program", "function", "expr", "stmt", "var_like", *map(snake, set(NODES.split()) - set(absent))]
    assert [name for name in names if not hasattr(owner, f"visit_{name}")] == []
