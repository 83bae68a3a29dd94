"""The services of a broker and the context of one request, as passed to the handlers.

The composition root (`broker/server/broker.py`) fills `Services` once; no service is replaced afterwards. Handlers
reach the rest of the broker only through this module, so a test can pass them a broker made of in-memory parts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

from barnabas.broker.metadata.cluster.node_view import Node, NodeView
from barnabas.broker.metadata.image.features import GROUP_VERSION, SHARE_VERSION, STREAMS_VERSION
from barnabas.broker.security.session.operations import Operation, Resource
from barnabas.broker.security.session.principal import ANONYMOUS, Principal

if TYPE_CHECKING:
    from barnabas.broker.clients.quotas.node_quotas import NodeQuotas
    from barnabas.broker.clients.quotas.quota_managers import MeasuredRequest
    from barnabas.broker.clients.telemetry.telemetry import Telemetry
    from barnabas.broker.config import BrokerConfig
    from barnabas.broker.coordinator import GroupCoordinator, TransactionCoordinator
    from barnabas.broker.coordinator.share.share_coordinator import ShareCoordinator
    from barnabas.broker.coordinator.transaction.producer_ids import ProducerIds
    from barnabas.broker.metadata.access.access_control import AccessControl
    from barnabas.broker.metadata.catalogue import Catalogue
    from barnabas.broker.metadata.delegation_tokens.tokens import Tokens
    from barnabas.broker.partitions.cleaning.log_cleaner import LogCleaner
    from barnabas.broker.partitions.disk_space.disk_space_watch import DiskSpaceWatch
    from barnabas.broker.partitions.fetch.fetch_sessions import FetchSessions
    from barnabas.broker.partitions.log_dir_moves import LogDirMoves
    from barnabas.broker.partitions.partitions import Partitions
    from barnabas.broker.partitions.produce.batch_validations import BatchValidations
    from barnabas.broker.partitions.purgatory import Purgatory
    from barnabas.broker.partitions.share.persister import Persister
    from barnabas.broker.partitions.share.share_partition_manager import SharePartitionManager
    from barnabas.broker.runtime.clock import Clock
    from barnabas.broker.runtime.events import Events
    from barnabas.broker.runtime.scheduler import CooperativeScheduler
    from barnabas.broker.runtime.workers.workers import Workers
    from barnabas.broker.security.acl.rights import Rights
    from barnabas.broker.security.session.session import Session

T = TypeVar("T")


class OfferedApi(NamedTuple):
    """One row of ApiVersions."""

    api_key: int
    min_version: int
    max_version: int


class Deferred(Generic[T]):
    """A part that is built on first use, so that it does not slow down the start."""

    __slots__ = ("_build", "built")

    def __init__(self, build: Callable[[], T]) -> None:
        self._build = build
        self.built: T | None = None
        """The part, once it has been built."""

    def get(self) -> T:
        """Return the part; the first call builds it."""
        if self.built is None:
            self.built = self._build()
        return self.built


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The parts of a running broker."""

    node: Node
    """This broker with the address of its first listener. Peers get `RequestContext.node`."""
    cluster: NodeView
    """The leaders and coordinators."""
    config: BrokerConfig
    clock: Clock
    catalogue: Catalogue
    partitions: Partitions
    led_by_any: Partitions
    """The partitions that any node leads, for what a coordinator reads of a partition elsewhere."""
    deferred_moves: Deferred[LogDirMoves]
    """Moves of partitions to another data directory."""
    deferred_cleaner: Deferred[LogCleaner]
    """The log cleaner, which compacts logs."""
    deferred_groups: Deferred[GroupCoordinator]
    deferred_transactions: Deferred[TransactionCoordinator]
    transactions_of: Callable[[str], TransactionCoordinator]
    """Returns the coordinator of a transactional id, on any node: appends are verified with it."""
    deferred_shares: Deferred[ShareCoordinator]
    """The share coordinator, which stores the states of share partitions (KIP-932)."""
    deferred_persister: Deferred[Persister]
    """Reaches the share coordinator of each share partition, on any node."""
    deferred_share_partitions: Deferred[SharePartitionManager]
    """The share partitions that this node leads, and the sessions of their members."""
    deferred_telemetry: Deferred[Telemetry]
    producer_ids: ProducerIds
    fetch_sessions: FetchSessions
    purgatory: Purgatory
    quotas: NodeQuotas
    """The client quotas."""
    events: Events
    """The event log."""
    disk_space: DiskSpaceWatch
    """Knows which data directories are full."""
    request_scheduler: CooperativeScheduler
    """Runs work of requests that may be too long for one turn: half of the loop's time stays free."""
    batch_validations: BatchValidations
    """Validates batches before they are appended."""
    upkeep: CooperativeScheduler
    """Runs the broker's own background work as soon as possible, interleaved with other work."""
    workers: Workers
    """Runs work over whole logs, in processes beside the event loop."""
    offered_apis: tuple[OfferedApi, ...]
    """The rows of ApiVersions, in order of the key: derived from the API table."""
    access: AccessControl | None = None
    """The access control lists and the authorizer; None without an authorizer: then nothing is checked."""
    tokens: Tokens | None = None
    """The delegation tokens; None without a secret key for them."""
    nodes: tuple[Services, ...] = ()
    """The services of each node, if these are the services that several nodes share; else empty."""

    @property
    def every_node(self) -> tuple[Services, ...]:
        """The services of each node; only these where there is one node."""
        return self.nodes or (self,)

    @property
    def offers_consumer_groups(self) -> bool:
        """Whether there may be groups of the consumer protocol (KIP-848)."""
        protocols = self.config.strings("group.coordinator.rebalance.protocols")
        return "consumer" in protocols and bool(self.catalogue.feature_level(GROUP_VERSION))

    @property
    def share_version(self) -> int:
        """The feature level of share groups: 0 without them, 2 with dead-letter queues."""
        return self.catalogue.feature_level(SHARE_VERSION)

    @property
    def offers_share_groups(self) -> bool:
        """Whether there may be share groups (KIP-932)."""
        return self.share_version > 0

    @property
    def offers_streams_groups(self) -> bool:
        """Whether there may be streams groups (KIP-1071)."""
        protocols = self.config.strings("group.coordinator.rebalance.protocols")
        return "streams" in protocols and bool(self.catalogue.feature_level(STREAMS_VERSION))

    @property
    def groups(self) -> GroupCoordinator:
        """The group coordinator."""
        return self.deferred_groups.get()

    @property
    def transactions(self) -> TransactionCoordinator:
        """The transaction coordinator."""
        return self.deferred_transactions.get()

    @property
    def shares(self) -> ShareCoordinator:
        """The share coordinator."""
        return self.deferred_shares.get()

    @property
    def persister(self) -> Persister:
        """The store of the states of share partitions."""
        return self.deferred_persister.get()

    @property
    def share_partitions(self) -> SharePartitionManager:
        """The share partitions that this node leads."""
        return self.deferred_share_partitions.get()

    @property
    def moves(self) -> LogDirMoves:
        """The mover of partitions between data directories."""
        return self.deferred_moves.get()

    @property
    def cleaner(self) -> LogCleaner:
        """The log cleaner, which compacts logs."""
        return self.deferred_cleaner.get()

    @property
    def telemetry(self) -> Telemetry:
        """The client telemetry: metrics that clients push."""
        return self.deferred_telemetry.get()


