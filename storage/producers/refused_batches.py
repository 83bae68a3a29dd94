# compiled: mypyc
"""Batches of unknown producers that a partition refused for now: each must be its producer's first batch there.

A partition accepts any first sequence from an unknown producer. A producer has up to five requests in flight: if its
first batch is refused and retried, the second would be accepted as the first meanwhile, and then the first would be out
of order forever. So the lowest refused sequence of a producer is stored, and no batch above it is accepted.
Kafka does so for the batches of a transaction that it verifies (KIP-890, VerificationStateEntry); here it is done for
every batch that is retried.

Rules only, as producer_state_manager.py: no file, no clock, and no state that outlives a run, since no connection does.

Invariant: of no more than PRODUCERS_MAX producers; the one whose last refusal is the oldest is forgotten first.
"""

from __future__ import annotations

from collections.abc import Iterator

from barnabas.protocol.records.batch import BatchHeader
from barnabas.storage.producers.producer_state_entry import comes_after

PRODUCERS_MAX = 10_000


class RefusedBatches:
    """The refused batches of one partition."""

    __slots__ = ("_first",)

    def __init__(self) -> None:
        self._first: dict[int, tuple[BatchHeader, int]] = {}
        """By producer id: the first refused batch of its latest epoch, and the time of its last refusal."""

    def __len__(self) -> int:
        return len(self._first)

    def __iter__(self) -> Iterator[tuple[BatchHeader, int]]:
        return iter(self._first.values())

    def add(self, header: BatchHeader, refused_ms: int) -> None:
        """Add a client's batch that was refused and will be retried. Without producer id or sequence do nothing."""
        if not header.has_producer_id or header.base_sequence < 0:
            return
        first, _ = self._first.pop(header.producer_id, (header, 0))
        if first.producer_epoch < header.producer_epoch or (
            first.producer_epoch == header.producer_epoch and comes_after(first.base_sequence, header.base_sequence)
        ):
            first = header
        if len(self._first) >= PRODUCERS_MAX:
            del self._first[next(iter(self._first))]
        self._first[header.producer_id] = first, refused_ms

    def first_before(self, header: BatchHeader) -> int | None:
        """Return the sequence that must come first, None if that is the batch of this header."""
        first, _ = self._first.get(header.producer_id, (header, 0))
        if first.producer_epoch == header.producer_epoch and comes_after(header.base_sequence, first.base_sequence):
            return first.base_sequence
        return None

    def forget(self, producer_id: int) -> None:
        """Remove a producer that the partition knows now."""
        self._first.pop(producer_id, None)

    def clear(self) -> None:
        """Remove all."""
        self._first.clear()

    def expire(self, now_ms: int, expiration_ms: int) -> None:
        """Remove the producers whose last refusal was at least `expiration_ms` ago."""
        for producer_id, (_, refused_ms) in list(self._first.items()):
            if now_ms - refused_ms >= expiration_ms:
                del self._first[producer_id]
