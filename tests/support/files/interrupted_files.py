"""A file system in memory that does something else before a certain call, as another thread would."""

from collections.abc import Callable
from typing import Any

from tests.support.files.memory_files import MemoryFiles


class InterruptedFiles(MemoryFiles):
    """`interrupt` runs once, before the call that it selects."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self.interruptions: list[tuple[str, str, Callable[[], None]]] = []
        """Those that have not happened."""

    def interrupt(self, name: str, path: str, action: Callable[[], None]) -> None:
        """Do `action` right before the next call `name` on `path`."""
        self.interruptions.append((name, path, action))

    def _call(self, name: str, path: str) -> Any:
        for interruption in self.interruptions:
            if interruption[:2] == (name, path):
                self.interruptions.remove(interruption)
                interruption[2]()
                break
        return super()._call(name, path)
