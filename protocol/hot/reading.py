"""Reading the pieces Produce and Fetch requests share. `flexible` picks between compact and classic lengths.

Everything raises DecodeError, IndexError or struct.error on broken bytes; `refuse` names what the callers turn into a
DecodeError. Nothing is allocated by a claimed length or count.
"""

from struct import Struct
from struct import error as StructError
from typing import Final

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.primitives import MAX_ARRAY_ELEMENTS, skip_tags, uvarint_tail

BROKEN: Final = (StructError, IndexError, UnicodeDecodeError)
"""What running off the end of a frame, or a bad string, raises inside a decoder."""

AT_ONCE_MAX: Final = 500
"""How many partitions of a request are decoded in one go, and produced or read."""
NO_LIMIT: Final = MAX_ARRAY_ELEMENTS


class ManyPartitions(Exception):
    """A request names more partitions than it may; nobody knows whether it is broken behind them."""


INT16: Final = Struct(">h")
INT32: Final = Struct(">i")


def read_size(frame: memoryview, position: int) -> tuple[int, int]:
    """A compact length or count: uvarint of (n + 1). -1 stands for null."""
    size: int = frame[position]
    position += 1
    if size >= 0x80:
        size, position = uvarint_tail(frame, position, size)
    return size - 1, position


def read_count(frame: memoryview, position: int, flexible: bool) -> tuple[int, int]:
    """How many elements an array has that must not be null, nor longer than Kafka reads."""
    if flexible:
        count, position = read_size(frame, position)
    else:
        count = INT32.unpack_from(frame, position)[0]
        position += 4
    if not 0 <= count <= MAX_ARRAY_ELEMENTS:
        raise DecodeError(f"an array of {count} elements")
    return count, position


def read_string(frame: memoryview, position: int, flexible: bool) -> tuple[str | None, int]:
    """A string or null."""
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
    """A topic by its name, or by the 16 bytes of its id."""
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
    """The position after a tag section, which is nearly always one zero byte."""
    return position + 1 if frame[position] == 0 else skip_tags(frame, position)
