"""Batches that a partition refused for now, of producers it does not know: each is to be its producer's first there.

A partition takes any sequence as the first of a producer it does not know. A producer has up to five requests on their
way: where its first batch is refused and comes again, the second would be taken as the first meanwhile, and then the
first is out of order for ever. So the lowest refused sequence of a producer is kept, and nothing is taken above it.
Kafka does so for the batches of a transaction that it verifies (KIP-890, VerificationStateEntry); here it is done for
every batch that comes again.

Rules only, as window.py: no file, no clock, and nothing that outlives a run, since no connection does.

Invariant: of no more than PRODUCERS_MAX producers; the one whose last refusal is the oldest is forgotten first.
"""

from __future__ import annotations

from collections.abc import Iterator

from barnabas.protocol.records.batch import BatchHeader
from barnabas.storage.producers.producer import comes_after

PRODUCERS_MAX = 10_000


class RefusedBatches:
    """Those of one partition."""

    __slots__ = ("_first",)

    def __init__(self) -> None:
        self._first: dict[int, tuple[BatchHeader, int]] = {}
        """By producer id: of those of its latest epoch the one that comes first, and when any was refused last."""

    def __len__(self) -> int:
        return len(self._first)

    def __iter__(self) -> Iterator[tuple[BatchHeader, int]]:
        return iter(self._first.values())

    def add(self, header: BatchHeader, refused_ms: int) -> None:
        """A client's batch was refused, and will come again. Nothing happens if it has no producer id or sequence."""
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
        """The sequence that has to come first, if that is not the batch of this header."""
        first, _ = self._first.get(header.producer_id, (header, 0))
        if first.producer_epoch == header.producer_epoch and comes_after(header.base_sequence, first.base_sequence):
            return first.base_sequence
        return None

    def forget(self, producer_id: int) -> None:
        """The partition knows the producer now."""
        self._first.pop(producer_id, None)

    def clear(self) -> None:
        """Forget all."""
        self._first.clear()

    def expire(self, now_ms: int, expiration_ms: int) -> None:
        """Forget the producers whose last refusal is so long ago."""
        for producer_id, (_, refused_ms) in list(self._first.items()):
            if now_ms - refused_ms >= expiration_ms:
                del self._first[producer_id]
