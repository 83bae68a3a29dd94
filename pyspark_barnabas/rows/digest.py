"""The hash of rows that is stored in the ledger: 64 bits, the same in any order of the rows. Pure.

It is computed from what is committed, so that it can be recomputed from the topics (docs/formats/ledger.md):

    tail    the record from its key's length to its end, as in a batch that is not compressed (`encoded_columns`)
    words   the tail, filled up with zeros to whole words of 8 bytes, little-endian; each word w becomes w ^ (w >> 32)
    p       words[0] + words[1]·R + words[2]·R² + …                                                      modulo 2^64
    hash    finish(p + seed(topic)); seed is BLAKE2b of the topic's name, 8 bytes, little-endian
    digest  the sum of the hashes of all rows                                                            modulo 2^64

Partition, offset and timestamp are not in it: the broker may set them. It detects loss, duplicates and damage; it is no
signature.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from barnabas.protocol.primitives import write_varint

R = 0x9E3779B97F4A7C15
MODULUS = 1 << 64
_MIX = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
_LAST_SHIFT = 31
_SLICE_BYTES = 1 << 20
_SLICE_WORDS = 1 << 18  # the size of such a slice at most, with its padding
_R_INVERSE = pow(R, -1, MODULUS)


@lru_cache(maxsize=1024)
def seed(topic: str) -> int:
    """Return the number that a topic's name adds to its rows' hashes."""
    return int.from_bytes(blake2b(topic.encode(), digest_size=8).digest(), "little")


# --- one row, in plain Python ---


def tail(key: bytes | None, value: bytes | None, headers: Sequence[tuple[str, bytes | None]] = ()) -> bytes:
    """Return the tail of one record."""
    out = bytearray()
    for content in (key, value):
        _write(out, content)
    write_varint(out, len(headers))
    for name, content in headers:
        _write(out, name.encode("utf-8", "surrogateescape"))
        _write(out, content)
    return bytes(out)


def row_hash(topic: str, tail: bytes) -> int:
    """Return the hash of one row."""
    padded = tail + bytes(-len(tail) % 8)
    words = struct.unpack(f"<{len(padded) // 8}Q", padded)
    power, p = 1, seed(topic)
    for word in words:
        p = (p + (word ^ word >> 32) * power) % MODULUS
        power = power * R % MODULUS
    for shift, factor in _MIX:
        p = (p ^ p >> shift) * factor % MODULUS
    return p ^ p >> _LAST_SHIFT


def _write(out: bytearray, content: bytes | None) -> None:
    write_varint(out, -1 if content is None else len(content))
    out += content or b""


# --- many rows, with numpy ---


def digest(tails: Any, seeds: Any) -> int:
    """Return the sum of the hashes of all rows.

    tails: a BinaryArray, made by `encoded_columns.tails`. seeds: of each row's topic (numpy uint64), or one for all.
    """
    return int(row_hashes(tails, seeds).sum()) % MODULUS


def row_hashes(tails: Any, seeds: Any) -> Any:
    """Return the hash of each row, as numpy uint64."""
    import numpy as np

    from pyspark_barnabas.rows.encoded_columns import views

    offsets, _ = views(tails)
    hashes = np.empty(len(tails), np.uint64)
    start = 0
    while start < len(tails):
        stop = int(np.searchsorted(offsets, offsets[start] + _SLICE_BYTES, "right")) - 1
        stop = min(max(stop, start + 1), len(tails))
        hashes[start:stop] = _polynomials(tails.slice(start, stop - start))
        start = stop
    hashes += np.asarray(seeds, np.uint64)
    for shift, factor in _MIX:
        hashes ^= hashes >> np.uint64(shift)
        hashes *= np.uint64(factor)
    return hashes ^ hashes >> np.uint64(_LAST_SHIFT)


def _polynomials(tails: Any) -> Any:
    """Return the polynomial of each row's words: all words times ascending powers, summed, and shifted back."""
    import numpy as np

    from pyspark_barnabas.rows.encoded_columns import binary_array, join, offsets_of, views

    offsets, _ = views(tails)
    padding = offsets_of(-(offsets[1:] - offsets[:-1]) % 8)
    aligned = join(tails, binary_array(padding, np.zeros(int(padding[-1]), np.uint8)))
    bounds, data = views(aligned)
    words = data[: bounds[-1]].view("<u8")
    starts = bounds[:-1] // 8
    powers, inverse = _powers(max(_SLICE_WORDS, 1 << (len(words) - 1).bit_length()))
    terms = words >> np.uint64(32)
    terms ^= words
    terms *= powers[: len(words)]
    return np.add.reduceat(terms, starts) * inverse[starts]


@lru_cache(maxsize=2)  # for slices, and for rows that are larger
def _powers(count: int) -> tuple[Any, Any]:
    import numpy as np

    def ascending(factor: int) -> Any:
        factors = np.full(count, factor, np.uint64)
        factors[0] = 1
        return np.cumprod(factors)

    return ascending(R), ascending(_R_INVERSE)
