"""Compacted partitions that were not opened in this run: those that may have something to clean are opened.

Knows names and sizes of files. The content of such a log does not change, but time passes, and an earlier run may have
left work behind. The partitions are checked in the order of their names, a limited number at a time, and each once in
log.retention.check.interval.ms.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from barnabas.protocol.errors import KafkaError
from barnabas.storage.directories.unopened_logs import base_offsets
from barnabas.storage.errors import StorageError

if TYPE_CHECKING:
    from barnabas.broker.partitions.cleaning.cleaning_round import CleanerContext
    from barnabas.broker.partitions.purgatory import PartitionKey
    from barnabas.broker.runtime.scheduler import Work

LOOKED_AT_MAX: Final = 100
"""The number of unopened partitions that are checked before the open logs are checked again."""


class UnopenedCompactedLogs:
    """Opens unopened partitions for the cleaner, and closes them again."""

    def __init__(self, around: CleanerContext) -> None:
        self._around = around
        self._left: list[PartitionKey] = []
        self._swept_ms: int | None = None
        self._woken: dict[PartitionKey, None] = {}

    def wake(self, is_wanted: Callable[[PartitionKey], bool]) -> Work[None]:
        """Open the next partitions that may have something to clean."""
        around = self._around
        now_ms = around.clock.now_ms()
        if not self._left and (self._swept_ms is None or now_ms - self._swept_ms >= around.settings.sweep_ms):
            self._swept_ms = now_ms
            self._left = sorted(
                (key for key in around.partitions.unopened() if around.is_compacted(key[0])), reverse=True
            )
        for _ in range(min(LOOKED_AT_MAX, len(self._left))):
            key = self._left.pop()
            if not around.partitions.is_used(*key) and is_wanted(key):
                with suppress(StorageError, KafkaError):  # it stays closed until the next sweep
                    if self._may_be_dirty(key):
                        around.partitions.get(*key)
                        self._woken[key] = None
            yield None

    def close_all_but(self, wanted: Container[PartitionKey]) -> None:
        """Close the partitions that were opened here, unless they are wanted or appended to."""
        for key in [key for key in self._woken if key not in wanted]:
            del self._woken[key]
            self._around.partitions.close(*key)

    def _may_be_dirty(self, key: PartitionKey) -> bool:
        home = self._around.partitions.directory.home(*key)
        if home is None:
            return False
        bases = sorted(base_offsets(home.directory_of(key)))
        return len(bases) > 1 and (home.checkpoints.first_dirty(key) or 0) < bases[-1]
