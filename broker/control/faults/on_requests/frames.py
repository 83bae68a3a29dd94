"""Requests and answers as bytes: decoded, encoded again, joined. In any version of any API."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import Any

from barnabas.broker.network.pending_send import PendingSend
from barnabas.protocol.codec.schema import Request, Response
from barnabas.protocol.headers import encode_response_header, parse_response_header
from barnabas.protocol.primitives import skip_tags
from barnabas.protocol.registry import ApiKey, request_codec, response_codec

_SIZE = 4


def decoded_request(api: ApiKey, version: int, frame: memoryview, position: int) -> Any:
    """Decode the request in a frame; its header ends, without its tags, at `position`. Raises DecodeError."""
    if api.is_flexible(version):
        position = skip_tags(frame, position)
    return request_codec(api, version).decode(frame, position)[0]


def encoded_request(api: ApiKey, version: int, header: memoryview, request: Request) -> memoryview:
    """Encode a frame with this header, without tags."""
    tags = b"\0" if api.is_flexible(version) else b""
    return memoryview(bytearray(header) + tags + request_codec(api, version).encode(request))


def decoded_response(api: ApiKey, version: int, answer: bytearray | Sequence[Sized]) -> tuple[int, Any]:
    """Decode to the correlation id and the response. Raises StorageError or EOFError for a part in a file."""
    data = joined(answer)[_SIZE:]
    correlation_id, position = parse_response_header(api, version, data)
    return correlation_id, response_codec(api, version).decode(memoryview(data), position)[0]


def encoded_response(api: ApiKey, version: int, correlation_id: int, response: Response) -> bytearray:
    """Encode the whole frame."""
    out = bytearray(_SIZE) + encode_response_header(api, version, correlation_id)
    response_codec(api, version).encode_into(response, out)
    out[:_SIZE] = (len(out) - _SIZE).to_bytes(_SIZE, "big")
    return out


def parts_of(answer: bytearray | Sequence[Sized]) -> Sequence[Sized]:
    """Return an answer as a sequence of byte buffers and slices of files."""
    return [answer] if isinstance(answer, bytearray) else answer


def size_of(answer: bytearray | Sequence[Sized]) -> int:
    """Return its size in bytes."""
    return sum(map(len, parts_of(answer)))


def joined(answer: bytearray | Sequence[Sized], size: int | None = None) -> bytearray:
    """Return its bytes, or the first `size` of them. Raises StorageError, EOFError."""
    whole = size_of(answer)
    out = bytearray(whole if size is None else min(size, whole))
    PendingSend(parts_of(answer)).fill(memoryview(out))
    return out
