# compiled: mypyc
"""One producer id on one partition: its epoch, the window of its last five batches, its transaction's first offset.

Also the checks of a batch that need only its producer's state. Rules only: KIP-98, KIP-360.

Invariant: the batches of a window are in the order of the log. (Their sequences need not be consecutive in a window
that was rebuilt from the log: a producer that expired meanwhile may begin with any sequence.)
"""

from __future__ import annotations

from typing import Final, NamedTuple

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.files.producer_snapshot import ProducerEntry
from barnabas.protocol.records.batch import (
    NO_PRODUCER_EPOCH,
    NO_SEQUENCE,
    SEQUENCE_MAX,
    BatchHeader,
    decrement_sequence,
)
from barnabas.storage.refusals import AppendRefused

WINDOW_BATCHES: Final = 5  # guaranteed by the protocol: a client may have five requests in flight
NO_OFFSET: Final = -1

_NO_TIMESTAMP: Final = -1
_NO_COORDINATOR_EPOCH: Final = -1
_SEQUENCES: Final = SEQUENCE_MAX + 1


def comes_after(sequence: int, other: int) -> bool:
    """Return whether the sequence comes after the other one. Sequences wrap: less than half of them lie between."""
    return 0 < (sequence - other) % _SEQUENCES <= _SEQUENCES // 2


class SeenBatch(NamedTuple):
    """A batch in a window: enough data to recognise a retry and to respond to it."""

    first_sequence: int
    last_sequence: int
    first_offset: int
    last_offset: int
    timestamp: int

    @classmethod
    def of(cls, header: BatchHeader) -> SeenBatch:
        """Return the batch with this header."""
        # An old batch without its largest timestamp, read again from the log: the first record's is close enough.
        timestamp = header.base_timestamp if header.lacks_max_timestamp else header.max_timestamp
        return cls(header.base_sequence, header.last_sequence, header.base_offset, header.last_offset, timestamp)


class ProducerState(NamedTuple):
    """The state of one producer, as in DescribeProducers; -1 for no value."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int
    current_txn_first_offset: int


class ProducerStateEntry:
    """One producer id on one partition."""

    __slots__ = (
        "coordinator_epoch",
        "current_txn_first_offset",
        "last_timestamp",
        "next_sequence",
        "producer_epoch",
        "seen_ms",
        "window",
    )

    def __init__(self, producer_epoch: int = NO_PRODUCER_EPOCH, seen_ms: int = 0) -> None:
        self.producer_epoch = producer_epoch
        self.coordinator_epoch = _NO_COORDINATOR_EPOCH
        self.last_timestamp = _NO_TIMESTAMP  # of the last batch's records or the last marker, not of this machine
        self.current_txn_first_offset: int | None = None
        self.window: list[SeenBatch] = []
        self.next_sequence = 0  # of the batch that follows the window without a gap
        self.seen_ms = seen_ms  # by this machine's clock: last append, or load

    @classmethod
    def restored(cls, entry: ProducerEntry, seen_ms: int) -> ProducerStateEntry:
        """Return the producer of a snapshot entry: with the last batch of the window."""
        producer = cls(entry.producer_epoch)
        if entry.last_offset > NO_OFFSET:
            producer.add(_last_batch(entry), seen_ms)
        producer.coordinator_epoch = entry.coordinator_epoch
        producer.last_timestamp = entry.timestamp
        producer.seen_ms = seen_ms
        if entry.current_txn_first_offset > NO_OFFSET:
            producer.current_txn_first_offset = entry.current_txn_first_offset
        return producer

    def adopt_epoch(self, producer_epoch: int) -> None:
        """Set the epoch; a new epoch starts with an empty window."""
        if producer_epoch != self.producer_epoch:
            self.producer_epoch = producer_epoch
            self.window = []
            self.next_sequence = 0

    def add(self, batch: SeenBatch, seen_ms: int) -> None:
        """Add a batch, of the current epoch, that is in the log."""
        window = self.window
        assert not window or batch[2] > window[-1][3], (
            f"a batch at offset {batch.first_offset} would follow one that ends at {window[-1].last_offset} in the "
            f"window of a producer of epoch {self.producer_epoch}"
        )
        window.append(batch)
        if len(window) > WINDOW_BATCHES:
            del window[0]
        last_sequence = batch[1]
        self.next_sequence = 0 if last_sequence == SEQUENCE_MAX else last_sequence + 1
        self.last_timestamp = batch[4]
        self.seen_ms = seen_ms

    def find(self, first_sequence: int, last_sequence: int) -> SeenBatch | None:
        """Return the batch of exactly these sequences, None if the window does not hold it."""
        for batch in self.window:
            if batch.first_sequence == first_sequence and batch.last_sequence == last_sequence:
                return batch
        return None

    def check_epoch(self, producer_id: int, producer_epoch: int) -> None:
        """Raise AppendRefused for an epoch before the current one."""
        if producer_epoch < self.producer_epoch:
            raise AppendRefused(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"producer {producer_id} sent epoch {producer_epoch}, the partition has seen {self.producer_epoch}",
            )

    def check_sequence(self, header: BatchHeader) -> None:
        """Raise AppendRefused for a batch that does not follow the window, or does not begin its epoch."""
        if header.producer_epoch != self.producer_epoch:
            expected = 0
            if self.producer_epoch == NO_PRODUCER_EPOCH:
                return
        else:
            expected = self.next_sequence
        if header.base_sequence != expected:
            raise AppendRefused(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"producer {header.producer_id} epoch {header.producer_epoch} sent sequences {header.base_sequence} to "
                f"{header.last_sequence}, expected {expected} as the first",
            )

    def state(self, producer_id: int) -> ProducerState:
        """Return the state for DescribeProducers."""
        return ProducerState(
            producer_id,
            self.producer_epoch,
            self.window[-1].last_sequence if self.window else NO_SEQUENCE,
            self.last_timestamp,
            self.coordinator_epoch,
            self._txn_first_offset(),
        )

    def entry(self, producer_id: int) -> ProducerEntry:
        """Return the snapshot entry."""
        last = self.window[-1] if self.window else SeenBatch(NO_SEQUENCE, NO_SEQUENCE, 0, NO_OFFSET, 0)
        return ProducerEntry(
            producer_id=producer_id,
            producer_epoch=self.producer_epoch,
            last_sequence=last.last_sequence,
            last_offset=last.last_offset,
            offset_delta=last.last_offset - last.first_offset if self.window else 0,
            timestamp=self.last_timestamp,
            coordinator_epoch=self.coordinator_epoch,
            current_txn_first_offset=self._txn_first_offset(),
        )

    def _txn_first_offset(self) -> int:
        return NO_OFFSET if self.current_txn_first_offset is None else self.current_txn_first_offset


def _last_batch(entry: ProducerEntry) -> SeenBatch:
    first_sequence = (
        NO_SEQUENCE
        if entry.last_sequence == NO_SEQUENCE
        else decrement_sequence(entry.last_sequence, entry.offset_delta)
    )
    return SeenBatch(
        first_sequence, entry.last_sequence, entry.last_offset - entry.offset_delta, entry.last_offset, entry.timestamp
    )
