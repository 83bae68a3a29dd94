"""The machine's network with TLS on every connection.

A TLS socket may have data to read although nothing came (the rest of a record), and no data to read although
something came (a session ticket). So waiting reads ahead, and the data is stored for the next call.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from typing import Any

from barnabas.client.addresses import Address
from barnabas.client.clock import Deadline, SystemClientClock
from barnabas.client.errors import AuthenticationFailed, ConnectionFailed
from barnabas.client.network import SystemNetwork
from barnabas.client.security.settings import TlsSettings
from barnabas.client.security.tls import context_of, failure_later, shake_hands

_AHEAD_BYTES = 16 << 10  # a whole record


class TlsSocket:
    """A TLS socket with the client's socket interface."""

    def __init__(self, wrapped: ssl.SSLSocket, where: str) -> None:
        self._socket = wrapped
        self._where = where
        self._ahead = b""
        self._has_ended = False
        self._failure: Exception | None = None
        self._has_received = False

    def fileno(self) -> int:
        """Return the descriptor, for poll."""
        return self._socket.fileno()

    def settimeout(self, value: float, /) -> None:
        """Set the limit for one call in seconds."""
        self._socket.settimeout(value)

    def sendall(self, data: bytes, /) -> None:
        """Send all data; AuthenticationFailed if the broker ended TLS."""
        try:
            self._socket.sendall(data)
        except (ConnectionError, ssl.SSLEOFError) as error:
            self._raise_alert()
            raise self._lost(error) from None
        except ssl.SSLError as error:
            raise failure_later(error, self._where) from None

    def recv_into(self, buffer: memoryview, /) -> int:
        """Receive bytes and return their number; AuthenticationFailed if the broker ended TLS."""
        if self._ahead:
            size = min(len(buffer), len(self._ahead))
            buffer[:size], self._ahead = self._ahead[:size], self._ahead[size:]
            return size
        if self._failure is not None:
            raise self._failure
        if self._has_ended:
            return 0
        try:
            received = self._socket.recv_into(buffer)
        except (ConnectionError, ssl.SSLEOFError) as error:
            raise self._lost(error) from None
        except ssl.SSLError as error:
            raise failure_later(error, self._where) from None
        self._has_received = self._has_received or received > 0
        return received

    def _raise_alert(self) -> None:
        """Raise a pending alert: in TLS 1.3 a broker may refuse a certificate and close while the client sends."""
        self.look_ahead()
        if isinstance(self._failure, AuthenticationFailed):
            raise self._failure

    def _lost(self, error: OSError) -> Exception:
        if self._has_received:
            return ConnectionResetError(error.errno, "connection reset by peer")
        return ConnectionFailed(
            f"{self._where} closed the connection right after the TLS handshake, as a broker does that requires a "
            "client certificate (ssl.keystore.*)"
        )

    def close(self) -> None:
        """Close the socket, without waiting for the broker's closing alert."""
        self._socket.close()

    @property
    def has_something(self) -> bool:
        """Whether recv_into would not wait, as far as known without reading."""
        return bool(self._ahead) or self._has_ended or self._failure is not None or self._socket.pending() > 0

    def look_ahead(self) -> None:
        """Read available data, without waiting."""
        self._socket.settimeout(0)
        try:
            self._ahead = self._socket.recv(_AHEAD_BYTES)
            self._has_ended, self._has_received = not self._ahead, True
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return
        except ssl.SSLError as error:
            self._failure = failure_later(error, self._where)
        except OSError as error:
            self._failure = error


class TlsNetwork:
    """Connections with one TLS context, which is created once."""

    def __init__(self, settings: TlsSettings) -> None:
        self._context = context_of(settings)
        self._below = SystemNetwork()

    def connect(self, address: tuple[str, int], timeout_s: float) -> TlsSocket:
        """Connect with TLS; AuthenticationFailed if the two sides do not agree."""
        deadline = Deadline(SystemClientClock(), timeout_s * 1000)
        opened = self._below.connect(address, timeout_s)
        where = str(Address(*address))
        try:
            opened.settimeout(max(deadline.left_s, 0.001))
            return TlsSocket(shake_hands(self._context, opened, address[0], where), where)
        except BaseException:
            opened.close()
            raise

    def wait(self, sockets: Iterable[Any], timeout_s: float) -> bool:
        """Return whether one of these sockets gets data, or its end, before the timeout."""
        watched: list[TlsSocket] = list(sockets)
        deadline = Deadline(SystemClientClock(), timeout_s * 1000)
        while not any(each.has_something for each in watched):
            if not self._below.wait(watched, deadline.left_s):
                return False
            for each in watched:
                each.look_ahead()
        return True
