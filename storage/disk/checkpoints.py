"""The offset checkpoints in the root of a data directory: one offset for each partition.

`recovery-point-offset-checkpoint`    all below it survives a power cut, and so do the files of sealed segments
`log-start-offset-checkpoint`         the first offset readers may fetch, if the first segment begins before it
`replication-offset-checkpoint`       the high watermark
`cleaner-offset-checkpoint`           the first dirty offset: all below it has been compacted

A partition keeps its row until it is deleted, also over runs in which it is never opened: so a start costs
nothing for it, and it counts as cleanly closed when a later run is killed.

Invariant: a row counts as written from the moment a job could write it, until newer content without it is durable.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files.checkpoints import decode_offsets, encode_offsets
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.small_file import Replacement, SmallFile
from barnabas.storage.errors import CorruptFile

TopicPartition = tuple[str, int]
"""(topic name, partition index)"""


class LogCheckpoint(NamedTuple):
    """The checkpoints of one partition, used when it is opened.

    `was_clean`: the last stop was clean, so the log ends where its file does; otherwise only the batches below the
    recovery point are known to be whole. `tells_all_times`, `tells_log_start`: see MetaProperties. `was_cleaned`: it
    was compacted once, whatever its settings are now.
    """

    recovery_point: int
    log_start_offset: int
    high_watermark: int | None
    was_clean: bool
    tells_all_times: bool
    tells_log_start: bool
    was_cleaned: bool = False


class OffsetCheckpoint:
    """One checkpoint file, in memory and on the disk."""

    def __init__(self, root: Directory, name: str) -> None:
        self._file = SmallFile(root, name)
        data = root.read(name)
        try:
            self.offsets: dict[TopicPartition, int] = decode_offsets(data) if data is not None else {}
        except DecodeError as error:
            raise CorruptFile(root.path_of(name), str(error)) from error
        self._rows_possible = frozenset(self.offsets)
        self._rows_newest = self._file.version, self._rows_possible  # of the newest content returned
        if data is None:
            self._file.changed()

    @property
    def is_dirty(self) -> bool:
        """Whether the content in memory may be missing from the file after a power cut."""
        return self._file.is_dirty

    def update(self, changed: Mapping[TopicPartition, int | None]) -> None:
        """Set rows, or remove those with None."""
        for key, offset in changed.items():
            if self.offsets.get(key) == offset:
                continue
            self._file.changed()
            if offset is None:
                del self.offsets[key]
            else:
                self.offsets[key] = offset

    def replacement(self) -> Replacement:
        """Return the current content of the file, for a SyncJob to write."""
        return self._file.replacement(self._content())

    def write(self) -> None:
        """Write the content in memory to the file, if it differs. Durable on return, old or new after a crash."""
        if self.is_dirty:
            self._file.write(self._content())

    def is_written(self, key: TopicPartition) -> bool:
        """Return whether the file may have a row for a partition, now or after a job with its content has run."""
        return key in self._rows_in_file()

    def give_up(self) -> None:
        """Stop writing, also writes in progress."""
        self._file.give_up()

    def _content(self) -> bytes:
        rows = frozenset(self.offsets)
        self._rows_possible = self._rows_in_file() | rows
        self._rows_newest = self._file.version, rows
        return encode_offsets(self.offsets)

    def _rows_in_file(self) -> frozenset[TopicPartition]:
        version, rows = self._rows_newest
        if self._file.durable_version >= version:
            self._rows_possible = rows
        return self._rows_possible
