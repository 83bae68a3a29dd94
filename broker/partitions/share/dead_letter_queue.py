"""Writes dead letters to the topics of share groups (KIP-1191), as far as these may have them.

Knows topics, logs and settings, not the state of share partitions. `dead_letters.py` decides and builds. As in Apache
Kafka no client learns of a dead letter that cannot be written: its records are archived all the same. So losses are
logged, at most once a minute for a group, and counted.

Dead letters go to the partition with the number of the source's, modulo the number of partitions. A topic that is
missing is created where the broker allows it. An append that may succeed later is tried again, four times in fifteen
seconds; all other errors are final, and what was not written by then is lost. A source that has no leader for a moment,
as while it moves to another node, is waited for nearly as long; after that dead letters have no copy of its records.

Invariants: a write never fails, it is only cancelled when the broker stops; few write at a time, and hold at most a
batch of the source and one of the target each.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from barnabas.broker.config.resources.log_configs import log_config
from barnabas.broker.config.resources.topic_configs import effective
from barnabas.broker.metadata.image.topic_changes import NewTopic
from barnabas.broker.partitions.disk_space.disk_space_watch import check_disk_space
from barnabas.broker.partitions.produce.batch_validations import BatchValidations, PendingValidation
from barnabas.broker.partitions.share.dead_letter_source import DeadLetterRecords
from barnabas.broker.partitions.share.dead_letters import (
    CopiedRecord,
    DeadLetter,
    DeadLetterSource,
    LetterBatch,
    Pause,
    letter_batches,
    refusal,
    without_first,
)
from barnabas.broker.runtime.events import kinds
from barnabas.broker.runtime.events.bounded_facts import some
from barnabas.broker.runtime.log_lines import Seldom, logger
from barnabas.broker.runtime.replies import Reply
from barnabas.broker.runtime.scheduler import SLICE_MS, CooperativeScheduler, Work, WorkClass
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.primitives import uuid_text
from barnabas.protocol.records.batch import NO_LEADER_EPOCH
from barnabas.protocol.records.builder import seal_records
from barnabas.storage.errors import StorageError

if TYPE_CHECKING:
    from barnabas.broker.config import BrokerConfig
    from barnabas.broker.config.resources.share_groups import ShareGroupSettings
    from barnabas.broker.metadata.catalogue import Catalogue
    from barnabas.broker.partitions.partitions import Partitions
    from barnabas.broker.partitions.share.persister import SharePartitionKey
    from barnabas.broker.runtime.clock import Clock
    from barnabas.broker.runtime.events import EventKind, Events
    from barnabas.broker.runtime.events.events import Facts
    from barnabas.storage.log.log import PartitionLog

_ENABLED = "errors.deadletterqueue.group.enable"
_TOPIC_CONFIGS = {_ENABLED: "true", "message.timestamp.type": "CreateTime"}
_WRITING = WorkClass(under_way_max=16, may_begin_again=False, first_ms=SLICE_MS)
_PAUSES_MS = (1_000, 2_000, 4_000, 8_000)
_SOURCE_PAUSES_MS = (100, 200, 400, 800, 1_600, 3_200, 6_400)
_WITHOUT_LEADER = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.LEADER_NOT_AVAILABLE)
_PRODUCE_VERSION = 13

_log = logger("share")


class DeadLetters(Protocol):
    """Takes the dead letters of share partitions."""

    def write(self, key: SharePartitionKey, letters: Sequence[DeadLetter]) -> Reply[None]:
        """Write dead letters, or lose them; done when either is certain."""


@dataclass(slots=True)
class DeadLetterCounts:
    """The dead letters of one share group since the start."""

    records: int = 0
    """Written."""
    lost: int = 0
    requests: int = 0
    """Appends that were tried, of one batch each."""
    failed_requests: int = 0


class _Target(NamedTuple):
    """The partition that dead letters go to."""

    topic: str
    partition: int
    max_bytes: int


class DeadLetterQueue:
    """The dead letters of one node's share partitions, and the counts of what became of them."""

    def __init__(
        self,
        config: BrokerConfig,
        *,
        catalogue: Catalogue,
        partitions: Partitions,
        settings_of: Callable[[str], ShareGroupSettings],
        check_may_grow: Callable[[], None],
        validations: BatchValidations,
        clock: Clock,
        writes: CooperativeScheduler,
        events: Events,
    ) -> None:
        """Create it. `partitions`: those of any node. `check_may_grow`: raises KafkaError while no disk has space."""
        self._config = config
        self._catalogue = catalogue
        self._partitions = partitions
        self._settings_of = settings_of
        self._check_may_grow = check_may_grow
        self._validations = validations
        self._clock = clock
        self._writes = writes
        self._events = events
        self._losses = Seldom(_log.error)
        self.counts: dict[str, DeadLetterCounts] = {}
        """By group id."""

    def write(self, key: SharePartitionKey, letters: Sequence[DeadLetter]) -> Reply[None]:
        """Write dead letters, or lose them; done when either is certain."""
        return self._writes.in_slices(partial(self._write, key, letters), _WRITING)

    def _write(self, key: SharePartitionKey, letters: Sequence[DeadLetter]) -> Work[None]:
        counts = self.counts.setdefault(key.group_id, DeadLetterCounts())
        written = 0
        topic = self._catalogue.topics_by_id.get(key.topic_id)
        source = DeadLetterSource(key.group_id, topic.name if topic else uuid_text(key.topic_id), key.partition)
        settings = self._settings_of(key.group_id)
        try:
            target = self._target(settings.dead_letter_topic, key.partition)
            copies = self._copies(letters, source, target.max_bytes if settings.dead_letter_copies else None)
            for batch in letter_batches(copies, source, target.max_bytes):
                if not isinstance(batch, LetterBatch):
                    yield batch
                else:
                    facts = _placed(source, target, batch)
                    base_offset = yield from self._append(target, batch, facts, counts)
                    written += batch.records_count
                    written_facts = {**facts, "dead_letter_offset": base_offset}
                    yield from self._step(kinds.SHARE_DEAD_LETTERS_WRITTEN, written_facts)
        except Exception as error:
            reason = error.message if isinstance(error, KafkaError) else repr(error)
            self._lose(source, settings.dead_letter_topic, without_first(letters, written), reason)

    def _lose(self, source: DeadLetterSource, topic: str, letters: Sequence[DeadLetter], reason: str) -> None:
        count = sum(each.last - each.first + 1 for each in letters)
        self.counts[source.group_id].lost += count
        self._losses.line(
            source.group_id,
            self._clock.now_ms(),
            "dead letters lost",
            group=source.group_id,
            topic=source.topic,
            partition=source.partition,
            records=count,
            dead_letter_topic=topic,
            reason=reason,
        )
        if self._events.is_on:
            ranges = some(f"{each.first}-{each.last}" for each in letters)
            lost = {"ranges": ranges, "records_count": count, "dead_letter_topic": topic, "why": reason}
            self._events.emit(kinds.SHARE_DEAD_LETTERS_LOST, {**_where(source), **lost})

    def _step(self, kind: EventKind, facts: Facts) -> Work[None]:
        """Report a step, and wait there as long as a listener holds it. Raises KafkaError if it fails the step."""
        held = self._events.emit(kind, facts) if self._events.is_on else None
        if held is not None:
            yield held
            held.result()

    # --- the target --------------------------------------------------------------------------------------------------

    def _target(self, name: str, source_partition: int) -> _Target:
        """Return the partition for dead letters; its topic may be created. Raises KafkaError where it gets none."""
        topic = self._catalogue.topics.get(name)
        reason = refusal(
            name,
            exists=topic is not None,
            is_enabled=topic is not None and effective(topic.configs, self._config, _ENABLED) is True,
            may_create=self._config.boolean("errors.deadletterqueue.auto.create.topics.enable"),
            prefix=self._config.string("errors.deadletterqueue.topic.name.prefix"),
        )
        if reason:
            raise KafkaError(ErrorCode.INVALID_CONFIG, reason)
        if topic is None:
            self._check_may_grow()
            (created,) = self._catalogue.create_topics([NewTopic(name, configs=_TOPIC_CONFIGS)])
            if isinstance(created, KafkaError):
                raise created
            topic = self._catalogue.topics[name]
        max_bytes = log_config(self._config, topic.configs).max_message_bytes
        return _Target(name, source_partition % len(topic.partitions), max_bytes)

    def _append(self, target: _Target, batch: LetterBatch, facts: Facts, counts: DeadLetterCounts) -> Work[int]:
        """Append one batch, and return the offset of its first record. Raises KafkaError. `facts`: of its events."""
        for pause_ms in (*_PAUSES_MS, None):
            counts.requests += 1
            try:
                yield from self._step(kinds.SHARE_DEAD_LETTERS_WRITING, facts)
                base_offset = yield from self._append_once(target, batch)
            except KafkaError as error:
                counts.failed_requests += 1
                if pause_ms is None or not error.code.retriable:
                    raise
            else:
                counts.records += batch.records_count
                return base_offset
            yield self._after(pause_ms)
        raise AssertionError("the last attempt returns or raises")

    def _append_once(self, target: _Target, batch: LetterBatch) -> Work[int]:
        """Append one batch, acknowledged by all replicas, and return its base offset. Raises KafkaError."""
        log = self._partitions.get_led(target.topic, target.partition)
        check_disk_space(log)
        if not log.enough_replicas:
            raise KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)
        now_ms = self._clock.now_ms()
        sealed = seal_records(batch.area, batch.records_count, now_ms, base_offset=0, leader_epoch=NO_LEADER_EPOCH)
        is_walked = log.needs_walk(sealed, now_ms)
        if is_walked:
            sealed = yield from self._walked(sealed, log, now_ms)
        result = self._partitions.append_to(log, sealed, now_ms, produce_version=_PRODUCE_VERSION, walked=is_walked)
        synced = self._partitions.synced_log(log, result.last_offset + 1)
        if synced is not None:
            yield synced
            synced.result()
            self._partitions.check_replicated(log)
        return result.base_offset

    def _walked(self, batch: bytearray, log: PartitionLog, now_ms: int) -> Work[bytearray]:
        """Return the batch as the topic's settings want it. Raises KafkaError."""
        walking = self._validations.walk(batch, log, now_ms, _PRODUCE_VERSION)
        if not isinstance(walking, PendingValidation):
            return walking
        try:
            yield walking.walked
            walked = walking.walked.result()
        finally:
            self._validations.unpark(walking)
        led = self._partitions.get_led(log.topic, log.partition)
        if led is not log or led.config != walking.config:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "the topic changed during the append")
        return walked

    def _after(self, pause_ms: int) -> Future[None]:
        waited: Future[None] = self._writes.loop.create_future()
        self._clock.call_later(pause_ms, partial(_end, waited))
        return waited

    # --- the source --------------------------------------------------------------------------------------------------

    def _copies(
        self, letters: Sequence[DeadLetter], source: DeadLetterSource, max_bytes: int | None
    ) -> Iterator[CopiedRecord | Pause]:
        """Yield each record of the letters, and pauses. `max_bytes`: of copied contents; None without them."""
        records = None if max_bytes is None else DeadLetterRecords(max_bytes)
        pauses_ms = iter(_SOURCE_PAUSES_MS)
        for letter in letters:
            if records is not None:
                records.begin_letter()
            for offset in range(letter.first, letter.last + 1):
                if records is not None and records.needs_batch(offset):
                    records.take_batch((yield from self._batch_at(source, offset, pauses_ms)))
                found = None if records is None else (yield from records.at(offset))
                contents = (None, None) if found is None else (found.key, found.value)
                yield CopiedRecord(offset, letter, *contents)

    def _batch_at(
        self, source: DeadLetterSource, offset: int, pauses_ms: Iterator[int]
    ) -> Generator[Pause, None, bytes]:
        """Return the batch that has this offset or follows it, nothing if it cannot be read any more.

        Waits while the source has no leader, or is being recovered, for as long as there are pauses.
        """
        while True:
            try:
                return self._partitions.get(source.topic, source.partition).read_own(offset, 1)
            except StorageError:
                return b""
            except KafkaError as error:
                pause_ms = next(pauses_ms, None) if error.code in _WITHOUT_LEADER else None
                if pause_ms is None:
                    return b""
            yield self._after(pause_ms)


def _where(source: DeadLetterSource) -> Facts:
    return {"group": source.group_id, "topic": source.topic, "partition": source.partition}


def _placed(source: DeadLetterSource, target: _Target, batch: LetterBatch) -> Facts:
    return {
        **_where(source),
        "ranges": some(f"{first}-{last}" for first, last in batch.ranges),
        "records_count": batch.records_count,
        "dead_letter_topic": target.topic,
        "dead_letter_partition": target.partition,
    }


def _end(waited: Future[None]) -> None:
    if not waited.done():
        waited.set_result(None)
