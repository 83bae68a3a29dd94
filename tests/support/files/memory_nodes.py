"""What the file system in memory is made of: files and directories, with what of them is safe from a power cut.

Knows neither paths nor calls. Not safe for several threads by itself: memory_files.py lets one in at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator


class Inode:
    """A file's bytes, what of them is safe, and the changes since."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.safe = bytearray()
        self.changes: list[tuple[int, bytes] | int] = []  # (position, bytes) written, or a size cut to
        self.modified_ms = 0

    def change(self, data: bytearray, change: tuple[int, bytes] | int) -> None:
        """Apply a change to `data`."""
        if isinstance(change, int):
            del data[change:]
            data.extend(bytes(change - len(data)))
            return
        position, written = change
        data.extend(bytes(max(0, position - len(data))))
        data[position : position + len(written)] = written

    def sync(self) -> None:
        """What was changed since the last one is safe."""
        for change in self.changes:
            self.change(self.safe, change)
        self.changes.clear()

    def drop_changes(self) -> None:
        """What was changed since the last sync is read still, and no sync will ever make it safe."""
        self.changes.clear()


class Folder:
    """A directory's names, which of them are safe, and the changes since."""

    def __init__(self) -> None:
        self.names: dict[str, Inode | Folder] = {}
        self.safe: dict[str, Inode | Folder] = {}
        self.changes: list[Callable[[dict[str, Inode | Folder]], object]] = []

    def change(self, change: Callable[[dict[str, Inode | Folder]], object]) -> None:
        """Apply a change now, and remember it."""
        change(self.names)
        self.changes.append(change)

    def bytes_below(self) -> int:
        """Bytes in all files in the directory and below."""
        return sum(node.bytes_below() if isinstance(node, Folder) else len(node.data) for node in self.names.values())

    def files_below(self, path: str) -> Iterator[tuple[str, bytes]]:
        """The path and the bytes of each file, and those of each directory, which has none."""
        for name, node in sorted(self.names.items()):
            if isinstance(node, Folder):
                yield f"{path}/{name}/", b""
                yield from node.files_below(f"{path}/{name}")
            else:
                yield f"{path}/{name}", bytes(node.data)
