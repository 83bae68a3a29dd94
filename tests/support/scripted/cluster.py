"""Two scripted brokers that are one cluster: a test sets the leader of each partition, and changes it."""

from collections.abc import Mapping
from types import TracebackType
from typing import Self

from barnabas.client.metadata import TopicPartition
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages import metadata
from barnabas.protocol.registry import ApiKey
from tests.support.scripted.broker import ScriptedBroker

NO_LEADER = -1


class ScriptedCluster:
    """Nodes 1 and 2. `leaders` returns the node that leads each partition, or NO_LEADER; others do not exist."""

    def __init__(self, leaders: Mapping[TopicPartition, int]) -> None:
        self.leaders = dict(leaders)
        self.nodes = {number: ScriptedBroker({ApiKey.METADATA: self._metadata}) for number in (1, 2)}

    @property
    def address(self) -> str:
        return self.nodes[1].address

    def __enter__(self) -> Self:
        for node in self.nodes.values():
            node.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for node in self.nodes.values():
            node.__exit__(kind, error, trace)

    def _metadata(self, request: metadata.MetadataRequest) -> metadata.MetadataResponse:
        return metadata.MetadataResponse(
            brokers=[
                metadata.MetadataResponseBroker(node_id=number, host="127.0.0.1", port=node.port)
                for number, node in self.nodes.items()
            ],
            cluster_id="scripted",
            controller_id=1,
            topics=[self._topic(topic.name or "") for topic in request.topics or ()],
        )

    def _topic(self, name: str) -> metadata.MetadataResponseTopic:
        partitions = [
            metadata.MetadataResponsePartition(
                error_code=ErrorCode.LEADER_NOT_AVAILABLE if leader == NO_LEADER else ErrorCode.NONE,
                partition_index=number,
                leader_id=leader,
                replica_nodes=[],
                isr_nodes=[],
            )
            for (topic, number), leader in sorted(self.leaders.items())
            if topic == name
        ]
        code = ErrorCode.NONE if partitions else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return metadata.MetadataResponseTopic(error_code=code, name=name, partitions=partitions)
