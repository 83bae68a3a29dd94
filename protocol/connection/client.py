"""The client's side of one connection, without I/O: requests to bytes, bytes to responses.

Knows frames, headers, correlation ids and the order of responses; knows nothing of sockets, retries or the choice of
versions. `receive` is total: any bytes give responses or a ConnectionBroken, never an exception.

Invariants: responses come in the order of the requests; after a ConnectionBroken nothing more is received or sent.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

from barnabas.protocol.codec.schema import Request
from barnabas.protocol.connection.framing import FRAME_BYTES_MAX, SIZE, FrameBuffer
from barnabas.protocol.errors import DecodeError, ErrorCode
from barnabas.protocol.headers import encode_request_header, parse_response_header
from barnabas.protocol.primitives import Buffer
from barnabas.protocol.registry import ApiKey, request_codec, response_codec

_CORRELATION_ID_MAX = 0x7FFFFFFF


class ResponseReceived(NamedTuple):
    """A response, and the sequence number of its request on this connection (counted from 0)."""

    sequence: int
    response: Any


class ConnectionBroken(NamedTuple):
    """The connection's data can no longer be parsed; has the reason."""

    reason: str


ClientEvent = ResponseReceived | ConnectionBroken


class _Pending(NamedTuple):
    sequence: int
    key: ApiKey
    version: int
    correlation_id: int


class ClientConnection:
    """One connection. `limit` is the largest accepted response, in bytes."""

    def __init__(self, client_id: str | None, limit: int = FRAME_BYTES_MAX) -> None:
        self._client_id = client_id
        self._frames = FrameBuffer(limit)
        self._pending: deque[_Pending] = deque()
        self._sent = 0
        self._broken: ConnectionBroken | None = None

    @property
    def in_flight(self) -> int:
        """The number of outstanding responses."""
        return len(self._pending)

    def send(self, request: Request, version: int, *, answered: bool = True) -> tuple[int, list[Buffer]]:
        """Return (sequence, the frame in pieces to send). Not `answered`: a Produce with acks 0, without a response."""
        assert self._broken is None, "a broken connection sends nothing"
        key = ApiKey(request.__schema__.key or 0)
        sequence, self._sent = self._sent, self._sent + 1
        correlation_id = sequence & _CORRELATION_ID_MAX
        header = encode_request_header(key, version, correlation_id, self._client_id)
        body = request_codec(key, version).encode_parts(request)
        size = len(header) + sum(map(len, body))
        if answered:
            self._pending.append(_Pending(sequence, key, version, correlation_id))
        return sequence, [SIZE.pack(size), header, *body]

    def receive(self, data: Buffer) -> list[ClientEvent]:
        """Return the events in the bytes. The records in responses are views into the frame, which stay valid."""
        if self._broken is not None:
            return []
        events: list[ClientEvent] = []
        for frame in self._frames.feed(data):
            try:
                events.append(self._answer(frame))
            except DecodeError as error:
                return [*events, self._break(str(error))]
        if self._frames.refused is not None:
            events.append(self._break(self._frames.refused))
        return events

    def _answer(self, frame: memoryview) -> ResponseReceived:
        if not self._pending:
            raise DecodeError(f"a response of {len(frame)} bytes without a request")
        pending = self._pending.popleft()
        correlation_id, position = parse_response_header(pending.key, pending.version, frame)
        if correlation_id != pending.correlation_id:
            raise DecodeError(f"a response to request {correlation_id}, but {pending.correlation_id} is next")
        version = pending.version
        if pending.key == ApiKey.API_VERSIONS and _is_unsupported_version(frame, position):
            version = 0  # a broker that does not know this version responds in the first one
        response, position = response_codec(pending.key, version).decode(frame, position)
        if position != len(frame):
            raise DecodeError(f"{len(frame) - position} bytes behind a {pending.key.api_name} response v{version}")
        return ResponseReceived(pending.sequence, response)

    def _break(self, reason: str) -> ConnectionBroken:
        self._broken = ConnectionBroken(reason)
        self._pending.clear()
        return self._broken


def _is_unsupported_version(frame: Buffer, position: int) -> bool:
    return int.from_bytes(frame[position : position + 2], "big") == ErrorCode.UNSUPPORTED_VERSION
