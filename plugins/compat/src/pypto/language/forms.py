"""Pieces of annotations as PyPTO lets one look at them: ``pl.Tensor[[64, 128], pl.FP16].shape``."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from pypto.arithmetic import index
from pypto.spellings import Spelling, teach
from pypto_core.ir import DataType, Expr, MemorySpace, TensorLayout
from pypto_core.language import DynVar, MemRef, Tensor

_SHAPED = ("Tensor", "Tile", "DistributedTensor")
_Form = type(Tensor)


def _shape(form: Any) -> list[Any]:
    """The extents as they were written; AttributeError for a form without."""
    first = form.args[0] if form.args and form.surface.rpartition(".")[2] in _SHAPED else None
    if not isinstance(first, list | tuple):
        raise AttributeError(f"{form} has no shape")
    return list(first)  # type: ignore[arg-type]


def _first(kind: type) -> property:
    def find(form: Any) -> Any:
        return next((arg for arg in form.args if isinstance(arg, kind)), None)

    return property(find)


def _slot(declared: Any) -> Expr | None:
    return None if declared.index is None else index(declared.index)


def _spellings() -> Iterable[Spelling]:
    yield Spelling(_Form, "shape", property(_shape))
    yield Spelling(_Form, "dtype", _first(DataType))
    yield Spelling(_Form, "layout", _first(TensorLayout))
    yield Spelling(_Form, "memory_space", _first(MemorySpace))
    yield Spelling(DynVar, "name", property(lambda extent: extent.expr.name_hint))
    yield Spelling(MemRef, "slot_count_", property(operator.attrgetter("slots")))
    yield Spelling(MemRef, "slot_index_", property(_slot))
    yield Spelling(
        MemRef, "is_pinned_", property(lambda declared: declared.is_declaration or declared.pinned)
    )


def teach_forms() -> None:
    """Teach the names, unless they are known."""
    if "shape" not in vars(_Form):
        teach(_spellings())
