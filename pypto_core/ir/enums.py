"""Enumerations of the IR; the numbers are part of the serialised form and of integer attributes."""

from __future__ import annotations

import enum


class _IREnum(enum.Enum):
    # Members key dictionaries on hot paths; the default hash goes through Python code.
    __hash__ = object.__hash__


class MemorySpace(_IREnum):
    """Named on-chip memories and DDR. L1 is Mat, L0A Left, L0B Right, L0C Acc."""

    DDR = 0
    Vec = 1
    Mat = 2
    Left = 3
    Right = 4
    Acc = 5
    Bias = 6
    ScalarLocal = 7
    LeftScale = 8
    RightScale = 9


class TensorLayout(_IREnum):
    """Layouts of tensors in global memory."""

    ND = 0
    DN = 1
    NZ = 2
    MX_A_ZZ = 3
    MX_B_NN = 4


class TileLayout(_IREnum):
    """Order of boxes (blayout) or of elements within a box (slayout)."""

    none_box = 0
    row_major = 1
    col_major = 2


class PadValue(_IREnum):
    """What fills a tile outside its valid extent."""

    null = 0
    zero = 1
    max = 2
    min = 3


class CompactMode(_IREnum):
    """Whether an Acc tile's rows are stored at the pitch of its valid rows."""

    null = 0
    normal = 1


class ForKind(_IREnum):
    """Kinds of counted loops."""

    Sequential = 0
    Parallel = 1
    Unroll = 2
    Pipeline = 3


class FunctionType(_IREnum):
    """What a function runs on."""

    Opaque = 0
    Orchestration = 1
    InCore = 2
    AIC = 3
    AIV = 4
    Group = 5
    Spmd = 6
    Inline = 7
    Graph = 8


class FunctionIRStage(_IREnum):
    """Functional: values are tiles. Buffer: values are handles to storage."""

    Functional = 0
    Buffer = 1


class Level(_IREnum):
    """Place in the machine's hierarchy."""

    AIV = 0
    AIC = 1
    CORE_GROUP = 2
    CHIP_DIE = 3
    CHIP = 4
    HOST = 5
    CLUSTER_0 = 6
    CLUSTER_1 = 7
    CLUSTER_2 = 8
    GLOBAL = 9
    L2CACHE = 3
    PROCESSOR = 4
    UMA = 4
    NODE = 5
    POD = 6
    CLOS1 = 7
    CLOS2 = 8


class Role(_IREnum):
    """Whether a function hands out work or does it."""

    Orchestrator = 0
    SubWorker = 1


class ParamDirection(_IREnum):
    """How a function uses a parameter."""

    In = 0
    Out = 1
    InOut = 2


class ArgDirection(_IREnum):
    """How a call site passes an argument (attr ``arg_directions``)."""

    Input = 0
    Output = 1
    InOut = 2
    OutputExisting = 3
    NoDep = 4
    Scalar = 5


class ArgEffect(_IREnum):
    """What an operator does to an argument's storage."""

    Read = 0
    Write = 1
    ReadWrite = 2


class SplitMode(_IREnum):
    """How a mixed kernel is divided among vector cores."""

    NONE = 0
    UP_DOWN = 1
    LEFT_RIGHT = 2


class ScopeKind(_IREnum):
    """Kinds of scope statements."""

    InCore = 0
    Cluster = 2
    Hierarchy = 3
    Spmd = 4
    Runtime = 5
    CommDomain = 6
    SplitAiv = 7


class ScopeMode(_IREnum):
    """How a runtime scope tracks dependencies."""

    AUTO = 0
    MANUAL = 1


class CoreType(_IREnum):
    """Kinds of compute cores."""

    CUBE = 0
    VECTOR = 1


class PipeType(_IREnum):
    """Hardware pipes; each runs its instructions in order."""

    MTE1 = 0
    MTE2 = 1
    MTE3 = 2
    M = 3
    V = 4
    S = 5
    FIX = 6
    ALL = 7


class AtomicType(_IREnum):
    """How a store combines with what memory holds."""

    None_ = 0
    Add = 1


class NotifyOp(_IREnum):
    """How a signal of another device changes when it is notified."""

    AtomicAdd = 0
    Set = 1


class WaitCmp(_IREnum):
    """How a signal is compared with what is waited for: ``signal <cmp> expected``."""

    Eq = 0
    Ne = 1
    Gt = 2
    Ge = 3
    Lt = 4
    Le = 5


class CastMode(_IREnum):
    """Rounding modes of casts; stored as the number, printed as the name."""

    none = 0
    rint = 1
    round = 2
    floor = 3
    ceil = 4
    trunc = 5
    odd = 6


class CmpType(_IREnum):
    """Comparison codes of ``tile.cmp``."""

    eq = 0
    ne = 1
    lt = 2
    le = 3
    gt = 4
    ge = 5


INCORE_TYPES = (FunctionType.InCore, FunctionType.AIC, FunctionType.AIV)


def is_incore_type(func_type: FunctionType) -> bool:
    """Whether functions of this type run on a device core."""
    return func_type in INCORE_TYPES


def is_orchestration_like(func_type: FunctionType) -> bool:
    """Whether functions of this type submit tasks."""
    return func_type in (FunctionType.Orchestration, FunctionType.Graph)


def is_wrapper(func_type: FunctionType) -> bool:
    """Whether functions of this type only wrap a launch."""
    return func_type in (FunctionType.Group, FunctionType.Spmd)
