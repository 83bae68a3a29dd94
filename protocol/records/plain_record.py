# compiled: mypyc, as compaction runs it for each record
"""A reader of one record at a time that allocates nothing, for records as producers write them.

It knows positions and sizes, not the record's bytes. Everything unusual is left to `record_rows.py`, which reads every
record and names what is wrong: a record that is cut or damaged, has no key, or has a size of 2^27 bytes or more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mypy_extensions import i64  # positions and sizes, which are checked before anything is added to them

_LENGTH_BYTES: Final = 4  # of the largest size that is read here
_BYTES_MIN: Final = 6  # attributes, two deltas, two sizes, and a count of headers
_TIMESTAMP_BYTES_MAX: Final = 9
_NO_VALUE: Final = 1  # the size -1 as it is stored


class PlainRecord:
    """The positions in the last record that was read."""

    def __init__(self) -> None:
        self.end: i64 = 0
        self.offset_delta: i64 = 0
        self.key_at: i64 = 0
        self.key_size: i64 = 0
        self.has_value = False

    def read(self, buffer: bytes, position: i64, bytes_max: i64) -> bool:
        """Read the record at `position`; return whether it is whole and plain."""
        size: i64 = len(buffer)
        if position + _LENGTH_BYTES + _BYTES_MIN > size:
            return False
        length: i64 = buffer[position]
        position += 1
        if length >= 0x80:
            length, position = _long_varint(buffer, position, length)
        if length & 1 or (length >> 1) < _BYTES_MIN or (length >> 1) > bytes_max:
            return False
        self.end = position + (length >> 1)
        return self.end <= size and self._read_body(buffer, position + 1)

    def _read_body(self, buffer: bytes, position: i64) -> bool:
        """Read a record from behind its attributes on."""
        end: i64 = self.end
        at: i64 = position
        while at < end and buffer[at] >= 0x80:
            at += 1
        if at - position >= _TIMESTAMP_BYTES_MAX or at + 1 >= end:
            return False
        raw: i64 = buffer[at + 1]
        at += 2
        if raw >= 0x80:
            raw, at = _long_varint(buffer, at, raw)
        if raw & 1 or at >= end:
            return False
        self.offset_delta = raw >> 1
        raw = buffer[at]
        at += 1
        if raw >= 0x80:
            raw, at = _long_varint(buffer, at, raw)
        if raw & 1:
            return False
        self.key_at, self.key_size = at, raw >> 1
        at += raw >> 1
        if at >= end:
            return False
        raw = buffer[at]
        at += 1
        if raw >= 0x80:
            raw, at = _long_varint(buffer, at, raw)
        self.has_value = raw != _NO_VALUE
        if self.has_value:
            if raw & 1:
                return False
            at += raw >> 1
        return at < end


def _long_varint(buffer: bytes, position: i64, first: i64) -> tuple[i64, i64]:
    """Return a varint of two to four bytes as it is stored, and the position behind it; an odd number if it is none."""
    value: i64 = first & 0x7F
    shift: i64 = 7
    size: i64 = len(buffer)
    while shift < 7 * _LENGTH_BYTES and position < size:
        byte: i64 = buffer[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    return -1, position
