"""Stock consumers as members of a group, each in a thread of its own, that tell a `Ledger` what they see."""

import asyncio
import struct
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import aiokafka
import confluent_kafka
import kafka
from aiokafka.coordinator.assignors.range import RangePartitionAssignor as AiokafkaRange
from confluent_kafka import Consumer, KafkaException
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor

from tests.compat.chaos.ledger import Ledger
from tests.compat.model import HEARTBEAT_INTERVAL_MS

COMMIT_EVERY = 5  # turns of a member's loop
DEADLINE_S = 60.0


class Member(ABC):
    """One consumer's life, in a thread: from joining to leaving. `owner` names it in the ledger."""

    def __init__(
        self, address: str, topic: str, ledger: Ledger, owner: str, *, instance: str | None, session_timeout_ms: int
    ) -> None:
        """The group is named after the topic."""
        self.address, self.topic, self.group, self.ledger = address, topic, topic, ledger
        self.session_timeout_ms = session_timeout_ms
        self.owner = owner
        self.instance = instance
        self.next_offsets: dict[int, int] = {}
        self.floors: dict[int, int] = {}
        self.was_put_out = False
        self._settled = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.live()
        except Exception as error:
            self.ledger.broken.append(f"{self.owner} ended with {error!r}")
            raise
        finally:
            self._settled.set()
            self.taken(list(self.next_offsets))

    @abstractmethod
    def live(self) -> None:
        """Consume until it is not wanted any more, commit and leave."""

    @property
    def is_wanted(self) -> bool:
        return not self._stopping.is_set()

    def leave(self) -> None:
        """Close the consumer. A member that was told its id and never joins holds everybody up, so it joins first."""
        self._settled.wait(DEADLINE_S)
        self._stopping.set()
        self._thread.join(DEADLINE_S)
        assert not self._thread.is_alive(), f"{self.owner} does not end"

    def given(self, generation_id: int, partitions: Iterable[int]) -> None:
        self.ledger.given(self, generation_id, partitions)
        self._settled.set()

    def taken(self, partitions: Iterable[int]) -> None:
        self.ledger.taken(self, partitions)

    def positions(self, partitions: Iterable[int] | None = None) -> dict[int, int]:
        """What can be committed: partition -> the offset behind the last record that was read."""
        wanted = self.next_offsets if partitions is None else partitions
        return {number: offset for number in wanted if (offset := self.next_offsets.get(number, -1)) >= 0}


class ConfluentMember(Member):
    strategy = "range"
    _OUT: tuple[int, ...] = (
        confluent_kafka.KafkaError.UNKNOWN_MEMBER_ID,
        confluent_kafka.KafkaError.FENCED_INSTANCE_ID,
    )
    _TOLD_ONLY = (  # librdkafka asks again by itself: an answer to OffsetFetch when the coordinator moves
        confluent_kafka.KafkaError.NOT_COORDINATOR,
        confluent_kafka.KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    )

    def protocol(self) -> dict[str, Any]:
        """The settings that say how it is a member."""
        return {
            "partition.assignment.strategy": self.strategy,
            "session.timeout.ms": self.session_timeout_ms,
            "heartbeat.interval.ms": HEARTBEAT_INTERVAL_MS,
        }

    def live(self) -> None:
        settings: dict[str, Any] = {
            "bootstrap.servers": self.address,
            "group.id": self.group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **self.protocol(),
        }
        if self.instance is not None:
            settings["group.instance.id"] = self.instance
        consumer = Consumer(settings)
        consumer.subscribe([self.topic], on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost)
        turn = 0
        while self.is_wanted:
            for message in consumer.consume(50, 0.05):
                error, partition, offset = message.error(), message.partition(), message.offset()
                if error is None:
                    assert partition is not None
                    assert offset is not None
                    self.ledger.read(self, partition, offset)
                elif not error.retriable() and error.code() not in self._TOLD_ONLY:
                    raise KafkaException(error)
            turn += 1
            if turn % COMMIT_EVERY == 0:
                self._commit(consumer, self.positions())
        self.end(consumer)

    def end(self, consumer: Consumer) -> None:
        """Leave the group."""
        consumer.close()

    def _assigned(self, consumer: Consumer, partitions: Sequence[Any]) -> None:
        self.given(_generation_id(consumer), [each.partition for each in partitions])

    def _revoked(self, consumer: Consumer, partitions: Sequence[Any]) -> None:
        numbers = [each.partition for each in partitions]
        self._commit(consumer, self.positions(numbers))
        self.taken(numbers)

    def _lost(self, consumer: Consumer, partitions: Sequence[Any]) -> None:
        self.was_put_out = True
        self.taken([each.partition for each in partitions])

    def _commit(self, consumer: Consumer, positions: Mapping[int, int]) -> None:
        if not positions:
            return
        wanted = [confluent_kafka.TopicPartition(self.topic, *position) for position in positions.items()]
        try:
            answered = consumer.commit(offsets=wanted, asynchronous=False)
        except KafkaException as error:  # the group is in a rebalance, or goes on without this member
            self.was_put_out |= error.args[0].code() in self._OUT
            return
        self.ledger.committed({each.partition: each.offset for each in answered or () if each.error is None})


class CooperativeConfluentMember(ConfluentMember):
    strategy = "cooperative-sticky"


