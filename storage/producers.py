"""What a partition knows of its producers: epochs, the window of their last five batches, open transactions.

Rules only: this module reads no file and no clock. `check…` looks and refuses, `add…` changes and never refuses, so a
batch that fails, on any rule or on the disk, leaves no trace: add follows only after the bytes are in the log.

Invariants:
- a window holds batches of its producer's present epoch only, oldest first;
- every batch at or above `seen_from` that can be in a window is in it. A snapshot keeps one batch per producer, so
  after a load there may be more below: `wants_older` says when reading them would decide an answer, `add_older` takes
  them;
- open transactions are kept in the order of their first offsets.

docs/formats/producer-snapshot.md describes the file; KIP-98, KIP-360 and KIP-890 the rules.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from protocol.errors import ErrorCode
from protocol.files.producer_snapshot import ProducerEntry
from protocol.files.txn_index import AbortedTxn
from protocol.records.batch import (
    NO_PRODUCER_EPOCH,
    NO_SEQUENCE,
    SEQUENCE_MAX,
    BatchHeader,
    decrement_sequence,
)
from protocol.records.control import EndTxnMarker
from storage.refusals import AppendRefused

WINDOW_BATCHES = 5  # what the protocol promises: a client may have five requests in flight
EXPIRY_GRACE_MS = 600_000  # a producer seen this recently stays, however old its records say they are

_NO_OFFSET = -1
_NO_TIMESTAMP = -1
_NO_COORDINATOR_EPOCH = -1
_SEQUENCES = SEQUENCE_MAX + 1


class SeenBatch(NamedTuple):
    """A batch in a window: enough to recognise it when it comes again and to answer it."""

    first_sequence: int
    last_sequence: int
    first_offset: int
    last_offset: int
    timestamp: int


class CompletedTxn(NamedTuple):
    """A transaction whose marker is in the log, at `last_offset`."""

    producer_id: int
    first_offset: int
    last_offset: int
    aborted: bool


class Producer:
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
        self.next_sequence = 0  # that of the batch which follows the window without a gap
        self.seen_ms = seen_ms  # by this machine's clock: last append, or load

    def adopt_epoch(self, producer_epoch: int) -> None:
        """Another epoch starts with an empty window."""
        if producer_epoch != self.producer_epoch:
            self.producer_epoch = producer_epoch
            self.window = []
            self.next_sequence = 0

    def add(self, batch: SeenBatch, seen_ms: int) -> None:
        """The batch, of the present epoch, is in the log."""
        window = self.window
        window.append(batch)
        if len(window) > WINDOW_BATCHES:
            del window[0]
        last_sequence = batch[1]
        self.next_sequence = 0 if last_sequence == SEQUENCE_MAX else last_sequence + 1
        self.last_timestamp = batch[4]
        self.seen_ms = seen_ms

    def find(self, first_sequence: int, last_sequence: int) -> SeenBatch | None:
        """The batch of exactly these sequences, if the window holds it."""
        for batch in self.window:
            if batch.first_sequence == first_sequence and batch.last_sequence == last_sequence:
                return batch
        return None


class Producers:
    """All producers of one partition."""

    def __init__(self, seen_from: int = 0) -> None:
        self._producers: dict[int, Producer] = {}
        self._open_txns: dict[int, int] = {}  # producer id -> first offset, in the order of these offsets
        self._unreplicated: list[CompletedTxn] = []  # completed, but the marker is not below the high watermark
        self.seen_from = seen_from
        self.get = self._producers.get  # on the way of every append: saves a call

    def __len__(self) -> int:
        return len(self._producers)

    # --- looking ---

    def check_batch(self, header: BatchHeader, *, from_client: bool) -> SeenBatch | None:
        """The batch in the window that `header` repeats, or None when it may be appended.

        Raises AppendRefused with Kafka's code. Only a client's batch carries sequences; a coordinator's is checked for
        its epoch alone.
        """
        producer = self._producers.get(header.producer_id)
        if producer is None:
            return None  # nothing known: expired, deleted or new. Kafka takes any sequence then
        if from_client and header.producer_epoch == producer.producer_epoch:
            repeated = producer.find(header.base_sequence, header.last_sequence)
            if repeated is not None:
                return repeated
        _check_epoch(header.producer_id, header.producer_epoch, producer)
        if from_client:
            _check_sequence(header, producer)
        if producer.current_txn_first_offset is not None and not header.is_transactional:
            raise AppendRefused(
                ErrorCode.INVALID_TXN_STATE,
                f"producer {header.producer_id} has a transaction open since offset "
                f"{producer.current_txn_first_offset} and sent a batch outside it",
            )
        return None

    def check_marker(self, marker: EndTxnMarker) -> None:
        """Raises AppendRefused when the marker comes from a fenced producer epoch or a fenced coordinator."""
        producer = self._producers.get(marker.producer_id)
        if producer is None:
            return
        _check_epoch(marker.producer_id, marker.producer_epoch, producer)
        if marker.coordinator_epoch < producer.coordinator_epoch:
            raise AppendRefused(
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                f"marker of coordinator epoch {marker.coordinator_epoch} for producer {marker.producer_id}, "
                f"whose last one was of {producer.coordinator_epoch}",
            )

    def completed_by(self, marker: EndTxnMarker, offset: int) -> CompletedTxn | None:
        """The transaction that a marker at `offset` ends; None when the producer has none open here."""
        first_offset = self._open_txns.get(marker.producer_id)
        if first_offset is None:
            return None
        return CompletedTxn(marker.producer_id, first_offset, offset, aborted=not marker.commit)

    def aborted_txn(self, completed: CompletedTxn) -> AbortedTxn:
        """What the transaction index keeps of it: with the offset up to which nothing older is still open."""
        others = (first for producer_id, first in self._open_txns.items() if producer_id != completed.producer_id)
        last_stable_offset = next(others, completed.last_offset + 1)
        return AbortedTxn(completed.producer_id, completed.first_offset, completed.last_offset, last_stable_offset)

    @property
    def first_unstable_offset(self) -> int | None:
        """Where the oldest transaction begins that is open, or completed but not below the high watermark."""
        oldest = next(iter(self._open_txns.values()), None)
        for completed in self._unreplicated:
            if oldest is None or completed.first_offset < oldest:
                oldest = completed.first_offset
        return oldest

    def wants_older(self, header: BatchHeader) -> bool:
        """Whether `header` may repeat a batch below `seen_from`, which a window with room would still hold."""
        producer = self._producers.get(header.producer_id)
        if producer is None or not producer.window or len(producer.window) >= WINDOW_BATCHES:
            return False
        oldest = producer.window[0]
        if producer.producer_epoch != header.producer_epoch:
            return False
        distance = (oldest.first_sequence - header.last_sequence) % _SEQUENCES  # sequences wrap
        return 0 < distance <= _SEQUENCES // 2

    def to_snapshot(self) -> list[ProducerEntry]:
        """One entry per producer, as a `.snapshot` file keeps them."""
        return [_entry(producer_id, producer) for producer_id, producer in self._producers.items()]

    # --- changing ---

    def add_batch(self, header: BatchHeader, seen_ms: int) -> None:
        """A data batch with a producer id is in the log, at the offsets its header says."""
        producer = self._producers.get(header.producer_id)
        if producer is None:
            producer = self._producers[header.producer_id] = Producer(header.producer_epoch)
        producer.adopt_epoch(header.producer_epoch)
        producer.add(_seen(header), seen_ms)
        if header.is_transactional and producer.current_txn_first_offset is None:
            producer.current_txn_first_offset = header.base_offset
            self._open_txns[header.producer_id] = header.base_offset

    def add_marker(self, marker: EndTxnMarker, offset: int, seen_ms: int) -> None:
        """A marker is in the log at `offset`: its producer's transaction, if one was open, is over."""
        completed = self.completed_by(marker, offset)
        producer = self._producers.get(marker.producer_id)
        if producer is None:
            producer = self._producers[marker.producer_id] = Producer(marker.producer_epoch)
        producer.adopt_epoch(marker.producer_epoch)  # the same epoch keeps its window
        producer.coordinator_epoch = marker.coordinator_epoch
        producer.last_timestamp = marker.timestamp
        producer.seen_ms = seen_ms
        producer.current_txn_first_offset = None
        if completed is not None:
            del self._open_txns[marker.producer_id]
            self._unreplicated.append(completed)

    def high_watermark_moved(self, high_watermark: int) -> None:
        """Transactions whose marker is below the high watermark no longer hold the last stable offset back."""
        if self._unreplicated:
            self._unreplicated = [txn for txn in self._unreplicated if txn.last_offset >= high_watermark]

    def add_older(self, headers: Iterable[BatchHeader], from_offset: int) -> None:
        """Every batch that begins in [from_offset, seen_from), in order: completes the windows that have room."""
        found: dict[int, deque[SeenBatch]] = {}
        for header in headers:
            assert from_offset <= header.base_offset < self.seen_from
            producer = self._producers.get(header.producer_id)
            if producer is None or producer.producer_epoch != header.producer_epoch or header.is_control:
                continue
            room = WINDOW_BATCHES - len(producer.window)
            # The batch the snapshot kept lies below it and is met here once more.
            if room and producer.window and header.last_offset < producer.window[0].first_offset:
                found.setdefault(header.producer_id, deque(maxlen=room)).append(_seen(header))
        for producer_id, older in found.items():
            self._producers[producer_id].window[:0] = older
        self.seen_from = from_offset

    def restore(self, entries: Iterable[ProducerEntry], offset: int, seen_ms: int) -> None:
        """Start from a snapshot taken at `offset`, in the place of whatever was known."""
        self._producers.clear()
        self._open_txns.clear()
        self._unreplicated = []
        self.seen_from = offset
        for entry in entries:
            producer = self._producers[entry.producer_id] = Producer(entry.producer_epoch)
            if entry.last_offset > _NO_OFFSET:
                producer.add(_last_batch(entry), seen_ms)
            producer.coordinator_epoch = entry.coordinator_epoch
            producer.last_timestamp = entry.timestamp
            producer.seen_ms = seen_ms
            if entry.current_txn_first_offset > _NO_OFFSET:
                producer.current_txn_first_offset = entry.current_txn_first_offset
                self._open_txns[entry.producer_id] = entry.current_txn_first_offset
        in_order = sorted(self._open_txns.items(), key=lambda txn: txn[1])
        self._open_txns.clear()
        self._open_txns.update(in_order)

    def expire(self, now_ms: int, expiration_ms: int) -> int:
        """Forget producers without an open transaction that are older than `expiration_ms`; returns how many.

        Age is that of the records, as in Kafka. But who wrote, or was loaded, a moment ago is kept: old timestamps
        must not cost a running producer its window.
        """
        expired = [
            producer_id
            for producer_id, producer in self._producers.items()
            if producer.current_txn_first_offset is None
            and now_ms - producer.last_timestamp >= expiration_ms
            and now_ms - producer.seen_ms >= EXPIRY_GRACE_MS
        ]
        for producer_id in expired:
            del self._producers[producer_id]
        return len(expired)


