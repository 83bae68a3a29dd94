# compiled: mypyc
"""The headers in front of a body in a frame: the API of a request, and the request that a response belongs to.

    request   api_key i16, api_version i16, correlation_id i32, client_id i16-length string or null, [tagged fields]
    response  correlation_id i32, [tagged fields]

The tagged fields are present from the first flexible version of the API on, but never in an ApiVersions response: a
client must be able to read it before it knows the versions. The client id has an i16 length in flexible headers, too.

The server reads a request's header before it knows whether it supports the API, and must answer an ApiVersions request
of an unknown version. So a header is returned for any key and version; if no codec exists, the tagged fields are not
read, and there is nothing to decode after them.
"""

from struct import Struct as Layout
from typing import Final, NamedTuple

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.primitives import Buffer, nullable_string, read_nullable_string, skip_tags
from barnabas.protocol.registry import ApiKey

_FIXED: Final = Layout(">hhi")
_FLEXIBLE_SINCE: dict[int, int] = {api: api.flexible_since for api in ApiKey if api.flexible_since is not None}
_MAX_VERSION: dict[int, int] = {api: api.newest_version for api in ApiKey}
_NEVER: Final = 0x8000  # above any version
_API_VERSIONS: Final = int(ApiKey.API_VERSIONS)  # compiled, the look-up of an enum's member takes as long as a call


class RequestHeader(NamedTuple):
    """Key and version as they were sent, which need not exist."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None


def parse_request_header(frame: Buffer) -> tuple[RequestHeader, int]:
    """Return the header of a request and the position of the body in `frame`. DecodeError when it is cut or damaged."""
    if len(frame) < _FIXED.size + 2:
        raise DecodeError(f"a request of {len(frame)} bytes has no whole header")
    key, version, correlation_id = _FIXED.unpack_from(frame)
    client_id, position = read_nullable_string(frame, _FIXED.size)
    if _FLEXIBLE_SINCE.get(key, _NEVER) <= version <= _MAX_VERSION[key]:
        position = skip_tags(frame, position)
    return RequestHeader(key, version, correlation_id, client_id), position


def encode_request_header(key: int, version: int, correlation_id: int, client_id: str | None) -> bytes:
    """Return the header of a request to send."""
    tags = b"\0" if _FLEXIBLE_SINCE.get(key, _NEVER) <= version else b""
    return _FIXED.pack(key, version, correlation_id) + nullable_string(client_id) + tags


def encode_response_header(key: int, version: int, correlation_id: int) -> bytes:
    """Return the header of the response to a request of `key` and `version`."""
    tags = b"\0" if key != _API_VERSIONS and _FLEXIBLE_SINCE.get(key, _NEVER) <= version else b""
    return correlation_id.to_bytes(4, "big", signed=True) + tags


def parse_response_header(key: int, version: int, frame: Buffer) -> tuple[int, int]:
    """Return the correlation id of a response and the position of its body, from the request's key and version."""
    if len(frame) < 4:
        raise DecodeError(f"a response of {len(frame)} bytes has no whole header")
    correlation_id = int.from_bytes(frame[:4], "big", signed=True)
    if key == _API_VERSIONS or _FLEXIBLE_SINCE.get(key, _NEVER) > version:
        return correlation_id, 4
    return correlation_id, skip_tags(frame, 4)
