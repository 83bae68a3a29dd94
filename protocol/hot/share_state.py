# compiled: mypyc
"""The values of `__share_group_state` in their usual form: bytes to plain tuples and back, without an object per range.

The usual form is version 0 without tagged fields that are not known here. All else (other versions, such fields,
damaged bytes) is read by `log_records.share_state`; here it is only recognised as not usual. A state may have ten
thousand ranges, which are read and written in one turn of the event loop.

    value   the head, i16 version among its fields; uvarint number of ranges + 1; ranges; tags
    range   i64 first offset, i64 last offset, i8 delivery state, i16 delivery count, no tags (00)
    tags    none (00); or one (01), tag 0 (00), 4 bytes (04), i32 delivery complete count
"""

from collections.abc import Iterator, Sequence
from itertools import starmap
from struct import Struct
from struct import error as struct_error
from typing import Final

from barnabas.protocol.errors import DecodeError, EncodeError
from barnabas.protocol.primitives import read_uvarint, uvarint

SNAPSHOT_HEAD: Final = Struct(">hiiiqqq")
"""Version, snapshot epoch, state epoch, leader epoch, start offset, create timestamp, write timestamp."""
UPDATE_HEAD: Final = Struct(">hiiq")
"""Version, snapshot epoch, leader epoch, start offset."""
VERSION: Final = 0

Range = tuple[int, int, int, int]
"""First offset, last offset, delivery state, delivery count."""

_RANGE: Final = Struct(">qqbhx")
_COUNT_TAG: Final = Struct(">BBBi")
_ONE_TAG: Final = 1
_TAG: Final = 0
_TAG_SIZE: Final = 4
_COUNT_FIXED: Final = (_ONE_TAG, _TAG, _TAG_SIZE)
_NO_TAGS: Final = b"\x00"
_UNKNOWN_COUNT: Final = -1


def write_value(head: Struct, fields: tuple[int, ...], ranges: Sequence[Range], complete_count: int) -> bytes:
    """Return a value: the fields of its head without the version, and the rest. Raises EncodeError."""
    try:
        tags = _NO_TAGS if complete_count == _UNKNOWN_COUNT else _COUNT_TAG.pack(*_COUNT_FIXED, complete_count)
        begin = head.pack(VERSION, *fields) + uvarint(len(ranges) + 1)
        return b"".join((begin, *starmap(_RANGE.pack, ranges), tags))
    except struct_error as wrong:
        raise EncodeError(f"the state of a share partition: {wrong}") from wrong


def read_value(head: Struct, value: bytes) -> tuple[tuple[int, ...], Iterator[Range], int] | None:
    """Return the fields of the head without the version, the ranges and the delivery complete count.

    None if the form is not the usual one, including damaged values.
    """
    if len(value) < head.size or value[:2] != VERSION.to_bytes(2, "big"):
        return None
    try:
        plus_one, begin = read_uvarint(value, head.size)
    except DecodeError:
        return None
    end = begin + (plus_one - 1) * _RANGE.size
    if plus_one == 0 or value[begin + _RANGE.size - 1 : end : _RANGE.size].strip(_NO_TAGS):
        return None
    complete_count = _complete_count(value[end:])
    if complete_count is None:
        return None
    return head.unpack_from(value)[1:], _RANGE.iter_unpack(value[begin:end]), complete_count


def _complete_count(tags: bytes) -> int | None:
    if tags == _NO_TAGS:
        return _UNKNOWN_COUNT
    if len(tags) != _COUNT_TAG.size:
        return None
    one, tag, size, complete_count = _COUNT_TAG.unpack(tags)
    return complete_count if (one, tag, size) == _COUNT_FIXED else None
