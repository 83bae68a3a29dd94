# compiled: mypyc
"""The partitions of one node, where several nodes share a data directory: those it leads, of the logs that all share.

A `Partitions` for the code that serves the node's clients. It opens nothing itself: each time it checks with the
cluster which node leads, and then gets the log from the shared partitions; only `led` is stored, which the fast paths
read. Knows no other node: the code that moves a leader calls `resign`.

Invariants: `led` contains logs that this node leads, with the leader epoch on the disk; a log in it knows whether its
min.insync.replicas is satisfied, and one of a coordinator's topic is only there while it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from barnabas.broker.config.resources.replicas import effective_min_insync_replicas
from barnabas.broker.config.resources.topic_configs import effective
from barnabas.broker.metadata.image.image import INTERNAL_TOPICS
from barnabas.broker.partitions.partitions import Partitions
from barnabas.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.broker.config import BrokerConfig
    from barnabas.broker.metadata.catalogue import Catalogue
    from barnabas.broker.metadata.cluster.node_view import NodeView
    from barnabas.broker.metadata.image.image import TopicImage
    from barnabas.broker.partitions.flush.group_flush import GroupFlush
    from barnabas.broker.partitions.purgatory import PartitionKey, Purgatory
    from barnabas.broker.runtime.clock import Clock
    from barnabas.broker.runtime.scheduler import CooperativeScheduler
    from barnabas.protocol.records.batch import BatchHeader
    from barnabas.storage.log.log import PartitionLog


class NodePartitions(Partitions):
    """The partitions of one node. Methods that are not overridden work on a given log, or get one here."""

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
        """Use the shared partitions. `shared`: those of all nodes. `cluster`: as this node sees it."""
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
            random_bytes=lambda size: bytes(size),  # names what is deleted, which the shared partitions do
        )
        self._shared = shared
        self.recoveries = shared.recoveries
        self.failed = shared.failed
        self.past_appends = shared.past_appends
        shared.when_released.append(self.resign)

    def get_to_read(self, topic: str, partition: int, any_replica: bool, in_turn: bool) -> PartitionLog:
        """Return the log for a Fetch as `Partitions.get_to_read` does, if this node may serve it."""
        if self.exists(topic, partition):  # else the shared partitions refuse it
            if any_replica:
                self._cluster.check_may_read(topic, partition)
            else:
                self._cluster.check_leads(topic, partition)
        return self._shared.get_to_read(topic, partition, any_replica, in_turn)

    def open_log(
        self, topic: str, partition: int, *, in_background: bool = False, in_turn: bool = False
    ) -> PartitionLog:
        """Open the log as `Partitions.open_log` does, if this node leads it."""
        if self.exists(topic, partition):  # else the shared partitions refuse it
            self._cluster.check_leads(topic, partition)
        return self._shared.get(topic, partition)

    def _lead(self, topic: str, partition: int) -> PartitionLog:
        if self.exists(topic, partition):
            self._cluster.check_leads(topic, partition)
        log = self._shared.get_led(topic, partition)
        self.count_replicas(log)
        if not log.enough_replicas and topic in INTERNAL_TOPICS:  # a coordinator appends as with acks=-1
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{topic}-{partition} has too few replicas in sync")
        self.led[topic, partition] = log
        return log

    def count_replicas(self, log: PartitionLog) -> None:
        """Update whether the log's min.insync.replicas is satisfied; resign a coordinator's log for which it is not."""
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
        """Raise KafkaError if this node does not lead any more, or too few replicas are in sync."""
        if self.exists(log.topic, log.partition):
            self._cluster.check_leads(log.topic, log.partition)
        if not log.enough_replicas:
            raise KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)

    def lead(self, keys: Iterable[PartitionKey]) -> list[PartitionKey]:
        """Raise the leader epochs as `Partitions.lead` does, of the partitions that this node leads."""
        return self._shared.lead([key for key in keys if self.is_here(*key)])

    def resign(self, topic: str, partition: int) -> None:
        """Forget a led log: another node leads it, or its log has moved. The next append looks it up again."""
        self.led.pop((topic, partition), None)

    def is_open(self, topic: str, partition: int) -> bool:
        """Return whether the log is open, and this node leads it."""
        return self._shared.is_open(topic, partition) and self.is_here(topic, partition)

    def is_used(self, topic: str, partition: int) -> bool:
        """Return whether the log is open or about to be, and this node leads it."""
        return self._shared.is_used(topic, partition) and self.is_here(topic, partition)

    def open_logs(self, topic: str | None = None) -> Iterator[PartitionLog]:
        """Return the open logs that this node leads."""
        return (log for log in self._shared.open_logs(topic) if self.is_here(log.topic, log.partition))

    def note_refused(self, topic: str, partition: int, header: BatchHeader, now_ms: int) -> None:
        """Note a refused batch as `Partitions.note_refused` does, if this node leads the partition."""
        if self.is_here(topic, partition):
            self._shared.note_refused(topic, partition, header, now_ms)

    def release_marker(self, topic: str, partition: int, producer_id: int) -> None:
        """Make an ended transaction visible, as `Partitions.release_marker` does."""
        self._shared.release_marker(topic, partition, producer_id)

    def on_topic_deleted(self, topic: TopicImage) -> None:
        """Resign the topic's partitions; the shared partitions delete the logs."""
        for partition in range(len(topic.partitions)):
            self.resign(topic.name, partition)

    def on_configs_changed(self, resource_type: int, resource_name: str) -> None:
        """Do nothing: the shared partitions apply the settings to the logs."""
