"""Detects that a data directory has failed: logs it once, and stops the broker if it cannot run without the directory.

Knows the data directories and the clock. A request that uses a failed directory is refused at once, by the directory
itself; this module only does what follows, some moments later. With one directory there is nothing to watch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas.broker.runtime.log_lines import line, logger

if TYPE_CHECKING:
    from barnabas.broker.runtime.clock import Clock, Timer
    from barnabas.storage.directories.log_directories import LogDirectories

_log = logger("storage")
_INTERVAL_MS = 1_000


class DirectoryWatch:
    """The watch over the directories of one broker."""

    def __init__(self, directories: LogDirectories, clock: Clock) -> None:
        self._directories = directories
        self._clock = clock
        self._timer: Timer | None = None
        self._reported: set[str] = set()
        self.when_failed: Callable[[], None] | None = None
        """Called when the metadata directory has failed, or all directories that contain partitions."""

    def start(self) -> None:
        """Check periodically from now on, if there are several directories."""
        if not self._directories.is_one:
            self._timer = self._clock.call_later(_INTERVAL_MS, self._look)

    def stop(self) -> None:
        """Stop checking."""
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        for each in self._directories.every:
            if each.offline_reason is not None and each.path not in self._reported:
                self._reported.add(each.path)
                _log.error(line("data directory failed", path=each.path, reason=each.offline_reason))
        reason = self._directories.offline_reason
        if reason is None or self.when_failed is None:
            self.start()
        else:
            _log.error(line("the broker stops", reason=reason))
            self.when_failed()
