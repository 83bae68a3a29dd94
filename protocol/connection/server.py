"""The server's side of one connection, without I/O: bytes to requests, responses to bytes in order.

Knows frames, headers and order; knows nothing of sockets, of what a request means, or of which APIs are offered.
`receive` is total: any bytes give requests or a ProtocolBroken, never an exception. A broker that parses its bytes
without a copy uses `split_frames` and `parse_request_header` directly; this class is for code that can afford a copy:
scripted servers, fuzzers, proxies.

Invariants: requests are numbered from 0 as they come; no reply is sent before every earlier request was replied to;
after a ProtocolBroken nothing more is received, but earlier requests may still be replied to.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from barnabas.protocol.codec.schema import Response
from barnabas.protocol.connection.framing import FRAME_BYTES_MAX, FrameBuffer, frame
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.headers import RequestHeader, encode_response_header, parse_request_header
from barnabas.protocol.primitives import Buffer
from barnabas.protocol.registry import ApiKey, request_codec, response_codec


class RequestReceived(NamedTuple):
    """A request with a parsed header; the body is not decoded yet."""

    sequence: int
    header: RequestHeader
    body: memoryview

    def decode(self) -> Any:
        """Return the request. DecodeError if its bytes are damaged, or there is no such API or version."""
        key, version = self.header.api_key, self.header.api_version
        try:
            codec = request_codec(key, version)
        except ValueError as error:
            raise DecodeError(str(error)) from error
        return codec.decode(self.body)[0]


class ProtocolBroken(NamedTuple):
    """The peer does not speak the protocol: close the connection. `reason` is for the log."""

    reason: str


ServerEvent = RequestReceived | ProtocolBroken


class ServerConnection:
    """One connection. `limit` is the largest accepted request, in bytes."""

    def __init__(self, limit: int = FRAME_BYTES_MAX) -> None:
        self._frames = FrameBuffer(limit)
        self._is_broken = False
        self._received = 0
        self._sent = 0
        self._waiting: dict[int, bytes | None] = {}  # replies that came before those of earlier requests

    def receive(self, data: Buffer) -> list[ServerEvent]:
        """Return the events in the bytes, in order."""
        if self._is_broken:
            return []
        events: list[ServerEvent] = []
        for received in self._frames.feed(data):
            try:
                header, position = parse_request_header(received)
            except DecodeError as error:
                self._is_broken = True
                return [*events, ProtocolBroken(str(error))]
            events.append(RequestReceived(self._received, header, received[position:]))
            self._received += 1
        if self._frames.refused is not None:
            self._is_broken = True
            events.append(ProtocolBroken(self._frames.refused))
        return events

    def reply(self, sequence: int, payload: bytes | None) -> bytes:
        """Add the reply to a request (header and body; None: no reply) and return the bytes that may be sent now."""
        assert self._sent <= sequence < self._received, f"request {sequence} is not waiting for a reply"
        assert sequence not in self._waiting, f"request {sequence} was replied to before"
        self._waiting[sequence] = payload
        ready: list[bytes] = []
        while self._sent in self._waiting:
            payload = self._waiting.pop(self._sent)
            self._sent += 1
            if payload is not None:
                ready.append(frame(payload))
        return b"".join(ready)


def encode_response(header: RequestHeader, response: Response, version: int | None = None) -> bytes:
    """Return header and body of a reply. `version`: of the body if it differs from the request's (ApiVersions)."""
    key = ApiKey(header.api_key)
    head = encode_response_header(key, header.api_version, header.correlation_id)
    body = response_codec(key, header.api_version if version is None else version).encode(response)
    return head + body