class Connected(Protocol):
    """The connection of a request."""

    session: Session
    peer: str
    """Address and port."""
    is_closed: bool
    measured: MeasuredRequest | None
    """The request in flight, while the node has quotas."""


class RequestContext:
    """The facts of one request, without its body."""

    __slots__ = (
        "_node",
        "api_key",
        "api_version",
        "client_host",
        "client_id",
        "connection",
        "correlation_id",
        "services",
    )

    def __init__(
        self,
        services: Services,
        api_key: int,
        api_version: int,
        correlation_id: int = 0,
        client_id: str | None = None,
        client_host: str = "127.0.0.1",
        connection: Connected | None = None,
        node: Node | None = None,
    ) -> None:
        self.services = services
        self.api_key = api_key
        self.api_version = api_version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.client_host = client_host
        """The peer's address without its port."""
        self.connection = connection
        """The connection of the request: compared by identity, and holds the session."""
        self._node = node

    @property
    def measured(self) -> MeasuredRequest | None:
        """The request's use of quotas; None where nothing is measured."""
        return None if self.connection is None else self.connection.measured

    @property
    def principal(self) -> Principal:
        """The principal that sent the request."""
        return ANONYMOUS if self.connection is None else self.connection.session.principal

    @property
    def rights(self) -> Rights | None:
        """The principal's rights; None where nothing is checked."""
        if self.services.access is None:
            return None
        from barnabas.broker.security.acl.rights import Rights

        authorizer = self.services.access.authorizer
        return Rights(authorizer, self.principal, self.client_host, self.api_key, self.client_id)

    @property
    def may_describe(self) -> Callable[[str], bool]:
        """Whether the topic with a name may be described, also in answers to later requests.

        Always true where nothing is checked.
        """
        rights = self.rights
        if rights is None:
            return lambda name: True
        return lambda name: rights.allows(Operation.DESCRIBE, Resource.TOPIC, name, quietly=True)

    @property
    def node(self) -> Node:
        """The broker as the peer has to see it: the host and port depend on how the peer connected."""
        return self._node or self.services.node


class OwnedRequestContext(RequestContext):
    """The context of a request that may be processed in several turns: it owns the buffer that it was decoded from."""

    __slots__ = ()

    def of_a_part(self) -> RequestContext:
        """Return the context for a part of the request, which is served in one turn."""
        return RequestContext(
            self.services,
            self.api_key,
            self.api_version,
            self.correlation_id,
            self.client_id,
            self.client_host,
            self.connection,
            self._node,
        )
