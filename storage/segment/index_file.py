# compiled: mypyc
"""The common part of the two sparse indexes: entries of two columns in memory, and their file.

Knows columns of integers; the subclasses know their meaning. Entries of an active segment are in memory and are
written to the file when the segment is sealed or closed: an index is derived from the log, so after a crash it is
rebuilt. A sealed segment's entries are read when first needed and evicted under memory pressure (Disk.indexes).

Invariant: the first column strictly increases. The first `_in_file` entries are the same in the file and in memory.
"""

from __future__ import annotations

from array import array
from struct import Struct
from typing import Self

from barnabas.protocol.files.preallocation import trimmed_size
from barnabas.storage.disk.directory import Directory


class IndexFile:
    """The entries of a segment's index. Not loaded until `load`; an active segment's are never evicted."""

    entry: Struct
    columns: tuple[str, str]  # array type codes

    def __init__(self, directory: Directory, name: str, base_offset: int, size_max: int) -> None:
        self.directory = directory
        self.name = name
        self.base_offset = base_offset
        self.entries_max = max(size_max // self.entry.size, 2)
        self.is_active = False
        self.recently_used = False
        self._first = array(self.columns[0])
        self._second = array(self.columns[1])
        self._is_loaded = False
        self._in_file = 0

    @property
    def is_loaded(self) -> bool:
        """Whether the entries are in memory."""
        return self._is_loaded

    @property
    def is_written(self) -> bool:
        """Whether the file has every entry that is in memory."""
        return self._in_file == len(self._first)

    def __len__(self) -> int:
        """Return the number of entries; loaded indexes only."""
        assert self._is_loaded
        return len(self._first)

    def create(self) -> None:
        """Begin with no entries; the file is created by the first write."""
        self._hold(array(self.columns[0]), array(self.columns[1]))

    def take(self, other: Self) -> None:
        """Take over the entries of another index, which is not used again; the next write updates the file."""
        self._hold(other._first, other._second)

    def load(self, last_max: int) -> bool:
        """Read the entries; return False if there is no file, or its content is not a valid index.

        `last_max` bounds the second column. Zeros at the end of a preallocated file are no entries.
        """
        data = self.directory.read(self.name)
        if data is None:
            return False
        size = trimmed_size(data, self.entry.size)
        data = data[:size]
        first, second = self._decode(data)
        if not self._is_sound(first, second, last_max):
            return False
        self._hold(first, second)
        self._in_file = len(first)
        if not self.is_active:
            self.directory.disk.indexes.admit(self, max(len(data), 1))
        return True

    def activate(self) -> None:
        """Keep the entries in memory from now on."""
        self.is_active = True
        self.directory.disk.indexes.discard(self)

    def seal(self) -> None:
        """Allow the eviction of the entries, which are written."""
        assert self.is_written
        self.is_active = False
        self.directory.disk.indexes.admit(self, max(self._in_file * self.entry.size, 1))

    def evict(self) -> bool:
        """Evict the entries, unless they are not in the file."""
        if self.is_active or not self.is_written:
            return False
        self._is_loaded = False
        self._first, self._second = array(self.columns[0]), array(self.columns[1])
        self._in_file = 0
        return True

    def write(self) -> None:
        """Write the entries in memory to the file, trimmed; it exists afterwards even without entries. Not synced."""
        assert self._is_loaded
        data = self._encode(self._first[self._in_file :], self._second[self._in_file :])
        self.directory.write(self.name, data, self._in_file * self.entry.size)
        self._in_file = len(self._first)

    def keep(self, count: int) -> None:
        """Drop every entry but the first `count`; the next write updates the file."""
        del self._first[count:], self._second[count:]
        self._in_file = min(self._in_file, count)

    def _hold(self, first: array[int], second: array[int]) -> None:
        self._first, self._second = first, second
        self._is_loaded = self.recently_used = True
        self._in_file = 0

    def _decode(self, data: bytes) -> tuple[array[int], array[int]]:
        first, second = zip(*self.entry.iter_unpack(data), strict=True) if data else ((), ())
        return array(self.columns[0], first), array(self.columns[1], second)

    def _encode(self, first: array[int], second: array[int]) -> bytes:
        return b"".join(map(self.entry.pack, first, second))

    def _is_sound(self, first: array[int], second: array[int], last_max: int) -> bool:
        raise AssertionError("a subclass defines the order")
