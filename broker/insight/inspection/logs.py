"""The logs of partitions: their offsets, their size, and what was appended to them.

A log that nobody used in this run is described by what the last run left, if that ended cleanly: nothing is opened for
it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from barnabas.broker.partitions.disk_space.disk_space_watch import RoomReading
    from barnabas.broker.services import Services


class Ends(NamedTuple):
    """How far readers of a partition get."""

    high_watermark: int
    last_stable_offset: int | None
    """None for a log that is not open: whether a transaction is open in it only opening it would tell."""


class LogSummary(NamedTuple):
    """A log as a whole."""

    log_start_offset: int
    log_end_offset: int
    size: int
    """Bytes of its segments, without their indexes."""
    segments_count: int
    held_back: int | None
    """How many offsets readers of committed records are kept back by transactions; None for a log that is not open."""


class Recovering(NamedTuple):
    """What is left in one data directory."""

    logs: int
    segments: int
    """Of those that are being recovered now, beside the event loop."""


class Appended(NamedTuple):
    """What was appended to one partition in this run."""

    topic: str
    records: int
    size: int


def ends(services: Services, topic: str, partition: int) -> Ends | None:
    """Where readers get to; None without such a partition, and where only opening the log would tell."""
    partitions = services.partitions
    if partitions.is_open(topic, partition):
        log = partitions.get(topic, partition)
        return Ends(log.high_watermark, log.last_stable_offset)
    end = partitions.directory.resting_end(topic, partition) if partitions.is_here(topic, partition) else None
    return None if end is None else Ends(end, None)


def summary(services: Services, topic: str, partition: int) -> LogSummary | None:
    """The log of a partition that exists; None where only opening it would tell. StorageError."""
    partitions = services.partitions
    if partitions.is_open(topic, partition):
        log = partitions.get(topic, partition)
        held_back = log.high_watermark - log.last_stable_offset
        return LogSummary(log.log_start_offset, log.log_end_offset, log.size, log.segments_count, held_back)
    resting = partitions.directory.resting(topic, partition)
    return None if resting is None else LogSummary(*resting, held_back=None)


def offline_reason(services: Services) -> str | None:
    """Why no log may be used any more; None while all is well."""
    return services.partitions.directory.offline_reason


def offline_directories(services: Services) -> int:
    """How many data directories have failed."""
    return services.partitions.directory.offline_count


def still_recovering(services: Services) -> dict[str, Recovering]:
    """What is to be recovered yet after a kill, by the path of the data directory."""
    partitions = services.partitions
    failed, line = partitions.failed, partitions.recoveries.beside
    return {
        member.path: Recovering(sum(not failed.has(key) for key in member.unrecovered), line.segments_in(member.path))
        for member in partitions.directory.members
    }


def refused(services: Services) -> int:
    """How many partitions could not be opened, when that was last tried."""
    return len(services.partitions.failed.reasons)


def rooms(services: Services) -> Iterator[RoomReading]:
    """The room in each data directory, as it is now."""
    return services.room.readings()


def below_min_insync_replicas(services: Services) -> int:
    """How many open logs have fewer replicas in sync than their min.insync.replicas asks for."""
    return sum(not log.enough_replicas for log in services.partitions.open_logs())


def appended(services: Services) -> Iterator[Appended]:
    """What was appended in this run to each partition there is."""
    return (Appended(log.topic, *log.appended) for log in services.partitions.open_logs())


def appended_before(services: Services) -> tuple[int, int]:
    """(records, bytes) appended in this run to logs that are not open any more: of partitions deleted or moved."""
    past = services.partitions.past_appends
    return past.records, past.size
