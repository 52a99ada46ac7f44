"""A backend: everything about one machine that a pass, planner, emitter or simulator may ask.

Nothing else in the compiler decides by the name of a machine: a new machine is a new :class:`Backend` value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

import attrs

from pypto_core.contract.machine import (
    CoreCounts,
    MemoryPath,
    MemorySpec,
    check_named,
    check_positive,
    check_power_of_two,
    reject,
)
from pypto_core.contract.pipes import MOVE_OPS, OP_PIPES
from pypto_core.contract.rates import CostModel, VectorRates
from pypto_core.ir.dtypes import DataType
from pypto_core.ir.enums import MemorySpace, PipeType, TileLayout

DTypePairs = tuple[tuple[DataType, DataType], ...]


def _tuple(value: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(value)


def _table(value: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> tuple[tuple[Any, Any], ...]:
    if isinstance(value, Mapping):
        return tuple(cast(Mapping[Any, Any], value).items())
    return tuple(value)


def _unique(what: str, keys: Iterable[object]) -> None:
    seen: list[object] = []
    for key in keys:
        if key in seen:
            raise reject(f"a backend lists {what} twice", "keep one of the two rows", row=key)
        seen.append(key)


def _check_memories(_: object, __: object, memories: tuple[MemorySpec, ...]) -> None:
    _unique("a memory space", (m.space.name for m in memories))
    if any(m.space is MemorySpace.DDR for m in memories):
        raise reject("global memory has no capacity of its own", "leave DDR out of the memories")


def _check_paths(instance: Backend, _: object, paths: tuple[MemoryPath, ...]) -> None:
    _unique("a memory path", (f"{p.src.name} to {p.dst.name}" for p in paths))
    known = {m.space for m in instance.memories} | {MemorySpace.DDR}
    for path in paths:
        for end in (path.src, path.dst):
            if end not in known:
                raise reject(
                    f"the path from {path.src.name} to {path.dst.name} needs a memory the backend lacks",
                    f"add a MemorySpec for {end.name} or drop the path",
                )


def _check_rows(_: object, __: object, rows: tuple[tuple[DataType, int], ...]) -> None:
    _unique("an accumulator row alignment", (dtype.text for dtype, _rows in rows))
    for dtype, count in rows:
        if count <= 0 or count & (count - 1):
            raise reject("accumulator rows must align to a power of two", "16 or 32", dtype=dtype, rows=count)


def _check_features(_: object, __: object, features: tuple[str, ...]) -> None:
    _unique("a feature", features)
    for name in features:
        if not all(part.isidentifier() for part in name.split(".")) or "." not in name:
            raise reject("a feature is named area.name", "for example isa.mx_matmul", feature=name)


@attrs.frozen(kw_only=True)
class Backend:
    """One machine. Sizes are bytes, rates bytes or elements per core cycle, tables are rows in a fixed order.

    ``acc_rows``: dtypes whose accumulators need more rows than ``fractal_alignment``.
    ``mat_to_bias``, ``acc_to_gm``, ``matmul_dtypes``, ``casts``: (source, destination) element types.
    ``mat_scratch_dtypes``: element types in which an fp32 accumulator can be parked in Mat.
    ``vector_dtypes``: operator without namespace to the element types its instruction takes.
    ``features``: facts that passes may need or exclude, named ``area.name``; see :attr:`capabilities`.
    ``pto_arch`` is the assembler's flag, ``pto_target_arch`` the attribute of emitted modules.
    """

    name: str = attrs.field(validator=check_named)
    title: str = attrs.field(validator=check_named)
    aliases: tuple[str, ...] = attrs.field(default=(), converter=_tuple)
    pto_arch: str = attrs.field(validator=check_named)
    pto_target_arch: str = attrs.field(
        default=attrs.Factory(lambda self: self.pto_arch, takes_self=True), validator=check_named
    )
    memories: tuple[MemorySpec, ...] = attrs.field(converter=_tuple, validator=_check_memories)
    paths: tuple[MemoryPath, ...] = attrs.field(converter=_tuple, validator=_check_paths)
    cost_model: CostModel
    vector: VectorRates
    cores: CoreCounts
    frequency_mhz: float = attrs.field(validator=check_positive)
    frequency_source: str = attrs.field(validator=check_named)
    fractal_alignment: int = attrs.field(default=16, validator=check_power_of_two)
    min_l0_tile_dim: int = attrs.field(default=16, validator=check_positive)
    acc_rows: tuple[tuple[DataType, int], ...] = attrs.field(
        default=(), converter=_table, validator=_check_rows
    )
    mat_to_bias: DTypePairs = attrs.field(default=(), converter=_tuple)
    acc_to_gm: DTypePairs = attrs.field(default=(), converter=_tuple)
    mat_scratch_dtypes: tuple[DataType, ...] = attrs.field(default=(), converter=_tuple)
    atomic_add_dtypes: tuple[DataType, ...] = attrs.field(default=(), converter=_tuple)
    matmul_dtypes: DTypePairs = attrs.field(default=(), converter=_tuple)
    casts: DTypePairs = attrs.field(default=(), converter=_tuple)
    vector_dtypes: tuple[tuple[str, tuple[DataType, ...]], ...] = attrs.field(default=(), converter=_table)
    left_blayout: TileLayout = TileLayout.col_major
    recommended_inner_bytes: int = attrs.field(default=512, validator=check_positive)
    gm_granularity_bytes: int = attrs.field(default=512, validator=check_power_of_two)
    l2_line_bytes: int = attrs.field(default=512, validator=check_power_of_two)
    features: tuple[str, ...] = attrs.field(default=(), converter=_tuple, validator=_check_features)
    op_pipes: tuple[tuple[str, PipeType | None], ...] = attrs.field(default=(), converter=_table)
    _spaces: dict[MemorySpace, MemorySpec] = attrs.field(
        init=False,
        eq=False,
        repr=False,
        default=attrs.Factory(lambda self: {m.space: m for m in self.memories}, takes_self=True),
    )
    _paths: dict[tuple[MemorySpace, MemorySpace], MemoryPath] = attrs.field(
        init=False,
        eq=False,
        repr=False,
        default=attrs.Factory(lambda self: {(p.src, p.dst): p for p in self.paths}, takes_self=True),
    )
    _op_pipes: dict[str, PipeType | None] = attrs.field(
        init=False,
        eq=False,
        repr=False,
        default=attrs.Factory(lambda self: {**OP_PIPES, **dict(self.op_pipes)}, takes_self=True),
    )
    _vector_dtypes: dict[str, tuple[DataType, ...]] = attrs.field(
        init=False,
        eq=False,
        repr=False,
        default=attrs.Factory(lambda self: dict(self.vector_dtypes), takes_self=True),
    )

    def answers_to(self, name: str) -> bool:
        """Whether ``name`` is this backend's name or an alias, in any case."""
        return name.lower() in (known.lower() for known in (self.name, *self.aliases))

    def memory(self, space: MemorySpace) -> MemorySpec | None:
        """The memory behind a space, None where the machine has none (global memory included)."""
        return self._spaces.get(space)

    def capacity(self, space: MemorySpace) -> int:
        """Bytes a kernel may use in a space; 0 where there is no bound to check."""
        spec = self._spaces.get(space)
        return spec.capacity if spec else 0

    def acc_row_alignment(self, dtype: DataType) -> int:
        """Rows to which an accumulator of this element type is padded in L0C."""
        return dict(self.acc_rows).get(dtype, self.fractal_alignment)

    def path(self, src: MemorySpace, dst: MemorySpace) -> MemoryPath | None:
        """The path from one space to another in a single transfer, if there is one."""
        return self._paths.get((src, dst))

    def route(self, src: MemorySpace, dst: MemorySpace) -> tuple[MemoryPath, ...]:
        """The fewest transfers between two spaces, ties by table order; empty when equal or unreachable."""
        reached: dict[MemorySpace, tuple[MemoryPath, ...]] = {src: ()}
        frontier = [src]
        while frontier and dst not in reached:
            following: list[MemorySpace] = []
            for space in frontier:
                for path in self.paths:
                    if path.src is space and path.dst not in reached:
                        reached[path.dst] = (*reached[space], path)
                        following.append(path.dst)
            frontier = following
        return reached.get(dst, ())

    def pipe_of(
        self, op: str, src: MemorySpace | None = None, dst: MemorySpace | None = None
    ) -> PipeType | None:
        """The pipe that runs ``op`` on data of space ``src`` with its result in ``dst``.

        None when the operator runs on no pipe, or when no single transfer joins the two spaces here.
        """
        bare = op.rpartition(".")[2]
        if bare in self._op_pipes:
            return self._op_pipes[bare]
        if bare in MOVE_OPS:
            path = self._paths.get((src, dst)) if src is not None and dst is not None else None
            return path.pipe if path else None
        return PipeType.V if MemorySpace.Vec in (src, dst) else None

    def transfer_cycles(
        self, src: MemorySpace, dst: MemorySpace, rows: int, cols: int, element_bytes: int
    ) -> float:
        """Cycles of one transfer of a ``rows x cols`` tile; ``element_bytes`` is the width at the source.

        Accumulators leave L0C by the drain formula of the cost model, all else at the rate of its path.
        Raises UserError when there is no such path.
        """
        path = self._paths.get((src, dst))
        if path is None:
            raise reject(
                f"{self.title} can't move data from {src.name} to {dst.name} in one transfer",
                "go through " + " then ".join(p.dst.name for p in self.route(src, dst)[:-1])
                if self.route(src, dst)
                else "no sequence of transfers reaches it",
            )
        if path.pipe is PipeType.FIX:
            return self.cost_model.drain_cycles(rows, cols, element_bytes)
        return path.head_cycles + rows * cols * element_bytes / path.bytes_per_cycle

    def vector_op_dtypes(self, op: str) -> tuple[DataType, ...] | None:
        """Element types the instruction of a vector operator takes; None when the backend doesn't say."""
        return self._vector_dtypes.get(op.rpartition(".")[2])

    @property
    def needs_low_precision_mat_scratch(self) -> bool:
        """Whether an fp32 accumulator must be narrowed before it can be parked in Mat."""
        return DataType.FP32 not in self.mat_scratch_dtypes

    @property
    def capabilities(self) -> frozenset[str]:
        """What passes may need or exclude: ``backend:<name>``, the features, ``isa.`` facts of the tables."""
        derived = (
            ("isa.bf16_atomic_add", DataType.BF16 in self.atomic_add_dtypes),
            ("isa.bf16_bias", (DataType.BF16, DataType.FP32) in self.mat_to_bias),
            ("isa.low_precision_mat_scratch", self.needs_low_precision_mat_scratch),
            ("isa.wide_acc_rows", any(rows != self.fractal_alignment for _, rows in self.acc_rows)),
        )
        facts = tuple(name for name, holds in derived if holds)
        return frozenset((f"backend:{self.name}", *self.features, *facts))

    def to_json(self) -> dict[str, Any]:
        """The whole value as plain data."""
        return _plain(self)


def _plain(value: Any) -> Any:
    if isinstance(value, DataType):
        return value.text
    if isinstance(value, (MemorySpace, PipeType, TileLayout)):
        return value.name
    if isinstance(value, tuple):
        return [_plain(item) for item in cast(tuple[Any, ...], value)]
    kind = cast(Any, type(value))
    if attrs.has(kind):
        return {field.name: _plain(getattr(value, field.name)) for field in attrs.fields(kind) if field.init}
    return value
