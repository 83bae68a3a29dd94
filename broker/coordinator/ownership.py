"""Which partitions of `__consumer_offsets` are loaded, and how they get there.

A partition is loaded at its first use in this run, so a start costs nothing however many groups there are. The first
slice is read at once: a short log is ready for the very request that asked. A longer one loads slice by slice between
other work, and requests are answered COORDINATOR_LOAD_IN_PROGRESS meanwhile. A partition whose log cannot be
understood stays closed (NOT_COORDINATOR): nothing is guessed, and nothing is written over it.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from broker.clock import Clock
from broker.coordinator.group.machine import GroupMachine
from broker.coordinator.group.model import Group, GroupConfig, GroupRecord
from broker.coordinator.loading import Loader, Source
from broker.coordinator.placement import partition_for
from broker.coordinator.runtime import Journal, Shard
from broker.log_lines import line, logger
from protocol.errors import DecodeError, ErrorCode, KafkaError

_log = logger("coordinator")


class GroupTopic(Journal, Source, Protocol):
    """`__consumer_offsets`."""

    def partition_count(self) -> int | None:
        """How many partitions the topic has; None while there is no such topic."""

    def create(self) -> int:
        """The number of partitions of the topic, which exists from now on."""


class GroupPartition:
    """One partition of the topic, its groups, and how far its loading has come."""

    def __init__(self, index: int, machine: GroupMachine, shard: Shard[GroupRecord, Group]) -> None:
        self.index = index
        self.machine = machine
        self.shard = shard
        self.loader: Loader[GroupRecord] | None = None
        """Present while the partition is being loaded."""
        self.failure: str | None = None
        """Why it could not be loaded."""


class GroupPartitions:
    """The partitions used in this run."""

    def __init__(
        self,
        topic: GroupTopic,
        config: GroupConfig,
        clock: Clock,
        create_future: Callable[[], Future[Any]],
        on_loaded: Callable[[GroupPartition], None],
    ) -> None:
        self._topic = topic
        self._config = config
        self._clock = clock
        self._create_future = create_future
        self._on_loaded = on_loaded
        self._used: dict[int, GroupPartition] = {}
        self._is_closed = False

    def of(self, group_id: str) -> GroupPartition:
        """The loaded partition of a group. Raises KafkaError when it is not to be had (yet)."""
        return self._checked(self.begin(self.index_of(group_id)))

    def index_of(self, group_id: str) -> int:
        """The partition of a group; creates the topic if need be."""
        return partition_for(group_id, self._topic.create())

    def every(self) -> list[GroupPartition]:
        """All partitions of the topic, loaded; none while there is no topic. Raises KafkaError if one still loads."""
        begun = [self.begin(index) for index in range(self._topic.partition_count() or 0)]
        return [self._checked(partition) for partition in begun]

    def loaded(self) -> Iterator[GroupPartition]:
        """Those that are in use and ready."""
        for partition in list(self._used.values()):
            if partition.loader is None and partition.failure is None:
                yield partition

    def begin(self, index: int) -> GroupPartition:
        """The partition, loaded or being loaded."""
        if self._is_closed:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "the coordinator is shutting down")
        partition = self._used.get(index)
        if partition is None:
            machine = GroupMachine(self._config)
            shard = Shard(
                index, machine, self._topic, self._clock, self._create_future, self._config.offsets_commit_timeout_ms
            )
            partition = GroupPartition(index, machine, shard)
            partition.loader = Loader(self._topic, index, machine)
            self._used[index] = partition
            self._load_on(partition)
        return partition

    def close(self) -> None:
        """The broker stops: nobody is served any more."""
        self._is_closed = True
        self.forget()

    def forget(self) -> None:
        """Answer everybody who waits and forget all partitions; the log, if it still is there, has what is durable."""
        used, self._used = self._used, {}
        for partition in used.values():
            partition.loader = None
            partition.shard.close()

    def _checked(self, partition: GroupPartition) -> GroupPartition:
        if partition.failure is not None:
            raise KafkaError(ErrorCode.NOT_COORDINATOR, partition.failure)
        if partition.loader is not None:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return partition

    def _load_on(self, partition: GroupPartition) -> None:
        """One more slice, and the rest later."""
        if partition.loader is None:
            return  # closed meanwhile
        try:
            is_done = partition.loader.step()
        except (DecodeError, KafkaError) as broken:
            partition.loader = None
            partition.failure = f"partition {partition.index} of __consumer_offsets cannot be loaded: {broken}"
            _log.error(line("groups not loaded", partition=partition.index, error=broken))
            return
        if not is_done:
            self._clock.call_later(0, lambda: self._load_on(partition))
            return
        count = partition.loader.records_count
        partition.loader = None
        _log.debug(line("groups loaded", partition=partition.index, records=count))
        self._on_loaded(partition)
