"""Many varints at once, with numpy: the numbers at given positions of a buffer.

Knows the encoding and nothing of records. Bytes that are not read exactly (a varint longer than requested, a position
outside the buffer) raise Unusual: the caller reads them some other way.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any  # numpy is not there when types are checked

LENGTH_BYTES = 4  # 27 bits and a sign: up to 134 MB, more than a record may have
LONG_BYTES = 9  # 62 bits and a sign


class Unusual(Exception):
    """Bytes that the quick way does not read. The exact way finds out whether they are damaged."""


def read_varints(data: Array, positions: Array, max_bytes: int = LENGTH_BYTES) -> tuple[Array, Array]:
    """Return (numbers, the positions behind them), zig-zag decoded, both int64.

    data: uint8. positions: int64. max_bytes: at most 9, the longest varint that is read.
    """
    try:
        first = data[positions]
        numbers = first.astype(np.int64)
        after = positions + 1
        longer = np.flatnonzero(first & 0x80)
        if longer.size:
            numbers &= 0x7F
            _read_longer(data, numbers, after, longer, max_bytes)
    except IndexError:
        raise Unusual from None
    return (numbers >> 1) ^ -(numbers & 1), after


def _read_longer(data: Array, numbers: Array, after: Array, longer: Array, max_bytes: int) -> None:
    """Add the bytes behind the first, in place, for those of `longer` that have them."""
    for shift in range(7, 7 * max_bytes, 7):
        following = data[after[longer]]
        after[longer] += 1
        numbers[longer] |= (following & 0x7F).astype(np.int64) << shift
        longer = longer[following >= 0x80]
        if not longer.size:
            return
    raise Unusual
