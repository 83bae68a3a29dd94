"""The disk of a simulated machine: files in memory that a kill leaves as they are and a power cut does not.

One process after another runs on it. `PowerCut` out of a call is the death of the one that called.
"""

import os
from collections.abc import Callable
from typing import Any

from tests.support.files.memory_files import MemoryFiles, PowerCut
from tests.support.files.memory_nodes import Inode


class _Forgotten(list[Any]):
    """A list of calls that keeps none: a simulated hour has millions."""

    def append(self, call: Any) -> None:
        pass


class Disk(MemoryFiles):
    """`when_cut` is told when a call met the end."""

    def __init__(self, seed: int, now_ms: Callable[[], int]) -> None:
        super().__init__(seed)
        self.calls = _Forgotten()
        self.when_cut: Callable[[], None] = lambda: None
        self._now_ms = now_ms
        self._drops_failed_syncs = False

    @property
    def now_ms(self) -> int:
        return self._now_ms()

    @now_ms.setter
    def now_ms(self, value: int) -> None:
        pass

    def drop_failed_syncs(self) -> None:
        """From now on a sync that fails is as on Linux: what it should have written is never written by a later one."""
        self._drops_failed_syncs = True

    def write_to(self, path: str, target: str) -> None:
        """Copy a folder and what is below it to a directory of this machine, which is made."""
        os.mkdir(target)
        for name in self.peek_names(path):
            data = self.peek(f"{path}/{name}")
            if data is None:
                self.write_to(f"{path}/{name}", f"{target}/{name}")
            else:
                with open(f"{target}/{name}", "wb") as file:
                    file.write(data)

    def _call(self, name: str, path: str) -> Any:
        try:
            return super()._call(name, path)
        except PowerCut:
            self.when_cut()
            raise
        except OSError:
            if name == "sync" and self._drops_failed_syncs:
                self._drop_changes(path)
            raise

    def _drop_changes(self, path: str) -> None:
        """The page cache calls clean what it could not write: it can be read, for as long as the power is there."""
        folder, name = self._folder_of(path)
        found = folder.names.get(name)
        if isinstance(found, Inode):
            found.drop_changes()
