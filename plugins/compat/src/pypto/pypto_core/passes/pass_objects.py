"""Passes as objects to call, and pipelines put together by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from pypto.pypto_core.passes.checks import run_checked
from pypto.pypto_core.passes.context import kernel_context
from pypto.pypto_core.passes.properties import IRPropertySet, PassProperties, names_of
from pypto.pypto_core.passes.reporting import run_aloud
from pypto_core import contract
from pypto_core.contract import PassContract, PassScope
from pypto_core.ir import Function, Program
from pypto_core.run import Pipeline, VerificationLevel, as_program
from pypto_core.verify import DEFAULT_CHECKS, verify_or_raise

_DOCUMENTED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "AutoTileMatmulL0": (),
        "LowerTileToBuffer": (
            "IncoreTileOps",
            "TileOps2D",
            "TileMemoryInferred",
            "HasMemRefs",
            "AllocatedMemoryAddr",
            "AccCompactValid",
            "TileStorageLegalized",
            "TileStorageAllocated",
        ),
    }
)
"""What the documents of two passes say that they invalidate.

The kernel's contracts speak of whole programs: AutoTileMatmulL0 brings pipelined loops, and where LowerTileToBuffer
leaves kernels in tiles, what was known of those still holds.
"""


class Pass:
    """A pass: call it on a program.

    The instruments of the active context hear of it; nothing is verified unless one of them does so. A program that
    the pass does not change comes back as the same object.
    """

    def __init__(self, pass_: contract.Pass) -> None:
        self.kernel_pass = pass_

    def __call__(self, program: Any) -> Any:
        """The program after the pass; a lone function gives the function after it."""
        context = kernel_context().derive(verification=VerificationLevel.NONE)
        pipeline = Pipeline.of([self.kernel_pass], context.host.properties if context.host else {})
        result = run_aloud(pipeline, as_program(program), context)
        return result.functions[program.name] if isinstance(program, Function) else result

    def get_name(self) -> str:
        """The name of the pass, e.g. ``ConvertToSSA``."""
        return self.kernel_pass.name

    def get_required_properties(self) -> IRPropertySet:
        """What has to hold before."""
        return IRPropertySet(self.kernel_pass.contract.requires)

    def get_produced_properties(self) -> IRPropertySet:
        """What holds afterwards."""
        return IRPropertySet(self.kernel_pass.contract.produces)

    def get_invalidated_properties(self) -> IRPropertySet:
        """What is no longer sure afterwards."""
        invalidated = self.kernel_pass.contract.invalidates
        return IRPropertySet(_DOCUMENTED.get(self.get_name(), invalidated))

    def __repr__(self) -> str:
        return f"<Pass {self.get_name()}>"


def _custom(name: str, properties: PassProperties | None, run: Callable[..., Any], scope: PassScope) -> Pass:
    given = properties or PassProperties()
    contract_ = PassContract(
        name=name,
        requires=frozenset(names_of(given.required)),
        produces=frozenset(names_of(given.produced)),
        invalidates=frozenset(names_of(given.invalidated)),
    )
    return Pass(contract.Pass(contract=contract_, run=run, scope=scope))


def create_function_pass(
    transform: Callable[[Function], Function], name: str = "", properties: PassProperties | None = None
) -> Pass:
    """A pass from a function that rewrites one function at a time."""

    def run(node: Function, _: Any) -> Function:
        return transform(node)

    return _custom(name or "FunctionPass", properties, run, PassScope.FUNCTION)


def create_program_pass(
    transform: Callable[[Program], Program], name: str = "", properties: PassProperties | None = None
) -> Pass:
    """A pass from a function that rewrites the whole program."""

    def run(node: Program, _: Any) -> Program:
        return transform(node)

    return _custom(name or "ProgramPass", properties, run, PassScope.PROGRAM)


def run_verifier(properties: IRPropertySet | None = None) -> Pass:
    """A pass that checks properties, by default the usual ones, and changes nothing.

    Raises VerificationError, which is a :class:`pypto.Error`.
    """
    names = DEFAULT_CHECKS if properties is None else names_of(properties)

    def check(program: Program, context: Any) -> Program:
        verify_or_raise(program, names, context.backend, after="IRVerifier", catalogue=_catalogue(context))
        return program

    return _custom("IRVerifier", None, check, PassScope.PROGRAM)


def _catalogue(context: Any) -> Any:
    return context.host.properties


class PassPipeline:
    """Passes in the order in which they were added; what each requires is checked before it runs."""

    def __init__(self) -> None:
        self._passes: list[Pass] = []

    def add_pass(self, pass_: Pass) -> None:
        """Append a pass."""
        self._passes.append(pass_)

    def run(self, program: Any) -> Program:
        """The program after all passes, with the settings of the active context."""
        context = kernel_context()
        pipeline = Pipeline.of(
            [p.kernel_pass for p in self._passes], context.host.properties if context.host else {}
        )
        return run_checked(pipeline, as_program(program), context)

    def get_passes(self) -> list[Pass]:
        """The passes, in order."""
        return list(self._passes)

    def get_pass_names(self) -> list[str]:
        """Their names, in order."""
        return [p.get_name() for p in self._passes]
