# compiled: mypyc
"""The loaded partitions of a coordinator's topic, and how they are loaded.

Only partitions that this node leads: the keys in the others are coordinated elsewhere (NOT_COORDINATOR).

A partition is loaded at its first use in this run, so a start costs nothing however many groups or transactional ids
exist. The first slice is read at once: a short log is ready for the request that started the load. A longer one loads
slice by slice between other work, and requests get COORDINATOR_LOAD_IN_PROGRESS in the meantime.

A partition whose log cannot be opened, read or decoded is closed (NOT_COORDINATOR): nothing is guessed, and nothing is
written to it. The others are not affected: they are loaded, listed and served. A later request for it retries the load,
but not sooner than RETRY_MS after the last attempt, however many requests come.
"""

from __future__ import annotations

from asyncio import Future
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from barnabas.broker.coordinator.runtime.loading import Loader, LoaderSource, Replayed
from barnabas.broker.coordinator.runtime.partition_for import partition_for
from barnabas.broker.coordinator.runtime.shard import CoordinatorLog, Shard
from barnabas.broker.partitions.opening.recoveries import StillRecovering
from barnabas.broker.runtime.clock import Clock
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.broker.runtime.scheduler import CooperativeScheduler, Work, WorkClass
from barnabas.protocol.errors import DecodeError, ErrorCode, KafkaError

_log = logger("coordinator")

RETRY_MS = 10_000
_LOADING = WorkClass(under_way_max=1_000, steps_max=1, may_begin_again=False)

M = TypeVar("M", bound=Replayed[Any])
"""The machine for the entities of one partition."""


class OwnedTopic(CoordinatorLog, LoaderSource, Protocol):
    """`__consumer_offsets` or `__transaction_state`."""

    name: str

    def partition_count(self) -> int | None:
        """Return how many partitions the topic has; None if it does not exist."""

    def create(self) -> int:
        """Create the topic if necessary; return its number of partitions."""

    def leads(self, partition: int) -> bool:
        """Return whether this node leads the partition, and so coordinates the keys in it."""


class CoordinatorPartition(Generic[M]):
    """One partition of the topic, with its state and the progress of its load."""

    def __init__(self, index: int, machine: M, shard: Shard[Any, Any], loader: Loader[Any]) -> None:
        self.index = index
        self.machine = machine
        self.shard = shard
        self.loader: Loader[Any] | None = loader
        """Present while the partition is being loaded."""
        self.loading: Future[None] | None = None
        """Done when the load is over; None if it was over at once."""
        self.failure: str | None = None
        """Why it could not be loaded."""
        self.retry_at_s = 0.0
        """When the load may be retried, on the monotonic clock."""

    @property
    def is_ready(self) -> bool:
        """Whether the partition is loaded, and not closed because it is corrupt."""
        return self.loader is None and self.failure is None

    @property
    def state(self) -> str:
        """The state in Kafka's words."""
        if self.failure is not None:
            return "failed"
        return "active" if self.loader is None else "loading"


