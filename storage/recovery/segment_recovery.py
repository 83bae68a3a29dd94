"""Rereading a segment with its CRCs, and classifying the place where it becomes invalid.

Knows one segment's bytes; storage/recovery/recovery_decisions.py decides how damage is handled, and log_loader.py cuts
it off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files.checkpoints import EpochEntry, epoch_at
from barnabas.protocol.files.names import LEADER_EPOCH_CHECKPOINT
from barnabas.protocol.records.batch import LOG_OVERHEAD, BatchHeader, next_batch_size, parse_header, verify_crc
from barnabas.protocol.records.control import EndTxnMarker, read_marker
from barnabas.storage.config import LONG_MAX
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.disk_file import DiskFile
from barnabas.storage.disk.sync_job import SyncJob
from barnabas.storage.errors import CorruptFile
from barnabas.storage.recovery.opening import PIECE_BYTES, Opening, PauseCounter, open_at_once
from barnabas.storage.recovery.recovery_decisions import Tail, TailCase
from barnabas.storage.segment.segment import RELATIVE_OFFSET_MAX, Segment

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


class SegmentWalk:
    """Iterates over (position, header, marker) of every whole and valid batch, from `position` on.

    Afterwards `find_damage` returns what stopped it; `position` and `next_offset` are the end of the last good batch.
    `batch_bytes_max` is the largest size in a header that still counts as torn. `boundary`: an offset at which a
    batch began when all below it was synced; a batch that reaches over it has another offset than it had. `epochs`:
    those of the batches below `synced`.
    """

    def __init__(
        self,
        segment: Segment,
        position: int,
        batch_bytes_max: int,
        boundary: int | None = None,
        epochs: Sequence[EpochEntry] = (),
        synced: int = 0,
    ) -> None:
        self.position = position
        self.next_offset = segment.base_offset
        self.pace = PauseCounter()
        self._segment = segment
        self._batch_bytes_max = batch_bytes_max
        self._boundary = boundary
        self._epochs = epochs
        self._synced = synced
        self._what: str | None = None
        self._lowest = LONG_MAX
        self._before = segment.base_offset  # the lowest possible offset of the previous batch

    def __iter__(self) -> Iterator[tuple[int, BatchHeader, EndTxnMarker | None]]:
        try:
            for position, batch in self._batches():
                header, marker = self._check(position, batch)
                self._before = self.next_offset
                self.position, self.next_offset = position + len(batch), header.next_offset
                yield position, header, marker
        except DecodeError as error:
            self._what = str(error)

    def to_end(self) -> Opening[TailDamage | None]:
        """Run to the end and return the damage."""
        for _, header, _ in self:
            if self.pace.is_over(header.size_in_bytes):
                yield None
        return (yield from self.find_damage())

    @property
    def damage(self) -> TailDamage | None:
        """The result of `find_damage`, at once."""
        return open_at_once(self.find_damage())

    def find_damage(self) -> Opening[TailDamage | None]:
        """Return what stopped the iteration, None if the file ends after the last batch."""
        size = self._segment.size - self.position
        if size == 0:
            return None
        if (yield from self._ends_in_zeros()):
            tail, what = Tail.TORN, "nothing but zeros"
        elif self._what is None and self._is_plausible():
            tail, what = Tail.TORN, "the file ends inside a batch"
        else:
            tail, what = Tail.BAD, self._what or "no batch is that large"
        return TailDamage(tail, self.position, self.next_offset, size, what, min(self.next_offset, self._lowest))

    def _batches(self) -> Iterator[tuple[int, memoryview]]:
        """Yield (position, bytes) of everything with a batch's length, read in pieces or, if larger, one batch."""
        position, end = self.position, self._segment.size
        wanted = PIECE_BYTES
        while position < end:
            piece = memoryview(self._segment.batch_bytes(position, min(wanted, end - position)))
            at = 0
            while (size := next_batch_size(piece, at, len(piece))) is not None:
                yield position + at, piece[at : at + size]
                at += size
            if at == 0:  # a batch larger than the piece, or the end of the file inside one
                wanted = self._claimed_size(piece)
                if not len(piece) < wanted <= end - position:
                    return
            else:
                wanted = PIECE_BYTES
            position += at

    def _claimed_size(self, piece: memoryview) -> int:
        """Return the size in the header of the batch at the start of `piece`; 0 if the header is cut off."""
        if len(piece) < LOG_OVERHEAD:
            return 0
        return LOG_OVERHEAD + int.from_bytes(piece[8:LOG_OVERHEAD], "big", signed=True)

    def _check(self, position: int, batch: memoryview) -> tuple[BatchHeader, EndTxnMarker | None]:
        header = parse_header(batch)
        if header.base_offset < self.next_offset or header.last_offset_delta < 0:
            if header.base_offset > self._before:  # else no offset of the previous batch makes this one valid
                self._lowest = header.base_offset
            raise DecodeError(
                f"batch at {position} has offsets {header.base_offset} to {header.last_offset}, "
                f"expected {self.next_offset} or more"
            )
        if header.last_offset - self._segment.base_offset > RELATIVE_OFFSET_MAX:
            raise DecodeError(
                f"batch at {position} has the offset {header.base_offset}, which cannot be in this segment"
            )
        if self._boundary is not None and self.next_offset < self._boundary < header.next_offset:
            raise DecodeError(
                f"batch at {position} has offsets {header.base_offset} to {header.last_offset}, "
                f"and the synced part ended with a batch at {self._boundary - 1}"
            )
        if header.base_offset < self._synced:
            epoch = epoch_at(self._epochs, header.base_offset)
            if epoch not in (None, header.partition_leader_epoch):
                raise DecodeError(
                    f"batch at {position} has leader epoch {header.partition_leader_epoch}, and "
                    f"{LEADER_EPOCH_CHECKPOINT} has {epoch} for it"
                )
        if not verify_crc(batch):
            raise DecodeError(f"batch at {position}: the crc is not {header.crc:#010x}")
        return header, read_marker(batch) if header.is_control and header.has_producer_id else None

    def _is_plausible(self) -> bool:
        """Return whether the bytes at the end may be the beginning of a batch that is cut off."""
        start = memoryview(self._segment.batch_bytes(self.position, LOG_OVERHEAD))
        return self._claimed_size(start) <= self._batch_bytes_max

    def _ends_in_zeros(self) -> Opening[bool]:
        for position in range(self.position, self._segment.size, PIECE_BYTES):
            piece = self._segment.batch_bytes(position, PIECE_BYTES)
            if piece.count(0) != len(piece):
                return False
            if self.pace.is_over(len(piece)):
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
