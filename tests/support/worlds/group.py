"""A group coordinator on virtual time and a log in memory, with ids that count up: everything a group test needs.

Nothing runs by itself: time moves with `advance`, parked requests are futures to look at. `crash` forgets all that is
not in the log and starts a new coordinator over it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

from barnabas.broker.coordinator.group.decisions.classic.model import (
    CommitRequest,
    Group,
    GroupConfig,
    JoinRequest,
    LeavingMember,
    OffsetToCommit,
    SyncRequest,
)
from barnabas.broker.coordinator.group.decisions.consumer.model import ConsumerConfig, ConsumerContext, HeartbeatRequest
from barnabas.broker.coordinator.group.decisions.share.model import (
    ShareContext,
    ShareGroupConfig,
    ShareHeartbeatRequest,
)
from barnabas.broker.coordinator.group.decisions.streams.model import StreamsConfig, StreamsContext
from barnabas.broker.coordinator.group.group_coordinator import GroupCoordinator
from barnabas.broker.coordinator.runtime.outcome import TransactionProducer
from barnabas.broker.runtime.scheduler import CooperativeScheduler
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.records.control import EndTxnMarker
from tests.support.virtual_clock import VirtualClock
from tests.support.worlds.begun_share_states import BegunShareStates
from tests.support.worlds.memory_topic import MemoryTopic
from tests.support.worlds.memory_topics import MemoryTopics

TOPIC_IDS = {"t": b"\x01" * 16, "u": b"\x02" * 16}


class GroupWorld:
    """One broker's groups."""

    def __init__(
        self,
        config: GroupConfig | None = None,
        topic: MemoryTopic | None = None,
        consumer_config: ConsumerConfig | None = None,
    ) -> None:
        self.config = config or GroupConfig()
        self.consumer_config = consumer_config or ConsumerConfig()
        self.streams_config = StreamsConfig()
        self.share_config = ShareGroupConfig()
        self.topics = MemoryTopics()
        self.loop = asyncio.new_event_loop()
        self.topic = topic or MemoryTopic()
        self.topic_ids = dict(TOPIC_IDS)
        self.persister = BegunShareStates(self.loop)
        self.clock = VirtualClock()
        self._ids_given = 0
        self.coordinator = self._start()

    def __enter__(self) -> GroupWorld:
        return self

    def __exit__(self, *_: object) -> None:
        self.loop.close()

    def _start(self) -> GroupCoordinator:
        self.upkeep = CooperativeScheduler(self.loop, self.clock.monotonic, rests=False)
        return GroupCoordinator(
            topic=self.topic,
            config=self.config,
            clock=self.clock,
            machine_clock=self.clock,
            upkeep=self.upkeep,
            random_bytes=self._random_bytes,
            topic_ids=self.topic_ids.get,
            consumer=ConsumerContext(lambda group_id: self.consumer_config, self.topics),
            streams=lambda: StreamsContext(lambda group_id: self.streams_config, self.topics),
            share=ShareContext(lambda group_id: self.share_config, self.topics),
            persister=lambda: self.persister,
        )

    def _random_bytes(self, size: int) -> bytes:
        self._ids_given += 1
        return self._ids_given.to_bytes(size, "big")

    def crash(self) -> None:
        """kill -9: nothing is answered, nothing is written, and time went by."""
        self.upkeep.close()
        passed_ms = self.clock.now_ms()
        self.clock = VirtualClock(start_ms=passed_ms)
        self.topic.held.clear()
        self.coordinator = self._start()

    def advance(self, delay_ms: float) -> None:
        self.clock.advance(delay_ms)
        self.turns()

    def settle(self) -> None:
        """Let the callbacks of completed futures run, and theirs."""
        for _ in range(2):
            self.loop.call_soon(self.loop.stop)
            self.loop.run_forever()

    def turns(self) -> None:
        """Run the loop until work that is spread over turns has ended."""
        self.settle()
        while not self.upkeep.are_over:
            self.settle()

    def answered(self, *replies: Any) -> None:
        """Let the loop turn until these have come."""
        for _ in range(10_000):
            if all(not isinstance(reply, asyncio.Future) or reply.done() for reply in replies):
                return
            self.settle()
        raise AssertionError("a request was never answered")

    # Requests, with what a test usually wants as defaults

    def join(
        self,
        group_id: str = "g",
        member_id: str = "",
        *,
        instance: str | None = None,
        client: str = "c",
        session_ms: int = 10_000,
        rebalance_ms: int = 60_000,
        protocol_type: str = "consumer",
        protocols: Iterable[tuple[str, bytes]] = (("range", b"m"),),
        version: int = 9,
    ) -> Any:
        return self.coordinator.join(
            JoinRequest(
                group_id,
                member_id,
                instance,
                client,
                "/127.0.0.1",
                session_ms,
                rebalance_ms,
                protocol_type,
                tuple(protocols),
                requires_known_member_id=version >= 4,
                may_skip_assignment=version >= 9,
            )
        )

    def sync(
        self,
        member_id: str,
        generation_id: int,
        assignments: Iterable[tuple[str, bytes]] = (),
        *,
        group_id: str = "g",
        instance: str | None = None,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
    ) -> Any:
        return self.coordinator.sync(
            SyncRequest(group_id, generation_id, member_id, instance, protocol_type, protocol_name, tuple(assignments))
        )

    def heartbeat(self, member_id: str, generation_id: int, *, group_id: str = "g", instance: str | None = None) -> Any:
        return self.coordinator.heartbeat(group_id, member_id, instance, generation_id)

    def beat(self, member_id: str, epoch: int = 0, *, group_id: str = "g", topics: tuple[str, ...] = ("t",)) -> Any:
        """A heartbeat of the consumer protocol, by which a member with epoch 0 joins."""
        joining: Any = {} if epoch else {"rebalance_timeout_ms": 60_000, "topic_names": topics, "owned": {}}
        return self.coordinator.consumer.heartbeat(HeartbeatRequest(group_id, member_id, epoch, **joining))

    def share_beat(
        self, member_id: str, epoch: int = 0, *, group_id: str = "g", topics: tuple[str, ...] | None = None
    ) -> Any:
        """A heartbeat of a share group, by which a member with epoch 0 joins; answered, with what follows from it."""
        names = ("t",) if topics is None and epoch == 0 else topics
        request = ShareHeartbeatRequest(group_id, member_id, epoch, topic_names=names, client_id="c", client_host="/h")
        reply = self.coordinator.share.heartbeat(request)
        self.answered(reply)
        for _ in range(5):  # the states of its partitions are stored, and then its record
            self.turns()
        return reply.result() if isinstance(reply, asyncio.Future) else reply

    def leave(self, *members: tuple[str, str | None], group_id: str = "g") -> Any:
        return self.coordinator.leave(group_id, [LeavingMember(*member) for member in members])

    def commit(
        self,
        offsets: Sequence[tuple[str, int, int]],
        *,
        group_id: str = "g",
        member_id: str = "",
        generation_id: int = -1,
        instance: str | None = None,
        metadata: str = "",
        expire_ms: int = -1,
        missing_group: ErrorCode = ErrorCode.GROUP_ID_NOT_FOUND,
    ) -> Any:
        """Commit (topic, partition, offset)s."""
        wanted = self._wanted(offsets, metadata, expire_ms)
        request = CommitRequest(group_id, generation_id, member_id, instance, wanted)
        return self.coordinator.commit_offsets(request, missing_group=missing_group)

    def txn_commit(
        self,
        producer_id: int,
        offsets: Sequence[tuple[str, int, int]],
        *,
        group_id: str = "g",
        member_id: str = "",
        generation_id: int = -1,
        instance: str | None = None,
        metadata: str = "",
        missing_group: ErrorCode = ErrorCode.ILLEGAL_GENERATION,
    ) -> Any:
        """Commit (topic, partition, offset)s in the transaction that the producer has open."""
        request = CommitRequest(group_id, generation_id, member_id, instance, self._wanted(offsets, metadata))
        by = TransactionProducer(producer_id, 0)
        return self.coordinator.commit_offsets_in_transaction(request, by, missing_group=missing_group)

    def _wanted(
        self, offsets: Sequence[tuple[str, int, int]], metadata: str, expire_ms: int = -1
    ) -> tuple[OffsetToCommit, ...]:
        return tuple(
            OffsetToCommit(topic, self.topic_ids.get(topic, bytes(16)), partition, offset, 7, metadata, expire_ms)
            for topic, partition, offset in offsets
        )

    def marker(self, producer_id: int, *, is_commit: bool, hold: bool = False, group_id: str = "g") -> None:
        """End the producer's transaction where the group's offsets are."""
        marker = EndTxnMarker(is_commit, producer_id, 0, 0, 0, self.clock.now_ms())
        partition = self.coordinator.offsets_partition(group_id)
        self.coordinator.append_marker(partition, marker, transaction_version=1, hold=hold)

    def release(self, producer_id: int, *, is_commit: bool, group_id: str = "g") -> None:
        """Show the end that was held."""
        partition = self.coordinator.offsets_partition(group_id)
        self.coordinator.release_marker(partition, producer_id, is_commit)

    def unstable(self, group_id: str = "g") -> set[tuple[str, int]]:
        """(topic, partition) with an offset in an open transaction."""
        return set(self.coordinator.fetch_offsets(group_id).unstable)

    def group(self, group_id: str = "g") -> Group:
        """A group of the classic protocol, which is there."""
        group = self.coordinator.describe(group_id)
        assert group is not None
        return group

    def committed(self, group_id: str = "g") -> dict[tuple[str, int], int]:
        """(topic, partition) -> offset."""
        offsets = self.coordinator.fetch_offsets(group_id).offsets
        return {
            (topic, partition): committed.offset
            for topic, partitions in offsets.items()
            for partition, committed in partitions.items()
        }

    def stable_group(self, *clients: str, group_id: str = "g", **join: Any) -> list[str]:
        """A Stable group of dynamic members, one per client name; their member ids, the leader's first."""
        ids = [self.join(group_id, client=client, **join).member_id for client in clients]
        joins = [
            self.join(group_id, member_id, client=client, **join)
            for member_id, client in zip(ids, clients, strict=True)
        ]
        self.advance(0)
        replies = [future.result() for future in joins]
        generation_id = replies[0].generation_id
        assignments = [(member_id, client.encode()) for member_id, client in zip(ids, clients, strict=True)]
        leader_id = replies[0].leader_id
        syncs = [
            self.sync(member_id, generation_id, assignments if member_id == leader_id else (), group_id=group_id)
            for member_id in ids
        ]
        self.settle()
        assert [reply_of(sync).assignment for sync in syncs] == [client.encode() for client in clients]
        return sorted(ids, key=lambda member_id: member_id != leader_id)


def reply_of(answered: Any) -> Any:
    """The reply, whether it came at once or through a future that is done."""
    return answered.result() if isinstance(answered, asyncio.Future) else answered
