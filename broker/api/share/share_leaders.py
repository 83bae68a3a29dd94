"""The leaders that ShareFetch and ShareAcknowledge name for partitions that another node leads, and their endpoints.

As with Fetch (KIP-951), and like Kafka also with a single node: a share partition whose state was fenced is refused
with NOT_LEADER_OR_FOLLOWER by the node that leads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.api.produce_fetch.current_leader import REFUSES_TO_LEAD, leader_of
from barnabas.broker.metadata.image.image import NO_LEADER

if TYPE_CHECKING:
    from barnabas.broker.partitions.share.share_sessions import SessionPartition
    from barnabas.broker.services import RequestContext
    from barnabas.protocol.errors import KafkaError


class LeaderEndpoint(NamedTuple):
    """The address of a node, for the client that reads the answer."""

    node_id: int
    host: str
    port: int
    rack: str | None


class ShareLeaders:
    """The leaders in one answer."""

    def __init__(self, context: RequestContext) -> None:
        self._services = context.services
        self._node = context.node
        self._endpoints: dict[int, LeaderEndpoint] = {}

    @property
    def endpoints(self) -> list[LeaderEndpoint]:
        """The endpoints of all leaders that were named."""
        return list(self._endpoints.values())

    def of(self, wanted: SessionPartition, refusal: KafkaError | None) -> tuple[int, int]:
        """Return id and epoch of the leader if the error says that another node leads, else zeros."""
        if refusal is None or refusal.code not in REFUSES_TO_LEAD:
            return 0, 0
        leader = leader_of(wanted.topic_id, wanted.partition, self._services)
        if leader is None:
            return NO_LEADER, -1
        if leader[0] != NO_LEADER:
            node = self._services.cluster.node(leader[0], self._node)
            self._endpoints[node.node_id] = LeaderEndpoint(node.node_id, node.host, node.port, node.rack)
        return leader
