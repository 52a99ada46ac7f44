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
    from pypto_core.contract.devices import Device
    from pypto_core.diagnostics import UserError
    from pypto_core.ir import Call, DataType, Expr, MemorySpace, PipeType, Type


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


class TileStorage(Protocol):
    """A tile's place in memory while a program runs, for operators that work on storage instead of values.

    ``shape`` and ``valid``: extents in elements. Two objects may name the same bytes: a window, or another
    descriptor's look at them.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """Its extents."""
        ...

    @property
    def dtype(self) -> DataType:
        """Its element type."""
        ...

    @property
    def space(self) -> MemorySpace:
        """The memory that it lies in."""
        ...

    @property
    def valid(self) -> tuple[int, ...]:
        """Extents that hold data."""
        ...

    def load(self) -> ArrayValue:
        """The elements; the valid ones are read from memory, the others are undefined."""
        ...

    def store(self, part: Any, offset: tuple[int, ...] | None = None) -> None:
        """Put an array into the elements that begin at ``offset``, the origin when None."""
        ...

    def window(
        self, offset: tuple[int, ...], shape: tuple[int, ...], valid: tuple[int, ...] | None = None
    ) -> TileStorage:
        """The elements from ``offset`` on, where they lie: rows keep their distance. ``valid``: all when None."""
        ...

    def relabel(self, kind: Any, valid: tuple[int, ...] | None = None) -> TileStorage:
        """The bytes from the first one on, as a tile that ``kind`` describes."""
        ...

    def set_valid(self, valid: tuple[int, ...]) -> None:
        """Other extents that hold data; seen through this object only."""
        ...


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

    @property
    def device(self) -> Device:
        """The device that the call runs on."""
        ...

    @property
    def run_state(self) -> dict[str, Any]:
        """What operators keep between calls, as long as the block runs; keys begin with a plugin's name."""
        ...

    def storage(
        self,
        kind: Any,
        address: int | None = None,
        valid: tuple[int, ...] | None = None,
        name: str = "",
    ) -> TileStorage:
        """A new root: memory for a tile that ``kind`` describes, undefined at first.

        ``kind``: has a shape, a dtype, a memory space and, of its own or in its ``view``, the fields of a layout.
        ``address``: first byte in that memory, None for bytes that nothing else has. ``valid``: all when None.
        ``name``: for messages. An engine that does not look at placement gives every root bytes of its own.
        """
        ...

    def compute(self, op: str, kind: Type, *operands: Any, **options: Any) -> Any:
        """What the operator ``op`` gives for these operands, as a call of it with a result of type ``kind`` would."""
        ...


RESULT = -1
"""The operand of a :class:`Touch` that is the result."""


@attrs.frozen(kw_only=True)
class Touch:
    """Bytes of one operand that an operator reads or writes: elements ``offset`` to ``offset + extent`` by axis.

    ``operand``: its index, RESULT for the result. What is written to an operand that the operator works on in place is
    written to the result.
    """

    operand: int
    offset: tuple[int, ...]
    extent: tuple[int, ...]
    writes: bool = False


@attrs.frozen
class OpExecutor:
    """The meaning of one operator; each part is a callable or ``"module:name"`` of one.

    ``values``: ``(ctx, *operands, **options) -> value``. Operands come in the call's order: an :class:`ArrayValue` for
    a tile or tensor, a :class:`TileStorage` where an operator gave one, int, float or bool for a scalar, a tuple of
    ints for a shape or offset. The result is an ArrayValue, a number, a tuple of them, a TileStorage, or None.
    Operands are not to be changed, but for the storage of tensors and of operands that the operator declares to write.
    ``touches``: same arguments, gives the :class:`Touch` of each access where it is not simply all that is valid; the
    data of tiles is then undefined outside of what is read. ``pipe``: where it runs, when the backend does not know.
    ``cycles``: same arguments, the time it takes there; it is asked when the operator is done, and of ``ctx`` it may
    use ``call``, ``block`` and ``error`` only. ``waits``: it may wait for other devices, by ``ctx.device``; the blocks
    of a launch then run beside each other.
    """

    op: str
    values: Callable[..., Any] | str
    touches: Callable[..., tuple[Touch, ...]] | str | None = None
    pipe: PipeType | None = None
    cycles: Callable[..., float] | str | None = None
    waits: bool = False

    def load(self) -> Callable[..., Any]:
        """The function behind ``values``, importing its module when it was given by name."""
        return load_reference(self.values, f"executor of {self.op}")

    def load_cycles(self) -> Callable[..., float] | None:
        """The function behind ``cycles``, importing its module when it was given by name; None without one."""
        return None if self.cycles is None else load_reference(self.cycles, f"cycles of {self.op}")


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
    by parameter name or in order. An engine never changes the arrays that it is given. ``placed``: it runs planned
    programs and takes ``backend`` and ``addressed``, whether the offsets in MemRefs are addresses.
    """

    name: str
    summary: str
    run: Callable[..., RunResult] | str
    placed: bool = False

    def load(self) -> Callable[..., RunResult]:
        """The function, importing its module when it was given by name."""
        return load_reference(self.run, f"engine {self.name}")
