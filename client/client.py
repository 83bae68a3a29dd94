"""A client that finds brokers, holds the connections to them, and retries retriable errors.

Producer, Consumer and the admin functions use it. It knows brokers, leaders and coordinators, but no records. Not
thread-safe: each thread needs a separate client.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from barnabas.client.addresses import Address, parse_addresses
from barnabas.client.clock import ClientClock, Deadline, SystemClientClock
from barnabas.client.connections.connection import BrokerConnection, LogIn
from barnabas.client.connections.retries import retry
from barnabas.client.errors import ConnectionFailed, raise_for
from barnabas.client.metadata import NOTHING_KNOWN, ClusterInfo, Leaders, TopicPartition, read_metadata
from barnabas.client.network import ClientNetwork, SystemNetwork
from barnabas.protocol.codec.schema import Request
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.protocol.registry import ApiKey

if TYPE_CHECKING:
    from typing import Self

    from barnabas.client.security.settings import SecuritySettings

T = TypeVar("T")

GROUP, TRANSACTION = 0, 1  # kinds of coordinators
_REQUEST_TIMEOUT_MS = 30_000


class Client:
    """Connections to the brokers of one cluster. Nothing is opened before it is needed.

    timeout_ms: the limit for one call, retries included; each call can have its own deadline.
    security: TLS and SASL (barnabas.client.security); SettingsError if its stores cannot be read.
    """

    def __init__(
        self,
        bootstrap: str | Iterable[Address],
        *,
        client_id: str | None = "barnabas-client",
        timeout_ms: int = _REQUEST_TIMEOUT_MS,
        clock: ClientClock | None = None,
        network: ClientNetwork | None = None,
        security: SecuritySettings | None = None,
    ) -> None:
        self.client_id = client_id
        self.timeout_ms = timeout_ms
        self.clock: ClientClock = clock or SystemClientClock()
        self._log_in: LogIn | None = None
        if security is not None and security.sasl is not None:
            from barnabas.client.security.sasl import Authenticator

            self._log_in = Authenticator(security.sasl, self.clock).authenticate
        self.network: ClientNetwork = network or _network(security)
        self.cluster: ClusterInfo = NOTHING_KNOWN
        self._bootstrap = parse_addresses(bootstrap) if isinstance(bootstrap, str) else list(bootstrap)
        self._connections: dict[tuple[Address, str], BrokerConnection] = {}
        self._coordinators: dict[tuple[int, str], Address] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection. The client may be used again: it reconnects."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def deadline(self, timeout_ms: float | None = None) -> Deadline:
        """Return a deadline from now, by default after this client's timeout."""
        return Deadline(self.clock, self.timeout_ms if timeout_ms is None else timeout_ms)

    def connect(self, timeout_ms: int | None = None) -> ClusterInfo:
        """Connect to any broker now, without retries; raise ConnectionFailed with the reason if that fails."""
        return self._refresh([], self.deadline(timeout_ms))

    # --- requests ---

    def ask_any(self, request: Request, deadline: Deadline | None = None) -> Any:
        """Return the response of any broker that can be reached."""
        deadline = deadline or self.deadline()
        return self.with_retries(lambda: self._any_connection(deadline).ask(request, deadline), deadline)

    def with_retries(
        self,
        attempt: Callable[[], T],
        deadline: Deadline,
        before_next: Callable[[KafkaError], None] = lambda error: None,
        final: Container[ErrorCode] = (),
    ) -> T:
        """Call `attempt`, again after retriable errors, until the deadline (barnabas.client.connections.retries)."""
        return retry(attempt, clock=self.clock, deadline=deadline, before_next=before_next, final=final)

    def node(self, node_id: int, deadline: Deadline, purpose: str = "") -> BrokerConnection:
        """Return the connection to one broker, by node id. One attempt.

        purpose: for a separate connection, on which no other responses come.
        """
        address = self.cluster.brokers.get(node_id)
        if address is None:
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, f"no address is known for node {node_id}")
        return self._connection(address, deadline, purpose)

    def controller(self, deadline: Deadline) -> BrokerConnection:
        """Return the connection to the controller if it is known, else to any broker, which forwards requests."""
        if not self.cluster.brokers:
            self._refresh([], deadline)
        address = self.cluster.brokers.get(self.cluster.controller_id)
        return self._any_connection(deadline) if address is None else self._connection(address, deadline)

    def coordinator(self, kind: int, key: str, deadline: Deadline) -> BrokerConnection:
        """Return the connection to the coordinator of a group or a transaction. One attempt.

        It is used for nothing else, so that a waiting JoinGroup does not delay a Fetch.
        """
        return self._connection(self.find_coordinator(kind, key, deadline), deadline, purpose="coordinator")

    # --- leaders and coordinators ---

    def refresh(self, topics: Iterable[str] | None, deadline: Deadline, *, auto_create: bool = False) -> ClusterInfo:
        """Request brokers and the named topics (None: all) now. Topics with errors are included with their codes."""
        names = None if topics is None else list(topics)
        return self.with_retries(lambda: self._refresh(names, deadline, auto_create=auto_create), deadline)

    def leader(self, topic: str, partition: int, deadline: Deadline, *, auto_create: bool = False) -> int:
        """Return the leader node of the partition, requested if unknown. One attempt; KafkaError if there is none."""
        try:
            return self.cluster.leader(topic, partition)
        except KafkaError:
            self._refresh([topic], deadline, auto_create=auto_create)
        return self.cluster.leader(topic, partition)

    def leaders(self, places: Iterable[TopicPartition], deadline: Deadline) -> Leaders:
        """Return the leaders of several partitions: all unknown ones are requested at once; raises nothing."""
        known = self.cluster.leaders(places)
        if not known.failures:
            return known
        missing = list(known.failures)
        try:
            self._refresh(sorted({topic for topic, _ in missing}), deadline)
        except KafkaError as error:
            return Leaders(known.by_node, dict.fromkeys(missing, error))
        return self.cluster.leaders([*(where for each in known.by_node.values() for where in each), *missing])

    def forget(self, topics: Iterable[str]) -> None:
        """Drop the metadata of these topics, so that it is requested again before the next use."""
        for topic in topics:
            self.cluster.topics.pop(topic, None)

    def find_coordinator(self, kind: int, key: str, deadline: Deadline) -> Address:
        """Return the coordinator of the group or transaction, cached until `forget_coordinator`. One attempt."""
        known = self._coordinators.get((kind, key))
        if known is None:
            connection = self._any_connection(deadline)
            batched = connection.version(ApiKey.FIND_COORDINATOR) >= 4
            request = FindCoordinatorRequest(key="" if batched else key, key_type=kind)
            request.coordinator_keys = [key] if batched else []
            known = _coordinator_address(connection.ask(request, deadline), batched, f"coordinator of {key!r}")
            self._coordinators[kind, key] = known
        return known

    def find_coordinators(self, kind: int, keys: Iterable[str], deadline: Deadline) -> None:
        """Find those that are not known yet, with one request if the broker has one for several. One attempt."""
        missing = [key for key in keys if (kind, key) not in self._coordinators]
        connection = self._any_connection(deadline) if missing else None
        if connection is None or connection.version(ApiKey.FIND_COORDINATOR) < 4:
            for key in missing:
                self.find_coordinator(kind, key, deadline)
            return
        request = FindCoordinatorRequest(key="", key_type=kind, coordinator_keys=missing)
        for each in connection.ask(request, deadline).coordinators:
            raise_for(each.error_code, each.error_message, f"coordinator of {each.key!r}")
            self._coordinators[kind, each.key] = Address(each.host, each.port)

    def forget_coordinator(self, kind: int, key: str) -> None:
        """Drop the cached coordinator, so that it is looked up again before the next use."""
        self._coordinators.pop((kind, key), None)

    # --- connections ---

    def _refresh(self, topics: list[str] | None, deadline: Deadline, *, auto_create: bool = False) -> ClusterInfo:
        connection = self._any_connection(deadline)
        wanted = None if topics is None else [MetadataRequestTopic(name=topic) for topic in topics]
        request = MetadataRequest(topics=wanted, allow_auto_topic_creation=auto_create)
        found = read_metadata(connection.ask(request, deadline))
        self.cluster = self.cluster.merged(found)
        return found

    def _any_connection(self, deadline: Deadline) -> BrokerConnection:
        for (_, purpose), connection in self._connections.items():
            if connection.is_open and purpose == "":
                return connection
        failures: list[ConnectionFailed] = []
        for address in dict.fromkeys([*self._bootstrap, *self.cluster.brokers.values()]):
            try:
                return self._connection(address, deadline)
            except ConnectionFailed as failure:
                failures.append(failure)
        if len(failures) == 1:
            raise failures[0]
        raise ConnectionFailed("; ".join(failure.message for failure in failures))

    def _connection(self, address: Address, deadline: Deadline, purpose: str = "") -> BrokerConnection:
        connection = self._connections.get((address, purpose))
        if connection is None or not connection.is_open:
            connection = BrokerConnection(address, self.client_id, deadline, self.network, self._log_in)
            self._connections[address, purpose] = connection
        return connection


def _network(security: SecuritySettings | None) -> ClientNetwork:
    if security is None or security.tls is None:
        return SystemNetwork()
    from barnabas.client.security.tls_network import TlsNetwork

    return TlsNetwork(security.tls)


def _coordinator_address(response: FindCoordinatorResponse, batched: bool, where: str) -> Address:
    found: FindCoordinatorResponse | Coordinator = response
    if batched:
        if not response.coordinators:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{where}: the response names no coordinator")
        found = response.coordinators[0]
    raise_for(found.error_code, found.error_message, where)
    return Address(found.host, found.port)
