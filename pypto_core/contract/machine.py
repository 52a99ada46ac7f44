"""The parts a backend is made of: memories, paths between them and core counts, each checked when made."""

from __future__ import annotations

from typing import Any

import attrs

from pypto_core.diagnostics import UserError
from pypto_core.ir.enums import MemorySpace, PipeType


def reject(message: str, remedy: str, **facts: object) -> UserError:
    """An error of whoever described the machine."""
    return UserError(message, code="PT503", facts=facts, remedy=remedy)


def check_positive(instance: Any, attribute: attrs.Attribute[Any], value: float) -> None:
    """Validator: above zero."""
    if value <= 0:
        raise reject(
            f"{type(instance).__name__}.{attribute.name} must be positive",
            "give the size or rate of the machine",
            **{attribute.name: value},
        )


def check_power_of_two(instance: Any, attribute: attrs.Attribute[Any], value: int) -> None:
    """Validator: 1, 2, 4, ..."""
    if value <= 0 or value & (value - 1):
        raise reject(
            f"{type(instance).__name__}.{attribute.name} must be a power of two",
            "give an alignment such as 16 or 32",
            **{attribute.name: value},
        )


def check_not_negative(instance: Any, attribute: attrs.Attribute[Any], value: float) -> None:
    """Validator: zero or more."""
    if value < 0:
        raise reject(
            f"{type(instance).__name__}.{attribute.name} must not be negative",
            "give zero where the machine has none",
            **{attribute.name: value},
        )


def check_named(instance: Any, attribute: attrs.Attribute[Any], value: str) -> None:
    """Validator: not the empty string."""
    if not value:
        raise reject(f"{type(instance).__name__}.{attribute.name} must not be empty", "name it")


@attrs.frozen(kw_only=True)
class MemorySpec:
    """One on-chip memory.

    ``capacity``: bytes a kernel may use. ``reserved``: bytes at the top that the runtime keeps.
    ``alignment``: bytes a planner rounds sizes and addresses to. ``address_alignment``: what the assembler
    demands of a constant address. ``record_alignment``: bytes of the machine's own access record.
    """

    space: MemorySpace
    capacity: int = attrs.field(validator=check_positive)
    reserved: int = attrs.field(default=0, validator=check_not_negative)
    alignment: int = attrs.field(default=32, validator=check_power_of_two)
    address_alignment: int = attrs.field(default=32, validator=check_power_of_two)
    record_alignment: int = attrs.field(default=32, validator=check_power_of_two)

    @property
    def physical(self) -> int:
        """Bytes the memory has, the reserved ones included."""
        return self.capacity + self.reserved


@attrs.frozen(kw_only=True)
class MemoryPath:
    """A way data can take in one transfer: its two spaces, its pipe, and what a transfer costs there."""

    src: MemorySpace
    dst: MemorySpace
    pipe: PipeType
    bytes_per_cycle: float = attrs.field(validator=check_positive)
    head_cycles: float = attrs.field(default=0.0, validator=check_not_negative)
    source: str = attrs.field(validator=check_named)


@attrs.frozen(kw_only=True)
class CoreCounts:
    """Compute cores of one chip."""

    dies: int = attrs.field(default=1, validator=check_positive)
    cube_per_die: int = attrs.field(validator=check_positive)
    vector_per_die: int = attrs.field(validator=check_positive)

    @property
    def cube(self) -> int:
        """Cube cores of the chip."""
        return self.dies * self.cube_per_die

    @property
    def vector(self) -> int:
        """Vector cores of the chip."""
        return self.dies * self.vector_per_die
