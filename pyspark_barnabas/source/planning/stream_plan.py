"""The driver's part of `spark.readStream`: where it begins, how far each batch goes, and what its tasks read."""

from __future__ import annotations

import logging

from barnabas.client.client import Client
from barnabas.client.metadata import TopicPartition
from barnabas.client.offsets import commit_offsets
from barnabas.protocol.errors import KafkaError
from pyspark_barnabas.source import cluster
from pyspark_barnabas.source.errors import lose
from pyspark_barnabas.source.offsets import Offsets, StreamPosition, TopicIds
from pyspark_barnabas.source.options import SourceSettings
from pyspark_barnabas.source.planning.changes import find_changes, new_partitions, recreated_topics
from pyspark_barnabas.source.planning.limits import Patience, limit, waiting
from pyspark_barnabas.source.ranges import OffsetRange, plan
from pyspark_barnabas.source.subscription import Given, ids_of, subscribed

_LOG = logging.getLogger("pyspark_barnabas.source")


class StreamPlan:
    """One run of a query. The offsets that were read are in Spark's checkpoint and not here.

    `seen` has the ends of the partitions and the ids of their topics, as the cluster last reported them.
    """

    def __init__(self, client: Client, settings: SourceSettings) -> None:
        self.seen: StreamPosition | None = None
        self._client = client
        self._settings = settings
        self._first: StreamPosition | None = None
        self._last: StreamPosition | None = None
        self._patience = Patience(settings.min_offsets, settings.max_trigger_delay_ms)

    def first_position(self) -> StreamPosition:
        """Return where a query without a checkpoint begins.

        Spark may have the end of its first batch already: with AvailableNow, and always before 4.2. Then `latest` is
        that end, no offset but a given number is behind it, and partitions without an end are new ones: they are read
        from their start later.
        """
        ends = None if self.seen is None else self.seen.offsets
        partitions, topic_ids = self._find()
        cluster.require_all(self._client, self._settings.subscription, partitions)
        starting, isolation = self._settings.starting, self._settings.isolation
        offsets = cluster.find_offsets(self._client, starting, partitions, isolation=isolation, side="starting")
        if ends is not None:
            given = (starting.offsets if isinstance(starting, Given) else None) or {}
            offsets = {
                where: offset if given.get(where) == offset else min(offset, ends[where])
                for where, offset in offsets.items()
                if where in ends
            }
        self._first = StreamPosition(offsets, topic_ids)
        return self._first

    def fix_the_end(self) -> None:
        """Fix the end for Trigger.AvailableNow: read all that exists now, in any number of batches, nothing newer."""
        self._last = self._ends({})

    def end_of_batch(self, start: StreamPosition, most: int | None, *, waits: bool) -> StreamPosition:
        """Return where the batch from `start` on ends; `start` itself if there is nothing, or if it waits for more.

        most: how many offsets it has at most, None for all. waits: whether minOffsetsPerTrigger counts; if the end
        is fixed it does not, for then nothing more would come.
        """
        end = self._end_of_batch(start, most, waits=waits)
        return end._replace(begin=start.offsets) if start == self._first else end

    def _end_of_batch(self, start: StreamPosition, most: int | None, *, waits: bool) -> StreamPosition:
        latest = self._ends(start.offsets) if self._last is None else self._last
        if waits and self._last is None and self._settings.min_offsets:
            now_ms = int(self._client.clock.monotonic() * 1000)
            if self._patience.waits(waiting(start.offsets, latest.offsets), now_ms):
                return start
        if latest.offsets == start.offsets and not recreated_topics(start.topic_ids, latest.topic_ids):
            return start
        if most is None:
            return latest
        begins = {**start.offsets, **self._earliest_of_new(start.offsets, latest.offsets)}
        return StreamPosition(limit(begins, latest.offsets, most), latest.topic_ids)

    def ranges(self, start: StreamPosition, end: StreamPosition) -> list[OffsetRange]:
        """Return the ranges of a batch's tasks. Raise DataLoss if records are gone and failOnDataLoss is set.

        The first batch begins where its end says: `start` is new if an earlier run planned it.
        """
        self._first = None  # behind it, an equal position is the end of a batch
        if end.begin is not None and start.begin is None and start.offsets != end.begin:
            start = StreamPosition(end.begin, end.topic_ids)
        earliest_of_new = self._earliest_of_new(start.offsets, end.offsets)
        changes = find_changes(start, end, earliest_of_new, self._topic_ids())
        lose(changes.losses, fail=self._settings.fail_on_data_loss)
        return plan(
            changes.ranges,
            min_partitions=self._settings.min_partitions,
            max_records=self._settings.max_records_per_partition,
        )

    def commit(self, end: Offsets) -> None:
        """Commit the group's offsets, if configured. They are informative: Spark's checkpoint is authoritative.

        A retriable error is only logged: the next batch's commit covers this one.
        """
        if not self._settings.commit_group or not end:
            return
        try:
            commit_offsets(self._client, self._settings.commit_group, end)
        except KafkaError as error:
            if not error.code.retriable:
                raise
            _LOG.warning("offsets were not committed to %r: %s", self._settings.commit_group, error)

    def _ends(self, known: Offsets) -> StreamPosition:
        partitions, topic_ids = self._find()
        ends = cluster.latest_since(
            self._client,
            partitions,
            known,
            isolation=self._settings.isolation,
            retries=self._settings.latest_retries,
            retry_interval_ms=self._settings.retry_interval_ms,
        )
        self.seen = StreamPosition(ends, topic_ids)
        return self.seen

    def _topic_ids(self) -> TopicIds:
        """Return the ids as this run has seen them; request them if its first batch was planned by an earlier run."""
        return self._find()[1] if self.seen is None else self.seen.topic_ids

    def _find(self) -> tuple[set[TopicPartition], TopicIds]:
        """Return the partitions that exist now, and the ids of their topics."""
        topics = cluster.find_topics(self._client, self._settings.subscription)
        partitions = subscribed(self._settings.subscription, topics)
        return partitions, ids_of(topics, partitions)

    def _earliest_of_new(self, start: Offsets, end: Offsets) -> Offsets:
        """Return where new partitions begin that still exist."""
        new = new_partitions(start, end)
        if new:
            new &= cluster.find_partitions(self._client, self._settings.subscription)
        return cluster.earliest(self._client, new)
