# compiled: mypyc, as a start after a kill runs it for each batch
"""Walking through a segment with the CRCs of its batches, up to the first place where it is invalid.

Knows one segment's bytes; segment_recovery.py classifies the place where a walk stopped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files.checkpoints import EpochEntry, epoch_at
from barnabas.protocol.files.names import LEADER_EPOCH_CHECKPOINT
from barnabas.protocol.records.batch import (
    CONTROL_MASK,
    LOG_OVERHEAD,
    NO_PRODUCER_ID,
    BatchHeader,
    next_batch_size,
    parse_header,
    verify_crc,
)
from barnabas.protocol.records.control import EndTxnMarker, read_marker
from barnabas.storage.config import LONG_MAX
from barnabas.storage.recovery.opening import PIECE_BYTES
from barnabas.storage.segment.segment import RELATIVE_OFFSET_MAX, Segment


class SegmentWalk:
    """Iterates over (position, header, marker) of every whole and valid batch, from `position` on.

    Afterwards `position` and `next_offset` are the end of the last good batch. `refused` is what is wrong with the next
    one, None if its size is, and `lowest_offset` the offset of an earlier batch that may be the wrong one, LONG_MAX if
    there is none. `batch_bytes_max`: the largest size in a header that still counts as torn. `boundary`: an offset at
    which a batch began when all below it was synced; a batch that reaches over it has another offset than it had.
    `epochs`: those of the batches below `synced`.
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
        self.segment = segment
        self._batch_bytes_max = batch_bytes_max
        self._boundary = boundary
        self._epochs = epochs
        self._synced = synced
        self.refused: str | None = None
        self.lowest_offset = LONG_MAX
        self._before = segment.base_offset  # the lowest possible offset of the previous batch

    def __iter__(self) -> Iterator[tuple[int, BatchHeader, EndTxnMarker | None]]:
        try:
            for position, batch in self._batches():
                header, marker = self._check(position, batch)
                self.position = position + len(batch)
                yield position, header, marker
        except DecodeError as error:
            self.refused = str(error)

    def _batches(self) -> Iterator[tuple[int, memoryview]]:
        """Yield (position, bytes) of everything with a batch's length, read in pieces or, if larger, one batch."""
        position, end = self.position, self.segment.size
        wanted = PIECE_BYTES
        while position < end:
            piece = memoryview(self.segment.batch_bytes(position, min(wanted, end - position)))
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
        base_offset = header.base_offset
        last_offset = base_offset + header.last_offset_delta
        if base_offset < self.next_offset or last_offset < base_offset:
            if base_offset > self._before:  # else no offset of the previous batch makes this one valid
                self.lowest_offset = base_offset
            raise DecodeError(
                f"batch at {position} has offsets {base_offset} to {last_offset}, expected {self.next_offset} or more"
            )
        if last_offset - self.segment.base_offset > RELATIVE_OFFSET_MAX:
            raise DecodeError(f"batch at {position} has the offset {base_offset}, which cannot be in this segment")
        if self._boundary is not None and self.next_offset < self._boundary <= last_offset:
            raise DecodeError(
                f"batch at {position} has offsets {base_offset} to {last_offset}, "
                f"and the synced part ended with a batch at {self._boundary - 1}"
            )
        if base_offset < self._synced:
            epoch = epoch_at(self._epochs, base_offset)
            if epoch not in (None, header.partition_leader_epoch):
                raise DecodeError(
                    f"batch at {position} has leader epoch {header.partition_leader_epoch}, and "
                    f"{LEADER_EPOCH_CHECKPOINT} has {epoch} for it"
                )
        if not verify_crc(batch):
            raise DecodeError(f"batch at {position}: the crc is not {header.crc:#010x}")
        self._before, self.next_offset = self.next_offset, last_offset + 1
        is_marker = header.producer_id > NO_PRODUCER_ID and header.attributes & CONTROL_MASK
        return header, read_marker(batch) if is_marker else None

    def is_cut_batch_plausible(self) -> bool:
        """Return whether the bytes at the end may be the beginning of a batch that is cut off."""
        start = memoryview(self.segment.batch_bytes(self.position, LOG_OVERHEAD))
        return self._claimed_size(start) <= self._batch_bytes_max
