"""What a compilation ends in: a target with its goals, what it writes, and how one operator is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import attrs

from pypto_core.contract.passes import load_reference

if TYPE_CHECKING:
    from pypto_core.diagnostics import Diagnostic


def _check_path(_: object, attribute: Any, name: str) -> None:
    path = PurePosixPath(name)
    inside = bool(path.parts) and not path.is_absolute() and ".." not in path.parts
    if not inside or "\\" in name or str(path) != name:
        raise ValueError(f"the name of an artifact is a relative path such as kernels/add.txt, not {name!r}")


@attrs.frozen
class Artifact:
    """One file that a target makes.

    ``name`` is a relative path with ``/``, inside whatever folder the artifacts are written to. ``data`` is
    text (written as UTF-8, newlines as they are) or bytes. ``media`` is its media type.
    """

    name: str = attrs.field(validator=_check_path)
    data: str | bytes = attrs.field(repr=False)
    media: str = "text/plain"

    @property
    def content(self) -> bytes:
        """The bytes of the file."""
        return self.data.encode("utf-8") if isinstance(self.data, str) else self.data


@attrs.frozen
class Target:
    """What a program can be compiled to.

    ``goals`` takes the capabilities of a compilation and returns the properties that the program has to have
    before ``emit`` may see it. ``emit`` is a callable ``(program, ctx) -> Iterable[Artifact]`` or
    ``"module:name"`` of one, imported by the first :meth:`load`. ``check``: the same for a callable
    ``(artifact, backend) -> Iterable[Diagnostic]`` that says what is wrong with an artifact, None when there is none.
    """

    name: str
    summary: str
    goals: Callable[[frozenset[str]], tuple[str, ...]]
    emit: Callable[[Any, Any], Iterable[Artifact]] | str
    check: Callable[[Artifact, Any], Iterable[Diagnostic]] | str | None = None

    def load(self) -> Callable[[Any, Any], Iterable[Artifact]]:
        """The emitter, importing its module when it was given by name."""
        return load_reference(self.emit, f"target {self.name}")

    def load_check(self) -> Callable[[Artifact, Any], Iterable[Diagnostic]] | None:
        """The check, importing its module when it was given by name; None when there is none."""
        return None if self.check is None else load_reference(self.check, f"check of target {self.name}")


@attrs.frozen
class OpEmitter:
    """How one operator is written for one target.

    ``emit`` is a callable or ``"module:name"``: a :data:`~pypto_core.contract.Recipe` for targets that write text. The
    arguments of others are between the target and its emitters.
    """

    target: str
    op: str
    emit: Callable[..., Any] | str

    def load(self) -> Callable[..., Any]:
        """The recipe, importing its module when it was given by name."""
        return load_reference(self.emit, f"emitter of {self.op} for {self.target}")
