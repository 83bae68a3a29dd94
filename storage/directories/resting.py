"""What the files of a log, and the checkpoints, tell about it without opening it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container
from contextlib import suppress

from barnabas.protocol.files import names
from barnabas.storage.directories.log_checkpoints import LogCheckpoints
from barnabas.storage.disk.checkpoints import TopicPartition
from barnabas.storage.disk.directory import Directory
from barnabas.storage.errors import FileRemoved


class RestingLogs:
    """The partitions of a data directory that nobody opened in this run."""

    def __init__(
        self,
        root: Directory,
        live: Collection[TopicPartition],
        opened: Container[TopicPartition],
        checkpoints: LogCheckpoints,
        is_whole: Callable[[TopicPartition], bool],
    ) -> None:
        """`live` have a directory, `opened` a log; `is_whole`: whether it ended cleanly. They are followed."""
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
        """Whether the partition is one of these."""
        return key not in self._live and bool(self._checkpoints.recovery_point(key))

    def size_of(self, topic: str, partition: int) -> int:
        """Bytes in the partition's segments, without its indexes; it may be open, too. 0 if it has no directory.

        StorageError if the directory is offline or cannot be listed.
        """
        self._root.disk.check_online()
        if (topic, partition) not in self._live:
            return 0
        return size_of_segments(self._root.subdirectory(names.partition_directory(topic, partition)))

    def summary(self, topic: str, partition: int) -> tuple[int, int, int, int] | None:
        """(log start, log end, bytes, segments); None if only opening it would show it.

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
        """The log end, None if only opening it would show it."""
        key = topic, partition
        if key not in self._live:
            return None if self.is_missing(key) else 0
        return self._checkpoints.recovery_point(key) if self._is_whole(key) and key not in self._opened else None


def size_of_segments(directory: Directory) -> int:
    """Bytes in the segments, without their indexes. StorageError if the directory cannot be listed."""
    size = 0
    for name in directory.names():
        if name.endswith(names.FileKind.LOG.value):
            with suppress(FileRemoved):  # by somebody else: nothing of ours runs in between
                size += directory.size(name)
    return size


def base_offsets(directory: Directory) -> list[int]:
    """Where the segments begin, in no order. StorageError as above."""
    found = [each for each in map(names.parse_segment_file, directory.names()) if each is not None]
    live = [each for each in found if each.state is names.FileState.LIVE]
    return [each.base_offset for each in live if each.kind is names.FileKind.LOG]
