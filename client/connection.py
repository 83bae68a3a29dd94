"""One blocking connection to one broker: connects, learns the broker's versions, asks and waits for the answer.

Adds a socket of its network, deadlines and the choice of versions to protocol/client.py. Several requests may be under
way, and their answers come in order. Not thread-safe.

Invariants: a connection that failed in any way is closed and stays closed, for an answer that was given up must not be
taken for the next one; every failure is a ConnectionFailed that names the broker and the reason.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from barnabas.client.addresses import Address
from barnabas.client.clock import Clock, Deadline, SystemClock
from barnabas.client.errors import ConnectionFailed, raise_for
from barnabas.client.network import Network, Socket, SystemNetwork
from barnabas.client.versions import VersionRange, choose_version
from barnabas.protocol.client import ClientConnection, ConnectionBroken
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.protocol.registry import ApiKey
from barnabas.protocol.schema import Request

SOFTWARE_NAME = "barnabas-client"
SOFTWARE_VERSION = "0.1.0"

_RECEIVE_BYTES = 1 << 18


class Connection:
    """A connection that is open and negotiated from the moment it exists."""

    def __init__(
        self, address: Address, client_id: str | None, deadline: Deadline, network: Network | None = None
    ) -> None:
        self.address = address
        self.network: Network = network or SystemNetwork()
        self._protocol = ClientConnection(client_id)
        self._buffer = memoryview(bytearray(_RECEIVE_BYTES))
        self.socket = _connect(self.network, address, deadline)
        self._asked: deque[ApiKey] = deque()
        self._answers: deque[Any] = deque()
        self.is_open = True
        self.versions: dict[int, VersionRange] = {}
        self.features: dict[str, int] = {}
        """The finalized levels of features, as the broker said when the connection was opened."""
        try:
            self.versions = self._negotiate(deadline)
        except BaseException:
            self.close()
            raise

    def version(self, api: ApiKey) -> int:
        """The version in which `ask` will send this API; UnsupportedByBroker if there is none."""
        return choose_version(api, self.versions)

    def ask(self, request: Request, deadline: Deadline, *, highest_version: int | None = None) -> Any:
        """The response to `request`, in the best version both sides know; ConnectionFailed if it does not come.

        highest_version: for a request that means something else in the versions above.
        """
        assert not self.in_flight, "the answers to what was sent are to be received first"
        self.send(request, deadline, highest_version=highest_version)
        return self.receive(deadline)

    @property
    def in_flight(self) -> int:
        """How many answers are still to be received."""
        return len(self._asked)

    def send(
        self, request: Request, deadline: Deadline, *, highest_version: int | None = None, answered: bool = True
    ) -> None:
        """Send a request and do not wait: the answers are received in the order of the requests.

        answered: whether there will be one (there is none to a Produce with acks 0).
        """
        self._put(request, choose_version(_api(request), self.versions, highest_version), deadline, answered=answered)

    def receive(self, deadline: Deadline) -> Any:
        """The response to the oldest request without one; ConnectionFailed if it does not come."""
        if not self.is_open:
            raise ConnectionFailed(f"{self.address}: the connection is closed")
        api = self._asked[0].api_name
        try:
            while not self._answers:
                self.socket.settimeout(max(deadline.left_s, 0.001))
                received = self.socket.recv_into(self._buffer)
                if not received:
                    raise ConnectionFailed(f"{self.address} closed the connection ({api})")
                self._understand(self._buffer[:received])
        except TimeoutError:
            self.close()
            raise ConnectionFailed(f"{self.address} did not answer {api} in time") from None
        except OSError as error:
            self.close()
            raise ConnectionFailed(f"{self.address}: {_reason(error)}") from error
        except BaseException:
            self.close()  # an interrupt too: the answer may still come, and nobody would know whose it is
            raise
        self._asked.popleft()
        return self._answers.popleft()

    @property
    def is_answered(self) -> bool:
        """Whether `receive` has something to read now: an answer, or the connection's end."""
        return bool(self._answers) or bool(self._asked and wait_for_answer([self], 0))

    def close(self) -> None:
        """Close at once; whatever was asked stays unanswered."""
        self.is_open = False
        self._asked.clear()
        self.socket.close()

    def _negotiate(self, deadline: Deadline) -> dict[int, VersionRange]:
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
        return {each.api_key: VersionRange(each.min_version, each.max_version) for each in response.api_keys}

    def _put(self, request: Request, version: int, deadline: Deadline, *, answered: bool = True) -> None:
        if not self.is_open:
            raise ConnectionFailed(f"{self.address}: the connection is closed")
        _, pieces = self._protocol.send(request, version, answered=answered)
        if answered:
            self._asked.append(_api(request))
        self._send(pieces, deadline)

    def _understand(self, data: memoryview) -> None:
        for event in self._protocol.receive(data):
            if isinstance(event, ConnectionBroken):
                raise ConnectionFailed(f"{self.address} does not speak Kafka's protocol: {event.reason}")
            self._answers.append(event.response)

    def _send(self, pieces: list[Any], deadline: Deadline) -> None:
        try:
            self.socket.settimeout(max(deadline.left_s, 0.001))
            self.socket.sendall(b"".join(pieces))
        except TimeoutError:
            self.close()
            raise ConnectionFailed(f"{self.address} took no more data in time") from None
        except OSError as error:
            self.close()
            raise ConnectionFailed(f"{self.address}: {_reason(error)}") from error


def wait_for_answer(connections: Sequence[Connection], timeout_s: float) -> bool:
    """Whether one of these connections, all of one client, has something to read before that, or its end."""
    return connections[0].network.wait([each.socket for each in connections], timeout_s)


def _connect(network: Network, address: Address, deadline: Deadline) -> Socket:
    try:
        return network.connect(address, max(deadline.left_s, 0.001))
    except TimeoutError:
        raise ConnectionFailed(f"cannot connect to {address}: no answer in time") from None
    except UnicodeError as error:
        raise ConnectionFailed(f"cannot connect to {address}: no name of a host can be like that") from error
    except OSError as error:
        raise ConnectionFailed(f"cannot connect to {address}: {_reason(error)}") from error


def _api(request: Request) -> ApiKey:
    return ApiKey(request.__schema__.key or 0)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def connect(
    address: Address, client_id: str | None = None, timeout_ms: int = 30_000, clock: Clock | None = None
) -> Connection:
    """A connection, open and negotiated, within `timeout_ms`."""
    return Connection(address, client_id, Deadline(clock or SystemClock(), timeout_ms))
