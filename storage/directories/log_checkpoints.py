"""The four checkpoint files of a data directory: offsets of each partition, updated from the open logs.

Knows partitions by name. A partition keeps its rows until it is deleted, also over runs in which it is not opened.

Invariant: a partition's rows never outlive its directory: they would mark bytes of a new log as synced that are not. So
a recovery point without a directory means that the directory is missing (log_directory.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from barnabas.protocol.files import names
from barnabas.protocol.files.meta_properties import MetaProperties
from barnabas.storage.disk.checkpoints import LogCheckpoint, OffsetCheckpoint, TopicPartition
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.sync_job import SyncJob


class Noted(Protocol):
    """The offsets of a log that are checkpointed."""

    @property
    def recovery_point(self) -> int:
        """The offset below which everything is durable."""

    @property
    def high_watermark(self) -> int:
        """The high watermark."""

    @property
    def log_start_offset(self) -> int:
        """The first offset that readers may fetch."""

    @property
    def first_segment_base_offset(self) -> int:
        """The base offset of the first segment."""


class LogCheckpoints:
    """Recovery points, log starts, high watermarks and first dirty offsets of all partitions of a data directory."""

    def __init__(self, root: Directory) -> None:
        self._root = root
        self._recovery_points = OffsetCheckpoint(root, names.RECOVERY_POINT_CHECKPOINT)
        self._log_starts = OffsetCheckpoint(root, names.LOG_START_CHECKPOINT)
        self._high_watermarks = OffsetCheckpoint(root, names.HIGH_WATERMARK_CHECKPOINT)
        self._first_dirty = OffsetCheckpoint(root, names.CLEANER_CHECKPOINT)
        self._all = (self._recovery_points, self._log_starts, self._high_watermarks, self._first_dirty)

    def of(self, key: TopicPartition, *, was_clean: bool, meta: MetaProperties) -> LogCheckpoint:
        """Return the checkpoints of a partition. The clean-stop marker does not cover the catalogue's own log."""
        return LogCheckpoint(
            recovery_point=self._recovery_points.offsets.get(key, 0),
            log_start_offset=self._log_starts.offsets.get(key, 0),
            high_watermark=self._high_watermarks.offsets.get(key),
            was_clean=was_clean and key[0] != names.CLUSTER_METADATA_TOPIC,
            tells_all_times=meta.tells_all_times,
            tells_log_start=meta.tells_log_starts,
            was_cleaned=self.first_dirty(key) is not None,
        )

    def recovery_point(self, key: TopicPartition) -> int | None:
        """Return the offset below which a partition is durable, None without a row. The log end after a clean stop."""
        return self._recovery_points.offsets.get(key)

    @property
    def synced(self) -> list[TopicPartition]:
        """Every partition that has durable records."""
        return [key for key, recovery_point in self._recovery_points.offsets.items() if recovery_point > 0]

    def log_start(self, key: TopicPartition) -> int:
        """Return the log start offset of a partition if it is not that of its first segment, else 0."""
        return self._log_starts.offsets.get(key, 0)

    def first_dirty(self, key: TopicPartition) -> int | None:
        """Return the offset below which a partition has been compacted, None if it never was."""
        return self._first_dirty.offsets.get(key)

    def note_cleaned(self, key: TopicPartition, first_dirty_offset: int) -> None:
        """Set how far a partition has been compacted; the file is updated by the next write."""
        self._first_dirty.update({key: first_dirty_offset})

    def note(self, logs: Mapping[TopicPartition, Noted]) -> None:
        """Take over the offsets of these logs.

        As Kafka does: the catalogue's own log gets no rows, and a log start is noted only where the first segment
        begins below it.
        """
        logs = {key: log for key, log in logs.items() if key[0] != names.CLUSTER_METADATA_TOPIC}
        self._recovery_points.update({key: log.recovery_point for key, log in logs.items()})
        self._high_watermarks.update({key: log.high_watermark for key, log in logs.items()})
        self._log_starts.update(
            {
                key: log.log_start_offset if log.log_start_offset > log.first_segment_base_offset else None
                for key, log in logs.items()
            }
        )

    def take_over(self, key: TopicPartition, other: LogCheckpoints) -> None:
        """Copy a partition's rows from another directory, from which it is moved."""
        for mine, theirs in zip(self._all, other._all, strict=True):
            mine.update({key: theirs.offsets.get(key)})

    def forget(self, key: TopicPartition) -> None:
        """Remove a partition's rows; the files are updated by the next write."""
        for checkpoint in self._all:
            checkpoint.update({key: None})

    def forget_durably(self, *keys: TopicPartition) -> None:
        """Remove the rows of partitions, durable on return: needed before a new directory with such a name."""
        for checkpoint in self._forgotten(keys):
            checkpoint.write()

    def forget_job(self, *keys: TopicPartition) -> SyncJob | None:
        """Remove the rows of partitions by a job that may run in a thread; None if no file had any."""
        replacements = [checkpoint.replacement() for checkpoint in self._forgotten(keys)]
        return SyncJob(self._root.disk, replacements=replacements) if replacements else None

    def _forgotten(self, keys: Sequence[TopicPartition]) -> list[OffsetCheckpoint]:
        """Remove the rows in memory; return the checkpoints whose files have, or may have, rows of these partitions."""
        for key in keys:
            self.forget(key)
        return [checkpoint for checkpoint in self._all if any(map(checkpoint.is_written, keys))]

    def write(self) -> None:
        """Write the changes in memory to the files. Durable on return."""
        for checkpoint in self._all:
            checkpoint.write()

    def write_job(self) -> SyncJob | None:
        """Return a job that writes the changes and may run in a thread; None if the files are up to date."""
        replacements = [checkpoint.replacement() for checkpoint in self._all if checkpoint.is_dirty]
        return SyncJob(self._root.disk, replacements=replacements) if replacements else None

    def give_up(self) -> None:
        """Stop writing, also writes in progress."""
        for checkpoint in self._all:
            checkpoint.give_up()
