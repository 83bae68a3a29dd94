"""The `.snapshot` files of one partition: their offsets, writing one, finding the newest readable one.

Knows files; producer_state_manager.py has the producer state. A snapshot named N holds the state when the log ended at
N. It is written without a sync when a segment is rolled: torn by a power cut it fails its CRC and an older one is
used; the recovery point passes it only after it was synced (`unsynced`). If the recovery point may be N already,
the flush that syncs the segment's indexes writes it after them (`write_later`): it shows that they can be trusted.
docs/formats/producer-snapshot.md shows the bytes.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files.names import FileKind, segment_file
from barnabas.protocol.files.producer_snapshot import ProducerEntry, iter_entries
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.small_file import Replacement, SmallFile
from barnabas.storage.steps import Steps, collected


class ProducerSnapshots:
    """The snapshots of a partition, by offset."""

    def __init__(self, directory: Directory, offsets: Iterable[int]) -> None:
        """Take `offsets`: those of the existing snapshots."""
        self._directory = directory
        self.offsets = sorted(offsets)
        self.unsynced: set[int] = set()
        self._later: dict[int, Replacement] = {}

    def write(self, offset: int, content: bytes) -> None:
        """Write the state below `offset`, unless that snapshot exists."""
        if offset in self.offsets:
            return
        self._directory.write(_name(offset), content, 0)
        insort(self.offsets, offset)
        self.unsynced.add(offset)

    def write_later(self, offset: int, content: bytes) -> None:
        """Schedule the state below `offset` for a flush to write: `replacements`, then `written`."""
        file = SmallFile(self._directory, _name(offset))
        file.changed()
        self._later[offset] = file.replacement(content)

    @property
    def are_awaited(self) -> bool:
        """Whether there are snapshots for a flush to write."""
        return bool(self._later)

    def is_awaited(self, offset: int) -> bool:
        """Return whether a flush has to write this snapshot."""
        return offset in self._later

    def replacements(self, end_offset: int) -> dict[int, Replacement]:
        """Return the snapshots that a flush up to `end_offset` has to write, for a SyncJob, by their offsets."""
        return {offset: each for offset, each in self._later.items() if offset <= end_offset}

    def written(self, replacements: dict[int, Replacement]) -> None:
        """Note that these are on the disk, except those that were cancelled meanwhile."""
        for offset, replacement in replacements.items():
            if self._later.get(offset) is replacement:
                del self._later[offset]
                insort(self.offsets, offset)

    def take_back(self, offset: int) -> None:
        """Cancel the scheduled write of the state below `offset`."""
        if (replacement := self._later.pop(offset, None)) is not None:
            replacement.file.give_up()
            if self._directory.exists(_name(offset)):
                insort(self.offsets, offset)

    def give_up(self) -> None:
        """Stop writing, also writes in progress."""
        for replacement in self._later.values():
            replacement.file.give_up()

    def newest(self, at_or_below: int) -> Steps[tuple[int, list[ProducerEntry]] | None]:
        """Return offset and entries of the newest readable snapshot, None without one. Removes damaged ones."""
        for offset in reversed(self.offsets[: bisect_right(self.offsets, at_or_below)]):
            data = self._directory.read(_name(offset))
            if data is not None:
                try:
                    return offset, (yield from collected(iter_entries(data, offset)))
                except DecodeError:
                    pass  # torn, invalid, or of a later version: an older one and the log give the same state
            self.remove([offset])
        return None

    def doubt_from(self, offset: int) -> None:
        """Mark the snapshots from `offset` on as unsynced: a killed run may not have synced them."""
        self.unsynced |= {known for known in self.offsets if known >= offset}

    def remove(self, offsets: Iterable[int]) -> None:
        """Remove snapshots; durable when the directory is synced."""
        for offset in list(offsets):
            self._directory.remove(_name(offset))
            self._forget(offset)

    def mark_deleted(self, offset: int) -> str | None:
        """Rename the snapshot at `offset` to `*.deleted` and return that name; None if there is none."""
        self.take_back(offset)
        if offset not in self.offsets:
            return None
        name = self._directory.mark_deleted(_name(offset))
        self._forget(offset)
        return name

    def paths(self, offsets: Iterable[int]) -> list[str]:
        """Return the paths of these snapshots."""
        return [self._directory.path_of(_name(offset)) for offset in offsets]

    def _forget(self, offset: int) -> None:
        self.unsynced.discard(offset)
        self.offsets.remove(offset)


def _name(offset: int) -> str:
    return segment_file(offset, FileKind.PRODUCER_SNAPSHOT)
