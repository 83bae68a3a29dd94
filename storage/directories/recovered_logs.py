"""Partitions that were closed cleanly in this run, by this process or by another that recovered them.

Knows the result of a recovery (ClosedLog), not its process: broker/partitions runs it in one. Such a partition is
in the state after a clean stop, even if the last stop was not clean: its log ends where its file does, and its indexes,
producer snapshot and leader epochs are written and synced. So opening it reads none of its records.

Invariant: a partition noted here stays so until it is deleted: if it is opened, it is closed cleanly or with the
broker.
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
    """A log that was recovered and closed: its offsets for the checkpoints, and the recovery's result."""

    recovered: Recovered
    recovery_point: int
    high_watermark: int
    log_start_offset: int
    first_segment_base_offset: int


class RecoveredLogs:
    """The recovered logs of one data directory."""

    def __init__(self, root: Directory, checkpoints: LogCheckpoints, unrecovered: set[TopicPartition]) -> None:
        """Take `unrecovered`: the partitions not checked since the last unclean stop; `note` removes from it."""
        self._root = root
        self._checkpoints = checkpoints
        self._unrecovered = unrecovered
        self._whole: set[TopicPartition] = set()

    def __contains__(self, key: TopicPartition) -> bool:
        return key in self._whole

    def is_awaited(self, key: TopicPartition) -> bool:
        """Return whether the partition has not been checked since the last unclean stop."""
        return key in self._unrecovered

    def checkpoint(self, key: TopicPartition, *, was_clean: bool, meta: MetaProperties) -> LogCheckpoint:
        """Return the checkpoints to open the partition with. `was_clean`: how the directory's last stop was."""
        return self._checkpoints.of(key, was_clean=was_clean or key in self._whole, meta=meta)

    def note(self, key: TopicPartition, closed: Noted) -> None:
        """Note that the partition was closed cleanly, here or by a recovery; all its offsets are durable."""
        self._whole.add(key)
        self._unrecovered.discard(key)
        self._checkpoints.note({key: closed})

    def failed(self, error: StorageError) -> None:
        """Handle a failed recovery. After a failed sync the disk's content is unknown: the directory goes offline."""
        if isinstance(error, SyncFailed):
            self._root.disk.go_offline(str(error))

    def forget(self, key: TopicPartition) -> None:
        """Forget a partition that is deleted or whose name gets another directory."""
        self._whole.discard(key)
