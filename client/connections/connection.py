"""One blocking connection to one broker: connects, reads its versions, logs in, sends requests, gets responses.

Adds a socket of its network, deadlines and the choice of versions to protocol/connection/client.py. Several requests
may be in flight, and their responses come in order. The network handles TLS; of SASL it knows that it has to log in
first, and again before a session ends. Not thread-safe.

Invariants: a connection that failed in any way is closed and stays closed, so that a late response is not taken for
the next one; every failure is a ConnectionFailed that names the broker and the reason, or, if either side refused the
other, an AuthenticationFailed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from barnabas.client.addresses import Address
from barnabas.client.clock import ClientClock, Deadline, SystemClientClock
from barnabas.client.connections.versions import ApiVersionRange, choose_version
from barnabas.client.errors import AuthenticationFailed, ConnectionFailed, UnsupportedByBroker, raise_for
from barnabas.client.network import ClientNetwork, Socket, SystemNetwork
from barnabas.protocol.codec.schema import Request
from barnabas.protocol.connection.client import ClientConnection, ConnectionBroken
from barnabas.protocol.errors import ErrorCode, FieldNotInVersion
from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.protocol.registry import ApiKey

SOFTWARE_NAME = "barnabas-client"
SOFTWARE_VERSION = "0.1.0"

_RECEIVE_BYTES = 1 << 18
_SESSION_USED = 0.85  # the share of its lifetime after which to log in again
_TLS_RECORDS = (b"\x15\x03", b"\x16\x03")

LogIn = Callable[[Callable[[Request], Any], str], int]
"""Logs a connection in by its request function and name; returns the session lifetime in ms, 0 for no limit."""


class BrokerConnection:
    """A connection that is open and negotiated after its creation."""

    def __init__(
        self,
        address: Address,
        client_id: str | None,
        deadline: Deadline,
        network: ClientNetwork | None = None,
        log_in: LogIn | None = None,
    ) -> None:
        self.address = address
        self.network: ClientNetwork = network or SystemNetwork()
        self._protocol = ClientConnection(client_id)
        self._buffer = memoryview(bytearray(_RECEIVE_BYTES))
        self.socket = _connect(self.network, address, deadline)
        self._requested: deque[ApiKey] = deque()
        self._answers: deque[Any] = deque()
        self.is_open = True
        self.versions: dict[int, ApiVersionRange] = {}
        self.features: dict[str, int] = {}
        """The finalized levels of features, as in the broker's response when the connection was opened."""
        self._log_in = log_in
        self._session_used_at: Deadline | None = None
        self._has_answered = False  # not counting ApiVersions
        try:
            self.versions = self._negotiate(deadline)
            self._has_answered = False
            if log_in is not None:
                self._begin_session(log_in, deadline)
        except BaseException:
            self.close()
            raise

    def version(self, api: ApiKey) -> int:
        """Return the version in which `ask` will send this API; UnsupportedByBroker if there is none."""
        return choose_version(api, self.versions)

    def ask(self, request: Request, deadline: Deadline, *, highest_version: int | None = None) -> Any:
        """Send `request` in the highest common version and return the response; ConnectionFailed if there is none.

        highest_version: for a request with another meaning in higher versions.
        """
        assert not self.in_flight, "receive the responses to earlier requests first"
        self.send(request, deadline, highest_version=highest_version)
        return self.receive(deadline)

    @property
    def in_flight(self) -> int:
        """The number of outstanding responses."""
        return len(self._requested)

    def send(
        self, request: Request, deadline: Deadline, *, highest_version: int | None = None, answered: bool = True
    ) -> None:
        """Send a request without waiting: the responses are received in the order of the requests.

        answered: whether there will be a response (there is none to a Produce with acks 0).
        """
        if self._session_used_at is not None and self._session_used_at.is_over and self._log_in is not None:
            self._begin_session(self._log_in, deadline)
        version = choose_version(_api(request), self.versions, highest_version)
        try:
            self._put(request, version, deadline, answered=answered)
        except FieldNotInVersion as error:
            raise UnsupportedByBroker(f"the broker is too old: {error}") from None

    def receive(self, deadline: Deadline) -> Any:
        """Return the response to the oldest request without one; ConnectionFailed if it does not come."""
        if not self.is_open:
            raise ConnectionFailed(f"{self.address}: the connection is closed")
        while not self._answers:
            self._read(deadline)
        self._requested.popleft()
        self._has_answered = True
        return self._answers.popleft()

    @property
    def has_answer(self) -> bool:
        """Whether a response is here already, without reading from the socket."""
        return bool(self._answers)

    @property
    def is_answered(self) -> bool:
        """Whether `receive` has something to read now: a response, or the connection's end."""
        return bool(self._requested) and wait_for_answer([self], 0)

    def close(self) -> None:
        """Close at once; outstanding requests get no response."""
        self.is_open = False
        self._requested.clear()
        self.socket.close()

    def _begin_session(self, log_in: LogIn, deadline: Deadline) -> None:
        """Log in, or log in again (KIP-368). Responses to earlier requests are stored for their callers."""

        def ask(request: Request) -> Any:
            self._put(request, choose_version(_api(request), self.versions), deadline)
            while len(self._answers) < len(self._requested):
                self._read(deadline)
            self._requested.pop()
            return self._answers.pop()

        try:
            lifetime_ms = log_in(ask, str(self.address))
        except BaseException:
            self.close()
            raise
        self._session_used_at = deadline.after(lifetime_ms * _SESSION_USED) if lifetime_ms > 0 else None

    def _negotiate(self, deadline: Deadline) -> dict[int, ApiVersionRange]:
        request = ApiVersionsRequest(client_software_name=SOFTWARE_NAME, client_software_version=SOFTWARE_VERSION)
        version = ApiKey.API_VERSIONS.max_version
        self._put(request, version, deadline)
        response: ApiVersionsResponse = self.receive(deadline)
        if response.error_code == ErrorCode.UNSUPPORTED_VERSION:
            offered = {each.api_key: each.max_version for each in response.api_keys}
            self._put(request, max(0, min(version, offered.get(ApiKey.API_VERSIONS, 0))), deadline)
            response = self.receive(deadline)
        raise_for(response.error_code, None, f"{self.address}: ApiVersions")
        if response.finalized_features_epoch >= 0:
            self.features = {each.name: each.max_version_level for each in response.finalized_features}
        return {each.api_key: ApiVersionRange(each.min_version, each.max_version) for each in response.api_keys}

    def _put(self, request: Request, version: int, deadline: Deadline, *, answered: bool = True) -> None:
        if not self.is_open:
            raise ConnectionFailed(f"{self.address}: the connection is closed")
        _, pieces = self._protocol.send(request, version, answered=answered)
        if answered:
            self._requested.append(_api(request))
        self._send(pieces, deadline)

    def _read(self, deadline: Deadline) -> None:
        """Wait for data and process it."""
        api = self._requested[len(self._answers)].api_name
        try:
            self.socket.settimeout(max(deadline.left_s, 0.001))
            received = self.socket.recv_into(self._buffer)
            if not received:
                raise ConnectionFailed(f"{self.address} closed the connection ({api}){self._hint()}")
            self._understand(self._buffer[:received])
        except TimeoutError:
            self.close()
            raise ConnectionFailed(f"{self.address} did not answer {api} in time") from None
        except OSError as error:
            self.close()
            raise ConnectionFailed(f"{self.address}: {_reason(error)}{self._hint()}") from error
        except BaseException:
            self.close()  # an interrupt too: a late response could not be matched to its request
            raise

    def _hint(self) -> str:
        """Return a hint why a broker closes a new connection: it sends no reason when its settings are not met."""
        if not self.versions and isinstance(self.network, SystemNetwork):
            return ": if it speaks TLS, set security.protocol to SSL or SASL_SSL"
        if self.versions and not self._has_answered and self._log_in is None:
            return ": if it asks for SASL, set security.protocol and sasl.mechanism"
        return ""

    def _understand(self, data: memoryview) -> None:
        is_first = not self.versions and not self._answers
        for event in self._protocol.receive(data):
            if isinstance(event, ConnectionBroken):
                if is_first and bytes(data[:2]) in _TLS_RECORDS:
                    raise AuthenticationFailed(f"{self.address} speaks TLS: set security.protocol to SSL or SASL_SSL")
                raise ConnectionFailed(f"{self.address} does not speak Kafka's protocol: {event.reason}")
            self._answers.append(event.response)

    def _send(self, pieces: list[Any], deadline: Deadline) -> None:
        try:
            self.socket.settimeout(max(deadline.left_s, 0.001))
            self.socket.sendall(b"".join(pieces))
        except TimeoutError:
            self.close()
            raise ConnectionFailed(f"{self.address} accepted no more data in time") from None
        except OSError as error:
            self.close()
            raise ConnectionFailed(f"{self.address}: {_reason(error)}{self._hint()}") from error
        except BaseException:
            self.close()  # a part of the request may be sent
            raise


def wait_for_answer(connections: Sequence[BrokerConnection], timeout_s: float) -> bool:
    """Return whether one of these connections, all of one client, gets data, or its end, before the timeout."""
    if any(each.has_answer for each in connections):
        return True
    return connections[0].network.wait([each.socket for each in connections], timeout_s)


def _connect(network: ClientNetwork, address: Address, deadline: Deadline) -> Socket:
    try:
        return network.connect(address, max(deadline.left_s, 0.001))
    except TimeoutError:
        raise ConnectionFailed(f"cannot connect to {address}: no response in time") from None
    except UnicodeError as error:
        raise ConnectionFailed(f"cannot connect to {address}: that cannot be the name of a host") from error
    except OSError as error:
        raise ConnectionFailed(f"cannot connect to {address}: {_reason(error)}") from error


def _api(request: Request) -> ApiKey:
    return ApiKey(request.__schema__.key or 0)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def connect(
    address: Address, client_id: str | None = None, timeout_ms: int = 30_000, clock: ClientClock | None = None
) -> BrokerConnection:
    """Return an open and negotiated connection, within `timeout_ms`."""
    return BrokerConnection(address, client_id, Deadline(clock or SystemClientClock(), timeout_ms))
