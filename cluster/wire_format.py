"""Messages of protocol buffers, taken apart and put together without knowing more of them than the numbers of a few fields.

Source: Protocol Buffers documentation, "Encoding".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_MOST_VARINT_BYTES = 10


class WireError(ValueError):
    """Bytes are no message."""


class Field(NamedTuple):
    """A field of a message.

    :param value: the bytes of a text, a message or bytes; empty for numbers.
    :param encoded: all of it as it was, key and length included.
    """

    number: int
    value: bytes
    encoded: bytes


def fields(message: bytes) -> Iterator[Field]:
    """The fields of a message in order.

    :raises WireError: if it is none.
    """
    start = 0
    while start < len(message):
        key, place = _varint(message, start)
        number, kind = key >> 3, key & 7
        value = b""
        if kind == VARINT:
            _, end = _varint(message, place)
        elif kind == BYTES:
            size, place = _varint(message, place)
            end = place + size
            value = message[place:end]
        elif kind in (FIXED64, FIXED32):
            end = place + (8 if kind == FIXED64 else 4)
        else:
            raise WireError(f"there is no wire type {kind}")
        if end > len(message):
            raise WireError("the message ends too early")
        yield Field(number, value, message[start:end])
        start = end


def field(number: int, value: bytes | str) -> bytes:
    """A field with a text, a message or bytes."""
    content = value.encode() if isinstance(value, str) else value
    return _as_varint(number << 3 | BYTES) + _as_varint(len(content)) + content


def replaced(message: bytes, number: int, values: Iterable[bytes | str]) -> bytes:
    """A message with these values of one field in place of those that it has; all else stays as it is."""
    others = [each.encoded for each in fields(message) if each.number != number]
    return b"".join(others) + b"".join(field(number, value) for value in values)


def values_of(message: bytes, number: int) -> list[bytes]:
    """All values of a field."""
    return [each.value for each in fields(message) if each.number == number]


def _varint(data: bytes, start: int) -> tuple[int, int]:
    """A number, and where it ends."""
    result = 0
    for count, byte in enumerate(data[start : start + _MOST_VARINT_BYTES]):
        result |= (byte & 0x7F) << 7 * count
        if not byte & 0x80:
            return result, start + count + 1
    raise WireError("a number does not end")


def _as_varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)
