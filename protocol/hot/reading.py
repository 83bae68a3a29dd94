# compiled: mypyc
"""Reading the common parts of Produce and Fetch requests. `flexible` selects compact or classic lengths.

All functions raise DecodeError, IndexError or struct.error on broken bytes; `BROKEN` are the errors that the callers
convert into a DecodeError. Nothing is allocated by a claimed length or count.
"""

from struct import Struct
from struct import error as StructError
from typing import Final

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.primitives import MAX_ARRAY_ELEMENTS, skip_tags, uvarint_tail

BROKEN: Final = (StructError, IndexError, UnicodeDecodeError)
"""The errors of a decoder at the end of a frame, or at an invalid string."""

AT_ONCE_MAX: Final = 500
"""The number of partitions of a request that are decoded at once, and produced or read."""
NO_LIMIT: Final = MAX_ARRAY_ELEMENTS


class ManyPartitions(Exception):
    """A request has more partitions than permitted; whether it is valid after them is unknown."""


INT16: Final = Struct(">h")
INT32: Final = Struct(">i")


def read_size(frame: memoryview, position: int) -> tuple[int, int]:
    """Read a compact length or count: uvarint of (n + 1). -1 means null."""
    size: int = frame[position]
    position += 1
    if size >= 0x80:
        size, position = uvarint_tail(frame, position, size)
    return size - 1, position


def read_count(frame: memoryview, position: int, flexible: bool) -> tuple[int, int]:
    """Read the number of elements of an array that must not be null, nor longer than Kafka permits."""
    if flexible:
        count, position = read_size(frame, position)
    else:
        count = INT32.unpack_from(frame, position)[0]
        position += 4
    if not 0 <= count <= MAX_ARRAY_ELEMENTS:
        raise DecodeError(f"an array of {count} elements")
    return count, position


def read_string(frame: memoryview, position: int, flexible: bool) -> tuple[str | None, int]:
    """Read a string or null."""
    if flexible:
        size, position = read_size(frame, position)
    else:
        size = INT16.unpack_from(frame, position)[0]
        position += 2
    if size < 0:
        if size < -1:
            raise DecodeError(f"a string of {size} bytes")
        return None, position
    end = position + size
    if end > len(frame):
        raise DecodeError(f"a string of {size} bytes runs past the end")
    return str(frame[position:end], "utf-8"), end


def read_topic(frame: memoryview, position: int, flexible: bool, by_id: bool) -> tuple[str | bytes, int]:
    """Read a topic by its name, or by the 16 bytes of its id."""
    if by_id:
        end = position + 16
        if end > len(frame):
            raise DecodeError("a topic id runs past the end")
        return bytes(frame[position:end]), end
    name, position = read_string(frame, position, flexible)
    if name is None:
        raise DecodeError("a topic name is null")
    return name, position


def pass_tags(frame: memoryview, position: int) -> int:
    """Return the position after a tag section, which is nearly always one zero byte."""
    return position + 1 if frame[position] == 0 else skip_tags(frame, position)
