"""msgpack behind plain types, with integers of any size, and the error for data that can't be trusted."""

from __future__ import annotations

from typing import Any, NoReturn, cast

import msgpack  # pyright: ignore[reportMissingTypeStubs]

from pypto_core.diagnostics import UserError

_msgpack: Any = msgpack
EXTENSION: type = _msgpack.ExtType
MAX_INT_BYTES = 128
# Extension code of integers beyond 64 bits: two's complement, big-endian.
_BIG_INT = 1
_LEAST, _MOST = -(1 << 63), (1 << 64) - 1


def bad(message: str, code: str = "PT555", **facts: object) -> NoReturn:
    """Refuse stored data."""
    raise refusal(message, code, **facts)


def refusal(message: str, code: str = "PT555", **facts: object) -> UserError:
    """The error that refuses stored data."""
    return UserError(
        f"the stored program is damaged: {message}",
        code=code,
        facts=facts,
        remedy="store it again with pypto_core.text.dumps",
    )


def is_bad(error: Exception) -> bool:
    """Whether an error is one of :func:`refusal`."""
    return isinstance(error, UserError) and error.diagnostics[0].code.startswith("PT55")


def pack(document: Any) -> bytes:
    """The bytes of plain data; UserError PT557 for strings that have no UTF-8 form or are too long."""
    try:
        return _msgpack.packb(document, use_bin_type=True)
    except (ValueError, TypeError, OverflowError) as error:
        raise UserError(
            f"the program can't be stored: {error}",
            code="PT557",
            remedy="remove lone surrogates from its strings, or shorten them",
        ) from None


def unpack(payload: bytes) -> Any:
    """The plain data of bytes; UserError PT552 when they can't be read."""
    try:
        return _msgpack.unpackb(payload, raw=False, strict_map_key=True, use_list=True)
    except Exception as error:  # msgpack's errors have no base class of their own
        bad("its msgpack can't be read", "PT552", reason=f"{type(error).__name__}: {error}"[:200])


def stored_int(value: int) -> Any:
    """An integer as plain data."""
    if _LEAST <= value <= _MOST:
        return value
    return EXTENSION(_BIG_INT, value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))


def read_int(value: Any) -> int:
    """An integer from plain data."""
    if type(value) is int:
        return value
    if not isinstance(value, EXTENSION) or value.code != _BIG_INT:
        bad(f"an integer is stored as a {type(value).__name__}")
    data: bytes = value.data
    if not 0 < len(data) <= MAX_INT_BYTES:
        bad("an integer is too large", "PT556", limit=f"{MAX_INT_BYTES} bytes")
    return int.from_bytes(data, "big", signed=True)


def listed(value: Any, what: str, length: int | None = None) -> list[Any]:
    """``value``, which must be a list (of that length)."""
    if type(value) is not list or (length is not None and len(cast("list[Any]", value)) != length):
        bad(f"{what} is malformed")
    return cast("list[Any]", value)
