"""The aborted transactions of a segment: those whose ABORT marker lies in it, in the order of the markers.

Kept in memory while the segment is active, written with the other indexes and, unlike them, whenever the log is synced:
the recovery point may not pass a marker whose entry could be lost. The file exists only where there is an entry.
Format: protocol/files/txn_index.py; the question it answers is section KIP-98's "which producers to skip".
"""

from __future__ import annotations

from bisect import bisect_left

from protocol.errors import DecodeError
from protocol.files.txn_index import ENTRY_SIZE, AbortedTxn, decode, encode
from storage.directory import Directory
from storage.errors import CorruptFile


class TransactionIndex:
    """Entries of one segment; read when first needed."""

    def __init__(self, directory: Directory, name: str, base_offset: int) -> None:
        self.directory = directory
        self.name = name
        self.base_offset = base_offset
        self._entries: list[AbortedTxn] | None = None
        self._in_file = 0
        self._is_synced = True

    @property
    def entries(self) -> list[AbortedTxn]:
        """Every entry. CorruptFile if the file cannot be read as one: what was aborted is then not known."""
        if self._entries is None:
            data = self.directory.read(self.name) or b""
            try:
                self._entries = decode(data)
            except DecodeError as error:
                raise CorruptFile(self.directory.path_of(self.name), str(error)) from error
            self._in_file = len(self._entries)
            if self._entries and self._entries[0].last_offset < self.base_offset:
                raise CorruptFile(self.directory.path_of(self.name), f"{self._entries[0]} belongs to another segment")
        return self._entries

    def __len__(self) -> int:
        """Number of entries in memory."""
        return len(self._entries) if self._entries is not None else 0

    @property
    def needs_sync(self) -> bool:
        """Whether an entry could be lost in a power cut."""
        return not self._is_synced

    def append(self, entry: AbortedTxn) -> None:
        """Add a transaction; its marker is the last in the segment."""
        entries = self.entries
        assert not entries or entry.last_offset > entries[-1].last_offset
        entries.append(entry)
        self._is_synced = False

    def collect(self, start_offset: int, upper_bound: int) -> tuple[list[AbortedTxn], bool]:
        """The transactions that touch [start_offset, upper_bound), and whether no later one can.

        The first that ended with everything below the bound decided says that later ones begin behind it.
        """
        found: list[AbortedTxn] = []
        for entry in self.entries:
            if entry.last_offset >= start_offset and entry.first_offset < upper_bound:
                found.append(entry)
            if entry.last_stable_offset >= upper_bound:
                return found, True
        return found, False

    def truncate(self, offset: int) -> None:
        """Drop the entries of markers at or behind `offset`; the file follows with the next write."""
        entries = self.entries
        count = bisect_left(entries, offset, key=lambda entry: entry.last_offset)
        if count < len(entries):
            del entries[count:]
            self._in_file = min(self._in_file, count)
            self._is_synced = False

    def clear(self) -> None:
        """Drop everything, readable or not."""
        self._entries = []
        self._in_file = 0
        self._is_synced = not self.directory.exists(self.name)

    def write(self) -> None:
        """Bring the file to what is in memory; no file where there are no entries. Not synced."""
        if self._is_synced:
            return
        entries = self.entries
        if not entries:
            self.directory.remove(self.name)
            self._is_synced = True  # a name removed, which the directory's sync makes durable
            return
        self.directory.write(self.name, encode(entries[self._in_file :]), self._in_file * ENTRY_SIZE)
        self._in_file = len(entries)

    def mark_synced(self, count: int) -> None:
        """The first `count` entries, all there were, have been synced."""
        self._is_synced = self._is_synced or count == len(self)
