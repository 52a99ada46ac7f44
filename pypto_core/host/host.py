"""Everything that is installed, as one value."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any, TypeVar

import attrs

from pypto_core.contract import (
    Backend,
    CodePage,
    Command,
    Engine,
    OpEmitter,
    OpExecutor,
    Pass,
    Planner,
    Property,
    ReportSection,
    Target,
)
from pypto_core.diagnostics import checked
from pypto_core.host.catalogue import known_distributions
from pypto_core.host.derived import Derived
from pypto_core.host.discovery import (
    Candidate,
    EntryPointLike,
    LoadedPlugin,
    find_candidates,
    load_candidate,
    select,
)
from pypto_core.host.health import Origin, PluginRecord, Status
from pypto_core.host.intake import Intake
from pypto_core.host.kinds import KINDS
from pypto_core.host.lookup import unknown_name
from pypto_core.host.pages import CORE_PAGES
from pypto_core.host.registry import Registry
from pypto_core.host.selection import VARIABLE, Selection, normal_name
from pypto_core.ops import OpDef, OpRegistry

KERNEL = "pypto-core"

T = TypeVar("T")

_log = logging.getLogger("pypto_core.host")


@attrs.frozen(eq=False, kw_only=True)
class Host:
    """The registries, filled once; the kernel's own things come from the distribution ``pypto-core``.

    ``health`` has one record for each plugin that is installed or asked for, sorted by name.
    """

    properties: Registry[Property]
    operators: Registry[OpDef]
    passes: Registry[Pass]
    backends: Registry[Backend]
    planners: Registry[Planner]
    targets: Registry[Target]
    emitters: Registry[OpEmitter]
    executors: Registry[OpExecutor]
    engines: Registry[Engine]
    commands: Registry[Command]
    report_sections: Registry[ReportSection]
    codes: Registry[CodePage]
    health: tuple[PluginRecord, ...] = ()
    ops: OpRegistry = attrs.field(
        init=False,
        repr=False,
        default=attrs.Factory(lambda self: OpRegistry.of(self.operators.values()), takes_self=True),
    )
    """The operators as builders and parsers take them."""
    derived: Derived = attrs.field(init=False, repr=False, factory=Derived)
    """Answers that follow from what is installed; whoever works one out may leave it here."""

    def backend(self, name: str) -> Backend:
        """The backend of that name or alias, in any case. Raises UserError (PT701) listing what there is."""
        named = name if isinstance(name, str) else ""  # pyright: ignore[reportUnnecessaryIsInstance]
        found = next((b for b in self.backends.values() if b.answers_to(named)), None)
        if found is None:
            raise unknown_name("backend", name, self.backends, self.health, "PT701")
        return found

    def planner(self, name: str) -> Planner:
        """The planner of that name. Raises UserError (PT702) listing what there is."""
        return self._find("planner", name, self.planners, "PT702")

    def target(self, name: str) -> Target:
        """The target of that name. Raises UserError (PT703) listing what there is."""
        return self._find("target", name, self.targets, "PT703")

    def find_pass(self, name: str) -> Pass:
        """The pass of that name. Raises UserError (PT704) listing the nearest."""
        return self._find("pass", name, self.passes, "PT704")

    def engine(self, name: str) -> Engine:
        """The engine of that name. Raises UserError (PT705) listing what there is."""
        return self._find("engine", name, self.engines, "PT705")

    def _find(self, kind: str, name: object, registry: Registry[T], code: str) -> T:
        if not isinstance(name, str) or name not in registry:
            raise unknown_name(kind, name, registry, self.health, code)
        return registry[name]

    @checked()
    def emitters_of(self, target: str) -> Mapping[str, OpEmitter]:
        """The recipes registered for a target, by operator name, sorted."""
        found = [emitter for emitter in self.emitters.values() if emitter.target == target]
        return MappingProxyType({e.op: e for e in sorted(found, key=lambda e: e.op)})

    @checked()
    def plugin(self, name: str) -> PluginRecord | None:
        """The record of a plugin by its name or its distribution's; None when it is not known."""
        return next((r for r in self.health if name in (r.name, r.distribution)), None)

    @property
    def failed(self) -> tuple[PluginRecord, ...]:
        """Records of plugins that are installed or asked for and can't be used."""
        return tuple(record for record in self.health if record.failed)


