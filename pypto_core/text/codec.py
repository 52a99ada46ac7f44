"""The binary form of programs: the only one that keeps everything, identity of variables and shared parts included.

A file is eight bytes of magic, version, checksum and length of what follows, and a msgpack document: the classes that
occur with their fields, source files, spans, and one row per node. A node is written where it is met first; from then
on its row number stands for it. Rows come after the rows they refer to, so what a loop defines is there before its
condition and body.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from functools import cache
from typing import Any
from zlib import crc32

import attrs

from pypto_core.diagnostics import UserError
from pypto_core.ir import collector_paused
from pypto_core.text.decode import Decoder
from pypto_core.text.encode import Encoder
from pypto_core.text.schema import ClassTable, kernel_classes
from pypto_core.text.wire import bad, pack, unpack

MAGIC = b"\x89PYPTO\r\n"
VERSION = 1
_HEADER = struct.Struct("<8sHIQ")
HEADER_SIZE = _HEADER.size
MAX_BYTES = 1 << 28


@attrs.frozen
class Codec:
    """Stores and reads programs made of the classes of ``table``.

    ``max_bytes``: size from which data is refused before it is read.
    """

    table: ClassTable
    max_bytes: int = MAX_BYTES

    @classmethod
    def kernel(cls) -> Codec:
        """The codec of the kernel's own classes."""
        return _kernel()

    def extended(self, classes: Iterable[type]) -> Codec:
        """A codec that also stores these classes of nodes, types and enums, e.g. those of a plugin."""
        return attrs.evolve(self, table=self.table.extended(classes))

    def dumps(self, node: Any, *, spans: bool = True, sources: bool = True) -> bytes:
        """The stored form of a node or type and all below it.

        ``spans=False`` leaves out where things come from, ``sources=False`` only the text that spans point into,
        which is otherwise stored once per file. Raises UserError PT557 for a value that has no stored form.
        """
        with collector_paused():
            payload = pack(Encoder(self.table, spans, sources).document(node))
        return _HEADER.pack(MAGIC, VERSION, crc32(payload), len(payload)) + payload

    def loads(self, data: bytes) -> Any:
        """The node that :meth:`dumps` stored.

        Raises UserError and nothing else for data that is not what ``dumps`` wrote: PT550 not of this format,
        PT551 another version, PT552 truncated or corrupted, PT553 unknown class or fields, PT554 dangling reference,
        PT555 a value of the wrong kind, PT556 over a limit.
        """
        if not isinstance(data, bytes | bytearray | memoryview):  # pyright: ignore[reportUnnecessaryIsInstance]
            kind = type(data).__name__
            raise UserError(
                f"a stored program is bytes, not {kind}", code="PT550", remedy="pass what dumps returned"
            )
        payload = self._payload(bytes(data))
        with collector_paused():
            return Decoder(self.table, unpack(payload)).root()

    def _payload(self, data: bytes) -> bytes:
        if data[:8] != MAGIC[: len(data)] or len(data) == 0:
            raise UserError("this is not a stored program", code="PT550", remedy="pass what dumps returned")
        if len(data) < HEADER_SIZE:
            bad("its end is missing", "PT552", bytes=len(data), needed=HEADER_SIZE)
        _, version, checksum, length = _HEADER.unpack_from(data)
        if version != VERSION:
            raise UserError(
                f"the program is stored in version {version} of the format",
                code="PT551",
                facts={"version here": VERSION},
                remedy="read it with the release that wrote it and print it as text",
            )
        if length > self.max_bytes:
            bad("it is larger than the limit", "PT556", bytes=length, limit=self.max_bytes)
        payload = data[HEADER_SIZE:]
        if len(payload) != length:
            bad("its length is not the one it states", "PT552", bytes=len(payload), needed=length)
        if crc32(payload) != checksum:
            bad("its checksum does not fit its contents", "PT552")
        return payload


@cache
def _kernel() -> Codec:
    return Codec(kernel_classes())


def dumps(node: Any, *, spans: bool = True, sources: bool = True, codec: Codec | None = None) -> bytes:
    """The stored form of a node; see :meth:`Codec.dumps`."""
    return (codec or _kernel()).dumps(node, spans=spans, sources=sources)


def loads(data: bytes, *, codec: Codec | None = None) -> Any:
    """The node that was stored; see :meth:`Codec.loads`."""
    return (codec or _kernel()).loads(data)
