"""Answers of very many elements: encoded in slices, since a turn of the event loop should take some milliseconds.

Knows codecs, no API in particular. A client may request the description of a hundred thousand ids, and the answer takes
a second to encode. Nearly all others have few elements: `response_size.py` counts them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.protocol.codec.compile import Codec
from barnabas.protocol.codec.schema import Response

ENCODING = WorkClass(may_begin_again=False)


def encoded(
    answer: Response, codec: Codec[Any], header: bytes, note: Callable[[], Generator[None, None, None]] | None
) -> Generator[None, None, bytearray]:
    """Return the frame: its size, the header, and the answer. `note`: other work on each element."""
    out = bytearray(4) + header
    yield from codec.encode_in_steps(answer, out)
    if note is not None:
        yield from note()
    out[:4] = (len(out) - 4).to_bytes(4, "big")
    return out
