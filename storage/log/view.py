"""A partition as readers see it: offsets and watermarks, reads, look-ups by time and by epoch.

Changes nothing but where the log starts; appending is storage/log/log.py's. Every bound is exclusive.
"""

from __future__ import annotations

from bisect import bisect_right

from barnabas.storage.disk.checkpoints import LogCheckpoint
from barnabas.storage.log.offsets import FoundOffset, OffsetQuery
from barnabas.storage.log.read import ReadResult, aborted_in, readable_bytes, slice_of
from barnabas.storage.producers.producer import ProducerState
from barnabas.storage.recovery.loader import LoadedLog
from barnabas.storage.refusals import OffsetOutOfRange
from barnabas.storage.segment.segment import Segment
from barnabas.storage.steps import Steps, finish


class LogView:
    """The readable side of a partition.

    log_start_offset: the first offset readers may ask for. log_end_offset: the next to be assigned. high_watermark:
    readers stop here. last_stable_offset: committed readers stop here, before the oldest transaction not yet decided.
    leader_epoch: the one this partition is led in, whether or not anything was appended in it; -1 before the first.
    """

    def __init__(self, name: str, loaded: LoadedLog, checkpoint: LogCheckpoint) -> None:
        self.name = name
        self.recovered = loaded.recovered  # what opening took
        self.producers = loaded.producers
        self.log_start_offset = loaded.log_start_offset
        self.log_end_offset = loaded.recovered.log_end_offset
        self.leader_epoch = loaded.epochs.latest_epoch
        floor = self.log_start_offset if checkpoint.high_watermark is None else checkpoint.high_watermark
        self.high_watermark = min(max(floor, self.log_start_offset), self.log_end_offset)
        self.last_stable_offset = self.high_watermark
        self._segments = loaded.segments
        self._active = loaded.segments[-1]
        self._epochs = loaded.epochs

    @property
    def first_segment_base_offset(self) -> int:
        """Where the files begin, at or below the log's start."""
        return self._segments[0].base_offset

    def read(self, offset: int, max_bytes: int, *, committed: bool, force_first_batch: bool) -> ReadResult:
        """What lies at `offset`, `max_bytes` at most, never beyond the high watermark or the last stable offset.

        The slice begins with the batch that holds `offset`, which may begin before it. Raises OffsetOutOfRange.
        """
        self._check_offset(offset)
        bound = self.last_stable_offset if committed else self.high_watermark
        found = None
        if offset < bound:
            found = slice_of(self._segments, self._segment_index(offset), offset, bound, max_bytes, force_first_batch)
        aborted: list[tuple[int, int]] | None = [] if committed else None
        if committed and offset < bound:
            aborted = found and aborted_in(self._segments, *found, offset, self.log_end_offset)
        data = None if found is None else found[1]
        return ReadResult(data, self.high_watermark, self.last_stable_offset, self.log_start_offset, aborted)

    def read_own(self, offset: int, max_bytes: int) -> bytes:
        """As `read`, at least a batch, up to the log's end: for who wrote it, and has acknowledged all of it."""
        self._check_offset(offset)
        bound = self.log_end_offset
        if offset == bound:
            return b""
        found = slice_of(self._segments, self._segment_index(offset), offset, bound, max_bytes, force_first_batch=True)
        return b"" if found is None else found[1].read_all()

    def readable_bytes(self, offset: int, committed: bool) -> int:
        """About how many bytes a reader at `offset` could have; 0 where a read would raise."""
        bound = self.last_stable_offset if committed else self.high_watermark
        if not self.log_start_offset <= offset < bound:
            return 0
        return readable_bytes(self._segments, self._segment_index(offset), offset, bound)

    def find_offset(self, timestamp: int, *, committed: bool) -> Steps[FoundOffset]:
        """ListOffsets for a timestamp, special ones included (storage/log/offsets.py). ValueError for unknown ones."""
        epochs = self._epochs.seen_by_readers(self.leader_epoch, self.log_end_offset)
        segments = tuple(self._segments)

        def bound() -> int:
            return self.last_stable_offset if committed else self.high_watermark

        return OffsetQuery(segments, epochs, self.leader_epoch, self.log_start_offset, bound).look_up(timestamp)

    def list_offset(self, timestamp: int, *, committed: bool) -> FoundOffset:
        """As `find_offset`, at once, however long it takes."""
        return finish(self.find_offset(timestamp, committed=committed))

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """(largest epoch not above `epoch`, offset where the next one begins); (-1, -1) if nothing can be said."""
        return self._epochs.end_offset_for(epoch, self.leader_epoch, self.log_end_offset)

    def has_open_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        """Whether a batch of this producer would go on with a transaction, not begin one."""
        return self.producers.has_open_transaction(producer_id, producer_epoch)

    def is_fenced(self, producer_id: int, producer_epoch: int) -> bool:
        """Whether a batch of this producer will be refused for its epoch."""
        return self.producers.is_fenced(producer_id, producer_epoch)

    def producers_state(self) -> list[ProducerState]:
        """Every producer, as DescribeProducers tells of it."""
        return self.producers.states()

    def _check_offset(self, offset: int) -> None:
        if not self.log_start_offset <= offset <= self.log_end_offset:
            raise OffsetOutOfRange(
                f"{self.name}: offset {offset} is not in [{self.log_start_offset}, {self.log_end_offset}]"
            )

    def _segment_index(self, offset: int) -> int:
        """The last segment that begins at or below `offset`."""
        if offset >= self._active.base_offset:
            return len(self._segments) - 1
        return max(0, bisect_right(self._segments, offset, key=_base_offset) - 1)

    def _start_at(self, offset: int) -> None:
        if offset > self.log_start_offset:
            self.log_start_offset = offset
            self._epochs.truncate_from_start(offset)
            self._settle_last_stable_offset()

    def _settle_last_stable_offset(self) -> None:
        if not self.producers.unstable:
            self.last_stable_offset = self.high_watermark
            return
        unstable = self.producers.first_unstable_offset
        assert unstable is not None
        self.last_stable_offset = max(min(unstable, self.high_watermark), self.log_start_offset)


def _base_offset(segment: Segment) -> int:
    return segment.base_offset
