"""The logs of partitions: their offsets, their size, and the records appended to them.

A log that was not used in this run is described from the state that the last run stored at a clean shutdown: no log
is opened for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from barnabas.broker.partitions.disk_space.disk_space_watch import DiskSpaceReading
    from barnabas.broker.services import Services


class PartitionEnds(NamedTuple):
    """The end offsets of a partition for its readers."""

    high_watermark: int
    last_stable_offset: int | None
    """None for a log that is not open: only opening it shows whether a transaction is open in it."""


class LogSummary(NamedTuple):
    """Summary of a log."""

    log_start_offset: int
    log_end_offset: int
    size: int
    """Bytes of its segments, without their indexes."""
    segments_count: int
    held_back: int | None
    """How many offsets open transactions hide from read_committed consumers; None for a log that is not open."""


class Recovering(NamedTuple):
    """Recovery that remains in one data directory."""

    logs: int
    segments: int
    """Segments of the logs in recovery now, outside the event loop."""


class AppendTotals(NamedTuple):
    """Records appended to one partition in this run."""

    topic: str
    records: int
    size: int


def ends(services: Services, topic: str, partition: int) -> PartitionEnds | None:
    """Return the end offsets; None if there is no such partition, or if only opening the log would show them."""
    partitions = services.partitions
    if partitions.is_open(topic, partition):
        log = partitions.get(topic, partition)
        return PartitionEnds(log.high_watermark, log.last_stable_offset)
    end = partitions.directory.resting_end(topic, partition) if partitions.is_here(topic, partition) else None
    return None if end is None else PartitionEnds(end, None)


def summary(services: Services, topic: str, partition: int) -> LogSummary | None:
    """Return the summary of an existing log; None if only opening it would show it. Raises StorageError."""
    partitions = services.partitions
    if partitions.is_open(topic, partition):
        log = partitions.get(topic, partition)
        held_back = log.high_watermark - log.last_stable_offset
        return LogSummary(log.log_start_offset, log.log_end_offset, log.size, log.segments_count, held_back)
    resting = partitions.directory.resting(topic, partition)
    return None if resting is None else LogSummary(*resting, held_back=None)


def offline_reason(services: Services) -> str | None:
    """Return the reason why no log can be used any more; None if logs can be used."""
    return services.partitions.directory.offline_reason


def offline_directories(services: Services) -> int:
    """Return how many data directories have failed."""
    return services.partitions.directory.offline_count


def still_recovering(services: Services) -> dict[str, Recovering]:
    """Return the recovery that remains after an unclean shutdown, by the path of the data directory."""
    partitions = services.partitions
    failed, line = partitions.failed, partitions.recoveries.beside
    return {
        member.path: Recovering(sum(not failed.has(key) for key in member.unrecovered), line.segments_in(member.path))
        for member in partitions.directory.members
    }


def refused(services: Services) -> int:
    """Return how many partitions could not be opened at the last attempt."""
    return len(services.partitions.failed.reasons)


def disk_space_readings(services: Services) -> Iterator[DiskSpaceReading]:
    """Return the present free space of each data directory."""
    return services.disk_space.readings()


def below_min_insync_replicas(services: Services) -> int:
    """Return how many open logs have fewer in-sync replicas than their min.insync.replicas requires."""
    return sum(not log.enough_replicas for log in services.partitions.open_logs())


def appended(services: Services) -> Iterator[AppendTotals]:
    """Return the records appended in this run to each open log."""
    return (AppendTotals(log.topic, *log.appended) for log in services.partitions.open_logs())


def appended_before(services: Services) -> tuple[int, int]:
    """Return (records, bytes) appended in this run to logs no longer open: of partitions deleted or moved."""
    past = services.partitions.past_appends
    return past.records, past.size
