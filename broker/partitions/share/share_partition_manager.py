# compiled: mypyc
"""The share partitions and share sessions of one node (KIP-932): loaded when they are fetched first.

Knows groups by their settings only. As in Apache Kafka, membership is not checked: a client that opens a session may
fetch. A share partition is loaded for a leader epoch; once the partition has another, or its topic is deleted, it is
dropped, and members get the error of the partition. When a session ends, what its member holds in the session's
partitions is released; once no member of a group is connected, the group's share partitions are dropped as soon as all
is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from barnabas.broker.config.resources.share_groups import EARLIEST
from barnabas.broker.partitions.share.deliveries import Deliveries, DeliveryCounts
from barnabas.broker.partitions.share.led_share_partition import LedSharePartition
from barnabas.broker.partitions.share.persister import Persister, SharePartitionKey
from barnabas.broker.partitions.share.share_sessions import (
    SessionPartition,
    ShareSession,
    ShareSessionKey,
    ShareSessions,
)
from barnabas.broker.runtime.replies import Reply, reply_to
from barnabas.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.broker.config import BrokerConfig
    from barnabas.broker.config.resources.share_groups import ShareGroupSettings
    from barnabas.broker.metadata.catalogue import Catalogue
    from barnabas.broker.metadata.image.image import TopicImage
    from barnabas.broker.partitions.partitions import Partitions
    from barnabas.broker.partitions.purgatory import Purgatory
    from barnabas.broker.partitions.share.acknowledgements import AcknowledgedBatch
    from barnabas.broker.partitions.share.burials import Burials
    from barnabas.broker.partitions.share.dead_letter_queue import DeadLetterQueue
    from barnabas.broker.runtime.clock import Clock
    from barnabas.broker.runtime.events import Events
    from barnabas.broker.runtime.scheduler import CooperativeScheduler
    from barnabas.storage.log.log import PartitionLog

_MEMBER_ID_LENGTH_MAX = 36


class SharePartitionManager:
    """The share partitions that this node leads, and the sessions of their members. A `CatalogueListener`."""

    def __init__(
        self,
        config: BrokerConfig,
        *,
        catalogue: Catalogue,
        settings_of: Callable[[str], ShareGroupSettings],
        partitions: Partitions,
        persister: Callable[[], Persister],
        dead_letters: DeadLetterQueue,
        burials: Burials,
        clock: Clock,
        waiters: Purgatory,
        look_ups: CooperativeScheduler,
        events: Events,
    ) -> None:
        """Create it. `settings_of`: returns the settings in force for a group. `burials`: those of all nodes."""
        self._catalogue = catalogue
        self._partitions = partitions
        self._persister = persister
        self.dead_letters = dead_letters
        self._burials = burials
        self.settings_of = settings_of
        self._clock = clock
        self._waiters = waiters
        self._look_ups = look_ups
        self._events = events
        self.counts = DeliveryCounts()
        self._led: dict[SharePartitionKey, LedSharePartition] = {}
        self.sessions = ShareSessions(
            lambda: config.integer("group.share.max.share.sessions"), self._release, self._drop_group
        )
        catalogue.subscribe(self)

    def topic_of(self, topic_id: bytes, partition: int) -> str:
        """Return the name of the partition's topic. Raises KafkaError for a partition that does not exist."""
        topic = self._catalogue.topics_by_id.get(topic_id)
        if topic is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
        if not 0 <= partition < len(topic.partitions):
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return topic.name

    def log_of(self, wanted: SessionPartition) -> PartitionLog:
        """Return the partition's log. Raises KafkaError, also where another node leads."""
        return self._partitions.get(self.topic_of(*wanted), wanted.partition)

    def get(self, group_id: str, wanted: SessionPartition) -> LedSharePartition:
        """Return the share partition, which may be loading; the first call begins that. Raises KafkaError."""
        log = self.log_of(wanted)
        led = self._current(SharePartitionKey(group_id, *wanted), log.leader_epoch)
        if led is None:
            return self._load(group_id, wanted, log)
        led.is_retiring = False
        return led

    def every_led(self) -> list[LedSharePartition]:
        """Return the share partitions that are loaded or being loaded, for readers."""
        return list(self._led.values())

    def _current(self, key: SharePartitionKey, leader_epoch: int) -> LedSharePartition | None:
        led = self._led.get(key)
        if led is not None and led.leader_epoch != leader_epoch:
            self._drop(led)
            return None
        return led

    def _load(self, group_id: str, wanted: SessionPartition, log: PartitionLog) -> LedSharePartition:
        key = SharePartitionKey(group_id, *wanted)
        led = LedSharePartition(
            key,
            log.leader_epoch,
            self._persister(),
            self.dead_letters,
            self._burials,
            partial(self.settings_of, group_id),
            self._clock,
            Deliveries(self.counts, self._events, group_id, log.topic, log.partition),
            wake=partial(self._waiters.wake, log.topic, log.partition),
            close=self._drop,
        )
        self._led[key] = led
        led.load(partial(self._reset, group_id, wanted), self._look_ups.loop)
        return led

    def _reset(self, group_id: str, wanted: SessionPartition) -> Reply[int]:
        """Return the offset where the group begins, by its share.auto.offset.reset."""
        settings, log = self.settings_of(group_id), self.log_of(wanted)
        back_ms = settings.reset_back_ms()
        if back_ms is None:
            return log.log_start_offset if settings.auto_offset_reset == EARLIEST else log.high_watermark
        timestamp = max(0, self._clock.now_ms() - back_ms)
        return reply_to(
            lambda: self._look_ups.in_slices(lambda: log.find_offset(timestamp, committed=False)),
            lambda found: log.high_watermark if found.offset < 0 else found.offset,
        )

    def acknowledge(
        self, session: ShareSession, wanted: SessionPartition, batches: Sequence[AcknowledgedBatch]
    ) -> Reply[None]:
        """Apply a member's acknowledgements for one partition, all or none. Raises KafkaError, now or later."""
        group_id, member_id = session.key
        led = self._current(SharePartitionKey(group_id, *wanted), self.log_of(wanted).leader_epoch)
        if led is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return led.acknowledge(member_id, batches)

    def _release(self, session: ShareSession) -> None:
        """Release what the member of a session that has ended holds."""
        group_id, member_id = session.key
        for wanted in session.partitions:
            led = self._led.get(SharePartitionKey(group_id, *wanted))
            if led is not None:
                led.release(member_id)

    def _drop_group(self, group_id: str) -> None:
        for led in [led for key, led in self._led.items() if key.group_id == group_id]:
            led.retire()

    def _drop(self, led: LedSharePartition) -> None:
        led.close()
        if self._led.get(led.key) is led:
            del self._led[led.key]

    # --- called by the catalogue -------------------------------------------------------------------------------------

    def on_topic_deleted(self, topic: TopicImage) -> None:
        for led in [led for key, led in self._led.items() if key.topic_id == topic.topic_id]:
            self._drop(led)

    def on_topic_created(self, topic: TopicImage) -> None:
        """Do nothing: share partitions are loaded at their first fetch."""

    def on_partitions_added(self, topic: TopicImage, first_new: int) -> None:
        """Do nothing, as above."""

    def on_configs_changed(self, resource_type: int, resource_name: str) -> None:
        """Do nothing: settings are looked up when they are used."""


def session_key(group_id: str | None, member_id: str | None) -> ShareSessionKey:
    """Return the key of a request's session. Raises KafkaError where it has none."""
    if group_id is None or not member_id or len(member_id) > _MEMBER_ID_LENGTH_MAX:
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    return ShareSessionKey(group_id, member_id)
