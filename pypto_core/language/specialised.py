"""What is different while a kernel is read for known arguments: names may stand for constants, and change their type.

Plain kernels are read statement by statement, as they are printed. A kernel under ``@pl.jit`` is Python that was
written with concrete arguments in mind: ``rows, cols = x.shape`` are numbers there, a branch on a number is taken or
left out, and a name may be used again for a value of another type.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import attrs

from pypto_core.diagnostics import ParserTypeError
from pypto_core.ir import Call, Expr, ScalarType, Var, walk
from pypto_core.language.annotations import dynamic_var
from pypto_core.language.environment import items_of
from pypto_core.language.lifetimes import BRANCH, LOOP, Block, Lifetimes, Names

if TYPE_CHECKING:
    from pypto_core.language.context import Context


@attrs.define(eq=False)
class Specialised:
    """The state of reading one specialised function.

    ``called``: another kernel calls it, so that typed scalars stay parameters. ``fixed``: the parameters that became
    constants. ``constant_names``: the names that may be constants, ``constants``: those that stand for a value now.
    ``open_blocks``: the blocks being read from the outermost one on, without those of branches that were decided.
    ``homes``: in which of them each name was bound.
    """

    lifetimes: Lifetimes
    called: bool = False
    constant_names: Names = frozenset()
    fixed: dict[str, Any] = attrs.field(factory=lambda: dict[str, Any]())
    constants: set[str] = attrs.field(factory=lambda: set[str]())
    open_blocks: list[Block] = attrs.field(factory=lambda: list[Block]())
    homes: dict[str, tuple[Block, ...]] = attrs.field(factory=lambda: dict[str, tuple[Block, ...]]())

    def enter(self, nodes: Sequence[ast.stmt]) -> None:
        """A block that runs if and as often as the program says begins."""
        self.open_blocks.append(self.lifetimes.block_of[id(nodes[0])])

    def leave(self) -> None:
        """It ends."""
        self.open_blocks.pop()

    @property
    def conditional(self) -> bool:
        """Whether what is read now may run any number of times."""
        return any(block.kind in (BRANCH, LOOP) for block in self.open_blocks)

    def define(self, ctx: Context, name: str, value: Any) -> None:
        """Let a name stand for a value from here on."""
        ctx.names.pop(name, None)
        ctx.prefixes.pop(name, None)
        ctx.env.define(name, value)
        self.constants.add(name)

    def keeps(self, ctx: Context, target: ast.Name, value: Any) -> bool:
        """Whether an assignment only names a constant, which it then does.

        Raises ParserTypeError for a name that already is one and would change in a loop or branch of the program.
        """
        name = target.id
        if name in self.constants and self.conditional:
            raise ctx.fail(
                ParserTypeError,
                f"'{name}' is a constant of this kernel and can't change in a loop or branch",
                target,
                f"make it a variable from the start: another name, set by pl.const({name}, pl.INDEX) or the like",
            )
        if name in self.constant_names and _is_constant(value):
            self.define(ctx, name, value)
            return True
        return False

    def unpacks(self, ctx: Context, targets: Sequence[ast.expr], value: Any) -> bool:
        """The same for several names at once; only if it holds for all of them."""
        items = items_of(value)
        if items is None or len(items) != len(targets):
            return False
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        if not all(n in self.constant_names for n in names) or not _is_constant(items):
            return False
        for target, item in zip(targets, items, strict=True):
            assert isinstance(target, ast.Name)
            self.keeps(ctx, target, item)
        return True

    def bound(self, name: str) -> None:
        """Note where a name gets a variable of its own."""
        self.homes[name] = tuple(self.open_blocks)
        self.constants.discard(name)

    def may_rebind(self, name: str) -> bool:
        """Whether a name may get a value of another type: nobody reads it where the old one could still be meant."""
        home = self.homes.get(name, ())
        shared = sum(
            1 for _ in takewhile(lambda pair: pair[0] is pair[1], zip(self.open_blocks, home, strict=False))
        )
        entered = [block for block in self.open_blocks[shared:] if block.kind in (BRANCH, LOOP)]
        return not any(name in block.read_later for block in entered)


def is_free(extent: Expr) -> bool:
    """Whether an extent means the same everywhere: it is built from numbers and symbols of ``pl.dynamic``.

    What an operator gives, such as ``pld.world_size()``, is known where it is called.
    """
    return not any(
        isinstance(node, Call) or (isinstance(node, Var) and not _is_symbol(node)) for node in walk(extent)
    )


def _is_symbol(var: Var) -> bool:
    return isinstance(var.type, ScalarType) and dynamic_var(var.name_hint, var.type.dtype) is var


def _is_constant(value: Any) -> bool:
    items = items_of(value)
    if items is not None:
        return all(map(_is_constant, items))
    return not isinstance(value, Expr) or (isinstance(value.type, ScalarType) and is_free(value))
