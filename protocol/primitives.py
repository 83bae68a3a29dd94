# compiled: mypyc
"""The basic elements of the wire format: varints, strings, ids.

All integers are big-endian. Every `read_*` takes a buffer (bytes, bytearray, a memoryview of bytes) and a position and
returns `(value, position after it)`; it raises `DecodeError` on broken bytes and allocates nothing by a claimed length.
Every `write_*` appends to a bytearray. Fixed-width fields are packed and unpacked with `struct` where they are used.

Varints are unsigned LEB128, low group first: at most 5 bytes for 32 bits, 10 for 64. The signed ones are zig-zag coded
first (0, -1, 1, -2 … become 0, 1, 2, 3 …).
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from typing import Final

from barnabas.protocol.errors import DecodeError, EncodeError

Buffer = bytes | bytearray | memoryview

ZERO_UUID: Final = bytes(16)
MAX_STRING_BYTES: Final = 0x7FFF
MAX_INT32: Final = 0x7FFF_FFFF
MAX_ARRAY_ELEMENTS: Final = 1_000_000
MAX_TAGGED_FIELDS: Final = 10_000
"""This and the number above are Kafka's limits, from 4.4 on: more are not read."""

_UINT64: Final = 1 << 64


def uuid_text(uuid: bytes) -> str:
    """Return the 22 characters that Kafka prints for 16 raw bytes: URL-safe base64 without padding."""
    return urlsafe_b64encode(uuid).rstrip(b"=").decode()


def uuid_bytes(text: str) -> bytes:
    """Return the 16 raw bytes of an id as Kafka prints it. ValueError when it is not one."""
    try:
        uuid = urlsafe_b64decode(text.encode("ascii") + b"==")
    except ValueError as broken:
        raise ValueError(f"not an id: {text!r}") from broken
    if len(uuid) != 16 or uuid_text(uuid) != text:
        raise ValueError(f"not an id: {text!r}")
    return uuid


def random_uuid(random_bytes: Callable[[int], bytes]) -> bytes:
    """Return a random UUID (version 4) like Kafka's Uuid.randomUuid: its text never starts with a dash."""
    while True:
        raw = bytearray(random_bytes(16))
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        if raw[0] >> 2 != 62:  # the first character would be a dash
            return bytes(raw)


# --- reading ---


def read_uvarint(buffer: Buffer, position: int) -> tuple[int, int]:
    """Read an unsigned varint of at most 31 bits: a length, a count, a tag."""
    try:
        byte = buffer[position]
        if byte < 0x80:
            return byte, position + 1
        return uvarint_tail(buffer, position + 1, byte)
    except IndexError:
        raise DecodeError("the bytes end inside a varint") from None


def uvarint_tail(buffer: Buffer, position: int, first: int) -> tuple[int, int]:
    """Read the rest of an unsigned varint after its `first` byte (>= 0x80). IndexError when the bytes end."""
    value = first & 0x7F
    for shift in (7, 14, 21, 28):
        byte = buffer[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > MAX_INT32:
                raise DecodeError(f"a varint of {value} is not a length")
            return value, position
    raise DecodeError("a varint is longer than 5 bytes")


def read_varint(buffer: Buffer, position: int) -> tuple[int, int]:
    """Read a signed 32-bit varint (zig-zag)."""
    raw, position = _read_leb128(buffer, position, 5)
    if raw > 0xFFFF_FFFF:
        raise DecodeError("a varint holds more than 32 bits")
    return (raw >> 1) ^ -(raw & 1), position


def read_varlong(buffer: Buffer, position: int) -> tuple[int, int]:
    """Read a signed 64-bit varint (zig-zag)."""
    raw, position = _read_leb128(buffer, position, 10)
    if raw >= _UINT64:
        raise DecodeError("a varint holds more than 64 bits")
    return (raw >> 1) ^ -(raw & 1), position


def _read_leb128(buffer: Buffer, position: int, max_bytes: int) -> tuple[int, int]:
    value = shift = 0
    try:
        for index in range(position, position + max_bytes):
            byte = buffer[index]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value, index + 1
            shift += 7
    except IndexError:
        raise DecodeError("the bytes end inside a varint") from None
    raise DecodeError(f"a varint is longer than {max_bytes} bytes")


def read_nullable_string(buffer: Buffer, position: int) -> tuple[str | None, int]:
    """Read a string after an i16 length; -1 is null."""
    start = position + 2
    if start > len(buffer):
        raise DecodeError("the bytes end inside the length of a string")
    length = int.from_bytes(buffer[position:start], "big", signed=True)
    if length < 0:
        if length == -1:
            return None, start
        raise DecodeError(f"a string of {length} bytes")
    end = start + length
    if end > len(buffer):
        raise DecodeError(f"a string of {length} bytes but {len(buffer) - start} are left")
    try:
        return str(buffer[start:end], "utf-8"), end
    except UnicodeDecodeError as broken:
        raise DecodeError(f"a string that is not UTF-8: {broken}") from broken


def read_tag_count(buffer: Buffer, position: int) -> tuple[int, int]:
    """Read the number of tagged fields that follow."""
    count, position = read_uvarint(buffer, position)
    if count > MAX_TAGGED_FIELDS:
        raise DecodeError(f"{count} tagged fields; at most {MAX_TAGGED_FIELDS} are read")
    return count, position


def skip_tags(buffer: Buffer, position: int) -> int:
    """Return the position after a section of tagged fields that are ignored."""
    count, position = read_tag_count(buffer, position)
    for _ in range(count):
        _, position = read_uvarint(buffer, position)
        size, position = read_uvarint(buffer, position)
        position += size
        if position > len(buffer):
            raise DecodeError(f"a tagged field of {size} bytes runs past the end")
    return position


# --- writing ---


_UVARINTS: Final = [
    *(bytes((value,)) for value in range(0x80)),
    *(bytes((value & 0x7F | 0x80, value >> 7)) for value in range(0x80, 0x400)),
]


def uvarint(value: int) -> bytes:
    """Return the bytes of an unsigned varint."""
    if 0 <= value < 0x400:
        return _UVARINTS[value]
    if 0 < value < 0x4000:
        return bytes((value & 0x7F | 0x80, value >> 7))
    if 0 < value < 0x20_0000:
        return bytes((value & 0x7F | 0x80, value >> 7 & 0x7F | 0x80, value >> 14))
    out = bytearray()
    write_uvarint(out, value)
    return bytes(out)


def write_uvarint(out: bytearray, value: int) -> None:
    if value < 0:
        raise EncodeError(f"{value} is not an unsigned varint")
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def write_varint(out: bytearray, value: int) -> None:
    """Append a signed 32-bit varint (zig-zag)."""
    write_uvarint(out, (value << 1) ^ (value >> 31))


def write_varlong(out: bytearray, value: int) -> None:
    """Append a signed 64-bit varint (zig-zag)."""
    write_uvarint(out, (value << 1) ^ (value >> 63))


def varint_size(value: int) -> int:
    """Return the number of bytes that `write_varint` or `write_varlong` appends for `value`."""
    raw = value << 1 if value >= 0 else ~(value << 1)
    return (raw.bit_length() + 6) // 7 or 1


def nullable_string(text: str | None) -> bytes:
    """Return a string after an i16 length; null is -1."""
    if text is None:
        return b"\xff\xff"
    data = text.encode()
    if len(data) > MAX_STRING_BYTES:
        raise EncodeError(f"a string of {len(data)} bytes; the wire carries {MAX_STRING_BYTES}")
    return len(data).to_bytes(2, "big") + data
