"""What an operator means, and the engines that run whole programs by those meanings.

An engine walks a program and asks, for each operator, the :class:`OpExecutor` that some plugin registered. The
names here are all that a plugin with operators of its own needs to make them runnable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

import attrs

from pypto_core.contract.passes import load_reference

if TYPE_CHECKING:
    from pypto_core.diagnostics import UserError
    from pypto_core.ir import Call, DataType, Expr, PipeType


@attrs.frozen(eq=False, repr=False)
class ArrayValue:
    """A tile, or a tensor in global memory, while a program runs.

    ``data``: numpy array of the element type's exact format; of a tensor it is the storage itself or a window of it, so
    that what one holder writes every holder sees. ``valid``: extents, from the origin, that hold data; the elements
    outside are undefined and filled with a pattern. ``shape``: logical extents; those of ``data``, except for a window
    that reaches past the end of its tensor, whose missing part is in no storage.
    """

    data: Any
    dtype: DataType
    valid: tuple[int, ...]
    shape: tuple[int, ...]
    is_tensor: bool = False

    @property
    def defined(self) -> Any:
        """The valid part of ``data``, as a view of it."""
        return self.data[tuple(slice(0, extent) for extent in self.valid)]

    @property
    def is_fully_valid(self) -> bool:
        """Whether every element holds data."""
        return self.valid == self.shape

    def __repr__(self) -> str:
        kind = "tensor" if self.is_tensor else "tile"
        valid = "" if self.is_fully_valid else f" valid {list(self.valid)}"
        return f"<{kind} {list(self.shape)} {self.dtype}{valid}>"


@attrs.frozen
class BlockPosition:
    """Which of the blocks of a launch is running, and which vector core of its block."""

    index: int = 0
    count: int = 1
    subblock: int = 0


class ExecContext(Protocol):
    """What a meaning may ask of the engine that runs it."""

    @property
    def call(self) -> Call:
        """The call being run; its ``type`` is the result's."""
        ...

    @property
    def block(self) -> BlockPosition:
        """Where in the launch the call runs."""
        ...

    def empty(self, shape: tuple[int, ...], dtype: DataType) -> Any:
        """A new numpy array of undefined elements: NaN, or a fixed pattern where the format has none."""
        ...

    def value(
        self, part: Any, shape: tuple[int, ...] | None = None, dtype: DataType | None = None
    ) -> ArrayValue:
        """A new tile or tensor whose valid part is ``part``.

        ``shape``: its extents when ``part`` fills only a corner. ``dtype``: element type, the result's when None.
        """
        ...

    def convert(self, data: Any, dtype: DataType) -> Any:
        """Floats or integers in the format of ``dtype``: rounded to nearest even, or wrapped."""
        ...

    def evaluate(self, expr: Expr) -> Any:
        """The value of an expression where the call stands."""
        ...

    def error(self, message: str, *, remedy: str = "", **facts: object) -> UserError:
        """An error at the call, to be raised."""
        ...


@attrs.frozen(kw_only=True)
class Touch:
    """Bytes of one operand that an operator reads or writes: elements ``offset`` to ``offset + extent`` by axis."""

    operand: int
    offset: tuple[int, ...]
    extent: tuple[int, ...]
    writes: bool = False


@attrs.frozen
class OpExecutor:
    """The meaning of one operator; each part is a callable or ``"module:name"`` of one.

    ``values``: ``(ctx, *operands, **options) -> value``. Operands come in the call's order: an :class:`ArrayValue` for
    a tile or tensor, int, float or bool for a scalar, a tuple of ints for a shape or offset. The result is an
    ArrayValue, a number, a tuple of them, or None. Operands are not to be changed, but for the storage of tensors and
    of operands that the operator declares to write. ``touches``: same arguments, gives the :class:`Touch` of each
    access where it is not simply all that is valid. ``pipe``: where it runs, when the backend does not know.
    ``cycles``: same arguments, the time it takes there.
    """

    op: str
    values: Callable[..., Any] | str
    touches: Callable[..., tuple[Touch, ...]] | str | None = None
    pipe: PipeType | None = None
    cycles: Callable[..., float] | str | None = None

    def load(self) -> Callable[..., Any]:
        """The function behind ``values``, importing its module when it was given by name."""
        return load_reference(self.values, f"executor of {self.op}")


def _read_only(value: Mapping[str, Any]) -> Mapping[str, Any]:
    return MappingProxyType(dict(value))


@attrs.frozen(eq=False)
class RunResult:
    """What a run leaves behind.

    ``outputs``: the arrays of all Out and InOut parameters by the author's names. ``returns``: what the entry function
    returned: arrays and numbers. ``report``: what an engine has to say beyond that (traces, times).
    """

    outputs: Mapping[str, Any] = attrs.field(converter=_read_only)
    returns: tuple[Any, ...] = ()
    report: Mapping[str, Any] = attrs.field(default=MappingProxyType({}), converter=_read_only)


@attrs.frozen
class Engine:
    """A way to run programs on the host.

    ``run`` is a callable or ``"module:name"``: ``(program, inputs, entry=None, **options) -> RunResult``, with inputs
    by parameter name or in order. An engine never changes the arrays that it is given.
    """

    name: str
    summary: str
    run: Callable[..., RunResult] | str

    def load(self) -> Callable[..., RunResult]:
        """The function, importing its module when it was given by name."""
        return load_reference(self.run, f"engine {self.name}")
