"""Cleaning on request: cleans what can be cleaned now of the named partitions, whatever their dirty ratio.

Knows open partitions and the cleaner. The partitions are cleaned one after another, and events report the progress. A
caller that stops iterating ends it: the cleaning in progress continues, and no other begins.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.config.resources.log_configs import log_config
from barnabas.broker.partitions.cleaning.stats import Cleaned
from barnabas.broker.partitions.opening.recoveries import StillRecovering
from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.client.near_names import did_you_mean
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.errors import StorageError

if TYPE_CHECKING:
    from barnabas.broker.config import BrokerConfig
    from barnabas.broker.metadata.catalogue import Catalogue
    from barnabas.broker.partitions.cleaning.log_cleaner import LogCleaner
    from barnabas.broker.partitions.partitions import Partitions
    from barnabas.broker.runtime.scheduler import CooperativeScheduler
    from barnabas.storage.log.cleaning.cleanable import Cleanable
    from barnabas.storage.log.log import PartitionLog

Wanted = Sequence[tuple[str, tuple[int, ...]]]
"""Topics with some of their partitions, or with none: all of them. An empty sequence means every compacted topic."""
REPORTED_EVERY_S = 0.5
_LOOKING = WorkClass(under_way_max=1_000, steps_max=64, slice_ms=1, may_begin_again=False)


class CompactionProgress(NamedTuple):
    """The progress of a cleaning."""

    topic: str
    partition: int
    state: str
    """`cleaning`, repeated while it runs; then `cleaned`, `clean` if there was nothing to do, or `failed`."""
    bytes_before: int = 0
    """Of the segments that were cleaned, in all rounds together."""
    bytes_after: int = 0
    records_before: int = 0
    records_after: int = 0
    seconds: float = 0.0
    done_bytes: int = 0
    """Read and written in this round."""
    reason: str = ""
    """The reason of the failure."""


class ManualCompaction:
    """The cleanings that are requested of one broker."""

    def __init__(
        self,
        cleaner: LogCleaner,
        partitions: Partitions,
        catalogue: Catalogue,
        config: BrokerConfig,
        upkeep: CooperativeScheduler,
    ) -> None:
        self._cleaner = cleaner
        self._partitions = partitions
        self._catalogue = catalogue
        self._config = config
        self._upkeep = upkeep

    def keys(self, wanted: Wanted) -> list[tuple[str, int]]:
        """Return the requested partitions. Raise KafkaError for one that does not exist, or is not compacted."""
        topics = self._catalogue.topics
        if not wanted:
            wanted = [(name, ()) for name in sorted(topics) if self._is_compacted(name)]
        found: dict[tuple[str, int], None] = {}
        for name, numbers in wanted:
            if name not in topics:
                meant = did_you_mean(name, topics)
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name!r}{meant}")
            if not self._is_compacted(name):
                raise KafkaError(ErrorCode.POLICY_VIOLATION, f"cleanup.policy of {name} does not contain compact")
            count = len(topics[name].partitions)
            for number in numbers or range(count):
                if number >= count:
                    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                    raise KafkaError(code, f"topic {name!r} has no partition {number}")
                found[name, number] = None
        return [key for key in found if key in self._partitions.directory.partitions]

    def _is_compacted(self, name: str) -> bool:
        return log_config(self._config, self._catalogue.topics[name].configs).is_compacted

    async def clean(self, keys: Sequence[tuple[str, int]]) -> AsyncIterator[CompactionProgress]:
        """Clean the partitions, one after another."""
        for key in keys:
            was_used = self._partitions.is_used(*key)
            try:
                async for event in self._clean(key):
                    yield event
            except (KafkaError, StorageError) as error:
                yield CompactionProgress(*key, "failed", reason=str(error))
            if not was_used:
                self._partitions.close(*key)

    async def _clean(self, key: tuple[str, int]) -> AsyncIterator[CompactionProgress]:
        event = CompactionProgress(*key, "clean")
        log = await self._opened(key)
        await self._partitions.synced_anyway(*key)
        first_dirty = -1
        while True:
            cleanable = await self._looked(log)
            if not cleanable.cleanable_bytes or cleanable.first_dirty_offset <= first_dirty:
                yield event
                return
            first_dirty = cleanable.first_dirty_offset
            future = self._cleaner.clean(key, cleanable)
            while not (await asyncio.wait([future], timeout=REPORTED_EVERY_S))[0]:
                under_way = self._cleaner.rounds.get(key)
                yield event._replace(state="cleaning", done_bytes=under_way.done_bytes if under_way is not None else 0)
            outcome = future.result()
            if not isinstance(outcome, Cleaned):
                yield event._replace(state="failed", reason=str(outcome) or repr(outcome))
                return
            event = event._replace(
                state="cleaned",
                bytes_before=event.bytes_before + outcome.bytes_before,
                bytes_after=event.bytes_after + outcome.bytes_after,
                records_before=event.records_before + outcome.records_before,
                records_after=event.records_after + outcome.records_after,
                seconds=event.seconds + outcome.seconds,
            )

    async def _opened(self, key: tuple[str, int]) -> PartitionLog:
        while True:
            try:
                return self._partitions.get(*key)
            except StillRecovering as recovering:
                over = asyncio.Event()
                recovering.when_over(over.set)
                await over.wait()

    async def _looked(self, log: PartitionLog) -> Cleanable:
        looked = self._upkeep.in_slices(lambda: self._cleaner.cleanable(log), _LOOKING)
        return await looked if isinstance(looked, asyncio.Future) else looked
