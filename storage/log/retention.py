"""Which segments of a log are too old, too many, or before its start. A pure choice; nothing is deleted here.

Segments go from the oldest on, and only while all they hold is below the high watermark. The rules are tried in Kafka's
order (start offset, size, time), each going on where the one before stopped. A log with `cleanup.policy=compact` alone
loses only what lies before its start offset. Size and time take nothing that is not decided: unlike Kafka's they stop
at the last stable offset, or a transaction that commits later would be shown without its beginning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from barnabas.storage.config import LogConfig


class RetainedSegment(Protocol):
    """What is asked of a segment. `largest_timestamp` may cost a read, so it is asked last, and only if it is known."""

    @property
    def base_offset(self) -> int:
        """Offset of its first batch, or below."""

    @property
    def size(self) -> int:
        """Bytes of its log file."""

    @property
    def is_age_known(self) -> bool:
        """Whether `largest_timestamp` counts every record; else the segment stays until it does."""

    @property
    def largest_timestamp(self) -> int:
        """Its age, ms since the epoch."""


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
    """Why each segment may go: one reason for each, from the oldest on; the others stay.

    If every segment goes, the caller first rolls an empty one at the log's end. The last one never goes while empty.
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
"""Segments that may be judged, with the offset each ends at: a prefix of the log's, as a watermark cuts it."""


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
