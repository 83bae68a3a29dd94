"""Protobuf's encoding, as far as descriptors need it: varints and texts by their field numbers."""

from __future__ import annotations

from collections.abc import Iterator

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_SKIPPED = {_FIXED64: 8, _FIXED32: 4}
_MAX_VARINT = 10  # bytes

Fields = dict[int, list[int | bytes]]


def decode(data: bytes) -> Fields:
    """Return the values of a message by field number; ValueError if it is none."""
    fields: Fields = {}
    for number, value in _walk(data):
        fields.setdefault(number, []).append(value)
    return fields


def text(fields: Fields, number: int) -> str:
    """Return the last text of a field; empty if there is none, ValueError if it is no text."""
    return _bytes(fields[number][-1]).decode() if number in fields else ""


def texts(fields: Fields, number: int) -> list[str]:
    """Return all texts of a field."""
    return [_bytes(value).decode() for value in fields.get(number, ())]


def integer(fields: Fields, number: int) -> int:
    """Return the last number of a field, which has 32 bits and may be negative; 0 if there is none."""
    value = fields[number][-1] if number in fields else 0
    if not isinstance(value, int):
        raise ValueError("a number is expected")
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


def integers(fields: Fields, number: int) -> list[int]:
    """Return all numbers of a field, packed or not."""
    found: list[int] = []
    for value in fields.get(number, ()):
        if isinstance(value, int):
            found.append(value)
            continue
        position = 0
        while position < len(value):
            each, position = varint(value, position)
            found.append(each)
    return found


def messages(fields: Fields, number: int) -> list[Fields]:
    """Return the values of all messages of a field."""
    return [decode(_bytes(value)) for value in fields.get(number, ())]


def encode(number: int, value: int | str | bytes) -> bytes:
    """Return a field with its number."""
    if isinstance(value, int):
        return _encoded_varint(number << 3 | _VARINT) + _encoded_varint(value & (1 << 64) - 1)
    data = value.encode() if isinstance(value, str) else value
    return _encoded_varint(number << 3 | _LENGTH) + _encoded_varint(len(data)) + data


def _walk(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    position = 0
    while position < len(data):
        key, position = varint(data, position)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, position = varint(data, position)
            yield number, value
            continue
        if kind == _LENGTH:
            size, position = varint(data, position)
        elif kind in _SKIPPED:
            size = _SKIPPED[kind]
        else:
            raise ValueError("an unknown wire type")
        if number == 0 or position + size > len(data):
            raise ValueError("a field has no end")
        yield number, data[position : position + size]
        position += size


def varint(data: bytes, position: int) -> tuple[int, int]:
    """Return the number at a position, and the position behind it; ValueError if there is none."""
    value = 0
    for shift in range(0, 7 * _MAX_VARINT, 7):
        if position >= len(data):
            break
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise ValueError("a varint has no end")


def _encoded_varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise ValueError("bytes are expected")
    return value
