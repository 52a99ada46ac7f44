"""What a pass promises: the properties it needs, makes and destroys, and where it wants to stand."""

from __future__ import annotations

import enum
import importlib
from collections.abc import Callable, Iterable
from typing import Any

import attrs


class Role(enum.Enum):
    """Why a pass is in a plan at all."""

    MUST = "must"
    """Runs in every plan for which it is enabled."""
    PROVIDE = "provide"
    """Runs only when something needs what it makes."""
    OPTIMISE = "optimise"
    """Wanted: runs whenever some plan has room for it."""
    CHECK = "check"
    """Changes nothing and is wanted as an optimisation is, but never displaces one."""


class Relation(enum.Enum):
    """How the pass that states an order fact stands to the other one.

    The plain relations compare first runs. The strict ones keep every run of the earlier pass before the
    first run of the later one, so that not even a repair comes late.
    """

    BEFORE = "before"
    AFTER = "after"
    STRICTLY_BEFORE = "strictly before"
    STRICTLY_AFTER = "strictly after"

    @property
    def strict(self) -> bool:
        """Whether all runs count and not only the first."""
        return self in (Relation.STRICTLY_BEFORE, Relation.STRICTLY_AFTER)

    @property
    def forward(self) -> bool:
        """Whether the stating pass is the earlier one."""
        return self in (Relation.BEFORE, Relation.STRICTLY_BEFORE)


@attrs.frozen
class OrderFact:
    """A place that properties don't force.

    ``other`` is a pass, one of its instances, or an anchor (``@memory``). ``reason`` is one sentence for
    the reader of an explanation. ``instance`` narrows the fact to one of the stating pass's own runs; empty
    means the pass. A fact about a pass that is absent says nothing about that pass.
    """

    relation: Relation
    other: str
    reason: str = ""
    instance: str = ""


def before(other: str, reason: str = "", *, instance: str = "") -> OrderFact:
    """The first run comes before the first run of ``other``."""
    return OrderFact(Relation.BEFORE, other, reason, instance)


def after(other: str, reason: str = "", *, instance: str = "") -> OrderFact:
    """The first run comes after the first run of ``other``."""
    return OrderFact(Relation.AFTER, other, reason, instance)


def strictly_before(other: str, reason: str = "", *, instance: str = "") -> OrderFact:
    """Every run comes before the first run of ``other``."""
    return OrderFact(Relation.STRICTLY_BEFORE, other, reason, instance)


def strictly_after(other: str, reason: str = "", *, instance: str = "") -> OrderFact:
    """The first run comes after every run of ``other``."""
    return OrderFact(Relation.STRICTLY_AFTER, other, reason, instance)


def _names(value: Iterable[str]) -> frozenset[str]:
    if isinstance(value, str):
        raise TypeError(f"a set of names is needed, not the one string {value!r}")
    return frozenset[str](value)


@attrs.frozen(kw_only=True)
class PassContract:
    """All that the solver knows of a pass.

    ``requires``: properties that must hold before.
    ``produces``: hold afterwards; one that is also required is merely kept.
    ``invalidates``: no longer guaranteed; taken away before ``produces`` is added.
    ``forbids``: must not hold before. Solved as "strictly before every pass that establishes it".
    ``needs`` and ``excludes``: capabilities (``planner:dsa``, ``isa.slots``, ``option:fast``, ``option:fast=false``,
    ``target:pto``) without which, or with which, the pass is switched off.
    ``order``: facts about its place that no property forces.
    ``runs``: ids of its instances in the order they run; empty means one instance with the pass's name.
    MUST, OPTIMISE and CHECK want each of them, PROVIDE takes as many as are needed, so a provider that may
    repair what a later pass destroys lists a second id.
    ``touches``: effects on the program, for properties that this pass has never heard of.
    """

    name: str
    requires: frozenset[str] = attrs.field(default=frozenset(), converter=_names)
    produces: frozenset[str] = attrs.field(default=frozenset(), converter=_names)
    invalidates: frozenset[str] = attrs.field(default=frozenset(), converter=_names)
    forbids: frozenset[str] = attrs.field(default=frozenset(), converter=_names)
    needs: frozenset[str] = attrs.field(default=frozenset(), converter=_names)
    excludes: frozenset[str] = attrs.field(default=frozenset(), converter=_names)
    order: tuple[OrderFact, ...] = attrs.field(default=(), converter=tuple)
    role: Role = Role.PROVIDE
    runs: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    touches: frozenset[str] = attrs.field(default=frozenset(), converter=_names)

    def __attrs_post_init__(self) -> None:
        if not self.name or not all(self.runs):
            raise ValueError("a pass and each of its instances need a name that is not empty")
        if not self.runs:
            object.__setattr__(self, "runs", (self.name,))
        if len(set(self.runs)) != len(self.runs):
            raise ValueError(f"pass {self.name} lists an instance id twice: {', '.join(self.runs)}")
        for fact in self.order:
            if fact.instance and fact.instance not in self.runs:
                raise ValueError(
                    f"pass {self.name} states an order for its instance {fact.instance}, "
                    f"but it runs as {', '.join(self.runs)}"
                )


class PassScope(enum.Enum):
    """What a pass is handed: one function at a time, or the whole program."""

    FUNCTION = "function"
    PROGRAM = "program"


@attrs.frozen(kw_only=True)
class Pass:
    """A pass as a plugin registers it: contract, body and options.

    ``run`` is a callable ``(Program | Function, PassContext) -> same`` or ``"module:name"`` of one, which
    is imported by the first :meth:`load`. ``options`` is a frozen attrs instance; its values are the
    defaults that :func:`parse_pass_spec` starts from. ``idempotent``: whether a second run changes nothing more, which
    the conformance suite checks.
    """

    contract: PassContract
    run: Callable[[Any, Any], Any] | str
    scope: PassScope = PassScope.PROGRAM
    options: Any = None
    summary: str = ""
    idempotent: bool = True

    @property
    def name(self) -> str:
        """The pass's name, from its contract."""
        return self.contract.name

    def load(self) -> Callable[[Any, Any], Any]:
        """The body, importing its module when it was given by name."""
        return load_reference(self.run, f"pass {self.name}")

    def spec(self) -> str:
        """The pass as text: its name, and the options that differ from their defaults in braces."""
        from pypto_core.contract.options import pass_spec

        return pass_spec(self)


def load_reference(target: Callable[..., Any] | str, owner: str) -> Callable[..., Any]:
    """``target`` itself, or the callable that ``"module:name"`` names.

    Raises ValueError when the text has no such form, ImportError when the module lacks the name; both say
    whose reference it was.
    """
    if not isinstance(target, str):
        return target
    module_name, separator, path = target.partition(":")
    if not (separator and module_name and path):
        raise ValueError(f"{owner}: {target!r} is not of the form 'module:name'")
    found: Any = importlib.import_module(module_name)
    for part in path.split("."):
        if not hasattr(found, part):
            raise ImportError(f"{owner}: module {module_name} has no {path}")
        found = getattr(found, part)
    if not callable(found):
        raise ImportError(f"{owner}: {target} is not callable")
    return found
