"""Checks a partition: its segments in order, and the files beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from barnabas.logfiles.data_directory import PartitionFiles
from barnabas.logfiles.findings import Finding
from barnabas.logfiles.reading import DISK, Reading
from barnabas.logfiles.segment_check import CheckTally, check_beside, check_segment


def _ignore() -> None:
    """Ignore progress."""


def check_partition(
    files: PartitionFiles,
    *,
    reading: Reading = DISK,
    tally: CheckTally | None = None,
    segment_done: Callable[[], None] = _ignore,
) -> Iterator[Finding]:
    """Yield the findings of a partition. A segment that disappears meanwhile was deleted by its broker: no finding."""
    tally = tally or CheckTally()
    tally.partitions += 1
    if not files.segments:
        yield from check_beside(files, 0, reading=reading)
    for number in range(len(files.segments)):
        try:
            yield from check_segment(files, number, reading=reading, tally=tally)
        except FileNotFoundError:
            continue  # the broker deleted it: the other segments are checked without it
        segment_done()
