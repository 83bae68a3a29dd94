"""The lock on a file in memory, as long as it is held."""

from collections.abc import Callable


class MemoryLock:
    """A row in the table of locks, and the file that stands for it."""

    def __init__(self, locks: dict[str, int], remove: Callable[[str], None], path: str) -> None:
        self._locks, self._remove, self._path = locks, remove, path

    def release(self) -> None:
        """Remove the file and release the lock."""
        self._locks.pop(self._path, None)
        self._remove(self._path)
