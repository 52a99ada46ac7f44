"""Functions and programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, cast

from pypto_core.diagnostics import UserError
from pypto_core.ir.enums import FunctionIRStage, FunctionType, Level, ParamDirection, Role, is_incore_type
from pypto_core.ir.expr import Var
from pypto_core.ir.node import MAP, NODES, PLAIN, Node, define, freeze_tuple, ignore, node_class, replace, use
from pypto_core.ir.notebook import program_html
from pypto_core.ir.stmt import Stmt
from pypto_core.ir.types import Type

# What a function's type says of its place; a level or role that contradicts it is an error.
_DERIVED: dict[FunctionType, tuple[Level, Role]] = {
    FunctionType.Orchestration: (Level.CHIP, Role.Orchestrator),
    FunctionType.Graph: (Level.CHIP, Role.Orchestrator),
    FunctionType.InCore: (Level.CHIP_DIE, Role.SubWorker),
    FunctionType.AIC: (Level.AIC, Role.SubWorker),
    FunctionType.AIV: (Level.AIV, Role.SubWorker),
    FunctionType.Group: (Level.CORE_GROUP, Role.SubWorker),
}


@node_class
class Function(Node):
    """A function. ``param_directions`` has one entry per parameter (In when not given).

    ``level`` and ``role`` follow from ``func_type`` for all types that have a fixed place.
    """

    name: str = ignore()
    params: tuple[Var, ...] = define(NODES)
    return_types: tuple[Type, ...] = use(NODES)
    body: Stmt = use()
    param_directions: tuple[ParamDirection, ...] = use(PLAIN, default=(), converter=freeze_tuple)
    func_type: FunctionType = use(PLAIN, default=FunctionType.Opaque)
    level: Level | None = use(PLAIN, default=None)
    role: Role | None = use(PLAIN, default=None)
    attrs: Mapping[str, Any] = use(MAP, factory=dict)
    requires_runtime_binding: bool = use(PLAIN, default=False)
    ir_stage: FunctionIRStage = use(PLAIN, default=FunctionIRStage.Functional)
    leading_comments: tuple[str, ...] = ignore(default=(), converter=freeze_tuple, kw_only=True)

    def __attrs_post_init__(self) -> None:
        if not self.param_directions:
            object.__setattr__(self, "param_directions", (ParamDirection.In,) * len(self.params))
        elif len(self.param_directions) != len(self.params):
            raise UserError(
                f"function '{self.name}' has {len(self.params)} parameters and "
                f"{len(self.param_directions)} directions",
                span=self.span,
                remedy="give one direction per parameter, or none at all",
            )
        derived = _DERIVED.get(self.func_type)
        if derived is None:
            return
        for field, want in zip(("level", "role"), derived, strict=True):
            have = getattr(self, field)
            if have is None:
                object.__setattr__(self, field, want)
            elif have is not want:
                raise UserError(
                    f"function '{self.name}' of type {self.func_type.name} can't have {field} {have.name}",
                    span=self.span,
                    facts={f"{field} of {self.func_type.name}": want.name},
                    remedy=f"leave {field} out: it follows from the function's type",
                )

    @property
    def is_incore(self) -> bool:
        """Whether the function runs on a device core (InCore, AIC, AIV)."""
        return is_incore_type(self.func_type)

    def __repr__(self) -> str:
        return f"<Function {self.name}>"

    def _repr_html_(self) -> str:
        return program_html(self)


def _by_name(value: Mapping[str, Function] | Iterable[Function]) -> Mapping[str, Function]:
    functions = cast("Iterable[Function]", value.values() if isinstance(value, Mapping) else value)
    table: dict[str, Function] = {}
    for function in sorted(functions, key=lambda f: f.name):
        if function.name in table:
            raise UserError(
                f"two functions are called '{function.name}'", span=function.span, remedy="rename one of them"
            )
        table[function.name] = function
    return MappingProxyType(table)


@node_class
class Program(Node):
    """A set of functions, kept in the order of their names."""

    name: str = ignore()
    functions: Mapping[str, Function] = use(PLAIN, converter=_by_name)
    leading_comments: tuple[str, ...] = ignore(default=(), converter=freeze_tuple, kw_only=True)

    def __iter__(self) -> Iterator[Function]:
        return iter(self.functions.values())

    def __getitem__(self, name: str) -> Function:
        return self.functions[name]

    def get_function(self, name: str) -> Function | None:
        """The function of that name, or None."""
        return self.functions.get(name)

    def __repr__(self) -> str:
        return f"<Program {self.name}: {', '.join(self.functions)}>"

    def _repr_html_(self) -> str:
        return program_html(self)


def map_functions(program: Program, change: Any) -> Program:
    """Apply ``change`` to every function; the same program when none changed."""
    new = {name: change(function) for name, function in program.functions.items()}
    if all(new[name] is function for name, function in program.functions.items()):
        return program
    return replace(program, functions=new.values())
