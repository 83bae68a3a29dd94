"""The leader of a partition for which Produce or Fetch was sent to the wrong node, and the leader's endpoint (KIP-951).

Knows answers, and the cluster as the answering node sees it. With a single node there is nothing to add.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from barnabas.broker.metadata.image.image import NO_LEADER
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.hot.fetch import FetchedPartition
from barnabas.protocol.hot.produce import PartitionResult
from barnabas.protocol.hot.writing import NodeEndpoint, Topic

if TYPE_CHECKING:
    from barnabas.broker.api.frame_handler import RequestConnection
    from barnabas.broker.services import Services

PRODUCE_NAMES_LEADERS_SINCE: Final = 10
FETCH_NAMES_LEADERS_SINCE: Final = 16
REFUSES_TO_LEAD: Final = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)
"""The errors after which a client uses another node."""

Result = TypeVar("Result", PartitionResult, FetchedPartition)


def with_current_leaders(
    topics: Sequence[tuple[Topic, Sequence[Result]]], services: Services, client: RequestConnection
) -> tuple[list[tuple[Topic, list[Result]]], list[NodeEndpoint]]:
    """Return the results, with leader and epoch where the client must use another node; and the endpoints."""
    endpoints: dict[int, NodeEndpoint] = {}
    copied = [(topic, list(results)) for topic, results in topics]
    for topic, results in copied:
        for position, result in enumerate(results):
            found = leader_of(topic, result.partition, services) if result.error_code in REFUSES_TO_LEAD else None
            if found is None:
                continue
            results[position] = result._replace(current_leader=found)
            if found[0] != NO_LEADER and found[0] not in endpoints:
                node = services.cluster.node(found[0], client.node or services.node)
                endpoints[node.node_id] = node.node_id, node.host, node.port, node.rack
    return copied, list(endpoints.values())


def leader_of(topic: Topic, partition: int, services: Services) -> tuple[int, int] | None:
    """Return (node id, leader epoch); None if there is no such partition."""
    catalogue = services.catalogue
    found = catalogue.topics_by_id.get(topic) if isinstance(topic, bytes) else catalogue.topics.get(topic)
    if found is None or not 0 <= partition < len(found.partitions):
        return None
    cluster = services.cluster
    return cluster.placement_of(found.name, partition).leader, cluster.leader_epoch(found.partitions[partition])
