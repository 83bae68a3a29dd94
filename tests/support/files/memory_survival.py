"""The state of files and names in memory after a power cut: what was synced, and by chance some of the changes since.

Knows nodes, neither paths nor calls.
"""

import random
from typing import Literal, TypeVar

from tests.support.files.memory_nodes import Folder, Inode

SECTOR_BYTES = 512
_LOST_SECTORS = 0.2
_LOST_CHANGES = 0.5
_TORN_WRITES = 0.5

Survival = Literal["nothing", "some", "scattered", "everything"]
"""Of what was not safe. "some": the first few changes of each file and directory. "scattered": any of them."""

_Change = TypeVar("_Change")


class Fate:
    """Of one power cut. `torn`: sectors of writes that survive with "some" may be zeros."""

    def __init__(self, dice: random.Random, survival: Survival, *, torn: bool) -> None:
        self._dice, self.survival, self._torn = dice, survival, torn

    def surviving(self, changes: list[_Change]) -> list[_Change]:
        """Which changes of one file or directory survive, each at least in part."""
        if self.survival == "scattered":
            return [change for change in changes if self._dice.random() >= _LOST_CHANGES]
        return changes[: self._dice.randint(0, len(changes)) if self.survival == "some" else 0]

    def write(self, inode: Inode, data: bytearray, position: int, written: bytes, *, is_last: bool) -> None:
        """Put what is left of a write that survives into `data`."""
        if self.survival == "scattered":
            self._write_around_a_hole(inode, data, position, written)
            return
        if is_last:
            written = written[: self._dice.randint(0, len(written))]
        inode.change(data, (position, written))
        if self._torn:
            self._tear(data, position, written)

    def _write_around_a_hole(self, inode: Inode, data: bytearray, position: int, written: bytes) -> None:
        """All of it, or all but some bytes, from anywhere to anywhere: these are what they were before."""
        first, last = len(written), len(written)
        if self._dice.random() < _TORN_WRITES:
            first, last = sorted(self._dice.randint(0, len(written)) for _ in range(2))
        inode.change(data, (position, written[:first]))
        if last < len(written):
            inode.change(data, (position + last, written[last:]))

    def _tear(self, data: bytearray, position: int, written: bytes) -> None:
        """Lose some of the sectors of an unsynced write: the new size was stored and not they."""
        start = -(-position // SECTOR_BYTES) * SECTOR_BYTES
        for sector in range(start, position + len(written), SECTOR_BYTES):
            if self._dice.random() < _LOST_SECTORS:
                end = min(sector + SECTOR_BYTES, len(data))
                data[sector:end] = bytes(end - sector)


def settle(folder: Folder, fate: Fate) -> None:
    """Let a folder and all below it be as they are after the cut."""
    names = dict(folder.safe)
    for change in fate.surviving(folder.changes):
        change(names)
    folder.names, folder.safe = names, dict(names)
    folder.changes.clear()
    for node in names.values():
        if isinstance(node, Folder):
            settle(node, fate)
        else:
            _settle_file(node, fate)


def _settle_file(inode: Inode, fate: Fate) -> None:
    data = bytearray(inode.safe)
    changes = fate.surviving(inode.changes)
    for number, change in enumerate(changes, 1):
        if isinstance(change, tuple):
            fate.write(inode, data, *change, is_last=number == len(changes))
        else:
            inode.change(data, change)
    inode.data, inode.safe = data, bytearray(data)
    inode.changes.clear()
