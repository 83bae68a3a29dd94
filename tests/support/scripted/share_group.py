"""A scripted broker that coordinates one share group of one member, and leads the partitions of topic t."""

from collections.abc import Callable, Sequence
from typing import Any

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages import share_acknowledge, share_fetch
from barnabas.protocol.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from barnabas.protocol.messages.share_group_heartbeat import (
    Assignment,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.protocol.registry import ApiKey
from tests.support.scripted.broker import Answer, HangUp, ScriptedBroker

TOPIC = "t"
LOCK_MS = 30_000


class ShareGroupBroker(ScriptedBroker):
    """Each fetch acquires the next record of partition 0: "0", "1", "2" … A join assigns nothing, the next heartbeat
    everything.

    `trouble` comes first, one to each request of its API: an error at the top of the answer, or a HangUp.
    """

    def __init__(self, **trouble: Sequence[ErrorCode | HangUp]) -> None:
        self._trouble = {ApiKey[name]: list(each) for name, each in trouble.items()}
        script: dict[ApiKey, Callable[[Any], Answer]] = {
            ApiKey.FIND_COORDINATOR: self._find,
            ApiKey.SHARE_GROUP_HEARTBEAT: self._heartbeat,
            ApiKey.SHARE_FETCH: self._fetch,
            ApiKey.SHARE_ACKNOWLEDGE: self._acknowledge,
        }
        super().__init__(script, {TOPIC: 1})
        self.topic_id = self.topic_ids[TOPIC]
        self.next_offset = 0
        self.damages = False
        """Whether the next records are damaged."""
        self.partition_error = ErrorCode.NONE
        """Of the partition in every ShareFetch."""
        self.refusal = ErrorCode.NONE
        """Of the partition in every ShareAcknowledge."""

    def fail(self, api: ApiKey, *trouble: ErrorCode | HangUp) -> None:
        """Let the next requests of this API fail so, one after the other."""
        self._trouble.setdefault(api, []).extend(trouble)

    def acknowledged(self) -> list[tuple[int, int, list[int]]]:
        """What came in ShareAcknowledge: first offset, last offset, types."""
        return [
            (batch.first_offset, batch.last_offset, batch.acknowledge_types)
            for request in self.of(share_acknowledge.ShareAcknowledgeRequest)
            for topic in request.topics
            for partition in topic.partitions
            for batch in partition.acknowledgement_batches
        ]

    def epochs(self, kind: type[Any]) -> list[int]:
        """The epochs of the requests of a kind, in order."""
        field = "member_epoch" if kind is ShareGroupHeartbeatRequest else "share_session_epoch"
        return [getattr(request, field) for request in self.of(kind)]

    def _next_trouble(self, api: ApiKey) -> ErrorCode | HangUp:
        waiting = self._trouble.get(api)
        return waiting.pop(0) if waiting else ErrorCode.NONE

    def _find(self, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
        found = Coordinator(key="g", node_id=1, host="127.0.0.1", port=self.port, error_code=0, error_message=None)
        return FindCoordinatorResponse(coordinators=[found])

    def _heartbeat(self, request: ShareGroupHeartbeatRequest) -> Answer:
        trouble = self._next_trouble(ApiKey.SHARE_GROUP_HEARTBEAT)
        if isinstance(trouble, HangUp):
            return trouble
        epoch = request.member_epoch
        assigned = [TopicPartitions(topic_id=self.topic_id, partitions=[0])] if epoch == 1 else []
        return ShareGroupHeartbeatResponse(
            error_code=trouble,
            member_id=request.member_id,
            member_epoch=epoch if epoch < 0 else min(epoch + 1, 2),
            heartbeat_interval_ms=5000,
            assignment=Assignment(topic_partitions=assigned) if epoch in (0, 1) else None,
        )

    def _fetch(self, request: share_fetch.ShareFetchRequest) -> Answer:
        trouble = self._next_trouble(ApiKey.SHARE_FETCH)
        if isinstance(trouble, HangUp):
            return trouble
        offset = self.next_offset
        records: bytes = b""
        acquired: list[share_fetch.AcquiredRecords] = []
        if not self.partition_error and not trouble:
            self.next_offset += 1
            records = bytes(build_batch([NewRecord(None, b"%d" % offset, (), 0)], base_offset=offset))
            acquired = [share_fetch.AcquiredRecords(first_offset=offset, last_offset=offset, delivery_count=1)]
        if self.damages:
            records, self.damages = records[:-1] + b"!", False
        data = share_fetch.PartitionData(
            partition_index=0,
            error_code=self.partition_error,
            acknowledge_error_code=0,
            current_leader=share_fetch.LeaderIdAndEpoch(leader_id=1, leader_epoch=0),
            records=records,
            acquired_records=acquired,
        )
        topic = share_fetch.ShareFetchableTopicResponse(topic_id=self.topic_id, partitions=[data])
        return share_fetch.ShareFetchResponse(
            error_code=trouble, acquisition_lock_timeout_ms=LOCK_MS, responses=[topic], node_endpoints=[]
        )

    def _acknowledge(self, request: share_acknowledge.ShareAcknowledgeRequest) -> Answer:
        trouble = self._next_trouble(ApiKey.SHARE_ACKNOWLEDGE)
        if isinstance(trouble, HangUp):
            return trouble
        leader = share_acknowledge.LeaderIdAndEpoch(leader_id=1, leader_epoch=0)
        topics = [
            share_acknowledge.ShareAcknowledgeTopicResponse(
                topic_id=topic.topic_id,
                partitions=[
                    share_acknowledge.PartitionData(
                        partition_index=each.partition_index, error_code=self.refusal, current_leader=leader
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
        return share_acknowledge.ShareAcknowledgeResponse(error_code=trouble, responses=topics, node_endpoints=[])
