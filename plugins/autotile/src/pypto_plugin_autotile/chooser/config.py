"""What the chooser is asked: problem, capacities, rates, limits and which schedules may be used."""

from __future__ import annotations

import enum
import math
from typing import Any

import attrs

from pypto_core.contract import Backend
from pypto_core.diagnostics import UserError
from pypto_core.ir import DataType, MemorySpace


class Stationarity(enum.Enum):
    """Which value stays in L0 while the grid of tiles is walked; the others stream past it."""

    OutputStationary = 0
    AStationary = 1
    BStationary = 2


def _dim(default: int, text: str) -> Any:
    return attrs.field(default=default, metadata={"meaning": text})


@attrs.frozen(kw_only=True, cache_hash=True)
class L0TileConfig:
    """One question to the chooser. Defaults of the rates are the Ascend 910B's; capacities have none.

    Sizes ``*_bytes`` are bytes, ``bw_*`` bytes a cycle, ``*_cycles`` and ``mad_head`` core cycles, all else
    elements. ``min_*`` is the first value of each enumeration and ``align_*`` its step. Validated by
    :func:`validate` when asked, not when made.
    """

    M: int = _dim(0, "rows of the product")
    N: int = _dim(0, "columns of the product")
    K: int = _dim(0, "depth of the product")
    l0a_bytes: int = 0
    l0b_bytes: int = 0
    l0c_bytes: int = 0
    bytes_a: int = 2
    bytes_b: int = 2
    bytes_c: int = 4
    min_m: int = 16
    min_n: int = 16
    min_k: int = 16
    align_m: int = 16
    align_n: int = 16
    align_k: int = 16
    l0c_align_m: int = _dim(16, "rows an accumulator is padded to in L0C")
    box_align_m: int = _dim(1, "rows a left operand window is padded to")
    box_align_n: int = _dim(1, "columns a right operand window is padded to")
    max_n: int = _dim(0, "cap on n, 0 for none: a row of it must fit the bias table")
    max_n_pipelined: int = _dim(0, "cap on n where one pipeline level holds two bias rows")
    max_n_nested_pipelined: int = _dim(0, "cap on n where two pipeline levels hold four bias rows")
    allow_a_stationary: bool = False
    allow_b_stationary: bool = False
    allow_double_buffer_c: bool = False
    allow_padding: bool = _dim(False, "tiles may exceed the problem")
    allow_k_boundary: bool = _dim(False, "k need not divide K")
    c_read: bool = _dim(False, "the accumulator is read first; counts in the traffic only")
    bw_a: float = 129.7
    bw_b: float = 85.4
    bw_drain: float = 118.0
    drain_fixed_cycles: float = 164.0
    drain_row_cycles: float = 4.45
    drain_penalty_cycles: float = 2.6
    drain_c0_bytes: int = 32
    mad_head: int = 21
    mad_k_fractal_bytes: int = 32
    mad_fp32_passes: int = 2

    def box_m(self, m: Any) -> Any:
        """Rows of the padded left window; takes an int or an array."""
        return -(-m // self.box_align_m) * self.box_align_m

    def box_n(self, n: Any) -> Any:
        """Columns of the padded right window; takes an int or an array."""
        return -(-n // self.box_align_n) * self.box_align_n

    def acc_rows(self, m: Any) -> Any:
        """Physical rows of an accumulator of ``m`` rows; takes an int or an array."""
        return -(-self.box_m(m) // self.l0c_align_m) * self.l0c_align_m

    def whole(self) -> tuple[int, int, int]:
        """The tile that is the whole problem."""
        return self.M, self.N, self.K


def invalid(message: str, remedy: str, **facts: object) -> UserError:
    """A question that makes no sense; every one is a ValueError."""
    return UserError(message, code="PT601", facts=facts, remedy=remedy)


def validate(config: L0TileConfig) -> None:
    """Raise a UserError (a ValueError) where the question can't be answered whatever the search would find."""
    _validate_sizes(config)
    _validate_caps(config)
    _validate_rates(config)
    _validate_problem_covers_minimum(config)
    _validate_minimum_fits(config)
    _validate_magnitude(config)


def _require_positive(config: L0TileConfig, names: tuple[str, ...], message: str, remedy: str) -> None:
    values = {name: getattr(config, name) for name in names}
    if any(value <= 0 for value in values.values()):
        raise invalid(message, remedy, **values)


def _validate_sizes(config: L0TileConfig) -> None:
    for names, message, remedy in (
        (("M", "N", "K"), "M, N, K must all be positive", "give the static extents of the product"),
        (
            ("l0a_bytes", "l0b_bytes", "l0c_bytes"),
            "L0 capacities must be positive",
            "take them from the backend: config_for(backend, ...)",
        ),
        (("bytes_a", "bytes_b", "bytes_c"), "element sizes must be positive", "give bytes an element"),
        (("min_m", "min_n", "min_k"), "minimum tile dims must be positive", "16 on these machines"),
        (
            ("align_m", "align_n", "align_k", "l0c_align_m", "box_align_m", "box_align_n"),
            "alignments must be positive",
            "use 1 where nothing is padded",
        ),
        (("drain_c0_bytes",), "drain_c0_bytes must be positive", "32 on these machines"),
    ):
        _require_positive(config, names, message, remedy)


def _validate_caps(config: L0TileConfig) -> None:
    flat, one, two = config.max_n, config.max_n_pipelined, config.max_n_nested_pipelined
    if flat != 0 and flat < config.min_n:
        raise invalid(
            "max_n must be zero (unbounded) or at least min_n",
            "raise max_n, or lower min_n to a width the bias table can hold",
            max_n=flat,
            min_n=config.min_n,
        )
    if one < 0 or (flat > 0 and one > flat):
        raise invalid(
            "max_n_pipelined must be zero or at most max_n",
            "two bias rows never allow more columns than one",
            max_n_pipelined=one,
            max_n=flat,
        )
    if two < 0 or (one > 0 and two > one):
        raise invalid(
            "max_n_nested_pipelined must be zero or at most max_n_pipelined",
            "four bias rows never allow more columns than two",
            max_n_nested_pipelined=two,
            max_n_pipelined=one,
        )


def _validate_rates(config: L0TileConfig) -> None:
    for name in ("bw_a", "bw_b", "bw_drain"):
        if not getattr(config, name) > 0:
            raise invalid(f"{name} must be positive", "give bytes a cycle", **{name: getattr(config, name)})
    for name in ("drain_fixed_cycles", "drain_row_cycles", "drain_penalty_cycles"):
        value = getattr(config, name)
        if not (value >= 0 and math.isfinite(value)):
            raise invalid(f"{name} must not be negative", "zero is free", **{name: value})


def _validate_problem_covers_minimum(config: L0TileConfig) -> None:
    if config.allow_padding:
        return
    for dim in ("M", "N", "K"):
        least = getattr(config, f"min_{dim.lower()}")
        if getattr(config, dim) < least:
            raise invalid(
                f"allow_padding=false but {dim}={getattr(config, dim)} is below the least tile extent {least}",
                "pad the operands to the fractal and narrow them with valid_shape",
                M=config.M,
                N=config.N,
                K=config.K,
            )


def _validate_minimum_fits(config: L0TileConfig) -> None:
    least_m, least_n = config.box_m(config.min_m), config.box_n(config.min_n)
    a0 = config.l0a_bytes // (2 * config.bytes_a)
    b0 = config.l0b_bytes // (2 * config.bytes_b)
    c0 = config.l0c_bytes // config.bytes_c
    acc = config.acc_rows(config.min_m)
    for space, have, fits, shape in (
        ("L0a", a0, least_m <= a0 // config.min_k, f"{config.min_m} x {config.min_k}"),
        ("L0b", b0, least_n <= b0 // config.min_k, f"{config.min_k} x {config.min_n}"),
        ("L0c", c0, c0 >= acc * least_n, f"{config.min_m} x {config.min_n}"),
    ):
        if not fits:
            raise invalid(
                f"{space} capacity {have} elements is too small to fit the minimum tile ({shape})",
                "lower the minimum extents or use a narrower element type",
                capacity_elements=have,
            )


def _validate_magnitude(config: L0TileConfig) -> None:
    passes = max(abs(config.mad_fp32_passes), config.bytes_a) + abs(config.mad_head)
    extents = (max(config.M, config.min_m), max(config.N, config.min_n), max(config.K, config.min_k))
    if 8 * math.prod(extents) * passes >= 2**63:
        raise UserError(
            f"a product of {config.M} x {config.N} x {config.K} is too large to count its work in 64 bits",
            code="PT603",
            remedy="tile the tensors before they reach a core",
        )


def schedule_gates(*, double_buffer_c: bool = False, output_stationary: bool = False) -> dict[str, bool]:
    """The gates AutoTileMatmulL0 opens: either operand may be pinned and k need not divide K.

    ``double_buffer_c`` opens two accumulators, ``output_stationary`` closes the pinned operands.
    """
    return {
        "allow_a_stationary": not output_stationary,
        "allow_b_stationary": not output_stationary,
        "allow_double_buffer_c": double_buffer_c,
        "allow_k_boundary": True,
    }


def config_for(
    backend: Backend,
    M: int,
    N: int,
    K: int,
    dtype_a: DataType,
    dtype_b: DataType | None = None,
    dtype_c: DataType | None = None,
    **fields: Any,
) -> L0TileConfig:
    """The question for a product of these element types on ``backend``; ``fields`` set or override the rest.

    ``dtype_b`` is ``dtype_a`` and ``dtype_c`` the accumulator's type unless given. Raises UserError for types
    narrower than a byte, which the cube does not take, and for an unknown field.
    """
    dtype_b = dtype_a if dtype_b is None else dtype_b
    if dtype_c is None:
        dtype_c = DataType.FP32 if dtype_a.is_float else DataType.INT32
    for dtype in (dtype_a, dtype_b, dtype_c):
        if dtype.bits < 8:
            raise invalid(
                f"the cube takes no {dtype} operands", "cast to a type of at least 8 bits", dtype=dtype
            )
    known = {field.name for field in attrs.fields(L0TileConfig)}
    for name in fields:
        if name not in known:
            raise invalid(f"a tile configuration has no field {name}", "see L0TileConfig", field=name)
    cost, step, least = backend.cost_model, backend.fractal_alignment, backend.min_l0_tile_dim
    base: dict[str, Any] = {
        "l0a_bytes": backend.capacity(MemorySpace.Left),
        "l0b_bytes": backend.capacity(MemorySpace.Right),
        "l0c_bytes": backend.capacity(MemorySpace.Acc),
        "bytes_a": dtype_a.element_bytes,
        "bytes_b": dtype_b.element_bytes,
        "bytes_c": dtype_c.element_bytes,
        **dict.fromkeys(("min_m", "min_n", "min_k"), least),
        **dict.fromkeys(("align_m", "align_n", "align_k"), step),
        "l0c_align_m": backend.acc_row_alignment(dtype_c),
        "bw_a": cost.bw_l0a,
        "bw_b": cost.bw_l0b,
        "bw_drain": cost.bw_drain,
        "drain_fixed_cycles": cost.drain_fixed_cycles,
        "drain_row_cycles": cost.drain_row_cycles,
        "drain_penalty_cycles": cost.drain_penalty_cycles,
        "drain_c0_bytes": cost.drain_c0_bytes,
        "mad_head": cost.mad_head,
        "mad_k_fractal_bytes": cost.mad_k_fractal_bytes,
        "mad_fp32_passes": cost.mad_fp32_passes,
    }
    return L0TileConfig(M=M, N=N, K=K, **(base | fields))
