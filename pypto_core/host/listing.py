"""The commands that installed plugins bring, without importing plugins that were asked before."""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any, cast

from pypto_core.host.api import PLUGIN_API
from pypto_core.host.discovery import find_candidates, select
from pypto_core.host.fingerprint import state_of
from pypto_core.host.selection import VARIABLE, Selection
from pypto_core.host.store import Store


def command_lines() -> dict[str, str]:
    """The line of help of each command by its name, as the selected plugins give it.

    What they said is kept in the user's cache for as long as nothing that is installed changes; without a cache, or
    while a plugin can't be loaded, they are asked each time.
    """
    store = Store.from_environment()
    chosen, _ = select(find_candidates(), Selection.parse(os.environ.get(VARIABLE)))
    state = state_of((c.name, c.distribution, c.version, c.entry.value) for c in chosen)
    if store is None or state is None:
        return _asked()[0]
    name = hashlib.sha256(repr(("commands", PLUGIN_API, state)).encode()).hexdigest()
    known = store.get(name)
    found = None if known is None else _read(known)
    if found is None:
        found, complete = _asked()
        if complete:
            store.put(name, json.dumps(found).encode())
    return found


def _asked() -> tuple[dict[str, str], bool]:
    """The lines from the plugins themselves, and whether all of them could be asked."""
    from pypto_core.host.host import load_host  # imports every plugin

    host = load_host()
    return {name: command.help for name, command in host.commands.items()}, not host.failed


def _read(data: bytes) -> dict[str, str] | None:
    try:
        found = json.loads(data)
    except ValueError:
        return None
    if not isinstance(found, dict):
        return None
    rows = cast("dict[Any, Any]", found)
    return rows if all(isinstance(line, str) for line in rows.values()) else None
