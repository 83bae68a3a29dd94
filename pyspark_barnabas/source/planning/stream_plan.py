"""The driver's part of `spark.readStream`: where it begins, how far each batch goes, and what its tasks read."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from barnabas.client.client import Client
from barnabas.client.metadata import TopicPartition
from barnabas.client.offsets import commit_offsets
from barnabas.protocol.errors import KafkaError
from pyspark_barnabas.source import cluster
from pyspark_barnabas.source.errors import lose
from pyspark_barnabas.source.offsets import Offsets
from pyspark_barnabas.source.options import SourceSettings
from pyspark_barnabas.source.planning.changes import find_changes, new_partitions
from pyspark_barnabas.source.planning.limits import Patience, limit, waiting
from pyspark_barnabas.source.ranges import OffsetRange, plan

_LOG = logging.getLogger("pyspark_barnabas.source")


class StreamPlan:
    """One run of a query. What was read is known to Spark's checkpoint and not here.

    `seen` is what the cluster last said of where the partitions end.
    """

    def __init__(self, client: Client, settings: SourceSettings) -> None:
        self.seen: Offsets | None = None
        self._client = client
        self._settings = settings
        self._last: Offsets | None = None
        self._patience = Patience(settings.min_offsets, settings.max_trigger_delay_ms)

    def first_offsets(self) -> Offsets:
        """Where a query without a checkpoint begins."""
        partitions = cluster.find_partitions(self._client, self._settings.subscription)
        cluster.require_all(self._client, self._settings.subscription, partitions)
        return cluster.find_offsets(
            self._client, self._settings.starting, partitions, isolation=self._settings.isolation, side="starting"
        )

    def fix_the_end(self) -> None:
        """Trigger.AvailableNow: read what there is now, in however many batches, and nothing that comes later."""
        self._last = self._ends({})

    def end_of_batch(self, start: Offsets, most: int | None, *, waits: bool) -> Offsets:
        """Where the batch from `start` on ends; `start` itself where it is to wait for more.

        most: how many offsets it has at most, None for all. waits: whether minOffsetsPerTrigger counts; where the end
        is fixed it does not, for then nothing more would come.
        """
        latest = self._ends(start) if self._last is None else self._last
        if waits and self._last is None and self._settings.min_offsets:
            now_ms = int(self._client.clock.monotonic() * 1000)
            if self._patience.waits(waiting(start, latest), now_ms):
                return start
        if most is None:
            return latest
        begins = {**start, **self._earliest_of_new(start, latest)}
        return limit(begins, latest, most)

    def ranges(self, start: Offsets, end: Offsets) -> list[OffsetRange]:
        """What the tasks of a batch read. DataLoss where something cannot be read, if that is to be an error."""
        changes = find_changes(start, end, self._earliest_of_new(start, end))
        lose(changes.losses, fail=self._settings.fail_on_data_loss)
        return plan(
            changes.ranges,
            min_partitions=self._settings.min_partitions,
            max_records=self._settings.max_records_per_partition,
        )

    def commit(self, end: Offsets) -> None:
        """Let the group's committed offsets follow, if asked to. They are for people to see: Spark's checkpoint counts.

        What passes is left for the next batch, whose commit covers this one.
        """
        if not self._settings.commit_group or not end:
            return
        try:
            commit_offsets(self._client, self._settings.commit_group, end)
        except KafkaError as error:
            if not error.code.retriable:
                raise
            _LOG.warning("offsets were not committed to %r: %s", self._settings.commit_group, error)

    def _ends(self, known: Mapping[TopicPartition, int]) -> Offsets:
        self.seen = cluster.latest_since(
            self._client,
            cluster.find_partitions(self._client, self._settings.subscription),
            known,
            isolation=self._settings.isolation,
            retries=self._settings.latest_retries,
            retry_interval_ms=self._settings.retry_interval_ms,
        )
        return self.seen

    def _earliest_of_new(self, start: Offsets, end: Offsets) -> Offsets:
        """Where new partitions begin, of those that are still there."""
        new = new_partitions(start, end)
        if new:
            new &= cluster.find_partitions(self._client, self._settings.subscription)
        return cluster.earliest(self._client, new)
