"""Reads the ledger: its end first, further back only for what is missing, and after that only what is new.

Invariants: only committed records are seen. The cached records are a contiguous end of the ledger, from `_start` on.
No record that is not understood is skipped.
"""

from __future__ import annotations

from collections.abc import Iterator

from barnabas.client.client import Client
from barnabas.client.clock import Deadline
from barnabas.client.consume.consumer import Consumer
from barnabas.client.metadata import TopicPartition
from barnabas.client.offsets import EARLIEST, LATEST, READ_COMMITTED, READ_UNCOMMITTED, list_offsets
from barnabas.protocol.records.record import BatchRecord
from pyspark_barnabas.commit.ledger import Ledger, LedgerRecord, decode_value
from pyspark_barnabas.sink.failure import SinkFailed

_END_OFFSETS = 400  # of the ledger's end that is read first: about 200 batches, as each has a record and a marker
_KEPT_RECORDS = 4000
_PARTITION_BYTES = 8 * 1024 * 1024
_POLL_MS = 100


class LedgerReader:
    """One process's view of one ledger, by topic and id."""

    def __init__(self, topic: str) -> None:
        self._where: TopicPartition = (topic, 0)
        self._start = self._position = -1
        self._records: list[tuple[int, LedgerRecord]] = []

    def read(self, client: Client, query_id: str, batch_id: int, *, waits: bool, deadline: Deadline) -> Ledger:
        """Read the ledger's end, as far back as the batch of the query needs it.

        waits: read all up to the current high watermark, once every transaction in it is resolved; otherwise up to the
        last stable offset, as a dead driver's transaction may be open there. Raise LedgerDamaged if a record cannot be
        read; SinkFailed if records are gone, or if a transaction is not resolved by the deadline.
        """
        isolation = READ_UNCOMMITTED if waits else READ_COMMITTED
        end = list_offsets(client, {self._where: LATEST}, isolation=isolation, deadline=deadline)[self._where].offset
        earliest = -1
        if self._start < 0:
            earliest = self._earliest(client, deadline)
            self._start = self._position = max(earliest, end - _END_OFFSETS)
        if self._position < end:
            self._records += self._read(client, self._position, end, deadline)
            self._position = end
            self._forget_the_oldest()
        while not (ledger := self._ledger()).reaches(query_id, batch_id):
            earliest = self._earliest(client, deadline) if earliest < 0 else earliest
            if self._start <= earliest:
                self._check_beginning(ledger, query_id, earliest)
                break
            start = max(earliest, self._start - 4 * max(_END_OFFSETS, self._position - self._start))
            self._records[:0] = self._read(client, start, self._start, deadline)
            self._start = start
        return ledger

    def _ledger(self) -> Ledger:
        return Ledger(tuple(record for _, record in self._records))

    def _earliest(self, client: Client, deadline: Deadline) -> int:
        return list_offsets(client, {self._where: EARLIEST}, deadline=deadline)[self._where].offset

    def _read(self, client: Client, start: int, end: int, deadline: Deadline) -> list[tuple[int, LedgerRecord]]:
        found = read_between(client, self._where, start, end, deadline)
        return [(each.offset, decode_value(each.value)) for each in found]

    def _forget_the_oldest(self) -> None:
        if len(self._records) > _KEPT_RECORDS:
            del self._records[: len(self._records) - _KEPT_RECORDS // 2]
            self._start = self._records[0][0]

    def _check_beginning(self, ledger: Ledger, query_id: str, earliest: int) -> None:
        if earliest > 0 and not ledger.decided(query_id):
            raise SinkFailed(
                f"the first {earliest} offsets of the ledger {self._where[0]!r} were deleted, and it has no record "
                f"of query {query_id}: it is not known whether its batches were written before. Nothing was written. "
                "Find out what deletes records of the topic; to continue without its history, choose another prefix "
                "and a new checkpoint"
            )


def read_between(client: Client, where: TopicPartition, start: int, end: int, deadline: Deadline) -> list[BatchRecord]:
    """Return the committed records of a ledger's partition; raise SinkFailed if a transaction there stays open."""
    return list(iter_between(client, where, start, end, deadline))


def iter_between(
    client: Client, where: TopicPartition, start: int, end: int, deadline: Deadline | None = None
) -> Iterator[BatchRecord]:
    """Yield the same one by one, for many. Without a deadline, read while records come within the client's timeout."""
    consumer = Consumer(client, isolation=READ_COMMITTED, auto_offset_reset="none", partition_bytes=_PARTITION_BYTES)
    consumer.assign({where: start})
    is_patient, deadline = deadline is None, deadline or client.deadline()
    while (position := consumer.positions[where] or 0) < end:
        if deadline.is_over:
            raise SinkFailed(
                f"the ledger {where[0]!r} can be read only up to offset {position} of {end}: an open transaction "
                "begins there. `barnabas txn describe` shows it; restart the query, which ends it if it belongs to "
                "the sink"
            )
        for each in consumer.poll(min(_POLL_MS, max(1, deadline.left_ms))):
            if each.record.offset < end:
                yield each.record
        if is_patient and (consumer.positions[where] or 0) > position:
            deadline = client.deadline()
