"""The parameters of a kernel in the text, in the order in which the runtime passes them.

Tensors come first, then scalars, then one index per symbolic extent in the order in which the tensors' shapes show
them, then what only some kernels take.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from pypto_core.contract import Operand
from pypto_core.diagnostics import DiagnosticError, UserError
from pypto_core.ir import (
    DataType,
    Function,
    ScalarType,
    TensorType,
    Var,
    base_name,
    used_vars,
)
from pypto_plugin_pto.scalars import Scalars
from pypto_plugin_pto.tensors import Tensors
from pypto_plugin_pto.text import FunctionText
from pypto_plugin_pto.type_text import TypeWriter, element

# In the order in which they are passed.
_HIDDEN: dict[str, str] = {
    "__pypto_spmd_block_idx": "i32",
    "__pypto_spmd_block_num": "i32",
    "__pypto_spmd_subblock_idx": "i32",
}


class Signature:
    """Names the parameters and hands them to those who use them."""

    def __init__(self, function: Function, text: FunctionText, scalars: Scalars, tensors: Tensors) -> None:
        self._text, self._scalars = text, scalars
        self._declared: list[str] = []
        self._hidden: dict[str, Operand] = {}
        self._raw = {name: text.names.named(name) for name in _HIDDEN}
        kinds = {p: p.type for p in function.params}
        for var, kind in kinds.items():
            if isinstance(kind, TensorType):
                with _at(var):
                    tensors.parameter(var, kind, self._declare(TypeWriter.pointer(kind)))
        for var, kind in kinds.items():
            if isinstance(kind, ScalarType):
                with _at(var):
                    self._number(var, kind.dtype)
            elif not isinstance(kind, TensorType):
                raise UserError(
                    f"parameter '{base_name(var.name_hint)}' of kernel '{function.name}' is neither tensor nor scalar",
                    code="PTO-014",
                    span=var.span,
                    facts={"type": repr(kind)},
                    remedy="pass the tensor and load the tile inside of the kernel",
                )
        for extent in _extents([kind for kind in kinds.values() if isinstance(kind, TensorType)]):
            if extent not in scalars.env:
                self._number(extent, DataType.INDEX)

    def _declare(self, type: str) -> Operand:
        name = self._text.names.named(f"arg{len(self._declared)}")
        self._declared.append(f"{name}: {type}")
        return Operand(name, type)

    def _number(self, var: Var, dtype: DataType) -> None:
        value = self._declare(element(dtype))
        with self._text.section(self._text.views):
            self._scalars.env[var] = self._scalars.inside(value, dtype, var.name_hint)

    def hidden(self, name: str) -> Operand:
        """A parameter that the runtime adds, as an index; declared when first asked for."""
        known = self._hidden.get(name)
        if known is None:
            raw = self._raw[name]
            with self._text.section(self._text.views):
                known = self._hidden[name] = self._text.value(
                    f"arith.index_cast {raw} : {_HIDDEN[name]} to index", "index", name.rpartition("spmd_")[2]
                )
        return known

    def declarations(self) -> str:
        """The list of parameters."""
        hidden = [f"{self._raw[name]}: {type}" for name, type in _HIDDEN.items() if name in self._hidden]
        return ", ".join([*self._declared, *hidden])


@contextmanager
def _at(var: Var) -> Generator[None]:
    """Errors are those of a parameter."""
    try:
        yield
    except DiagnosticError as error:
        raise error.located(var.span) from None


def _extents(tensors: list[TensorType]) -> list[Var]:
    """Variables in the tensors' extents, then those of strides and valid extents, in the order of first sight."""
    views = [t.tensor_view for t in tensors if t.tensor_view is not None]
    parts = [*(t.shape for t in tensors), *(v.stride for v in views), *(v.valid_shape for v in views)]
    return list(dict.fromkeys(v for dims in parts for dim in dims for v in used_vars(dim)))
