# compiled: mypyc
"""The aborted transactions of a segment: those with their ABORT marker in it, in the order of the markers.

In memory while the segment is active, written with the other indexes and, unlike them, whenever the log is synced:
the recovery point may not pass a marker whose entry could be lost. Recovery, which adds many, drops written entries
from memory: they are read again when needed. The file exists only if there is an entry.
Format: protocol/files/txn_index.py. It lists the producers whose batches readers of committed records skip (KIP-98).
"""

from __future__ import annotations

from bisect import bisect_left

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files.txn_index import ENTRY_SIZE, AbortedTxn, decode, encode
from barnabas.storage.disk.directory import Directory
from barnabas.storage.errors import CorruptFile


class TransactionIndex:
    """The entries of one segment; read when first needed."""

    def __init__(self, directory: Directory, name: str, base_offset: int) -> None:
        self.directory = directory
        self.name = name
        self.base_offset = base_offset
        self._entries: list[AbortedTxn] | None = None  # those after the first `_released`
        self._released = 0  # how many are only in the file
        self._in_file = 0
        self._is_synced = True

    @property
    def entries(self) -> list[AbortedTxn]:
        """Every entry. CorruptFile if the file is invalid: the aborted transactions are then unknown."""
        held = self.held()
        if self._released:
            held[:0] = self._read()[: self._released]
            self._released = 0
        return held

    def __len__(self) -> int:
        """Return the number of entries, 0 before they were first needed."""
        return self._released + self.in_memory

    @property
    def in_memory(self) -> int:
        """The number of entries in memory."""
        return len(self._entries) if self._entries is not None else 0

    @property
    def needs_sync(self) -> bool:
        """Whether an entry could be lost in a power cut."""
        return not self._is_synced

    def held(self) -> list[AbortedTxn]:
        """Return the entries in memory, read from the file the first time; `append` reads nothing afterwards."""
        if self._entries is None:
            self._entries = self._read()
            self._in_file = len(self._entries)
        return self._entries

    def append(self, entry: AbortedTxn) -> None:
        """Add a transaction; its marker is the last in the segment."""
        entries = self.held()
        assert not entries or entry.last_offset > entries[-1].last_offset
        entries.append(entry)
        self._is_synced = False

    def check(self) -> None:
        """Read the file and drop its entries again. CorruptFile if it is invalid."""
        count = len(self.entries)
        self.release()
        assert len(self) == count

    def release(self) -> None:
        """Write the entries in memory, and drop them until they are needed again."""
        if self._entries:
            if self._in_file < len(self):
                self.write()
            self._released += len(self._entries)
            self._entries = []

    def collect(self, start_offset: int, upper_bound: int) -> tuple[list[AbortedTxn], bool]:
        """Return the transactions that overlap [start_offset, upper_bound), and whether no later one can.

        An entry with a last stable offset at or above the bound shows that later transactions begin after it.
        """
        found: list[AbortedTxn] = []
        entries = self.entries
        for index in range(bisect_left(entries, start_offset, key=_last_offset), len(entries)):
            entry = entries[index]
            if entry.first_offset < upper_bound:
                found.append(entry)
            if entry.last_stable_offset >= upper_bound:
                return found, True
        return found, False

    def truncate(self, offset: int) -> None:
        """Drop the entries of markers at or after `offset`; the next write updates the file."""
        entries = self.entries
        count = bisect_left(entries, offset, key=_last_offset)
        if count < len(entries):
            del entries[count:]
            self._in_file = min(self._in_file, count)
            self._is_synced = False

    def clear(self) -> None:
        """Drop everything, readable or not."""
        self._entries = []
        self._released = self._in_file = 0
        self._is_synced = not self.directory.exists(self.name)

    def write(self) -> None:
        """Write the entries in memory to the file; no file without entries. Not synced."""
        if self._is_synced:
            return
        entries = self.held()
        if not len(self):
            self.directory.remove(self.name)
            self._is_synced = True  # the removed name is made durable by the directory's sync
            return
        self.directory.write(self.name, encode(entries[self._in_file - self._released :]), self._in_file * ENTRY_SIZE)
        self._in_file = len(self)

    def mark_synced(self, count: int) -> None:
        """Note that the first `count` entries, all at that time, have been synced."""
        self._is_synced = self._is_synced or count == len(self)

    def _read(self) -> list[AbortedTxn]:
        path = self.directory.path_of(self.name)
        try:
            entries = decode(self.directory.read(self.name) or b"")
        except DecodeError as error:
            raise CorruptFile(path, str(error)) from error
        if entries and entries[0].last_offset < self.base_offset:
            raise CorruptFile(path, f"{entries[0]} belongs to another segment")
        return entries


def _last_offset(entry: AbortedTxn) -> int:
    return entry.last_offset
