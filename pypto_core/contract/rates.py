"""What work costs on a machine, in core cycles: the figures, each with its unit, meaning and source."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, cast

import attrs

from pypto_core.diagnostics import UserError

REST = "*"


def _pairs(value: Mapping[str, str] | tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(value.items())) if isinstance(value, Mapping) else tuple(value)


def _at_least(bound: float, strict: bool) -> Any:
    word = "above" if strict else "at least"

    def check(instance: object, attribute: attrs.Attribute[Any], value: float) -> None:
        if math.isfinite(value) and (value > bound if strict else value >= bound):
            return
        raise UserError(
            f"{type(instance).__name__}.{attribute.name} must be {word} {bound:g}",
            code="PT501",
            facts={attribute.name: value, "unit": attribute.metadata["unit"]},
            remedy="correct the figure where the backend is described",
        )

    return check


def _figure(unit: str, meaning: str, *, least: float = 0, strict: bool = False) -> Any:
    return attrs.field(
        validator=_at_least(least, strict), metadata={"unit": unit, "meaning": meaning}, kw_only=True
    )


@attrs.frozen(kw_only=True)
class FigureRow:
    """One figure with everything a reader needs to judge it."""

    name: str
    value: float
    unit: str
    meaning: str
    source: str


def _figure_names(cls: Any) -> list[str]:
    return [a.name for a in attrs.fields(cls) if "unit" in a.metadata]


def _every_figure_sourced(instance: Any, _: object, sources: tuple[tuple[str, str], ...]) -> None:
    kind = cast(Any, type(instance))
    names = _figure_names(kind)
    given = [name for name, _source in sources]
    unknown = [name for name in given if name != REST and name not in names]
    missing = [] if REST in given else [name for name in names if name not in given]
    if unknown or missing:
        raise UserError(
            f"{type(instance).__name__} needs a source for every figure and for nothing else",
            code="PT502",
            facts={"without source": ", ".join(missing) or "none", "unknown": ", ".join(unknown) or "none"},
            remedy=f"name the source of each figure, or of all others under '{REST}'",
        )


def _rows(instance: Any) -> tuple[FigureRow, ...]:
    sources: dict[str, str] = dict(instance.sources)
    kind = cast(Any, type(instance))
    return tuple(
        FigureRow(
            name=field.name,
            value=getattr(instance, field.name),
            unit=field.metadata["unit"],
            meaning=field.metadata["meaning"],
            source=sources.get(field.name, sources.get(REST, "")),
        )
        for field in attrs.fields(kind)
        if "unit" in field.metadata
    )


def odd_part(value: int) -> int:
    """``value`` (positive) with every factor of two removed."""
    return value // (value & -value)


@attrs.frozen(kw_only=True)
class CostModel:
    """The roofline figures of a cube core: L1 to L0 loads, multiply-add, and the drain of L0C.

    ``sources`` names where each figure comes from; the key ``*`` speaks for those not listed.
    """

    bw_l0a: float = _figure("B/cycle", "L1 to L0A", strict=True)
    bw_l0b: float = _figure("B/cycle", "L1 to L0B", strict=True)
    bw_drain: float = _figure("B/cycle", "FIXPIPE throughput along one accumulator row", strict=True)
    drain_fixed_cycles: float = _figure("cycle", "fixed cost of one drain")
    drain_row_cycles: float = _figure("cycle/row", "least cost of one accumulator row")
    drain_penalty_cycles: float = _figure("cycle/row/pass", "cost of each extra pass over a row")
    drain_c0_bytes: int = _figure("B", "bytes of one N fractal of the accumulator", least=1)
    mad_head: int = _figure("cycle", "issue cost of one K block of a multiply-add")
    mad_k_fractal_bytes: int = _figure("B", "bytes of one K fractal of the left operand", least=1)
    mad_fp32_passes: int = _figure("pass", "cube passes over a K fractal of 4-byte operands", least=1)
    sources: tuple[tuple[str, str], ...] = attrs.field(converter=_pairs, validator=_every_figure_sourced)

    def rows(self) -> tuple[FigureRow, ...]:
        """All figures in declaration order."""
        return _rows(self)

    def load_cycles(self, left_bytes: int, right_bytes: int) -> float:
        """Cycles the one L1-to-L0 pipe takes to move these bytes to L0A and L0B."""
        return left_bytes / self.bw_l0a + right_bytes / self.bw_l0b

    def mad_cycles(self, m: int, n: int, k: int, element_bytes: int, fractal: int = 16) -> int:
        """Cycles of one multiply-add of an ``m x k`` by a ``k x n`` block of elements of this width."""
        depth = max(1, self.mad_k_fractal_bytes // element_bytes)
        passes = self.mad_fp32_passes if element_bytes == 4 else max(1, element_bytes // 2)
        return self.mad_head + passes * -(-m // fractal) * -(-k // depth) * -(-n // fractal)

    def drain_extra_passes(self, n: int, element_bytes: int) -> int:
        """Passes beyond the first over a row of ``n`` accumulator elements: odd part of its fractals - 1."""
        per_fractal = max(1, self.drain_c0_bytes // element_bytes)
        return odd_part(-(-n // per_fractal)) - 1

    def drain_cycles(self, m: int, n: int, element_bytes: int) -> float:
        """Cycles the FIXPIPE takes to move an ``m x n`` accumulator out of L0C."""
        row = max(self.drain_row_cycles, element_bytes * n / self.bw_drain)
        row += self.drain_penalty_cycles * self.drain_extra_passes(n, element_bytes)
        return self.drain_fixed_cycles + m * row


@attrs.frozen(kw_only=True)
class VectorRates:
    """Throughput and latency of the vector unit.

    ``slow_ops`` rows are (op without its namespace, completion cycles, cycles per repeat) for operators that
    differ from the rest.
    """

    repeat_bytes: int = _figure("B", "bytes one repeat works on", least=1)
    startup_cycles: float = _figure("cycle", "from issue to the first repeat")
    completion_cycles: float = _figure("cycle", "from the last repeat to the result")
    repeat_cycles: float = _figure("cycle", "one repeat", strict=True)
    slow_ops: tuple[tuple[str, float, float], ...] = ()
    sources: tuple[tuple[str, str], ...] = attrs.field(converter=_pairs, validator=_every_figure_sourced)
    _slow: dict[str, tuple[float, float]] = attrs.field(
        init=False,
        eq=False,
        repr=False,
        default=attrs.Factory(lambda self: {op: (c, r) for op, c, r in self.slow_ops}, takes_self=True),
    )

    def rows(self) -> tuple[FigureRow, ...]:
        """All figures in declaration order."""
        return _rows(self)

    def elements_per_cycle(self, op: str, element_bytes: int) -> float:
        """Sustained rate of ``op`` on elements of this width."""
        return self.repeat_bytes / element_bytes / self._timing(op)[1]

    def cycles(self, op: str, elements: int, element_bytes: int) -> float:
        """Cycles from issue to result of ``op`` over this many elements; 0 for an empty tile."""
        if elements == 0:
            return 0.0
        completion, repeat = self._timing(op)
        return self.startup_cycles + completion + -(-elements * element_bytes // self.repeat_bytes) * repeat

    def _timing(self, op: str) -> tuple[float, float]:
        return self._slow.get(op.rpartition(".")[2], (self.completion_cycles, self.repeat_cycles))
