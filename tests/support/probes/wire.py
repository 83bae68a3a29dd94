"""One connection to a server under a probe: bytes out, and what came back, if anything did."""

from __future__ import annotations

import socket
import struct
from typing import Any, Self

from barnabas.protocol.headers import encode_request_header, parse_response_header
from barnabas.protocol.registry import ApiKey, request_codec, response_codec
from barnabas.protocol.schema import Request

CONNECT_TIMEOUT_S = 30.0
CLOSED, SILENT = "closed", "silent"

_SIZE = struct.Struct(">i")


class Wire:
    """A connection to a port of this machine."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), CONNECT_TIMEOUT_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def ask(self, request: Request, version: int) -> Any:
        """The response to a request that is answered."""
        assert request.__schema__.key is not None
        key = ApiKey(request.__schema__.key)
        self.send(frame(key, version, request_codec(key, version).encode(request)))
        payload = self.receive(CONNECT_TIMEOUT_S)
        assert isinstance(payload, bytes), payload
        return decoded(key, version, payload)

    def send(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            return  # receive() says that it is closed

    def end(self) -> None:
        """Say that nothing more will come; the other direction stays open."""
        self._socket.shutdown(socket.SHUT_WR)

    def receive(self, timeout_s: float) -> bytes | str:
        """The next frame's payload, CLOSED, or SILENT."""
        self._socket.settimeout(timeout_s)
        try:
            size = self._exactly(4)
            return self._exactly(_SIZE.unpack(size)[0])
        except (EOFError, ConnectionResetError, BrokenPipeError):
            return CLOSED
        except TimeoutError:
            return SILENT

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            more = self._socket.recv(count - len(data))
            if not more:
                raise EOFError
            data += more
        return data


def frame(key: ApiKey, version: int, body: bytes, correlation_id: int = 7) -> bytes:
    """A request as it goes over the wire, its size included."""
    payload = encode_request_header(key, version, correlation_id, "probe") + body
    return _SIZE.pack(len(payload)) + payload


def decoded(key: ApiKey, version: int, payload: bytes) -> Any:
    """The response in a frame's payload. AssertionError when there is more."""
    _, position = parse_response_header(key, version, payload)
    response, end = response_codec(key, version).decode(payload, position)
    assert end == len(payload), "bytes behind the response"
    return response
