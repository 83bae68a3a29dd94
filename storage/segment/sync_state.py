"""How much of a segment is durable, and what of it a flush has to sync.

Knows sizes and files; syncs nothing itself. Sizes are of the log file; the indexes count as a whole, and only a sealed
segment's are synced: an active one's can be made from the log again. The exception is the transaction index, whose
entries no recovery below the recovery point would find again: it is synced with the log.

A log that was cut has to be synced again even at a size that was durable before: part of the write that was cut off may
be on the disk, and after a power cut a sealed segment would end in half a batch. A sync that was under way may have
come before the cut, so it counts for nothing.
"""

from __future__ import annotations

from typing import NamedTuple

from barnabas.storage.disk.disk_file import DiskFile
from barnabas.storage.segment.indexes import UNKNOWN, SegmentIndexes


class SyncWork(NamedTuple):
    """What of a segment is not known to be durable: pass back to `Segment.mark_synced` once it is."""

    files: list[DiskFile]
    paths: list[str]
    size: int
    aborted: int
    is_sealed: bool
    cuts: int


class SyncState:
    """What is durable of one segment."""

    __slots__ = ("_are_indexes_synced", "_cuts", "_indexes", "_size_synced")

    def __init__(self, indexes: SegmentIndexes) -> None:
        self._indexes = indexes
        self._size_synced = 0
        self._cuts = 0
        self._are_indexes_synced = False

    def all_synced(self, size: int) -> None:
        """Everything is durable, the `size` bytes of the log as well as the indexes."""
        self._size_synced = size
        self._are_indexes_synced = True

    def indexes_changed(self) -> None:
        """The indexes are not, or soon will not be, what is on the disk."""
        self._are_indexes_synced = False

    def cut(self) -> None:
        """The log was cut: at no size is it known to be durable."""
        self._cuts += 1
        self._size_synced = UNKNOWN
        self._are_indexes_synced = False

    def are_indexes_final(self, size: int) -> bool:
        """Whether the index files are written and durable for a log of `size` bytes: then a seal writes none."""
        return self._are_indexes_synced and size == self._size_synced and self._indexes.is_written

    def work(self, log: DiskFile, size: int, *, is_sealed: bool) -> SyncWork:
        """What is not known to be durable."""
        indexes = self._indexes
        files = [log] if size != self._size_synced else []
        paths: list[str] = []
        if is_sealed:
            if not self._are_indexes_synced:
                paths = indexes.paths()
        elif indexes.txn.needs_sync:
            indexes.txn.write()
            paths = [indexes.directory.path_of(indexes.txn.name)]
        return SyncWork(files, paths, size, len(indexes.txn), is_sealed, self._cuts)

    def synced(self, work: SyncWork) -> None:
        """Everything in `work` is durable now, unless the log was cut meanwhile."""
        if work.cuts != self._cuts:
            return
        if work.size != self._size_synced:
            self._are_indexes_synced = False
        self._size_synced = work.size
        self._are_indexes_synced = self._are_indexes_synced or work.is_sealed
        self._indexes.txn.mark_synced(work.aborted)
