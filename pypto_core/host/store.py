"""A folder of results that processes share: a file for each, which is whole or not there.

A file is a magic number, the name it answers to, a digest of what follows, and that. Writers put a file together under
another name and rename it, so that readers never see half of one. What can't be trusted counts as absent and
is removed. The least recently used files go when the folder grows over its limit.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import attrs

from pypto_core.diagnostics import UserError

FOLDER_VARIABLE, SWITCH_VARIABLE, LIMIT_VARIABLE = "PYPTO_CACHE_DIR", "PYPTO_CACHE", "PYPTO_CACHE_BYTES"
DEFAULT_LIMIT = 256 << 20
MAX_FILE = 64 << 20
"""Bytes of one file beyond which it is neither written nor read."""

_MAGIC = b"\x89PKEPT\r\n"
_SUFFIX, _UNFINISHED = ".result", ".unfinished"
_ABANDONED_SECONDS = 3600.0
_DIGEST_BYTES = 32
_OFF = frozenset({"0", "off", "false", "no"})
_log = logging.getLogger("pypto_core.host")


class DamagedError(Exception):
    """A file of the store is not what was written there."""


@attrs.frozen
class Store:
    """Results by name, below ``folder``; ``limit``: bytes that all files together may take, about."""

    folder: Path = attrs.field(converter=Path)
    limit: int = DEFAULT_LIMIT

    @classmethod
    def from_environment(cls, env: Mapping[str, str] | None = None) -> Store | None:
        """The store that the environment names; None where it is switched off or no folder can be told.

        ``PYPTO_CACHE=off`` switches it off, ``PYPTO_CACHE_DIR`` is its folder (default: ``pypto`` in the user's cache
        folder), ``PYPTO_CACHE_BYTES`` its limit. Raises UserError (PT833) for a limit that is no number.
        """
        env = os.environ if env is None else env
        if env.get(SWITCH_VARIABLE, "").strip().lower() in _OFF:
            return None
        folder = _folder(env)
        return None if folder is None else cls(folder, _limit(env))

    def get(self, name: str) -> bytes | None:
        """What was put under a name; None, with a line in the log, when it is damaged. Counts as a use."""
        path = self._path(name)
        try:
            data = _content(path, name)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, DamagedError) as error:
            self.drop(name, str(error))
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return data

    def put(self, name: str, data: bytes) -> bool:
        """Keep ``data`` under a name, replacing what is there; False, with a line in the log, when it can't be."""
        content = b"".join((_MAGIC, bytes.fromhex(name), hashlib.sha256(data).digest(), data))
        if len(content) > min(MAX_FILE, self.limit):
            _log.info("the result %s is too large to keep: %d bytes", name[:12], len(content))
            return False
        path = self._path(name)
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            _write_whole(path, content)
        except OSError as error:
            _log.info("the cache can't be written: %s", error)  # nothing is lost but time
            return False
        self.shrink()
        return True

    def drop(self, name: str, reason: str) -> None:
        """Remove a file that is no good."""
        _log.warning("the cached result %s is not used: %s", name[:12], reason)
        with contextlib.suppress(OSError):
            self._path(name).unlink()

    def shrink(self) -> None:
        """Remove the files that were not used for longest until the others fit the limit, and abandoned ones."""
        found = sorted(self._files())
        total = sum(size for _, size, _ in found)
        for _, size, path in found:
            if total <= self.limit:
                break
            with contextlib.suppress(OSError):
                path.unlink()
            total -= size

    def clear(self) -> int:
        """Remove every file; returns how many there were."""
        count = 0
        for _, _, path in self._files():
            with contextlib.suppress(OSError):
                path.unlink()
                count += 1
        return count

    @property
    def usage(self) -> tuple[int, int]:
        """How many results there are, and their bytes."""
        sizes = [size for _, size, _ in self._files()]
        return len(sizes), sum(sizes)

    def _files(self) -> Iterator[tuple[float, int, Path]]:
        """Time of last use, bytes and path of each result; removes what writers left behind that were stopped."""
        for path in self.folder.glob("??/*"):
            try:
                found = path.stat()
                if path.suffix == _SUFFIX:
                    yield found.st_mtime, found.st_size, path
                elif path.suffix == _UNFINISHED and time.time() - found.st_mtime > _ABANDONED_SECONDS:
                    path.unlink()
            except OSError:  # another process was faster
                continue

    def _path(self, name: str) -> Path:
        return self.folder / name[:2] / f"{name}{_SUFFIX}"


def _folder(env: Mapping[str, str]) -> Path | None:
    named = env.get(FOLDER_VARIABLE, "").strip()
    if named:
        return Path(named)
    base = env.get("XDG_CACHE_HOME", "").strip() or env.get("LOCALAPPDATA", "").strip()
    if base:
        return Path(base) / "pypto"
    try:
        return Path.home() / ".cache" / "pypto"
    except RuntimeError:  # a user without a home folder
        return None


def _limit(env: Mapping[str, str]) -> int:
    text = env.get(LIMIT_VARIABLE, "").strip()
    if not text:
        return DEFAULT_LIMIT
    if not (text.isascii() and text.isdigit()):
        raise UserError(
            f"{LIMIT_VARIABLE} is '{text}', which is no number of bytes",
            code="PT833",
            remedy=f"write digits alone, such as {DEFAULT_LIMIT}, or unset it",
        )
    return int(text)


def _content(path: Path, name: str) -> bytes:
    with path.open("rb") as stream:
        content = stream.read(MAX_FILE + 1)
    head, wanted = len(_MAGIC), bytes.fromhex(name)
    digest = head + len(wanted)
    data = content[digest + _DIGEST_BYTES :]
    if len(content) > MAX_FILE:
        raise DamagedError("it is larger than any result")
    if content[:head] != _MAGIC:
        raise DamagedError("it is no stored result")
    if content[head:digest] != wanted:
        raise DamagedError("it belongs to another name")
    if content[digest : digest + _DIGEST_BYTES] != hashlib.sha256(data).digest():
        raise DamagedError("its digest does not fit its contents")
    return data


def _write_whole(path: Path, content: bytes) -> None:
    handle, temporary = tempfile.mkstemp(suffix=_UNFINISHED, dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