@checked()
def load_host(
    env: Mapping[str, str] | None = None,
    entry_points: Iterable[EntryPointLike] | None = None,
    extra_plugins: Iterable[Any] = (),
) -> Host:
    """Find, import and take in every plugin, whatever state they are in.

    ``env`` is read for ``PYPTO_PLUGINS`` (default: the process's environment). ``entry_points`` replaces the
    installed ones. ``extra_plugins`` are modules, or objects with hook methods, that need no installation and
    obey no selection; their name is what their ``pypto_plugin`` says. One takes the place of an installed plugin of
    the same name.

    Never raises because of a plugin; what is wrong stands in ``Host.health`` and is logged as a warning, each
    sentence once in a process. Called without arguments it returns the same host until the variable or
    ``sys.path`` changes.
    """
    text = (os.environ if env is None else env).get(VARIABLE)
    extras = tuple(extra_plugins)
    if entry_points is None and not extras:
        return _installed_host(text, tuple(sys.path))
    return _build(Selection.parse(text), find_candidates(entry_points), extras)


@cache
def _installed_host(text: str | None, path: tuple[str, ...]) -> Host:
    return _build(Selection.parse(text), find_candidates(), ())


def _build(selection: Selection, candidates: tuple[Candidate, ...], extras: tuple[Any, ...]) -> Host:
    chosen, records = select(candidates, selection)
    inside, doubles = select(tuple(map(_in_process, extras)), Selection())
    given = {normal_name(candidate.name) for candidate in inside}
    replaced = [candidate for candidate in chosen if normal_name(candidate.name) in given]
    chosen = [candidate for candidate in chosen if candidate not in replaced]
    records += [c.record(Status.BLOCKED, "a plugin of its name was given in its place") for c in replaced]
    intake = Intake()
    intake.add_kernel(kernel_origin(), _kernel_things())
    for candidate in sorted([*chosen, *inside], key=_precedence):
        loaded = load_candidate(candidate)
        records.append(intake.add_plugin(loaded) if isinstance(loaded, LoadedPlugin) else loaded)
    health = tuple(sorted([*records, *doubles], key=lambda r: (r.name, r.distribution, r.version)))
    for record in health:
        _warn_of(record)
    tables: dict[str, Any] = {k.field: Registry[Any].of(k.label, intake.rows[k.label]) for k in KINDS}
    return Host(health=health, **tables)


def _precedence(candidate: Candidate) -> tuple[bool, str, str]:
    """Well-known distributions keep their names whatever a stranger is called."""
    stranger = normal_name(candidate.distribution) not in known_distributions()
    return (stranger, candidate.name, candidate.distribution)


def kernel_origin() -> Origin:
    """The origin of the kernel's own properties and operators."""
    # By name, as the package also offers what lies in the layers above this one.
    return Origin(KERNEL, import_module("pypto_core").__version__)


def _kernel_things() -> dict[str, Iterable[Any]]:
    from pypto_core.ops import builtin_registry
    from pypto_core.verify import CORE_PROPERTIES

    return {"property": CORE_PROPERTIES, "operator": builtin_registry(), "code": CORE_PAGES}


@attrs.frozen
class _InProcessDistribution:
    name: str
    version: str


@attrs.frozen
class _InProcess:
    """A plugin object in the shape of an entry point."""

    plugin: Any
    name: str
    value: str
    dist: _InProcessDistribution

    def load(self) -> Any:
        """The object itself."""
        return self.plugin


def _in_process(plugin: Any) -> Candidate:
    module = str(_attribute(plugin, "__name__", type(plugin).__name__))
    try:
        name = str(plugin.pypto_plugin().name)
    except KeyboardInterrupt:
        raise
    except BaseException:  # reported when the hook is called to take the plugin in
        name = module.rpartition(".")[2]
    distribution = _InProcessDistribution(str(_attribute(plugin, "__distribution__", "in-process")), "")
    return Candidate(_InProcess(plugin, name, module, distribution), name, distribution.name, "")


def _attribute(plugin: Any, name: str, default: str) -> Any:
    try:
        return getattr(plugin, name, default)
    except Exception:
        return default


def _warn_of(record: PluginRecord) -> None:
    if record.failed:
        _say_once(record.sentence() + (f" ({record.remedy})" if record.remedy else ""))
    for note in record.notes if record.status is Status.OK else ():
        _say_once(f"plugin {record.name}: {note}")


@cache
def _say_once(sentence: str) -> None:
    _log.warning(sentence)
