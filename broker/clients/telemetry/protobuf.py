"""Protobuf's wire format: the fields of a message, one after the other.

Knows no message. Invariants: no recursion, so nesting costs nothing; every length is checked to be inside its message
before it is used; damaged data raises DecodeError.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from barnabas.protocol.errors import DecodeError

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_VARINT_BYTES_MAX = 10

Field = tuple[int, int, int, memoryview]
"""Number, wire type, value of a number, content of bytes."""
NOTHING = memoryview(b"")


def fields(data: memoryview) -> Iterator[Field]:
    """Yield the fields of a message, in order."""
    position, end = 0, len(data)
    while position < end:
        tag, position = _varint(data, position)
        number, wire = tag >> 3, tag & 7
        value, content = 0, NOTHING
        if wire == VARINT:
            value, position = _varint(data, position)
        elif wire == BYTES:
            size, position = _varint(data, position)
            content, position = _cut(data, position, size)
        elif wire in (FIXED64, FIXED32):
            content, position = _cut(data, position, 8 if wire == FIXED64 else 4)
            value = int.from_bytes(content, "little")
        else:
            raise DecodeError(f"wire type {wire} at byte {position}")
        if number == 0:
            raise DecodeError(f"field number 0 at byte {position}")
        yield number, wire, value, content


def text(content: memoryview) -> str:
    """Return the text that a field contains."""
    try:
        return str(content, "utf-8")
    except UnicodeDecodeError as error:
        raise DecodeError(f"a text that is not UTF-8: {error}") from error


def signed(bits: int) -> int:
    """Return the signed 64-bit integer of these bits."""
    return bits - (1 << 64) if bits >> 63 else bits


def double(bits: int) -> float:
    """Return the floating-point number of these 64 bits."""
    value: float = struct.unpack("<d", bits.to_bytes(8, "little"))[0]
    return value


def words(wire: int, value: int, content: memoryview) -> list[int]:
    """Return the 64-bit numbers that a field adds to a list: one, or several that are packed."""
    if wire == FIXED64:
        return [value]
    if wire != BYTES:
        return []
    if len(content) % 8:
        raise DecodeError(f"{len(content)} bytes are not a list of 64-bit numbers")
    return list(struct.unpack(f"<{len(content) // 8}Q", content))


def _cut(data: memoryview, position: int, size: int) -> tuple[memoryview, int]:
    if size > len(data) - position:
        raise DecodeError(f"a field of {size} bytes runs past the end at byte {position}")
    return data[position : position + size], position + size


def _varint(data: memoryview, position: int) -> tuple[int, int]:
    value = 0
    for shift, byte in enumerate(data[position : position + _VARINT_BYTES_MAX]):
        value |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, position + shift + 1
    raise DecodeError(f"a number without an end at byte {position}")
