"""DER, as far as it is needed to look into certificates and JKS key entries: elements in turn, object identifiers.

Knows tags and lengths, not what an element is for. Whatever does not fit is a ValueError: nothing is read past the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

SEQUENCE, SET, OCTET_STRING, OBJECT_IDENTIFIER = 0x30, 0x31, 0x04, 0x06
_LENGTH_BYTES_MAX = 4


class Element(NamedTuple):
    """One element: its tag, what is in it, and all of it as it was encoded."""

    tag: int
    content: bytes
    encoded: bytes


def elements(data: bytes) -> Iterator[Element]:
    """The elements that stand one after the other in `data`."""
    position = 0
    while position < len(data):
        content_at, size = _header(data, position)
        end = content_at + size
        if end > len(data):
            raise ValueError("a DER element is longer than what it is in")
        yield Element(data[position], data[content_at:end], data[position:end])
        position = end


def only(data: bytes, tag: int) -> bytes:
    """The content of the one element that `data` is."""
    found = list(elements(data))
    if len(found) != 1 or found[0].tag != tag:
        raise ValueError(f"one DER element with tag {tag:#x} was expected")
    return found[0].content


def object_identifier(content: bytes) -> str:
    """An object identifier as people write it: 2.5.4.3."""
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
    """(where the content begins, its size)"""
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
