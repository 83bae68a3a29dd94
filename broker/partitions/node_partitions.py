"""The partitions of one node, where several nodes share a directory: those it leads, of the logs that are open for all.

A `Partitions` to whoever serves the node's clients. It opens nothing itself: a log is asked of what the nodes share,
each time, after the cluster was asked who leads it; only `led` is kept, which the short paths read. Knows no other
node: who moves a leader calls `resign`.

Invariants: `led` holds logs that this node leads, with the leader epoch on the disk; a log in it knows whether its
min.insync.replicas is met, and one of a coordinator's topic is only there while it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from barnabas.broker.config.replicas import effective_min_insync_replicas
from barnabas.broker.config.resources.topic_configs import effective
from barnabas.broker.metadata.image.image import INTERNAL_TOPICS
from barnabas.broker.partitions.partitions import Partitions
from barnabas.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.broker.config import BrokerConfig
    from barnabas.broker.metadata.catalogue import Catalogue
    from barnabas.broker.metadata.cluster.node_view import NodeView
    from barnabas.broker.metadata.image.image import Topic
    from barnabas.broker.partitions.flush.flushing import GroupFlush
    from barnabas.broker.partitions.purgatory import PartitionKey, Purgatory
    from barnabas.broker.runtime.clock import Clock
    from barnabas.broker.runtime.scheduler import CooperativeScheduler
    from barnabas.protocol.records.batch import BatchHeader
    from barnabas.storage.log.log import PartitionLog


class NodePartitions(Partitions):
    """Of one node. What is not overridden works on a log at hand, or asks for one here."""

    def __init__(
        self,
        shared: Partitions,
        cluster: NodeView,
        catalogue: Catalogue,
        config: BrokerConfig,
        clock: Clock,
        machine_clock: Clock,
        upkeep: CooperativeScheduler,
        waiters: Purgatory,
        flush: GroupFlush,
    ) -> None:
        """`shared`: the partitions of all nodes. `cluster`: as this node sees it."""
        super().__init__(
            catalogue,
            shared.directory,
            config,
            cluster,
            clock=clock,
            machine_clock=machine_clock,
            upkeep=upkeep,
            workers=shared.workers,
            waiters=waiters,
            flush=flush,
            random_bytes=lambda size: bytes(size),  # names what is deleted, which is the shared ones' business
        )
        self._shared = shared
        self.recoveries = shared.recoveries
        self.failed = shared.failed
        self.past_appends = shared.past_appends
        shared.when_let_go.append(self.resign)

    def get_to_read(self, topic: str, partition: int, any_replica: bool, in_turn: bool) -> PartitionLog:
        """As `Partitions.get_to_read`."""
        if self.exists(topic, partition):  # else the shared ones refuse it
            if any_replica:
                self._cluster.check_may_read(topic, partition)
            else:
                self._cluster.check_leads(topic, partition)
        return self._shared.get_to_read(topic, partition, any_replica, in_turn)

    def open_log(
        self, topic: str, partition: int, *, in_background: bool = False, in_turn: bool = False
    ) -> PartitionLog:
        """As `Partitions.open_log`."""
        if self.exists(topic, partition):  # else the shared ones refuse it
            self._cluster.check_leads(topic, partition)
        return self._shared.get(topic, partition)

    def _lead(self, topic: str, partition: int) -> PartitionLog:
        if self.exists(topic, partition):
            self._cluster.check_leads(topic, partition)
        log = self._shared.get_led(topic, partition)
        self.count_replicas(log)
        if not log.enough_replicas and topic in INTERNAL_TOPICS:  # a coordinator appends as acks=-1 does
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{topic}-{partition} has too few replicas in sync")
        self.led[topic, partition] = log
        return log

    def count_replicas(self, log: PartitionLog) -> None:
        """See to it that the log knows whether min.insync.replicas is met; one that is not for a coordinator goes."""
        found = self._catalogue.topics[log.topic]
        placement = self._cluster.placement_of(log.topic, log.partition)
        setting = effective(found.configs, self._config, "min.insync.replicas")
        assert isinstance(setting, int)
        wanted = effective_min_insync_replicas(setting, len(placement.replicas))
        is_met = len(placement.isr) >= wanted
        if is_met is not log.enough_replicas:
            log.config = log.config._replace(min_insync_replicas=1 if is_met else wanted)
            self._waiters.wake(log.topic, log.partition)
        if not is_met and log.topic in INTERNAL_TOPICS:
            self.resign(log.topic, log.partition)

    def check_replicated(self, log: PartitionLog) -> None:
        """As `Partitions.check_replicated`: this node still leads, and enough replicas are in sync."""
        if self.exists(log.topic, log.partition):
            self._cluster.check_leads(log.topic, log.partition)
        if not log.enough_replicas:
            raise KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)

    def lead(self, keys: Iterable[PartitionKey]) -> list[PartitionKey]:
        """As `Partitions.lead`."""
        return self._shared.lead([key for key in keys if self.is_here(*key)])

    def resign(self, topic: str, partition: int) -> None:
        """Another node leads it from now on, or its log lies elsewhere: it is asked for again before it is used."""
        self.led.pop((topic, partition), None)

    def is_open(self, topic: str, partition: int) -> bool:
        """As `Partitions.is_open`."""
        return self._shared.is_open(topic, partition) and self.is_here(topic, partition)

    def is_used(self, topic: str, partition: int) -> bool:
        """As `Partitions.is_used`."""
        return self._shared.is_used(topic, partition) and self.is_here(topic, partition)

    def open_logs(self, topic: str | None = None) -> Iterator[PartitionLog]:
        """As `Partitions.open_logs`."""
        return (log for log in self._shared.open_logs(topic) if self.is_here(log.topic, log.partition))

    def note_refused(self, topic: str, partition: int, header: BatchHeader, now_ms: int) -> None:
        """As `Partitions.note_refused`."""
        if self.is_here(topic, partition):
            self._shared.note_refused(topic, partition, header, now_ms)

    def release_marker(self, topic: str, partition: int, producer_id: int) -> None:
        """As `Partitions.release_marker`."""
        self._shared.release_marker(topic, partition, producer_id)

    def on_topic_deleted(self, topic: Topic) -> None:
        """The shared ones delete its logs."""
        for partition in range(len(topic.partitions)):
            self.resign(topic.name, partition)

    def on_configs_changed(self, resource_type: int, resource_name: str) -> None:
        """The shared ones give the logs their settings."""
