"""DER, as far as it is needed to read certificates and JKS key entries: sequences of elements, object identifiers.

Knows tags and lengths, not the purpose of an element. Invalid data raise ValueError: nothing is read past the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

SEQUENCE, SET, OCTET_STRING, OBJECT_IDENTIFIER = 0x30, 0x31, 0x04, 0x06
_LENGTH_BYTES_MAX = 4


class Element(NamedTuple):
    """One element: its tag, its content, and its whole encoding."""

    tag: int
    content: bytes
    encoded: bytes


def elements(data: bytes) -> Iterator[Element]:
    """Yield the consecutive elements in `data`."""
    position = 0
    while position < len(data):
        content_at, size = _header(data, position)
        end = content_at + size
        if end > len(data):
            raise ValueError("a DER element is longer than its container")
        yield Element(data[position], data[content_at:end], data[position:end])
        position = end


def only(data: bytes, tag: int) -> bytes:
    """Return the content of the one element that `data` consists of."""
    found = list(elements(data))
    if len(found) != 1 or found[0].tag != tag:
        raise ValueError(f"one DER element with tag {tag:#x} was expected")
    return found[0].content


def object_identifier(content: bytes) -> str:
    """Return the text form of an object identifier: 2.5.4.3."""
    numbers, number = [], 0
    for byte in content:
        number = number << 7 | byte & 0x7F
        if not byte & 0x80:
            numbers.append(number)
            number = 0
    if not numbers or content[-1] & 0x80:
        raise ValueError("an object identifier has no end")
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, (first, numbers[0] - 40 * first, *numbers[1:])))


def _header(data: bytes, position: int) -> tuple[int, int]:
    """Return (start of the content, its size)."""
    if position + 2 > len(data):
        raise ValueError("a DER element has no length")
    first = data[position + 1]
    if first < 0x80:
        return position + 2, first
    count = first & 0x7F
    after = position + 2 + count
    if not 1 <= count <= _LENGTH_BYTES_MAX or after > len(data):
        raise ValueError("a DER element has no usable length")
    return after, int.from_bytes(data[position + 2 : after], "big")
