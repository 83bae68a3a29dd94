"""Arrow columns to the bytes of Kafka's records, a whole column at a time: varints, lengths, headers, Murmur2. Pure.

The part of a record behind its offset, from the key's length to its last header, is called its *tail* here. It does not
depend on the record's position, so it is built once: for the batch that is sent, and for its hash (`digest`).

    tail: keyLength varint | key | valueLength varint | value | headers count varint | (nameLength name length value)*

Lengths are zigzag varints, -1 for null. Needs pyarrow and numpy; `plain_rows` does the same without numpy, row by row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

NULL_LENGTH = b"\x01"
_NOTHING = pa.scalar(b"", pa.binary())
_MURMUR_SEED = np.uint32(0x9747B28C)
_MURMUR_M = np.uint32(0x5BD1E995)


class Headers(NamedTuple):
    """The headers of each row: how many, and their bytes one after the other."""

    counts: Any
    content: Any


def varints(numbers: Any) -> Any:
    """Return a BinaryArray of zigzag varints, one for each int64 of a numpy array."""
    zigzag = (numbers << 1 ^ numbers >> 63).astype(np.uint64)
    least, most = (int(zigzag.min()), int(zigzag.max())) if len(zigzag) else (0, 0)
    width = _width(most)
    if _width(least) == width:
        return _varints_of_one_width(zigzag, width)
    sizes = np.ones(len(zigzag), np.int32)
    for more in range(1, width):
        sizes += zigzag >= np.uint64(1 << 7 * more)
    offsets = offsets_of(sizes)
    out = np.empty(int(offsets[-1]), np.uint8)
    starts = offsets[:-1]
    for index in range(width):
        some = slice(None) if index == 0 else np.nonzero(sizes > index)[0]
        goes_on = (sizes[some] > index + 1).astype(np.uint8) << 7
        out[starts[some] + index] = (zigzag[some] >> np.uint64(7 * index)).astype(np.uint8) & 127 | goes_on
    return binary_array(offsets, out)


def _width(zigzag: int) -> int:
    return max(1, -(-zigzag.bit_length() // 7))


def _varints_of_one_width(zigzag: Any, width: int) -> Any:
    out = np.empty((len(zigzag), width), np.uint8)
    for index in range(width):
        goes_on = 128 if index + 1 < width else 0
        out[:, index] = (zigzag >> np.uint64(7 * index)).astype(np.uint8) & 127 | goes_on
    return binary_array(np.arange(len(zigzag) + 1, dtype=np.int32) * np.int32(width), out)


def join(*parts: Any) -> Any:
    """Concatenate each row's bytes, null counting as empty; a bytes argument is the same in every row.

    At least one part is an array.
    """
    arrays = [pa.scalar(each, pa.binary()) if isinstance(each, bytes) else each for each in parts]
    return pc.binary_join_element_wise(*arrays, _NOTHING, null_handling="replace", null_replacement="")


def as_binary(column: Any) -> Any:
    """Return text or bytes of any Arrow width as a BinaryArray."""
    return column if column.type.equals(pa.binary()) else column.cast(pa.binary())


def lengths(column: Any) -> Any:
    """Return the length of each row's bytes as int64, -1 for null."""
    return pc.binary_length(column).fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)


def sized(column: Any | None) -> list[Any]:
    """Return the parts that write a column with its lengths in front; None is a column of nulls."""
    if column is None:
        return [NULL_LENGTH]
    sizes = lengths(column)
    is_one = len(sizes) > 0 and int(sizes.min()) == int(sizes.max())
    return [_varint(int(sizes[0])) if is_one else varints(sizes), column]


def tails(
    key: Any | None, value: Any, headers: Headers | None = None, fixed: tuple[tuple[str, bytes], ...] = ()
) -> Any:
    """Return the tail of each row as a BinaryArray. `fixed` are headers that every row has behind its own."""
    last = b"".join(_header(name, content) for name, content in fixed)
    if headers is None:
        return join(*sized(key), *sized(value), _varint(len(fixed)) + last)
    return join(*sized(key), *sized(value), varints(headers.counts + len(fixed)), headers.content, last)


def read_headers(column: Any) -> Headers:
    """Read headers from a column of lists of (key, value); null is no header. Raise ValueError if a name is missing."""
    counts = pc.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    flat = column.flatten()
    names, values = as_binary(pc.struct_field(flat, 0)), as_binary(pc.struct_field(flat, 1))
    if names.null_count:
        raise ValueError("a header has no name: give every entry of `headers` a key")
    if not len(flat):
        return Headers(counts, b"")
    each = join(*sized(names), *sized(values))
    bounds = offsets_of(counts, np.int64)
    return Headers(counts, binary_array(views(each)[0][bounds].astype(np.int32), each.buffers()[2]))


def murmur2(keys: Any) -> Any:
    """Return Kafka's hash of each key, as numpy uint32; of a null any value."""
    offsets, data = views(keys)
    sizes = (offsets[1:] - offsets[:-1]).astype(np.int64)
    starts = offsets[:-1].astype(np.int64) - int(offsets[0])
    padded = np.concatenate([data[offsets[0] : offsets[-1]], np.zeros(4, np.uint8)])
    words = np.ndarray((len(padded) - 3,), "<u4", padded, 0, (1,))  # the word at any byte
    whole = sizes >> 2
    hashes = _MURMUR_SEED ^ sizes.astype(np.uint32)
    some: Any = slice(None)
    for index in range(int(whole.max(initial=0))):
        if isinstance(some, slice) and index >= int(whole.min()):
            some = np.nonzero(whole > index)[0]
        elif not isinstance(some, slice):
            some = some[whole[some] > index]
        k = words[starts[some] + 4 * index] * _MURMUR_M
        k = (k ^ k >> 24) * _MURMUR_M
        hashes[some] = hashes[some] * _MURMUR_M ^ k
    rest = np.nonzero(sizes & 3)[0]
    if len(rest):
        mask = (np.uint32(1) << (8 * (sizes[rest] & 3)).astype(np.uint32)) - np.uint32(1)
        k = words[starts[rest] + 4 * whole[rest]] & mask
        hashes[rest] = (hashes[rest] ^ k) * _MURMUR_M
    hashes = (hashes ^ hashes >> 13) * _MURMUR_M
    return hashes ^ hashes >> 15


# --- numpy and Arrow ---


def offsets_of(sizes: Any, kind: Any = np.int32) -> Any:
    """Return where each of these sizes begins, and where the last one ends."""
    offsets = np.zeros(len(sizes) + 1, kind)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def binary_array(offsets: Any, data: Any) -> Any:
    """Return a BinaryArray over int32 offsets and bytes, without a copy."""
    return pa.Array.from_buffers(pa.binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def views(column: Any) -> tuple[Any, Any]:
    """Return a BinaryArray's offsets, one more than it has rows, and the data they point into. No copy."""
    _, offsets, data = column.buffers()
    bounds = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    return bounds, np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)


def _varint(number: int) -> bytes:
    return bytes(varints(np.array([number], np.int64))[0].as_py())


def _header(name: str, content: bytes) -> bytes:
    encoded = name.encode()
    return b"".join((_varint(len(encoded)), encoded, _varint(len(content)), content))
