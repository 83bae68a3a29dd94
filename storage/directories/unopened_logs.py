"""Figures of a log that is not open, from its files and the checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container
from contextlib import suppress

from barnabas.protocol.files import names
from barnabas.storage.directories.log_checkpoints import LogCheckpoints
from barnabas.storage.disk.checkpoints import TopicPartition
from barnabas.storage.disk.directory import Directory
from barnabas.storage.errors import FileRemoved


class UnopenedLogs:
    """The partitions of a data directory that were not opened in this run."""

    def __init__(
        self,
        root: Directory,
        live: Collection[TopicPartition],
        opened: Container[TopicPartition],
        checkpoints: LogCheckpoints,
        is_whole: Callable[[TopicPartition], bool],
    ) -> None:
        """Take live collections: `live` have a directory, `opened` a log; `is_whole`: whether a log ended cleanly."""
        self._root = root
        self._live = live
        self._opened = opened
        self._checkpoints = checkpoints
        self._is_whole = is_whole

    @property
    def missing(self) -> list[TopicPartition]:
        """Partitions that have synced records, by the checkpoints, and no directory."""
        return [key for key in self._checkpoints.synced if key not in self._live]

    def is_missing(self, key: TopicPartition) -> bool:
        """Return whether the partition has synced records, by the checkpoints, and no directory."""
        return key not in self._live and bool(self._checkpoints.recovery_point(key))

    def size_of(self, topic: str, partition: int) -> int:
        """Return the bytes in the partition's segments, without indexes; it may be open, too. 0 without a directory.

        StorageError if the directory is offline or cannot be listed.
        """
        self._root.disk.check_online()
        if (topic, partition) not in self._live:
            return 0
        return size_of_segments(self._root.subdirectory(names.partition_directory(topic, partition)))

    def summary(self, topic: str, partition: int) -> tuple[int, int, int, int] | None:
        """Return (log start, log end, bytes, segments); None if they are unknown without opening it.

        StorageError if the directory is offline or cannot be listed.
        """
        self._root.disk.check_online()
        key = topic, partition
        end = self.end(topic, partition)
        if end is None:
            return None
        if key not in self._live:
            return 0, 0, 0, 0
        bases = base_offsets(self._root.subdirectory(names.partition_directory(topic, partition)))
        start = max(min(bases, default=0), self._checkpoints.log_start(key))
        return start, end, self.size_of(topic, partition), len(bases)

    def end(self, topic: str, partition: int) -> int | None:
        """Return the log end, None if it is unknown without opening the log."""
        key = topic, partition
        if key not in self._live:
            return None if self.is_missing(key) else 0
        return self._checkpoints.recovery_point(key) if self._is_whole(key) and key not in self._opened else None


def size_of_segments(directory: Directory) -> int:
    """Return the bytes in the segments, without their indexes. StorageError if the directory cannot be listed."""
    size = 0
    for name in directory.names():
        if name.endswith(names.FileKind.LOG.value):
            with suppress(FileRemoved):  # by another process: no other code of this one runs in between
                size += directory.size(name)
    return size


def base_offsets(directory: Directory) -> list[int]:
    """Return the base offsets of the segments, in no order. StorageError if the directory cannot be listed."""
    found = [each for each in map(names.parse_segment_file, directory.names()) if each is not None]
    live = [each for each in found if each.state is names.FileState.LIVE]
    return [each.base_offset for each in live if each.kind is names.FileKind.LOG]
