"""Results of one kernel by name: in memory, and behind that in the folder that processes share."""

from __future__ import annotations

import threading
from collections import OrderedDict

from pypto_core.diagnostics import SourceText, UserError
from pypto_core.host import Host, Store, installed_state
from pypto_core.jit.result import Result, from_bytes, to_bytes

_REMEMBERED = 128
"""Results that one kernel keeps in memory."""


class Results:
    """What was compiled before; safe to use from several threads.

    A host is part of a name: plugins of one process alone have no version to tell them apart.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[Host, str], Result] = OrderedDict()

    def find(self, host: Host, key: str, text: SourceText) -> tuple[Result | None, str]:
        """A result and where it was, ``memory`` or ``disk``; ``text`` is the source that its positions point into."""
        with self._lock:
            known = self._known.get((host, key))
            if known is not None:
                self._known.move_to_end((host, key))
                return known, "memory"
        store = _store(host)
        data = store.get(key) if store is not None else None
        if store is None or data is None:
            return None, ""
        try:
            found = from_bytes(data, text)
        except Exception as error:  # whatever it holds, it is not what this version writes
            store.drop(key, f"{type(error).__name__}: {error}")
            return None, ""
        self._remember(host, key, found)
        return found, "disk"

    def keep(self, host: Host, key: str, result: Result) -> None:
        """Remember a result, on disk too unless it has no stored form."""
        self._remember(host, key, result)
        store = _store(host)
        if store is None:
            return
        try:
            data = to_bytes(result)
        except UserError:  # a plugin's own nodes
            return
        store.put(key, data)

    def forget(self) -> None:
        """Drop what is in memory."""
        with self._lock:
            self._known.clear()

    def _remember(self, host: Host, key: str, result: Result) -> None:
        with self._lock:
            self._known[host, key] = result
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)


def _store(host: Host) -> Store | None:
    return Store.from_environment() if installed_state(host) is not None else None
