# compiled: mypyc
"""The five offsets of a log that limit readers and writers, and the methods that move them.

log_start_offset: the first offset readers may fetch. log_end_offset: the next to be assigned. high_watermark: readers
stop here. last_stable_offset: readers of committed records stop here, before the oldest undecided transaction.
recovery_point: records below it are on the disk.

Knows offsets, and from the producers which transactions are undecided; knows no segments, and syncs nothing. With
min.insync.replicas=1 this machine is enough, and the high watermark is the log end; with more it never moves: there
is one replica. If flush.messages is reached, the records after the recovery point must be synced before readers
see them, and the high watermark stays until they are (docs/decisions/0136-readers-see-what-is-synced.md).

Invariant, checked after each move: log_start_offset <= last_stable_offset <= high_watermark <= log_end_offset. The
start, the end, the high watermark and the recovery point never go back.
"""

from __future__ import annotations

from barnabas.storage.config import LONG_MAX, LogConfig
from barnabas.storage.producers.producer_state_manager import ProducerStateManager


class Watermarks:
    """The watermarks of one log. Readable by all code; only the methods here move them."""

    __slots__ = (
        "_flush_messages",
        "_is_shown_at_once",
        "_name",
        "_producers",
        "_undecided",
        "_unreplicated",
        "enough_replicas",
        "high_watermark",
        "last_stable_offset",
        "log_end_offset",
        "log_start_offset",
        "recovery_point",
    )

    def __init__(
        self,
        name: str,
        producers: ProducerStateManager,
        config: LogConfig,
        *,
        log_start_offset: int,
        log_end_offset: int,
        high_watermark: int | None,
        recovery_point: int,
    ) -> None:
        """Take the checkpoint's `high_watermark`, None without one. All records found at a start are visible."""
        self._name = name
        self._producers = producers
        self._undecided = producers.unstable  # used by every append: saves a call
        self._unreplicated = producers.unreplicated  # likewise
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset
        self.recovery_point = recovery_point
        known = log_start_offset if high_watermark is None else high_watermark
        if config.min_insync_replicas <= 1:
            known = log_end_offset
        self.high_watermark = self.last_stable_offset = min(max(known, log_start_offset), log_end_offset)
        self.configure(config)

    def configure(self, config: LogConfig) -> None:
        """Apply these settings from now on. Records that readers have seen stay visible."""
        self.enough_replicas = config.min_insync_replicas <= 1
        self._flush_messages = config.flush_messages
        self._is_shown_at_once = self.enough_replicas and config.flush_messages == LONG_MAX
        self._show()

    @property
    def is_sync_awaited(self) -> bool:
        """Whether flush.messages is reached: a sync is needed before readers see more and writers are answered."""
        return self.log_end_offset - self.recovery_point >= self._flush_messages

    def extend(self, log_end_offset: int) -> None:
        """Move the log end after an append, which the producers' state includes already."""
        assert log_end_offset > self.log_end_offset, (
            f"{self._name}: an append moves the log's end from {self.log_end_offset} back to {log_end_offset}"
        )
        self.log_end_offset = log_end_offset
        if self._is_shown_at_once:
            self.high_watermark = log_end_offset
            if not self._undecided:
                self.last_stable_offset = log_end_offset
            elif self._unreplicated:
                self._producers.high_watermark_moved(log_end_offset)
                self._settle()
        elif self.enough_replicas:
            self._show()
        assert self.log_start_offset <= self.last_stable_offset <= self.high_watermark <= log_end_offset, (
            self._disorder()
        )

    def synced(self, recovery_point: int) -> None:
        """Move the recovery point: everything below is on the disk."""
        if recovery_point > self.recovery_point:
            self.recovery_point = recovery_point
            if not self._is_shown_at_once:
                self._show()

    def start_at(self, log_start_offset: int) -> None:
        """Move the log's start, at or below the high watermark."""
        assert log_start_offset >= self.log_start_offset, (
            f"{self._name}: the log's start would go back from {self.log_start_offset} to {log_start_offset}"
        )
        self.log_start_offset = log_start_offset
        self._settle()

    def release(self, producer_id: int) -> None:
        """Release the transactions of this producer that were ended with `hold`."""
        self._producers.release(producer_id, self.high_watermark)
        self._settle()

    def _show(self) -> None:
        """Move the high watermark as far as replicas and syncs permit, and the last stable offset after it."""
        if self.enough_replicas:
            reached = self.recovery_point if self.is_sync_awaited else self.log_end_offset
            self.high_watermark = max(self.high_watermark, reached)
        self._producers.high_watermark_moved(self.high_watermark)
        self._settle()

    def _settle(self) -> None:
        """Set the last stable offset from the other offsets and the transactions."""
        undecided = self._producers.first_unstable_offset
        if undecided is None:
            self.last_stable_offset = self.high_watermark
        else:
            self.last_stable_offset = max(min(undecided, self.high_watermark), self.log_start_offset)
        assert self.log_start_offset <= self.last_stable_offset <= self.high_watermark <= self.log_end_offset, (
            self._disorder()
        )

    def _disorder(self) -> str:
        return (
            f"{self._name}: watermarks are out of order: log start {self.log_start_offset}, last stable "
            f"{self.last_stable_offset}, high watermark {self.high_watermark}, log end {self.log_end_offset}"
        )
