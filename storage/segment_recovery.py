"""Reading a segment again with its CRCs, and what to make of the place where it stops making sense.

Knows one segment's bytes; what is done about damage is decided in storage/recovery.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from protocol.errors import DecodeError
from protocol.records.batch import LOG_OVERHEAD, BatchHeader, verify_crc
from protocol.records.control import EndTxnMarker, read_marker
from storage.directory import Directory
from storage.errors import CorruptFile
from storage.recovery import Tail
from storage.segment import Segment

BROKEN_SUFFIX = ".broken"  # what was cut off, for whoever wants to look; nothing here ever reads it
_PIECE_BYTES = 1 << 20


class Damage(NamedTuple):
    """Where whole batches end before the file does."""

    tail: Tail
    position: int
    next_offset: int  # the offset behind the last whole batch
    size: int  # bytes from there to the end of the file
    what: str


class SegmentWalk:
    """Iterates over (position, header, marker) of every batch that is whole and right, from `position` on.

    Afterwards `damage` says what stopped it, None if the file ends behind the last batch; `position` and `next_offset`
    are the end of the last good batch. `batch_bytes_max` is how large a batch may claim to be and still count as torn.
    """

    def __init__(self, segment: Segment, position: int, batch_bytes_max: int) -> None:
        self.position = position
        self.next_offset = segment.base_offset
        self.damage: Damage | None = None
        self._segment = segment
        self._batch_bytes_max = batch_bytes_max

    def __iter__(self) -> Iterator[tuple[int, BatchHeader, EndTxnMarker | None]]:
        what = None
        try:
            for position, header in self._segment.headers(self.position):
                marker = self._check(position, header)
                self.position, self.next_offset = position + header.size_in_bytes, header.next_offset
                yield position, header, marker
        except DecodeError as error:
            what = str(error)
        self.damage = self._judge(what)

    def to_end(self) -> SegmentWalk:
        """Walk without looking."""
        for _ in self:
            pass
        return self

    def _check(self, position: int, header: BatchHeader) -> EndTxnMarker | None:
        if header.base_offset < self.next_offset or header.last_offset_delta < 0:
            raise DecodeError(
                f"batch at {position} has offsets {header.base_offset} to {header.last_offset}, "
                f"expected {self.next_offset} or more"
            )
        batch = self._segment.batch_bytes(position, header.size_in_bytes)
        if len(batch) != header.size_in_bytes or not verify_crc(batch):
            raise DecodeError(f"batch at {position}: the crc is not {header.crc:#010x}")
        return read_marker(batch) if header.is_control and header.has_producer_id else None

    def _judge(self, what: str | None) -> Damage | None:
        size = self._segment.size - self.position
        if size == 0:
            return None
        if self._ends_in_zeros():
            tail, what = Tail.TORN, "nothing but zeros"
        elif what is None and self._is_plausible(size):
            tail, what = Tail.TORN, "the file ends inside a batch"
        else:
            tail, what = Tail.BAD, what or "no batch is that large"
        return Damage(tail, self.position, self.next_offset, size, what)

    def _is_plausible(self, size: int) -> bool:
        """Whether the beginning of a batch, cut off by the end of the file, may be one."""
        if size < LOG_OVERHEAD:
            return True
        batch_length = int.from_bytes(self._segment.batch_bytes(self.position + 8, 4), "big", signed=True)
        return LOG_OVERHEAD + batch_length <= self._batch_bytes_max

    def _ends_in_zeros(self) -> bool:
        for position in range(self.position, self._segment.size, _PIECE_BYTES):
            piece = self._segment.batch_bytes(position, _PIECE_BYTES)
            if piece.count(0) != len(piece):
                return False
        return True


def set_tail_aside(directory: Directory, segment: Segment, position: int) -> None:
    """Copy what lies behind `position` to a `.broken` file, durably."""
    copy = directory.open(segment.log.name + BROKEN_SUFFIX, create=True)
    try:
        copy.truncate(0)
        for at in range(position, segment.size, _PIECE_BYTES):
            copy.pwrite(segment.batch_bytes(at, _PIECE_BYTES), at - position)
        copy.sync()
    finally:
        copy.close()
    directory.sync()


def set_segment_aside(directory: Directory, segment: Segment) -> None:
    """Take a whole segment out of the log; its batches stay in a `.broken` file if it has any."""
    if segment.size:
        segment.log.close()
        directory.rename(segment.log.name, segment.log.name + BROKEN_SUFFIX)
    segment.remove()


def corrupt(segment: Segment, damage: Damage, why: str) -> CorruptFile:
    """The refusal to open a partition, with everything a person needs to look into it."""
    return CorruptFile(
        segment.log.path,
        f"{damage.what}; {damage.size} bytes from position {damage.position} (offset {damage.next_offset}) on are "
        f"damaged and {why}: not opened",
    )
