"""One connection to a server under a probe: bytes out, and what came back, if anything did."""

import socket
import ssl
import struct
from typing import Any, Self

from barnabas.protocol.codec.schema import Request
from barnabas.protocol.headers import encode_request_header, parse_response_header
from barnabas.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.protocol.messages.sasl_handshake import SaslHandshakeRequest
from barnabas.protocol.registry import ApiKey, request_codec, response_codec

CONNECT_TIMEOUT_S = 30.0
CLOSED, CLOSED_LATE, SILENT = "closed", "closed late", "silent"

_SIZE = struct.Struct(">i")


class Wire:
    """A connection to a port of this machine."""

    def __init__(self, port: int, address: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> None:
        """address: the local one."""
        self._socket = socket.create_connection(("127.0.0.1", port), CONNECT_TIMEOUT_S, (address, 0))
        if tls is not None:
            self._socket = tls.wrap_socket(self._socket, server_hostname="127.0.0.1")

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

    def log_in(self, user: str, password: str) -> None:
        """Authenticate by PLAIN."""
        assert self.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1).error_code == 0
        answer = self.ask(SaslAuthenticateRequest(auth_bytes=f"\0{user}\0{password}".encode()), 2)
        assert answer.error_code == 0, answer

    def send(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
            return  # receive() reports that it is closed

    def end(self) -> None:
        """Say that nothing more will come; the other direction stays open."""
        self._socket.shutdown(socket.SHUT_WR)

    def receive(self, timeout_s: float) -> bytes | str:
        """The next frame's payload, CLOSED, or SILENT."""
        self._socket.settimeout(timeout_s)
        try:
            size = self._exactly(4)
            return self._exactly(_SIZE.unpack(size)[0])
        except (EOFError, ConnectionResetError, BrokenPipeError, ssl.SSLError):
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
    return framed(encode_request_header(key, version, correlation_id, "probe") + body)


def framed(payload: bytes) -> bytes:
    """With its size before it."""
    return _SIZE.pack(len(payload)) + payload


def decoded(key: ApiKey, version: int, payload: bytes) -> Any:
    """The response in a frame's payload. AssertionError when there is more."""
    _, position = parse_response_header(key, version, payload)
    response, end = response_codec(key, version).decode(payload, position)
    assert end == len(payload), "bytes behind the response"
    return response
