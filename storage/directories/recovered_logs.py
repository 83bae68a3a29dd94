"""Partitions that were closed cleanly in this run, by this process or by somebody who recovered them.

Knows what a recovery tells (ClosedLog), not who did it: broker/partitions has it done in a process. Such a partition is
as a clean stop leaves it, whatever the last stop was: its log ends where its file does, and its indexes, producer
snapshot and leader epochs are written and synced. So opening it reads none of its records.

Invariant: what is noted here holds until the partition goes: if it is opened, it is closed cleanly or with the broker.
"""

from __future__ import annotations

from typing import NamedTuple

from barnabas.protocol.files.meta_properties import MetaProperties
from barnabas.storage.directories.log_checkpoints import LogCheckpoints, Noted
from barnabas.storage.disk.checkpoints import LogCheckpoint, TopicPartition
from barnabas.storage.disk.directory import Directory
from barnabas.storage.errors import StorageError, SyncFailed
from barnabas.storage.recovery.report import Recovered


class ClosedLog(NamedTuple):
    """A log that was recovered and closed: what the checkpoints have to say of it, and what recovery did."""

    recovered: Recovered
    recovery_point: int
    high_watermark: int
    log_start_offset: int
    first_segment_base_offset: int


class RecoveredLogs:
    """Those of one data directory."""

    def __init__(self, root: Directory, checkpoints: LogCheckpoints, unrecovered: set[TopicPartition]) -> None:
        """`unrecovered`: the partitions nobody has looked into since the last kill; what is noted is none of them."""
        self._root = root
        self._checkpoints = checkpoints
        self._unrecovered = unrecovered
        self._whole: set[TopicPartition] = set()

    def __contains__(self, key: TopicPartition) -> bool:
        return key in self._whole

    def is_awaited(self, key: TopicPartition) -> bool:
        """Whether nobody has looked into the partition since the last kill."""
        return key in self._unrecovered

    def checkpoint(self, key: TopicPartition, *, was_clean: bool, meta: MetaProperties) -> LogCheckpoint:
        """What the partition is opened with, or recovered. `was_clean`: how the last stop of the directory was."""
        return self._checkpoints.of(key, was_clean=was_clean or key in self._whole, meta=meta)

    def note(self, key: TopicPartition, closed: Noted) -> None:
        """The partition was closed cleanly, here or by who recovered it; all that is said of it is durable."""
        self._whole.add(key)
        self._unrecovered.discard(key)
        self._checkpoints.note({key: closed})

    def failed(self, error: StorageError) -> None:
        """It was not recovered. After a failed sync nobody knows what is on the disk: the directory is offline."""
        if isinstance(error, SyncFailed):
            self._root.disk.go_offline(str(error))

    def forget(self, key: TopicPartition) -> None:
        """The partition goes, or another one gets its name."""
        self._whole.discard(key)