def _check_epoch(producer_id: int, producer_epoch: int, producer: Producer) -> None:
    if producer_epoch < producer.producer_epoch:
        raise AppendRefused(
            ErrorCode.INVALID_PRODUCER_EPOCH,
            f"producer {producer_id} sent epoch {producer_epoch}, the partition has seen {producer.producer_epoch}",
        )


def _check_sequence(header: BatchHeader, producer: Producer) -> None:
    if header.producer_epoch != producer.producer_epoch:
        expected = 0
        if producer.producer_epoch == NO_PRODUCER_EPOCH:
            return
    else:
        expected = producer.next_sequence
    if header.base_sequence != expected:
        raise AppendRefused(
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"producer {header.producer_id} epoch {header.producer_epoch} sent sequences {header.base_sequence} to "
            f"{header.last_sequence}, expected {expected} as the first",
        )


def _seen(header: BatchHeader) -> SeenBatch:
    return SeenBatch(
        header.base_sequence, header.last_sequence, header.base_offset, header.last_offset, header.max_timestamp
    )


def _last_batch(entry: ProducerEntry) -> SeenBatch:
    first_sequence = (
        NO_SEQUENCE
        if entry.last_sequence == NO_SEQUENCE
        else decrement_sequence(entry.last_sequence, entry.offset_delta)
    )
    return SeenBatch(
        first_sequence, entry.last_sequence, entry.last_offset - entry.offset_delta, entry.last_offset, entry.timestamp
    )


def _entry(producer_id: int, producer: Producer) -> ProducerEntry:
    last = producer.window[-1] if producer.window else SeenBatch(NO_SEQUENCE, NO_SEQUENCE, 0, _NO_OFFSET, 0)
    first_offset = producer.current_txn_first_offset
    return ProducerEntry(
        producer_id=producer_id,
        producer_epoch=producer.producer_epoch,
        last_sequence=last.last_sequence,
        last_offset=last.last_offset,
        offset_delta=last.last_offset - last.first_offset if producer.window else 0,
        timestamp=producer.last_timestamp,
        coordinator_epoch=producer.coordinator_epoch,
        current_txn_first_offset=_NO_OFFSET if first_offset is None else first_offset,
    )
