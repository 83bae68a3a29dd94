"""A broker with share groups, whose states are in memory: members that fetch and acknowledge."""

from __future__ import annotations

from typing import Any

from barnabas.broker.metadata.catalogue.config_alterations import Alteration, AlterConfigOp
from barnabas.broker.metadata.image.features import SHARE_VERSION
from barnabas.broker.metadata.image.image import GROUP_RESOURCE
from barnabas.broker.partitions.share.share_sessions import SessionPartition
from barnabas.broker.runtime.clock import Stopwatch
from barnabas.protocol.messages.share_acknowledge import (
    AcknowledgementBatch as AckBatch,
)
from barnabas.protocol.messages.share_acknowledge import (
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from barnabas.protocol.messages.share_fetch import (
    AcknowledgementBatch,
    FetchPartition,
    FetchTopic,
    ForgottenTopic,
    ShareFetchRequest,
)
from tests.support.worlds.broker import BrokerWorld, Peer, settle
from tests.support.worlds.memory_persister import MemoryPersister

Acks = tuple[int, int, list[int]]
"""First and last offset, and the types."""


class ShareWorld(BrokerWorld):
    """A broker with a topic `t`, and the group `g` that begins at its first record."""

    def __init__(
        self,
        settings: dict[str, str] | None = None,
        *,
        level: int = 2,
        partitions: int = 1,
        in_memory: bool = True,
        after: ShareWorld | None = None,
        stopwatch: Stopwatch = lambda: 0.0,
    ) -> None:
        """`level`: of share.version. `in_memory`: else states are stored by the share coordinator.

        `after`: the world whose files and states these are; it was killed.
        """
        topics = None if after else {"t": partitions}
        super().__init__(settings, after.files if after else None, stopwatch, topics=topics)
        self.persister: MemoryPersister = after.persister if after else MemoryPersister()
        if in_memory:
            self.services.deferred_persister.built = self.persister
        features: Any = self.services.catalogue.feature_levels
        features[SHARE_VERSION] = level
        self.configure("share.auto.offset.reset", "earliest")

    def configure(self, key: str, value: str) -> None:
        """Set a setting of the group."""
        self.services.catalogue.alter_configs(GROUP_RESOURCE, "g", [Alteration(key, AlterConfigOp.SET, value)])

    @property
    def topic_id(self) -> bytes:
        return self.services.catalogue.topics["t"].topic_id

    async def load(self) -> None:
        """Load the share partitions of the group: a fetch does not wait for that."""
        if self.services.offers_share_groups and self.persister.begins:
            for number in range(len(self.services.catalogue.topics["t"].partitions)):
                self.services.share_partitions.get("g", SessionPartition(self.topic_id, number))
            await settle()

    def member(self, name: str = "m") -> ShareMember:
        return ShareMember(self, name)


class ShareMember:
    """A member on a connection of its own."""

    def __init__(self, world: ShareWorld, name: str) -> None:
        self.world = world
        self.name = name
        self.peer: Peer = world.connect()
        self.epoch = 0

    def request(self, *partitions: int, acks: tuple[Acks, ...] = (), **more: Any) -> ShareFetchRequest:
        """A ShareFetch of partitions, which are only named in the first one; `acks` are for the first of them."""
        rows = [
            FetchPartition(
                partition_index=each,
                acknowledgement_batches=[
                    AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=types)
                    for first, last, types in (acks if each == partitions[0] else ())
                ],
            )
            for each in partitions
        ]
        usual = {
            "group_id": "g",
            "member_id": self.name,
            "share_session_epoch": self.epoch,
            "max_wait_ms": 0,
            "min_bytes": 1,
            "max_bytes": 1 << 20,
            "max_records": 500,
            "batch_size": 500,
            "topics": [FetchTopic(topic_id=self.world.topic_id, partitions=rows)] if rows else [],
            "forgotten_topics_data": [],
        }
        return ShareFetchRequest(**{**usual, **more})

    async def fetch(self, *partitions: int, **more: Any) -> Any:
        """The answer to a ShareFetch, of partition 0 if the session is to begin."""
        if self.epoch == 0:
            await self.world.load()
        request = self.request(*(partitions or ((0,) if self.epoch == 0 else ())), **more)
        if "share_session_epoch" not in more:
            self.epoch += 1
        return await self.peer.answer_to(request)

    async def acquire(self, *partitions: int, **more: Any) -> list[tuple[int, int, int]]:
        """The ranges that a ShareFetch acquires."""
        return acquired(await self.fetch(*partitions, **more))

    def begin_fetch(self, **more: Any) -> None:
        """Send a ShareFetch, which may wait."""
        self.peer.ask(self.request(*((0,) if self.epoch == 0 else ()), **more))
        self.epoch += 1

    async def forget(self, partition: int) -> Any:
        forgotten = [ForgottenTopic(topic_id=self.world.topic_id, partitions=[partition])]
        return await self.fetch(forgotten_topics_data=forgotten)

    async def acknowledge(self, *acks: Acks, epoch: int | None = None, partition: int = 0, **more: Any) -> Any:
        """The answer to a ShareAcknowledge."""
        batches = [
            AckBatch(first_offset=first, last_offset=last, acknowledge_types=types) for first, last, types in acks
        ]
        rows = [AcknowledgePartition(partition_index=partition, acknowledgement_batches=batches)]
        topics = [AcknowledgeTopic(topic_id=self.world.topic_id, partitions=rows)] if acks else []
        usual = {
            "group_id": "g",
            "member_id": self.name,
            "share_session_epoch": self.epoch if epoch is None else epoch,
            "topics": topics,
        }
        if epoch is None:
            self.epoch += 1
        return await self.peer.answer_to(ShareAcknowledgeRequest(**{**usual, **more}))


def acquired(answer: Any) -> list[tuple[int, int, int]]:
    """The acquired ranges of all partitions of an answer without errors."""
    assert answer.error_code == 0, answer.error_message
    rows = [each for topic in answer.responses for each in topic.partitions]
    assert not any(each.error_code or each.acknowledge_error_code for each in rows), rows
    return [(it.first_offset, it.last_offset, it.delivery_count) for each in rows for it in each.acquired_records]
