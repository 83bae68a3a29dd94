"""The leader epochs of a partition: the offset at which each began.

Knows epochs and offsets only. On one machine an epoch means "one run of the broker that used this partition"; clients
use them to notice that a log was cut (KIP-320).

The file may be older than the entries in memory when the process is killed: the batches have their epoch, so recovery
assigns the epochs above the recovery point again, and a flush writes the file before the recovery point moves. It may
begin below the first segment only as long as there are `.deleted` files of the segments before.

An epoch is assigned with the first batch that is appended in it. Readers see it before: the current leader epoch
begins at the log end as long as nothing was appended in it.

Invariant: epochs increase strictly, start offsets strictly too.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files.checkpoints import EpochEntry, decode_leader_epochs, encode_leader_epochs
from barnabas.protocol.files.names import LEADER_EPOCH_CHECKPOINT
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.small_file import Replacement, SmallFile
from barnabas.storage.disk.sync_job import SyncJob
from barnabas.storage.errors import CorruptFile

NO_EPOCH = -1
NO_OFFSET = -1


class LeaderEpochCache:
    """The epoch cache of one partition and its file."""

    def __init__(self, directory: Directory) -> None:
        self._file = SmallFile(directory, LEADER_EPOCH_CHECKPOINT)
        data = directory.read(LEADER_EPOCH_CHECKPOINT)
        try:
            self._entries = decode_leader_epochs(data) if data is not None else []
        except DecodeError as error:
            raise CorruptFile(directory.path_of(LEADER_EPOCH_CHECKPOINT), str(error)) from error
        self.leader_epoch = self.latest_epoch
        """The current leader epoch, -1 for none. The leader sets it, possibly before anything is appended in it."""

    @property
    def entries(self) -> list[EpochEntry]:
        """A copy of the entries, oldest first."""
        return list(self._entries)

    @property
    def latest_epoch(self) -> int:
        """The last epoch that was assigned, -1 if none ever was."""
        return self._entries[-1].epoch if self._entries else NO_EPOCH

    def assign(self, epoch: int, start_offset: int) -> bool:
        """Begin `epoch` at `start_offset` and drop later entries; return False if it is the latest already."""
        if self._entries and self._entries[-1].epoch == epoch:
            return False
        self._entries = _assigned(self._entries, epoch, start_offset)
        self.leader_epoch = epoch
        self._file.changed()
        return True

    def seen_by_readers(self, log_end_offset: int) -> Sequence[EpochEntry]:
        """Return the entries, with the current leader epoch if it is not assigned yet."""
        if self.leader_epoch <= self.latest_epoch:
            return self._entries
        return _assigned(self._entries, self.leader_epoch, log_end_offset)

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """Return (largest epoch not above `epoch`, offset where the next one begins); (-1, -1) if unknown.

        For an epoch older than all known ones the result has the requested epoch, as in Kafka.
        """
        entries = self.seen_by_readers(log_end_offset)
        if not entries or epoch == NO_EPOCH or epoch > entries[-1].epoch:
            return NO_EPOCH, NO_OFFSET
        if epoch == entries[-1].epoch:
            return epoch, log_end_offset
        found = bisect_right(entries, epoch, key=lambda entry: entry.epoch)
        return (entries[found - 1].epoch if found else epoch), entries[found].start_offset

    def truncate_from_end(self, offset: int) -> None:
        """Drop the epochs that begin at or after `offset`, which is the log end now."""
        while self._entries and self._entries[-1].start_offset >= offset:
            self._entries.pop()
            self.leader_epoch = self.latest_epoch
            self._file.changed()

    def truncate_from_start(self, offset: int) -> None:
        """Let the epoch at `offset` begin there, and drop older ones: the log starts at `offset` now."""
        found = bisect_right(self._entries, offset, key=lambda entry: entry.start_offset)
        if not found or (found == 1 and self._entries[0].start_offset == offset):
            return
        self._entries[:found] = [EpochEntry(self._entries[found - 1].epoch, offset)]
        self._file.changed()

    # --- the file ---

    @property
    def is_dirty(self) -> bool:
        """Whether the entries may be missing from the file after a power cut."""
        return self._file.is_dirty

    def content(self) -> bytes:
        """Return the bytes of the file."""
        return encode_leader_epochs(self._entries)

    def replacement(self) -> Replacement:
        """Return the current content of the file, for a SyncJob to write."""
        return self._file.replacement(self.content())

    def write(self) -> None:
        """Write the entries to the file. Durable on return. Nothing is done after `give_up`. StorageError."""
        if self.is_dirty:
            self._file.write(self.content())

    def sync_job(self) -> SyncJob | None:
        """Return a job that writes the file and may run in a thread; None if the file is up to date."""
        return SyncJob(self._file.directory.disk, replacements=[self.replacement()]) if self.is_dirty else None

    def give_up(self) -> None:
        """Stop writing, also writes in progress: the directory is renamed, or opened again by another object."""
        self._file.give_up()


def _assigned(entries: list[EpochEntry], epoch: int, start_offset: int) -> list[EpochEntry]:
    """Return the entries with `epoch` from `start_offset` on, without those that contradict it."""
    retained = len(entries)
    while retained and (entries[retained - 1].epoch >= epoch or entries[retained - 1].start_offset >= start_offset):
        retained -= 1
    return [*entries[:retained], EpochEntry(epoch, start_offset)]
