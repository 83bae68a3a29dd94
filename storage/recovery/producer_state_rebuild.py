"""Advancing the producer state of a partition through its log when it is opened.

From the newest readable snapshot, then batch by batch, each with its CRC; from the log's first batch if there is no
snapshot at all. (Kafka takes the state as empty after a clean stop without snapshots, and so open transactions as
closed, which is avoided here.)
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from barnabas.protocol.files.txn_index import AbortedTxn
from barnabas.protocol.records.batch import BatchHeader
from barnabas.protocol.records.control import EndTxnMarker
from barnabas.storage.config import LONG_MAX
from barnabas.storage.errors import CorruptFile
from barnabas.storage.producers.producer_state_manager import ProducerStateManager
from barnabas.storage.producers.snapshots import ProducerSnapshots
from barnabas.storage.recovery.opening import Opening, PauseCounter
from barnabas.storage.recovery.segment_recovery import damage_of
from barnabas.storage.recovery.segment_walk import SegmentWalk
from barnabas.storage.segment.segment import Segment


class ProducerRebuild:
    """Producer state at `offset`, which only moves forward.

    `decided_below`: the high watermark that the log will have. A transaction whose marker lies below it does not limit
    the last stable offset and is dropped as it ends, so memory is bounded by the open transactions, not by the log.
    """

    def __init__(
        self, segments: Sequence[Segment], snapshots: ProducerSnapshots, now_ms: int, decided_below: int
    ) -> None:
        self.producers = ProducerStateManager()
        self.offset: int | None = None  # None: nothing is known yet
        self.headers_replayed = 0
        self.letters = ""  # cases R to T of storage/recovery/recovery_decisions.py
        self._segments = segments
        self._snapshots = snapshots
        self._now_ms = now_ms
        self._decided_below = decided_below

    def advance_to(self, offset: int) -> Opening[None]:
        """Advance the state to the log below `offset`, from segments that need no check.

        CorruptFile if the batches of a segment continue after `offset`, at which the next one begins.
        """
        if self.offset == offset:
            return
        if self.offset is not None and self.offset > offset:
            segment = self._segments[bisect_left(self._segments, offset, key=lambda segment: segment.base_offset) - 1]
            raise CorruptFile(segment.log.path, f"batches up to {self.offset}, and the next segment begins at {offset}")
        found = yield from self._snapshots.newest(offset)
        if found is not None and (self.offset is None or found[0] > self.offset):
            yield from self.producers.restore(found[1], found[0], self._now_ms)
            self.offset = found[0]
            self._note("R" if self.offset == offset else "S")
        if self.offset is None:
            self.offset = self._segments[0].base_offset if self._segments else offset
            self.producers.seen_from = self.offset
            if self.offset < offset:
                self._note("T")
        pace = PauseCounter()
        for header, marker in batches_between(self._segments, self.offset, offset):
            self.replay(header, marker)
            self.headers_replayed += 1
            if pace.is_over(header.size_in_bytes):
                yield None
        self.offset = offset

    def replay(self, header: BatchHeader, marker: EndTxnMarker | None) -> AbortedTxn | None:
        """Apply the next batch of the log; return the entry for the transaction index if it is an ABORT marker."""
        self.offset = header.next_offset
        if marker is not None:
            completed = self.producers.completed_by(marker, header.base_offset)
            aborted = self.producers.aborted_txn(completed) if completed and completed.aborted else None
            self.producers.add_marker(marker, header.base_offset, self._now_ms)
            self.producers.high_watermark_moved(min(header.next_offset, self._decided_below))
            return aborted
        if header.has_producer_id and not header.is_control:
            self.producers.add_batch(header, self._now_ms)
        return None

    def _note(self, letter: str) -> None:
        if letter not in self.letters:
            self.letters += letter


def batches_between(
    segments: Sequence[Segment], start_offset: int, end_offset: int
) -> Iterator[tuple[BatchHeader, EndTxnMarker | None]]:
    """Yield the headers, with the content of markers, of the batches that begin in [start_offset, end_offset).

    CorruptFile if the bytes are no batch, a CRC is wrong, or the offsets go back, or into the next segment: the
    producer state is unknown then, and a retry would be taken for a duplicate of a batch that does not exist.
    """
    for segment, after in zip(segments, [*segments[1:], None], strict=True):
        if after is not None and after.base_offset <= start_offset:
            continue
        if segment.base_offset >= end_offset:
            return
        bound = LONG_MAX if after is None else after.base_offset
        walk = SegmentWalk(segment, segment.position_of(start_offset), LONG_MAX)
        for position, header, marker in walk:
            if header.next_offset > bound:
                raise CorruptFile(
                    segment.log.path,
                    f"batch at {position} has offsets {header.base_offset} to {header.last_offset}, "
                    f"the next segment begins at {bound}",
                )
            if header.base_offset >= end_offset:
                return
            if header.base_offset >= start_offset:
                yield header, marker
        if (damage := damage_of(walk)) is not None:
            raise CorruptFile(segment.log.path, f"{damage.what}, at position {damage.position}")
