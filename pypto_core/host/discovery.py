"""Find plugins and import them, one by one, so that no fault of one reaches another.

Entry points are read without importing anything and sorted, as the order in which the file system lists
distributions must not decide anything.
"""

from __future__ import annotations

import difflib
import inspect
import traceback
from collections.abc import Iterable
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, cast

import attrs

from pypto_core.host.api import PLUGIN_API, PluginInfo, api_matches
from pypto_core.host.health import Origin, PluginRecord, Status
from pypto_core.host.selection import VARIABLE, Selection, normal_name

if TYPE_CHECKING:
    from pluggy import PluginManager

GROUP = "pypto.plugins"


class EntryPointLike(Protocol):
    """What discovery needs of an entry point; those of importlib.metadata have it."""

    @property
    def name(self) -> str:
        """The plugin's name."""
        ...

    @property
    def value(self) -> str:
        """The module, as text."""
        ...

    @property
    def dist(self) -> Any:
        """The distribution, with ``name`` and ``version``; may be None."""
        ...

    def load(self) -> Any:
        """Import the module."""
        ...


@attrs.frozen
class Candidate:
    """An installed plugin that nobody imported yet."""

    entry: EntryPointLike = attrs.field(repr=False)
    name: str
    distribution: str
    version: str

    @property
    def origin(self) -> Origin:
        """Where its parts come from."""
        return Origin(self.distribution, self.version, self.name)

    def record(self, status: Status, reason: str = "", **parts: Any) -> PluginRecord:
        """What became of it."""
        return PluginRecord(
            name=self.name,
            distribution=self.distribution,
            version=self.version,
            status=status,
            reason=reason,
            module=self.entry.value,
            **parts,
        )


@attrs.frozen
class LoadedPlugin:
    """An imported plugin whose hooks are known to exist, and what it says of itself."""

    candidate: Candidate
    info: PluginInfo
    manager: PluginManager = attrs.field(repr=False)

    def call(self, hook: str) -> list[Any]:
        """What the plugin's implementation of a hook returns, one element per implementation."""
        return list(getattr(self.manager.hook, hook)())


def find_candidates(entry_points: Iterable[EntryPointLike] | None = None) -> tuple[Candidate, ...]:
    """The plugins that are installed, sorted by name, then by distribution. Imports nothing of them."""
    if entry_points is None:
        from importlib.metadata import entry_points as installed

        entry_points = cast("Iterable[EntryPointLike]", installed(group=GROUP))
    found = {(c.name, c.distribution, c.entry.value): c for c in map(_candidate, entry_points)}
    return tuple(found[key] for key in sorted(found))


def _candidate(entry: EntryPointLike) -> Candidate:
    name = _metadata(entry, "name") or "an unnamed distribution"
    return Candidate(entry, entry.name, name, _metadata(entry, "version"))


def _metadata(entry: EntryPointLike, field: str) -> str:
    """A field of the distribution's metadata; empty when the files that hold it are damaged."""
    try:
        return str(getattr(entry.dist, field, None) or "")
    except Exception:
        return ""


def select(
    candidates: tuple[Candidate, ...], selection: Selection
) -> tuple[list[Candidate], list[PluginRecord]]:
    """The candidates to import, and records of those that won't be: blocked, duplicate, missing."""
    wanted: list[Candidate] = []
    records: list[PluginRecord] = []
    for candidate in candidates:
        if selection.refuses(candidate.name, candidate.distribution):
            records.append(candidate.record(Status.BLOCKED, f"{VARIABLE} leaves it out"))
        else:
            wanted.append(candidate)
    names = {name for c in candidates for name in (c.name, c.distribution)}
    records += [_missing(name, verb, names) for name, verb in selection.unmatched(names).items()]
    rivals: dict[str, list[Candidate]] = {}
    for candidate in wanted:
        rivals.setdefault(normal_name(candidate.name), []).append(candidate)
    for group in rivals.values():
        if len(group) > 1:
            records += _duplicates(group)
    return [group[0] for group in rivals.values() if len(group) == 1], records


def _missing(name: str, verb: str, known: set[str]) -> PluginRecord:
    """The record of a name in the list that nothing installed has, whichever way the list means it."""
    close = difflib.get_close_matches(name, sorted(normal_name(n) for n in known), n=1)
    otherwise = "install it, or take it out of the list" if verb == "selects" else "take it out of the list"
    return PluginRecord(
        name=name or "-",
        distribution="",
        version="",
        status=Status.MISSING,
        reason=f"{VARIABLE} {verb} it, but no installed distribution has it",
        remedy=f"did you mean {close[0]}?" if close else otherwise,
    )