class NewConfluentMember(ConfluentMember):
    """Of the consumer protocol (KIP-848): the broker has the assignor, the session's timeout and the heartbeats'."""

    _OUT = (*ConfluentMember._OUT, confluent_kafka.KafkaError.FENCED_MEMBER_EPOCH)

    def protocol(self) -> dict[str, Any]:
        return {"group.protocol": "consumer"}

    def end(self, consumer: Consumer) -> None:
        """Give everything back first.

        Where that is left to close(), confluent-kafka 2.16 sometimes waits for ever, with Python's lock in its hand:
        its callback asks librdkafka, which has ended the group already.
        """
        consumer.unsubscribe()
        given_back = time.monotonic() + DEADLINE_S
        while self.next_offsets and time.monotonic() < given_back:
            consumer.consume(1, 0.05)
        super().end(consumer)


def _generation_id(consumer: Consumer) -> int:
    """librdkafka tells it only within what it hands to transactional producers: a mark, then the id, an int."""
    told: bytes = consumer.consumer_group_metadata()
    assert told.startswith(b"CGMDv2:")
    (generation_id,) = struct.unpack_from("=i", told, len(b"CGMDv2:"))
    return int(generation_id)


class KafkaPythonMember(Member, kafka.ConsumerRebalanceListener):
    strategy: Any = RangePartitionAssignor
    _OUT = (kafka.errors.UnknownMemberIdError, kafka.errors.CommitFailedError)

    def live(self) -> None:
        self._consumer = kafka.KafkaConsumer(
            bootstrap_servers=self.address,
            group_id=self.group,
            group_instance_id=self.instance,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            partition_assignment_strategy=[self.strategy],
            session_timeout_ms=self.session_timeout_ms,
            heartbeat_interval_ms=HEARTBEAT_INTERVAL_MS,
        )
        self._consumer.subscribe([self.topic], listener=self)
        self._consumer.partitions_for_topic(self.topic)  # before it joins: why, says test_groups.py
        turn = 0
        while self.is_wanted:
            for records in self._consumer.poll(timeout_ms=50).values():
                for record in records:
                    self.ledger.read(self, record.partition, record.offset)
            turn += 1
            if turn % COMMIT_EVERY == 0:
                self._commit(self.positions())
        self._commit(self.positions())
        self.taken(list(self.next_offsets))
        self._consumer.close(autocommit=False)

    def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
        # Where poll() gave up on a look-up of the same partitions' offsets before, it would take over that old answer.
        self._consumer._coordinator._offset_fetch_futures.clear()
        self.given(self._consumer.group_metadata().generation_id, [each.partition for each in assigned])

    def on_partitions_revoked(self, revoked: Iterable[Any]) -> None:
        self.taken([each.partition for each in revoked])  # it cannot commit here: this is its own network thread

    def on_partitions_lost(self, lost: Iterable[Any]) -> None:
        self.was_put_out = True
        self.taken([each.partition for each in lost])

    def _commit(self, positions: Mapping[int, int]) -> None:
        if not positions:
            return
        wanted = {
            kafka.TopicPartition(self.topic, number): kafka.OffsetAndMetadata(offset, "", -1)
            for number, offset in positions.items()
        }
        try:
            self._consumer.commit(wanted, timeout_ms=5_000)
        except kafka.errors.KafkaError as error:
            self.was_put_out |= isinstance(error, self._OUT)
        else:
            self.ledger.committed(positions)


class CooperativeKafkaPythonMember(KafkaPythonMember):
    strategy = CooperativeStickyAssignor


class AiokafkaMember(Member, aiokafka.ConsumerRebalanceListener):
    _OUT = (aiokafka.errors.UnknownMemberIdError, aiokafka.errors.CommitFailedError)

    def live(self) -> None:
        asyncio.run(self._live())

    async def _live(self) -> None:
        self._consumer = aiokafka.AIOKafkaConsumer(
            bootstrap_servers=self.address,
            group_id=self.group,
            group_instance_id=self.instance,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            partition_assignment_strategy=[AiokafkaRange],
            session_timeout_ms=self.session_timeout_ms,
            heartbeat_interval_ms=HEARTBEAT_INTERVAL_MS,
        )
        self._consumer.subscribe([self.topic], listener=self)
        await self._consumer.start()
        turn = 0
        while self.is_wanted:
            for records in (await self._consumer.getmany(timeout_ms=50)).values():
                for record in records:
                    if record.partition in self.next_offsets:  # a rebalance may come before it hands out what it has
                        self.ledger.read(self, record.partition, record.offset)
            turn += 1
            if turn % COMMIT_EVERY == 0:
                await self._commit(self.positions())
        await self._commit(self.positions())
        self.taken(list(self.next_offsets))
        await self._consumer.stop()

    async def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
        generation_id = self._consumer._coordinator.generation  # it tells the generation nowhere else
        self.given(generation_id, [each.partition for each in assigned])

    async def on_partitions_revoked(self, revoked: Iterable[Any]) -> None:
        numbers = [each.partition for each in revoked]
        await self._commit(self.positions(numbers))
        self.taken(numbers)

    async def _commit(self, positions: Mapping[int, int]) -> None:
        if not positions:
            return
        wanted = {aiokafka.TopicPartition(self.topic, number): offset for number, offset in positions.items()}
        try:
            await self._consumer.commit(wanted)
        except aiokafka.errors.KafkaError as error:
            self.was_put_out |= isinstance(error, self._OUT)
        else:
            self.ledger.committed(positions)
