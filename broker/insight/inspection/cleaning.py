"""The log cleaner: its last cleaning, the findings of its last check, and the partitions that it excludes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from barnabas.storage.errors import StorageError

if TYPE_CHECKING:
    from barnabas.broker.services import Services


class CleanerSummary(NamedTuple):
    """The cleaner's figures. Before its first check of the logs all are 0."""

    max_buffer_utilization: float
    """Fill ratio of the key buffer in the last cleaning, 0 to 1."""
    recopied: float
    """Ratio of the bytes left after the last cleaning, 0 to 1."""
    clean_seconds: float
    """Duration of the last cleaning."""
    max_compaction_delay_ms: int
    max_dirty_ratio: float
    since_last_look_ms: int
    cleanings: int
    bytes_removed: int
    under_way: int


class Uncleanable(NamedTuple):
    """A partition that is excluded from cleaning until the next start."""

    topic: str
    partition: int
    directory: str
    """The data directory."""
    size: int
    """In bytes."""
    reason: str


def cleaner(services: Services) -> CleanerSummary:
    """Return the cleaner's figures."""
    built = services.deferred_cleaner.built
    if built is None:
        return CleanerSummary(0, 0, 0, 0, 0, 0, 0, 0, 0)
    figures, last = built.figures, built.figures.last
    return CleanerSummary(
        last.buffer_utilization if last is not None else 0,
        last.bytes_after / last.bytes_before if last is not None and last.bytes_before else 0,
        last.seconds if last is not None else 0,
        figures.max_compaction_delay_ms,
        figures.max_dirty_ratio,
        0 if figures.looked_ms is None else services.clock.now_ms() - figures.looked_ms,
        figures.cleanings,
        figures.bytes_removed,
        len(built.rounds),
    )


def uncleanable(services: Services) -> list[Uncleanable]:
    """Return the partitions that are excluded from cleaning, with the reasons."""
    built = services.deferred_cleaner.built
    found = []
    for (topic, partition), why in built.set_aside() if built is not None else ():
        try:
            size = services.partitions.directory.size_of(topic, partition)
        except StorageError:
            size = 0
        found.append(Uncleanable(topic, partition, why.directory, size, why.reason))
    return found


def data_directories(services: Services) -> list[str]:
    """Return the paths of the data directories."""
    return [each.path for each in services.partitions.directory.members]
