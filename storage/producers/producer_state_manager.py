# compiled: mypyc
"""The producer state of a partition: epochs, the window of the last five batches, open transactions.

Rules only: this module reads no file and no clock. `check…` checks and refuses, `add…` changes and never refuses, so a
batch that fails, on any rule or on the disk, changes nothing: add follows only after the bytes are in the log.

Invariants:
- a window holds batches of its producer's current epoch only, oldest first;
- every batch at or above `seen_from` that can be in a window is in it. A snapshot stores one batch per producer, so
  after a load there may be more below: `wants_older` returns whether they affect the result, `add_older` adds them;
- a producer's `current_txn_first_offset` and `OpenTransactions` are equal;
- with more than ENCODED_FROM producers, `encoded` is notified of changed producers;
- no batch of a known producer is among the refused ones: its sequence is checked anyway.

docs/formats/producer-snapshot.md describes the file; KIP-98, KIP-360, KIP-890 and KIP-1228 the rules.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import pairwise
from typing import Final

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.files.producer_snapshot import ProducerEntry, encode
from barnabas.protocol.files.txn_index import AbortedTxn
from barnabas.protocol.records.batch import BatchHeader
from barnabas.protocol.records.control import EndTxnMarker
from barnabas.storage.producers.encoded_producers import EncodedProducers
from barnabas.storage.producers.open_transactions import CompletedTxn, OpenTransactions
from barnabas.storage.producers.producer_state_entry import (
    WINDOW_BATCHES,
    ProducerState,
    ProducerStateEntry,
    SeenBatch,
    comes_after,
)
from barnabas.storage.producers.refused_batches import RefusedBatches
from barnabas.storage.refusals import AppendRefused
from barnabas.storage.steps import Pauses, Steps

EXPIRY_GRACE_MS: Final = 600_000  # a producer seen this recently stays, however old the timestamps of its records are
ENCODED_FROM: Final = 1_000
"""With more producers the entries of a snapshot are encoded as they change: this number takes a millisecond."""
EPOCH_BUMPED_SINCE: Final = 2  # transaction.version: every transaction ends with a new producer epoch
PRODUCER_EPOCH_MAX: Final = 2**15 - 1


class ProducerStateManager:
    """All producers of one partition."""

    def __init__(self, seen_from: int = 0, encoded_from: int = ENCODED_FROM) -> None:
        self._producers: dict[int, ProducerStateEntry] = {}
        self._encoded_from = encoded_from
        self.encoded: EncodedProducers | None = None
        """Present once there are very many producers. It is notified of each changed producer, by `append_plain` too.
        """
        self._transactions = OpenTransactions()
        self._refused = RefusedBatches()
        self.seen_from = seen_from
        self.get = self._producers.get  # used by every append: saves a call
        self.unstable = self._transactions.unstable  # likewise
        self.unreplicated = self._transactions.unreplicated  # likewise
        self.release = self._transactions.release

    def __len__(self) -> int:
        return len(self._producers)

    # --- checks ---

    def check_batch(self, header: BatchHeader, *, from_client: bool, bumps_epoch: bool = False) -> SeenBatch | None:
        """Return the batch in the window that `header` repeats, or None when it may be appended.

        Raises AppendRefused with Kafka's code. Only a client's batch has sequences; only the epoch of a coordinator's
        batch is checked. `bumps_epoch`: the producer begins every transaction with a new epoch (Produce v12, KIP-890).
        """
        producer = self._producers.get(header.producer_id)
        if producer is None:
            # Unknown: expired, deleted or new. Any sequence is accepted, but none that overtakes a refused one.
            if from_client:
                self._check_first(header, bumps_epoch)
            return None
        if from_client and header.producer_epoch == producer.producer_epoch:
            repeated = producer.find(header.base_sequence, header.last_sequence)
            if repeated is not None:
                return repeated
        producer.check_epoch(header.producer_id, header.producer_epoch)
        if from_client:
            producer.check_sequence(header)
        if producer.current_txn_first_offset is not None and not header.is_transactional:
            raise AppendRefused(
                ErrorCode.INVALID_TXN_STATE,
                f"producer {header.producer_id} has a transaction open since offset "
                f"{producer.current_txn_first_offset} and sent a batch outside it",
            )
        return None

    def _check_first(self, header: BatchHeader, bumps_epoch: bool) -> None:
        expected = 0 if header.is_transactional and bumps_epoch else self._refused.first_before(header)
        if expected is not None and header.base_sequence != expected:
            raise AppendRefused(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"producer {header.producer_id} epoch {header.producer_epoch} begins with sequence "
                f"{header.base_sequence}, expected {expected} as the first",
            )

    def check_marker(self, marker: EndTxnMarker, transaction_version: int = 0) -> None:
        """Raise AppendRefused when the marker comes from a fenced producer epoch or a fenced coordinator.

        Since transaction.version 2 a marker has the epoch after its transaction's. The transaction's own epoch is
        refused, so that a late marker does not end the next transaction (KIP-1228); unless nothing is open, as when a
        marker is written again, or the epoch is the largest one.
        """
        producer = self._producers.get(marker.producer_id)
        if producer is None:
            return
        producer.check_epoch(marker.producer_id, marker.producer_epoch)
        if (
            transaction_version >= EPOCH_BUMPED_SINCE
            and marker.producer_epoch == producer.producer_epoch != PRODUCER_EPOCH_MAX
            and producer.current_txn_first_offset is not None
        ):
            raise AppendRefused(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"marker of epoch {marker.producer_epoch} for producer {marker.producer_id}, which has a transaction "
                f"of that epoch open since offset {producer.current_txn_first_offset}",
            )
        if marker.coordinator_epoch < producer.coordinator_epoch:
            raise AppendRefused(
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                f"marker of coordinator epoch {marker.coordinator_epoch} for producer {marker.producer_id}, "
                f"whose last one was of {producer.coordinator_epoch}",
            )

    def completed_by(self, marker: EndTxnMarker, offset: int) -> CompletedTxn | None:
        """Return the transaction that a marker at `offset` ends; None if the producer has none open here."""
        return self._transactions.completed_by(marker, offset)

    def aborted_txn(self, completed: CompletedTxn) -> AbortedTxn:
        """Return its entry for the transaction index, with the last stable offset after it."""
        return self._transactions.aborted_txn(completed)

    @property
    def first_unstable_offset(self) -> int | None:
        """The first offset of the oldest transaction that is open, held, or not below the high watermark."""
        return self._transactions.first_unstable_offset

    @property
    def is_holding(self) -> bool:
        """Whether a transaction was ended with `hold` and is not released."""
        return self._transactions.is_holding

    def has_open_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        """Return whether a batch of this producer would continue a transaction, not begin one."""
        producer = self._producers.get(producer_id)
        return (
            producer is not None
            and producer.current_txn_first_offset is not None
            and producer.producer_epoch == producer_epoch
        )

    def is_fenced(self, producer_id: int, producer_epoch: int) -> bool:
        """Return whether a later epoch of this producer was seen, so that batches of this epoch are refused."""
        producer = self._producers.get(producer_id)
        return producer is not None and producer_epoch < producer.producer_epoch

    def would_begin_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        """Return whether a transactional batch of this producer would begin a transaction: none of its epoch is open,
        and no later epoch was seen.
        """
        producer = self._producers.get(producer_id)
        return (
            producer is None
            or producer_epoch > producer.producer_epoch
            or (producer_epoch == producer.producer_epoch and producer.current_txn_first_offset is None)
        )

    def wants_older(self, header: BatchHeader) -> bool:
        """Return whether `header` may repeat a batch below `seen_from` that would still fit in the window."""
        producer = self._producers.get(header.producer_id)
        if producer is None or not producer.window or len(producer.window) >= WINDOW_BATCHES:
            return False
        oldest = producer.window[0]
        if producer.producer_epoch != header.producer_epoch:
            return False
        return comes_after(oldest.first_sequence, header.last_sequence)

    def states(self) -> list[ProducerState]:
        """Return the state of every producer, for DescribeProducers."""
        return [producer.state(producer_id) for producer_id, producer in self._producers.items()]

    def last_records(self, below: int) -> list[tuple[int, int, int]]:
        """Return (producer id, last data offset, epoch) of the producers without data at or after `below`.
        The offset is -1 without data in this epoch.
        """
        found = []
        for producer_id, producer in self._producers.items():
            last = producer.window[-1].last_offset if producer.window else -1
            if last < below:
                found.append((producer_id, last, producer.producer_epoch))
        return found

    def to_snapshot(self) -> list[ProducerEntry]:
        """Return the snapshot entries, one per producer."""
        return [producer.entry(producer_id) for producer_id, producer in self._producers.items()]

    def snapshot(self) -> bytes:
        """Return the content of a `.snapshot` file."""
        return encode(self.to_snapshot()) if self.encoded is None else self.encoded.content()

    # --- changes ---

    def add_batch(self, header: BatchHeader, seen_ms: int) -> None:
        """Add a data batch with a producer id that is in the log, at the offsets of its header."""
        producer = self._producers.get(header.producer_id)
        if producer is None:
            producer = self._new(header.producer_id, header.producer_epoch)
        producer.adopt_epoch(header.producer_epoch)
        producer.add(SeenBatch.of(header), seen_ms)
        if header.is_transactional and producer.current_txn_first_offset is None:
            self.open_transaction(header.producer_id, producer, header.base_offset)
        if self.encoded is not None:
            self.encoded.changed(header.producer_id)

    def open_transaction(self, producer_id: int, producer: ProducerStateEntry, first_offset: int) -> None:
        """Begin a transaction whose first batch is in the log."""
        producer.current_txn_first_offset = first_offset
        self._transactions.begin(producer_id, first_offset)

    def add_refused(self, header: BatchHeader, refused_ms: int) -> None:
        """Note a client's refused batch: before it is retried, a later one must not be its producer's first."""
        if header.producer_id not in self._producers:
            self._refused.add(header, refused_ms)

    def add_marker(self, marker: EndTxnMarker, offset: int, seen_ms: int, *, hold: bool = False) -> None:
        """Add a marker that is in the log at `offset`: its producer's transaction, if one was open, ends.

        With `hold` it limits the last stable offset until `release`.
        """
        completed = self._transactions.completed_by(marker, offset)
        _, producer_id, producer_epoch, coordinator_epoch, _, timestamp = marker
        producer = self._producers.get(producer_id)
        if producer is None:
            producer = self._new(producer_id, producer_epoch)
        producer.adopt_epoch(producer_epoch)  # the same epoch keeps its window
        producer.coordinator_epoch = coordinator_epoch
        producer.last_timestamp = timestamp
        producer.seen_ms = seen_ms
        producer.current_txn_first_offset = None
        if self.encoded is not None:
            self.encoded.changed(producer_id)
        if completed is not None:
            self._transactions.end(completed, hold=hold)

    def _new(self, producer_id: int, producer_epoch: int) -> ProducerStateEntry:
        self._refused.forget(producer_id)
        producer = self._producers[producer_id] = ProducerStateEntry(producer_epoch)
        self._count()
        return producer

    def _count(self) -> None:
        if self.encoded is None and len(self._producers) > self._encoded_from:
            self.encoded = EncodedProducers(self._producers)

    def high_watermark_moved(self, high_watermark: int) -> None:
        """Drop transactions whose marker is below the high watermark: they no longer limit the last stable offset."""
        self._transactions.high_watermark_moved(high_watermark)

    def add_older(self, headers: Iterable[BatchHeader], from_offset: int) -> None:
        """Fill windows from all batches that begin in [from_offset, seen_from), in order."""
        found: dict[int, deque[SeenBatch]] = {}
        for header in headers:
            assert from_offset <= header.base_offset < self.seen_from
            producer = self._producers.get(header.producer_id)
            if producer is None or producer.producer_epoch != header.producer_epoch or header.is_control:
                continue
            room = WINDOW_BATCHES - len(producer.window)
            # The batch stored in the snapshot lies below it and is read here again.
            if room and producer.window and header.last_offset < producer.window[0].first_offset:
                found.setdefault(header.producer_id, deque(maxlen=room)).append(SeenBatch.of(header))
        for producer_id, older in found.items():
            window = self._producers[producer_id].window
            window[:0] = older
            assert all(before.last_offset < after.first_offset for before, after in pairwise(window)), (
                f"the window of producer {producer_id} is out of order: {window}"
            )
        self.seen_from = from_offset

    def restore(self, entries: Iterable[ProducerEntry], offset: int, seen_ms: int) -> Steps[None]:
        """Replace the state by a snapshot taken at `offset`. The state is invalid until this has ended."""
        self._clear()
        self.seen_from = offset
        opened: list[tuple[int, int]] = []
        pauses = Pauses()
        for entry in entries:
            producer = self._producers[entry.producer_id] = ProducerStateEntry.restored(entry, seen_ms)
            if producer.current_txn_first_offset is not None:
                opened.append((producer.current_txn_first_offset, entry.producer_id))
            self._count()
            if self.encoded is not None:
                self.encoded.changed(entry.producer_id)
            if pauses.is_due():
                yield
        yield from self._transactions.restore(opened)

    def _clear(self) -> None:
        self._producers.clear()
        self.encoded = None
        self._refused.clear()

    def expire(self, now_ms: int, expiration_ms: int) -> list[int]:
        """Remove producers without an open transaction that are older than `expiration_ms`; return their ids.

        The age is that of the records, as in Kafka. But a producer that wrote, or was loaded, within EXPIRY_GRACE_MS
        stays: old timestamps must not cost a running producer its window. The grace time is at most `expiration_ms`.
        """
        grace_ms = min(EXPIRY_GRACE_MS, expiration_ms)
        expired = [
            producer_id
            for producer_id, producer in self._producers.items()
            if producer.current_txn_first_offset is None
            and now_ms - producer.last_timestamp >= expiration_ms
            and now_ms - producer.seen_ms >= grace_ms
        ]
        for producer_id in expired:
            del self._producers[producer_id]
            if self.encoded is not None:
                self.encoded.forget(producer_id)
        self._refused.expire(now_ms, expiration_ms)
        return expired
