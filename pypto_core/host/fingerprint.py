"""What is installed, as far as it decides what comes out: versions, and the state of sources that may be edited."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pypto_core.host.health import Status

if TYPE_CHECKING:
    from pypto_core.host.host import Host

_log = logging.getLogger("pypto_core.host")
_STARTED = time.time()
# Installed packages don't change without their version, those that are run from a source tree do.
_INSTALLED = frozenset({"site-packages", "dist-packages"})
_KERNEL = "pypto_core"

Row = tuple[Any, ...]


def installed_state(host: Host) -> tuple[Row, ...] | None:
    """One row for the kernel and for each plugin in use: name, version, and the state of what is no release.

    None when what is made must not outlive this process: a plugin has no version, or a file was changed after the
    process began, so that what is loaded may not be what is on disk.
    """
    records = [record for record in host.health if record.status is Status.OK]
    return state_of((r.name, r.distribution, r.version, r.module) for r in records)


def state_of(plugins: Iterable[tuple[str, str, str, str]]) -> tuple[Row, ...] | None:
    """The same for plugins by name, distribution, version and the module of their entry point; imports none."""
    rows: list[Row] = [(_KERNEL, _kernel_version(), sources_of(_KERNEL))]
    for name, distribution, version, module in plugins:
        package = module.partition(":")[0].partition(".")[0]
        rows.append((name, distribution, version, sources_of(package) if version else None))
    return None if any(row[-1] is None for row in rows) else tuple(rows)


def _kernel_version() -> str:
    return sys.modules[_KERNEL].__version__


@cache
def sources_of(package: str) -> tuple[Row, ...] | None:
    """Path, size and time of change of each module of a package in a source tree; empty for an installed one.

    None when the package can't be found without importing it, or was edited after this process began.
    """
    folders = _folders(package)
    if not folders:
        return None
    rows = [row for root in folders if _INSTALLED.isdisjoint(root.parts) for row in _files(root)]
    changed = [name for name, _, nanoseconds in rows if nanoseconds > _STARTED * 1e9]
    if changed:
        _log.info("%s of %s changed after this process began: nothing is kept on disk", changed[0], package)
        return None
    return tuple(sorted(rows))


def _folders(package: str) -> list[Path]:
    loaded = sys.modules.get(package)
    if loaded is not None:
        return [Path(folder) for folder in getattr(loaded, "__path__", ())]
    found = PathFinder.find_spec(package)
    return [Path(folder) for folder in (found.submodule_search_locations or ())] if found is not None else []


def _files(root: Path) -> Iterator[Row]:
    for path in root.rglob("*.py"):
        try:
            found = path.stat()
        except OSError:  # renamed or removed meanwhile
            continue
        yield path.relative_to(root).as_posix(), found.st_size, found.st_mtime_ns
