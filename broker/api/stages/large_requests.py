"""Requests of very many elements: decoded in slices, as large answers are encoded (`large_responses.py`).

Knows codecs, no API in particular. The number of elements is known only after decoding, so the limit is in bytes.
"""

from __future__ import annotations

from typing import Any, Final

from barnabas.broker.api.deferred_response import CloseConnection
from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.protocol.codec.compile import Codec
from barnabas.protocol.codec.schema import Request
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.primitives import skip_tags
from barnabas.storage.steps import Steps

DECODED_AT_ONCE_BYTES_MAX: Final = 16 << 10
"""The bytes of some thousand elements of the smallest kind: two milliseconds."""
DECODING: Final = WorkClass()


def decoded(data: bytes | memoryview, codec: Codec[Any], is_flexible: bool, api: str) -> Steps[Request]:
    """Return the request in these bytes. Raise CloseConnection if they are invalid."""
    try:
        position = skip_tags(data, 0) if is_flexible else 0
        request: Request = (yield from codec.decode_in_steps(data, position))[0]
    except DecodeError as error:
        raise CloseConnection(str(error), api) from error
    return request
