"""Retention: deleting segments of a log that are too old, exceed the size, or lie before its start.

`deletable_segments` is a pure function. Segments are deleted from the oldest on, and only while all their records are
below the high watermark. The rules are applied in Kafka's order (start offset, size, time), each continuing where the
previous one stopped. A log with only `cleanup.policy=compact` loses only segments before its start offset. Size and
time delete no undecided records: unlike in Kafka they stop at the last stable offset, or a transaction that commits
later would be shown without its beginning.

`Retention` applies it: a segment's files are renamed at once and removed file.delete.delay.ms later, when no response
reads from them any more. The new names are synced by a job for a thread; as long as a power cut could restore the old
ones, the log begins with them for the checkpoints (`first_on_disk`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Protocol

from barnabas.storage.config import LogConfig
from barnabas.storage.disk.deletion import Deletions
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.sync_job import SyncJob
from barnabas.storage.log.roll import Roller
from barnabas.storage.log.segments import Segments
from barnabas.storage.log.watermarks import Watermarks
from barnabas.storage.producers.snapshots import ProducerSnapshots
from barnabas.storage.refusals import OffsetOutOfRange
from barnabas.storage.segment.leader_epoch_cache import LeaderEpochCache
from barnabas.storage.segment.segment import Segment
from barnabas.storage.segment.times import settle_age
from barnabas.storage.steps import Steps


class Retention:
    """Moves the start of one log, and deletes the segments that are not retained any more."""

    __slots__ = (
        "_config",
        "_deletions",
        "_directory",
        "_epochs",
        "_given_up",
        "_name",
        "_roller",
        "_segments",
        "_snapshots",
        "_watermarks",
        "awaits_flush",
    )

    def __init__(
        self,
        directory: Directory,
        name: str,
        segments: Segments,
        watermarks: Watermarks,
        snapshots: ProducerSnapshots,
        epochs: LeaderEpochCache,
        roller: Roller,
        deletions: Deletions,
        config: LogConfig,
    ) -> None:
        self._directory = directory
        self._name = name
        self._segments = segments
        self._watermarks = watermarks
        self._snapshots = snapshots
        self._epochs = epochs
        self._roller = roller
        self._deletions = deletions
        self.awaits_flush = False
        self._given_up: tuple[int, int] | None = None  # number of the name change, and base offset of the first segment
        self.configure(config)

    def configure(self, config: LogConfig) -> None:
        """Apply these settings from now on."""
        self._config = config

    def start_at(self, offset: int) -> int:
        """Move the log's start to `offset` (-1: the high watermark); return the new start. It never goes back.

        Raises OffsetOutOfRange. The files are removed by the next `apply`.
        """
        high_watermark = self._watermarks.high_watermark
        wanted = high_watermark if offset == -1 else offset
        if not 0 <= wanted <= high_watermark:
            raise OffsetOutOfRange(
                f"{self._name}: cannot delete before {offset}, the high watermark is {high_watermark}"
            )
        self._move_start(wanted)
        return self._watermarks.log_start_offset

    def settle_ages(self, now_ms: int) -> Steps[None]:
        """Determine, before `apply`, the age of every segment that it may find too old."""
        config = self._config
        if config.is_deleted_by_age_or_size and config.retention_ms >= 0:
            going_anyway = len(self._deletable(now_ms, config._replace(retention_ms=-1)))
            for segment in self._segments.all[going_anyway:]:
                yield from settle_age(segment)
                if now_ms - segment.largest_timestamp <= self._config.retention_ms:
                    return

    def apply(self, now_ms: int, at_most: int = sys.maxsize) -> list[str]:
        """Delete the segments that the settings do not retain, oldest first; return a reason for each.

        `at_most`: how many to delete, so that it does not take long; the next `apply` continues. A segment stays while
        a flush has to write the producer snapshot at its end (`awaits_flush`). `sync_job` follows.
        """
        segments = self._segments
        reasons = self._deletable(now_ms, self._config)[:at_most]
        if reasons and len(reasons) == len(segments.all):
            self._roller.roll(now_ms)
        self.awaits_flush = False
        first, gone = self.first_on_disk, 0
        try:
            while gone < len(reasons) and not self.awaits_flush:
                oldest, after = segments.all[:2]
                self.awaits_flush = self._snapshots.is_awaited(after.base_offset)
                if not self.awaits_flush:
                    self._move_start(after.base_offset)
                    self._delete(oldest, now_ms)
                    gone += 1
        finally:
            if segments.all[0].base_offset > first:
                self._given_up = self._directory.changes, first
        return reasons[:gone]

    @property
    def first_on_disk(self) -> int:
        """The base offset of the first file, also after a power cut."""
        if self._given_up is not None and self._directory.changes_synced < self._given_up[0]:
            return self._given_up[1]
        return self._segments.all[0].base_offset

    def sync_job(self) -> SyncJob | None:
        """Return a job for a thread that makes the deletions durable; None if they are."""
        if self.first_on_disk == self._segments.all[0].base_offset:
            return None
        return SyncJob(self._directory.disk, directories=[self._directory])

    def _deletable(self, now_ms: int, config: LogConfig) -> list[str]:
        marks = self._watermarks
        return deletable_segments(
            self._segments.all,
            log_start_offset=marks.log_start_offset,
            log_end_offset=marks.log_end_offset,
            high_watermark=marks.high_watermark,
            last_stable_offset=marks.last_stable_offset,
            config=config,
            now_ms=now_ms,
        )

    def _move_start(self, offset: int) -> None:
        if offset > self._watermarks.log_start_offset:
            self._epochs.truncate_from_start(offset)
            self._watermarks.start_at(offset)

    def _delete(self, segment: Segment, now_ms: int) -> None:
        """Delete a segment. Steps that can fail come first: if one does, the next `apply` retries."""
        names = segment.mark_deleted()
        snapshot = self._snapshots.mark_deleted(segment.base_offset)
        names += [snapshot] if snapshot else []
        segment.log.close()  # a removed file occupies disk space while it is open
        self._segments.replace([segment])
        due_ms = now_ms + self._config.file_delete_delay_ms
        # A start detects the deletion by these names, or by the epochs.
        self._deletions.schedule(due_ms, self._directory, names, [segment.log], before_last=self._epochs.sync_job)


class RetainedSegment(Protocol):
    """The used properties of a segment. `largest_timestamp` may cost a read: it is used last, and only if known."""

    @property
    def base_offset(self) -> int:
        """The offset of its first batch, or below."""

    @property
    def size(self) -> int:
        """The bytes of its log file."""

    @property
    def is_age_known(self) -> bool:
        """Whether `largest_timestamp` covers every record; else the segment stays until it does."""

    @property
    def largest_timestamp(self) -> int:
        """The age of the segment, ms since the epoch."""


def deletable_segments(
    segments: Sequence[RetainedSegment],
    *,
    log_start_offset: int,
    log_end_offset: int,
    high_watermark: int,
    last_stable_offset: int,
    config: LogConfig,
    now_ms: int,
) -> list[str]:
    """Return one reason for each segment to delete, from the oldest on; the others stay.

    If every segment is deleted, the caller first rolls an empty one at the log end. An empty last one is never deleted.
    """
    reasons: list[str] = []
    bounds = [segment.base_offset for segment in segments[1:]] + [log_end_offset]
    candidates = [
        (segment, bound)
        for segment, bound in zip(segments, bounds, strict=True)
        if high_watermark >= bound and (segment is not segments[-1] or segment.size > 0)
    ]

    def go_on(verdicts: Iterator[str | None]) -> None:
        for reason in verdicts:
            if reason is None:
                return
            reasons.append(reason)

    go_on(_before_start(candidates, len(segments), log_start_offset))
    if config.is_deleted_by_age_or_size:
        decided = [(segment, bound) for segment, bound in candidates if bound <= last_stable_offset]
        go_on(_too_large(segments, decided, len(reasons), config.retention_bytes))
        go_on(_too_old(decided[len(reasons) :], config.retention_ms, now_ms))
    return reasons


Candidates = list[tuple[RetainedSegment, int]]
"""Segments that may be deleted, with the end offset of each: a prefix of the log's, limited by a watermark."""


def _before_start(candidates: Candidates, count: int, log_start_offset: int) -> Iterator[str | None]:
    for segment, bound in candidates[: count - 1]:  # the last one has no successor to start from
        breached = bound <= log_start_offset
        yield f"{segment.base_offset}: ends at {bound}, the log starts at {log_start_offset}" if breached else None


def _too_large(
    segments: Sequence[RetainedSegment], candidates: Candidates, first: int, retention_bytes: int
) -> Iterator[str | None]:
    if retention_bytes < 0:
        return
    excess = sum(segment.size for segment in segments[first:]) - retention_bytes
    for segment, _ in candidates[first:]:
        excess -= segment.size
        yield f"{segment.base_offset}: retention.bytes={retention_bytes} exceeded without it" if excess >= 0 else None


def _too_old(candidates: Candidates, retention_ms: int, now_ms: int) -> Iterator[str | None]:
    if retention_ms < 0:
        return
    for segment, _ in candidates:
        if not segment.is_age_known:
            return
        age_ms = now_ms - segment.largest_timestamp
        yield f"{segment.base_offset}: {age_ms} ms old, retention.ms={retention_ms}" if age_ms > retention_ms else None
