"""Classifying the place where a walk through a segment stopped, and setting aside what is behind it.

Knows one segment's bytes (segment_walk.py); storage/recovery/recovery_decisions.py decides how damage is handled, and
log_loader.py cuts it off.
"""

from __future__ import annotations

from typing import NamedTuple

from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.disk_file import DiskFile
from barnabas.storage.disk.sync_job import SyncJob
from barnabas.storage.errors import CorruptFile
from barnabas.storage.recovery.opening import PIECE_BYTES, Opening, PauseCounter, open_at_once
from barnabas.storage.recovery.recovery_decisions import Tail, TailCase
from barnabas.storage.recovery.segment_walk import SegmentWalk
from barnabas.storage.segment.segment import Segment

BROKEN_SUFFIX = ".broken"  # the removed bytes, for inspection by the operator; no code reads it
_SYNCED_HERE_BYTES_MAX = 1 << 20


class TailDamage(NamedTuple):
    """The place where whole batches end before the file does."""

    tail: Tail
    position: int
    next_offset: int  # the offset after the last whole batch
    size: int  # bytes from there to the end of the file
    what: str
    lowest_offset: int  # the lowest possible: where offsets go back, the batch before may be the wrong one


def walk_to_end(walk: SegmentWalk) -> Opening[TailDamage | None]:
    """Run a walk to its end and return the damage."""
    pace = PauseCounter()
    for _, header, _ in walk:
        if pace.is_over(header.size_in_bytes):
            yield None
    return (yield from find_damage(walk))


def damage_of(walk: SegmentWalk) -> TailDamage | None:
    """Return the result of `find_damage`, at once."""
    return open_at_once(find_damage(walk))


def find_damage(walk: SegmentWalk) -> Opening[TailDamage | None]:
    """Return what stopped a walk, None if the file ends after the last batch."""
    size = walk.segment.size - walk.position
    if size == 0:
        return None
    if (yield from _is_zero_from(walk.segment, walk.position)):
        tail, what = Tail.TORN, "nothing but zeros"
    elif walk.refused is None and walk.is_cut_batch_plausible():
        tail, what = Tail.TORN, "the file ends inside a batch"
    else:
        tail, what = Tail.BAD, walk.refused or "no batch is that large"
    return TailDamage(tail, walk.position, walk.next_offset, size, what, min(walk.next_offset, walk.lowest_offset))


def _is_zero_from(segment: Segment, start: int) -> Opening[bool]:
    pace = PauseCounter()
    for position in range(start, segment.size, PIECE_BYTES):
        piece = segment.batch_bytes(position, PIECE_BYTES)
        if piece.count(0) != len(piece):
            return False
        if pace.is_over(len(piece)):
            yield None
    return True


def set_tail_aside(directory: Directory, segment: Segment, position: int) -> Opening[None]:
    """Copy the bytes after `position` to a `.broken` file, durably."""
    copy = directory.open(segment.log.name + BROKEN_SUFFIX, create=True)
    pace = PauseCounter()
    try:
        copy.truncate(0)
        for at in range(position, segment.size, PIECE_BYTES):
            copy.pwrite(segment.batch_bytes(at, PIECE_BYTES), at - position)
            if pace.is_over(2 * PIECE_BYTES):
                yield None
        yield from synced_ahead(copy, segment.size - position)
        copy.sync()
    finally:
        copy.close()
    directory.sync()


def synced_ahead(file: DiskFile, size: int) -> Opening[None]:
    """Sync the bulk of a file in a pause, so that a later sync without one is short. `size`: bytes not synced."""
    if size > _SYNCED_HERE_BYTES_MAX:
        yield SyncJob(file.directory.disk, [file])


def set_segment_aside(directory: Directory, segment: Segment) -> None:
    """Remove a whole segment from the log; its batches stay in a `.broken` file if it has any."""
    if segment.size:
        segment.log.close()
        directory.rename(segment.log.name, segment.log.name + BROKEN_SUFFIX)
    segment.remove()


def corrupt(segment: Segment, damage: TailDamage, case: TailCase) -> CorruptFile:
    """Return the error that refuses to open a partition, with all details for an investigation."""
    return CorruptFile(
        segment.log.path,
        f"{damage.what}; {case.why} (case {case.letter}): {damage.size} bytes from position {damage.position} on, "
        f"offset {damage.next_offset}, are damaged, the partition is not opened",
    )