def _duplicates(group: list[Candidate]) -> list[PluginRecord]:
    named = " and ".join(sorted(f"{c.distribution} {c.version}".strip() for c in group))
    remedy = "uninstall one of them, or choose: " + " or ".join(
        f"{VARIABLE}=-{c.distribution}" for c in sorted(group, key=lambda c: c.distribution)
    )
    return [
        c.record(Status.DUPLICATE, f"{named} both install a plugin named {c.name}", remedy=remedy)
        for c in group
    ]


def load_candidate(candidate: Candidate) -> LoadedPlugin | PluginRecord:
    """Import a plugin and check what it implements; a record when it can't be used."""
    try:
        module = candidate.entry.load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever it is, it ends this plugin alone
        return broken(candidate, "importing it failed", error)
    return check_module(candidate, module)


def check_module(candidate: Candidate, module: Any) -> LoadedPlugin | PluginRecord:
    """Check the hooks and the API range of an imported plugin."""
    from pluggy import PluginManager, PluginValidationError

    from pypto_core.host import hookspecs

    manager = PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    try:
        manager.register(module, candidate.name)
    except PluginValidationError as error:
        return candidate.record(
            Status.BROKEN,
            f"a hook takes the wrong arguments: {_first_line(error)}",
            remedy="no hook takes any",
        )
    unknown = _unknown_hooks(manager) + _unmarked_hooks(module)
    if unknown:
        return _refuse_hooks(candidate, unknown)
    try:
        said = manager.hook.pypto_plugin()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return broken(candidate, "the hook pypto_plugin failed", error)
    if len(said) != 1:
        return candidate.record(
            Status.BROKEN,
            "it does not say who it is",
            remedy="implement the hook pypto_plugin and return a PluginInfo",
        )
    return _check_info(candidate, said[0], manager)


def _check_info(candidate: Candidate, info: Any, manager: PluginManager) -> LoadedPlugin | PluginRecord:
    if not isinstance(info, PluginInfo):
        kind = type(info).__name__
        return candidate.record(Status.BROKEN, f"pypto_plugin returned {kind} instead of a PluginInfo")
    about = {"summary": info.summary, "docs": info.docs, "requires_api": info.requires_api}
    if normal_name(info.name) != normal_name(candidate.name):
        return candidate.record(
            Status.BROKEN,
            f"it calls itself {info.name}, but is installed as {candidate.name}",
            remedy="give the entry point and the PluginInfo the same name",
            **about,
        )
    have = ".".join(map(str, PLUGIN_API))
    try:
        fits = api_matches(info.requires_api)
    except ValueError as error:
        return candidate.record(Status.BROKEN, f"its API range can't be read: {error}", **about)
    if not fits:
        return candidate.record(
            Status.INCOMPATIBLE,
            f"it needs plugin API {info.requires_api}, and this is {have}",
            remedy=f"install a version of {candidate.distribution} for plugin API {have}",
            **about,
        )
    return LoadedPlugin(candidate, info, manager)


def _unknown_hooks(manager: PluginManager) -> list[str]:
    hooks = vars(manager.hook)
    return sorted(
        name for name, hook in hooks.items() if not name.startswith("_") and not hook.has_spec()
        and any(not impl.optionalhook for impl in hook.get_hookimpls())
    )  # fmt: skip


def _unmarked_hooks(module: Any) -> list[str]:
    """Functions that are named like hooks and not marked as such: without the mark nobody would call them."""
    if not isinstance(module, ModuleType):
        return []
    return sorted(
        f"{name} (not marked with @hookimpl)"
        for name, value in vars(module).items()
        if name.startswith("pypto_")
        and inspect.isfunction(value)
        and value.__module__ == module.__name__
        and not hasattr(value, "pypto_impl")
    )


def _refuse_hooks(candidate: Candidate, unknown: list[str]) -> PluginRecord:
    from pypto_core.host import hookspecs

    known = sorted(name for name in vars(hookspecs) if name.startswith("pypto_"))
    remedies: list[str] = []
    for name in unknown:
        bare = name.split()[0]
        close = difflib.get_close_matches(bare, known, n=1)
        if bare in known:
            remedies.append(f"mark {bare} with @hookimpl")
        elif close:
            remedies.append(f"for {bare}, did you mean {close[0]}?")
        else:
            remedies.append(f"remove {bare}; the hooks are: {', '.join(known)}")
    return candidate.record(
        Status.UNKNOWN_HOOK,
        f"it implements hooks that do not exist: {', '.join(unknown)}",
        remedy="; ".join(remedies),
    )


def broken(candidate: Candidate, what: str, error: BaseException, **parts: Any) -> PluginRecord:
    """The record of a plugin that raised."""
    text = "".join(traceback.format_exception(error))
    reason = f"{what}: {type(error).__name__}: {_first_line(error)}"
    return candidate.record(Status.BROKEN, reason, traceback=text, **parts)


def _first_line(error: BaseException) -> str:
    try:
        lines = str(error).strip().splitlines()
    except Exception:  # an exception may well be broken itself
        lines = []
    return lines[0] if lines else "no message"