class CoordinatorPartitions(Generic[M]):
    """The partitions used in this run."""

    def __init__(
        self,
        topic: OwnedTopic,
        clock: Clock,
        upkeep: CooperativeScheduler,
        build: Callable[[int], tuple[M, Shard[Any, Any]]],
        on_loaded: Callable[[CoordinatorPartition[M]], None],
    ) -> None:
        """Create it empty. `build` makes a partition's machine and shard; `on_loaded` is called after the replay."""
        self._topic = topic
        self._clock = clock
        self._upkeep = upkeep
        self._build = build
        self._on_loaded = on_loaded
        self._used: dict[int, CoordinatorPartition[M]] = {}
        self._is_closed = False

    def of(self, entity_id: str) -> CoordinatorPartition[M]:
        """Return the loaded partition of a group or transactional id. Raises KafkaError if it is not ready (yet)."""
        index = self.index_of(entity_id)
        partition = self._used.get(index)
        if partition is not None and partition.loader is None and partition.failure is None:
            return partition
        return self._checked(self.begin(index))

    def index_of(self, entity_id: str) -> int:
        """Return the partition of a group or transactional id; create the topic if necessary."""
        return partition_for(entity_id, self._topic.create())

    def led(self) -> list[int]:
        """Return the partitions of the topic that this node leads; none if it does not exist."""
        return list(filter(self._topic.leads, range(self._topic.partition_count() or 0)))

    def prepare(self, entity_id: str) -> int:
        """Return the partition of a requested group or transactional id, which will be needed soon.

        It begins to load, if this node leads it. Raises KafkaError if the topic does not exist.
        """
        index = self.index_of(entity_id)
        if self._topic.leads(index):
            self.begin(index)
        return index

    def at(self, index: int) -> CoordinatorPartition[M]:
        """Return the loaded partition of this number. Raises KafkaError like `of`."""
        return self._checked(self.begin(index))

    def every(self) -> list[CoordinatorPartition[M]]:
        """Return all loadable partitions that this node leads, loaded; none if the topic does not exist.

        Raises KafkaError if one still loads.
        """
        begun = [self.begin(index) for index in self.led()]
        return [self._checked(partition) for partition in begun if partition.failure is None]

    def unsynced(self, entity_ids: Iterable[str] | None = None) -> list[Future[None]]:
        """Return the futures of pending syncs of these entities' records (default: all), for readers to wait for."""
        count = self._topic.partition_count()
        if count is None:
            return []
        indexes = self._used if entity_ids is None else {partition_for(entity_id, count) for entity_id in entity_ids}
        found = [self._topic.unsynced(index) for index in indexes]
        return [unsynced for unsynced in found if unsynced is not None]

    def loaded(self) -> Iterator[CoordinatorPartition[M]]:
        """Yield the partitions that are loaded."""
        for partition in list(self._used.values()):
            if partition.is_ready:
                yield partition

    def failed(self) -> list[int]:
        """Return the requested partitions that could not be loaded."""
        return [index for index, partition in self._used.items() if partition.failure is not None]

    def by_state(self) -> Counter[str]:
        """Count the requested partitions by state: active, loading, failed."""
        return Counter(partition.state for partition in self._used.values())

    @property
    def are_ready(self) -> bool:
        """Whether all requested partitions are loaded."""
        return all(partition.is_ready for partition in self._used.values())

    def loading(self) -> list[Future[None]]:
        """Return the futures of the running loads; each is done when its load is over."""
        found = [partition.loading for partition in self._used.values()]
        return [loading for loading in found if loading is not None and not loading.done()]

    def begin(self, index: int) -> CoordinatorPartition[M]:
        """Return the partition: loaded, being loaded, or with its failure.

        Raises KafkaError if it does not exist, or if another node leads it.
        """
        if self._is_closed:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "the coordinator is shutting down")
        partition = self._used.get(index)
        if partition is None or (partition.failure is not None and self._clock.monotonic() >= partition.retry_at_s):
            if not 0 <= index < (self._topic.partition_count() or 0):
                raise KafkaError(
                    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {self._topic.name}-{index}"
                )
            if not self._topic.leads(index):
                raise KafkaError(ErrorCode.NOT_COORDINATOR, f"another node leads {self._topic.name}-{index}")
            machine, shard = self._build(index)
            loader: Loader[Any] = Loader(self._topic, index, machine)
            partition = self._used[index] = CoordinatorPartition(index, machine, shard, loader)
            loading = self._upkeep.in_slices(partial(self._load, partition, loader), _LOADING)
            partition.loading = loading if isinstance(loading, Future) else None
        return partition

    def load_in_background(self, indexes: Iterable[int], is_pointless: Callable[[], bool] = lambda: False) -> None:
        """Load those of these that were not used yet, one after another, in the background.

        `is_pointless`, called before each, ends it early.
        """
        left = [index for index in indexes if index not in self._used and self._topic.leads(index)]
        left.reverse()
        self._upkeep.in_slices(partial(self._load_each, left, is_pointless), _LOADING)

    def _load_each(self, left: list[int], is_pointless: Callable[[], bool]) -> Work[None]:
        """Load these, the last one first, and remove them from the list."""
        while left and not self._is_closed and not is_pointless():
            try:
                partition = self.begin(left[-1])
            except KafkaError:
                return  # the topic was deleted, with its partitions
            if partition.loader is None:
                del left[-1]
            is_loading = partition.loading is not None and not partition.loading.done()
            yield partition.loading if is_loading else self._upkeep.next_turn()

    def close(self) -> None:
        """Stop with the broker: no request is served any more."""
        self._is_closed = True
        self.forget()

    def resign(self, index: int) -> None:
        """Give up the partition: another node leads it from now on, and loads its log."""
        partition = self._used.pop(index, None)
        if partition is not None:
            partition.shard.close(ErrorCode.NOT_COORDINATOR)

    def forget(self) -> None:
        """Refuse all waiting requests and forget all partitions; the log, if it still exists, has the durable state."""
        used, self._used = self._used, {}
        for partition in used.values():
            partition.shard.close()

    def _checked(self, partition: CoordinatorPartition[M]) -> CoordinatorPartition[M]:
        if partition.failure is not None:
            raise KafkaError(ErrorCode.NOT_COORDINATOR, partition.failure)
        if partition.loader is not None:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return partition

    def _load(self, partition: CoordinatorPartition[M], loader: Loader[Any]) -> Work[None]:
        """Load a slice of the log in each step."""
        while not partition.shard.is_closed:
            over: Future[None] | None = None
            try:
                is_done = loader.step()
            except StillRecovering as recovering:
                over = self._upkeep.loop.create_future()  # requests wait as for a long log
                recovering.when_over(partial(over.set_result, None))
            except (DecodeError, KafkaError) as broken:
                self._fail(partition, broken)
                return
            except Exception as mistake:  # our own bug, logged with its traceback; other partitions are unaffected
                _log.exception(line("loading failed", topic=self._topic.name, partition=partition.index))
                self._fail(partition, mistake)
                return
            else:
                if is_done:
                    self._finish(partition, loader.records_count)
                    return
            yield over

    def _finish(self, partition: CoordinatorPartition[M], records_count: int) -> None:
        partition.loader = None
        _log.debug(line("coordinator loaded", topic=self._topic.name, partition=partition.index, records=records_count))
        self._on_loaded(partition)

    def _fail(self, partition: CoordinatorPartition[M], why: Exception) -> None:
        partition.loader = None
        partition.failure = f"partition {partition.index} of {self._topic.name} cannot be loaded: {why}"
        partition.retry_at_s = self._clock.monotonic() + RETRY_MS / 1000
        partition.shard.close()
        _log.error(line("coordinator not loaded", topic=self._topic.name, partition=partition.index, error=why))
