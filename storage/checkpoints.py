"""The offset checkpoints in the root of a data directory: one offset for each partition.

`recovery-point-offset-checkpoint`    all below it survives a power cut, and with it what belongs to sealed segments
`log-start-offset-checkpoint`         the first offset readers may ask for, where the first segment begins before it
`replication-offset-checkpoint`       the high watermark

A partition keeps its row until it is deleted, also over runs in which it is never opened: that lets a start cost
nothing for it, and makes it count as cleanly closed when a later run is killed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from protocol.errors import DecodeError
from protocol.files.checkpoints import decode_offsets, encode_offsets
from storage.directory import Directory
from storage.errors import CorruptFile

TopicPartition = tuple[str, int]
"""(topic name, partition index)"""


class LogCheckpoint(NamedTuple):
    """What the checkpoints say of one partition when it is opened.

    `was_clean` says that the last stop was clean, so the log ends where its file does; otherwise only what is below the
    recovery point is known to be whole.
    """

    recovery_point: int
    log_start_offset: int
    high_watermark: int | None
    was_clean: bool


class OffsetCheckpoint:
    """One checkpoint file, in memory and on the disk."""

    def __init__(self, root: Directory, name: str) -> None:
        self.name = name
        self._root = root
        data = root.read(name)
        try:
            self.offsets: dict[TopicPartition, int] = decode_offsets(data) if data is not None else {}
        except DecodeError as error:
            raise CorruptFile(root.path_of(name), str(error)) from error
        self._written: dict[TopicPartition, int] | None = dict(self.offsets)  # None: not known
        self.is_dirty = data is None

    def update(self, changed: Mapping[TopicPartition, int | None]) -> None:
        """Set rows, or with None remove them."""
        for key, offset in changed.items():
            if self.offsets.get(key) == offset:
                continue
            self.is_dirty = True
            if offset is None:
                del self.offsets[key]
            else:
                self.offsets[key] = offset

    def content(self) -> bytes:
        """The bytes of the file, for whoever writes it."""
        return encode_offsets(self.offsets)

    def write(self) -> None:
        """Bring the file to what is in memory, if it differs. Durable on return, old or new after a crash."""
        if self.is_dirty:
            self._root.write_atomically(self.name, self.content())
            self.mark_written()

    def mark_written(self) -> None:
        """The file says what is in memory."""
        self._written = dict(self.offsets)
        self.is_dirty = False

    def mark_unknown(self) -> None:
        """The file says one thing or another."""
        self._written = None
        self.is_dirty = True

    def is_written(self, key: TopicPartition) -> bool:
        """Whether the file may have a row for a partition."""
        return self._written is None or key in self._written
