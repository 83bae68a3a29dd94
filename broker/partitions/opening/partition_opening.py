"""A partition that is about to be opened: opened on the event loop, or recovered elsewhere first.

Knows the data directories; recoveries.py decides which of the two is done, where, and when.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from barnabas.protocol.files.names import FileKind, segment_file
from barnabas.storage.directories.unopened_logs import base_offsets
from barnabas.storage.recovery.opening import PIECE_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

    from barnabas.broker.metadata.image.image import TopicImage
    from barnabas.broker.partitions.opening.recovery_job import RecoverPartition
    from barnabas.broker.partitions.purgatory import PartitionKey
    from barnabas.storage.config import LogConfig
    from barnabas.storage.directories.log_directories import LogDirectories
    from barnabas.storage.directories.log_directory import LogDirectory
    from barnabas.storage.directories.recovered_logs import ClosedLog
    from barnabas.storage.errors import StorageError
    from barnabas.storage.log.log import PartitionLog
    from barnabas.storage.recovery.opening import Opening


class PartitionOpening:
    """One partition that the catalogue contains."""

    def __init__(
        self,
        directories: LogDirectories,
        topic: TopicImage,
        partition: int,
        config: LogConfig,
        now_ms: Callable[[], int],
    ) -> None:
        self.key: PartitionKey = topic.name, partition
        self._directories = directories
        self._topic_id = topic.topic_id
        self._config = config
        self._now_ms = now_ms
        self._place = topic.partitions[partition].directory_id

    @property
    def is_unrecovered(self) -> bool:
        """Whether the partition has not been recovered yet since the last kill."""
        return self._directories.is_unrecovered(*self.key)

    @property
    def home(self) -> LogDirectory | None:
        """The data directory that contains the partition."""
        return self._directories.home(*self.key)

    def opening(self) -> Opening[PartitionLog]:
        """Begin LogDirectories.opening, again each time that it was closed before its end. Raises StorageError."""
        return self._directories.opening(*self.key, self._topic_id, self._config, self._now_ms(), self._place)

    def job(self) -> RecoverPartition:
        """Return its recovery job, after an opening was closed before its end; nothing else opens it meanwhile."""
        from barnabas.broker.partitions.opening.recovery_job import RecoverPartition

        home = self._home()
        checkpoint = home.recovered.checkpoint(self.key, was_clean=home.was_clean, meta=home.meta)
        path = os.path.abspath(home.directory_of(self.key).path)  # a helper process has another working directory
        return RecoverPartition(path, *self.key, self._topic_id, self._config, checkpoint, self._now_ms())

    @property
    def is_short(self) -> bool:
        """Whether recovery reads so little that starting it in a process would take longer. Raises StorageError."""
        home = self.home
        if home is None:
            return True
        directory = home.directory_of(self.key)
        files = [segment_file(base_offset, FileKind.LOG) for base_offset in self._looked_into(home)]
        return sum(map(directory.size, files)) <= PIECE_BYTES

    def segments_count(self) -> int:
        """Return the number of its segments that recovery reads."""
        return len(self._looked_into(self._home()))

    def _looked_into(self, home: LogDirectory) -> list[int]:
        """Return the base offsets of the segments that are not wholly below the recovery point."""
        bases = sorted(base_offsets(home.directory_of(self.key)))
        point = home.recovered.checkpoint(self.key, was_clean=False, meta=home.meta).recovery_point
        ends = [*bases[1:], None]
        return [base for base, end in zip(bases, ends, strict=False) if end is None or end > point]

    def note(self, closed: ClosedLog) -> None:
        """Note the result of the job."""
        self._home().recovered.note(self.key, closed)

    def failed(self, error: StorageError) -> None:
        """Note that the job has failed."""
        self._home().recovered.failed(error)

    def _home(self) -> LogDirectory:
        home = self.home
        assert home is not None, f"{self.key} has a directory: its opening was begun"
        return home
