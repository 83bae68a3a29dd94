"""Replays the log's batches into the image at start.

Knows where records come from (snapshot, log, bootstrap file) and metadata transactions: records between Begin and
End count once End is read, and are dropped with Abort or at the end of the log. Every error names the offset.
"""

from __future__ import annotations

from typing import NamedTuple

from barnabas.broker.metadata.image.framing import decode_record
from barnabas.broker.metadata.image.image import Image, ReplayError
from barnabas.broker.metadata.log.metadata_log import CatalogueError, MetadataLog, StoredBatch
from barnabas.broker.metadata.log.quorum import Quorum
from barnabas.broker.metadata.log.unchanged_records import UnchangedRecords
from barnabas.protocol.codec.schema import Stored
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.log_records.catalogue import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
)
from barnabas.protocol.records.batch import iter_batches
from barnabas.protocol.records.record import BatchRecord, iter_records


class _Found(NamedTuple):
    """A record: its content, its bytes, its raft epoch, and its position, for errors."""

    record: Stored
    value: bytes
    epoch: int
    where: str


class Replaying:
    """One pass over a log. It fills `image` and `quorum`; `in_transaction`: the log ends inside a transaction."""

    def __init__(self, image: Image, quorum: Quorum) -> None:
        self.image = image
        self.quorum = quorum
        self.bootstrap: list[Stored] = []
        """The first records of a new catalogue, if Kafka formatted the directory. They count once they are in
        the log."""
        self.carried = UnchangedRecords()
        self._held: list[_Found] | None = None

    @property
    def in_transaction(self) -> bool:
        return self._held is not None

    def run(self, log: MetadataLog) -> None:
        """Read the whole log. Raise CatalogueError if it cannot be read or replayed."""
        for batch in log.read():
            try:
                self._batch(batch)
            except DecodeError as damaged:
                where = "snapshot record" if batch.in_snapshot else "offset"
                raise CatalogueError(f"catalogue: batch at {where} {batch.header.base_offset}: {damaged}") from damaged
        try:
            self.image.check_complete()
            self.carried.check_controllers(self.image.node_id)
        except ReplayError as incomplete:
            raise CatalogueError(f"catalogue: {incomplete}") from incomplete
        self.quorum.check()

    def _batch(self, batch: StoredBatch) -> None:
        epoch = batch.header.partition_leader_epoch
        for record in iter_records(batch.data):
            if batch.header.is_control:
                self.quorum.observe(record)
            else:
                where = f"{'snapshot record' if batch.in_snapshot else 'offset'} {record.offset}"
                found = _Found(_decode(record, where), record.value or b"", epoch, where)
                if batch.in_bootstrap:
                    self.bootstrap.append(found.record)
                else:
                    self._record(found)

    def _record(self, found: _Found) -> None:
        record, where = found.record, found.where
        if isinstance(record, BeginTransactionRecord):
            if self._held is not None:
                raise CatalogueError(f"catalogue: {where}: BeginTransactionRecord inside a transaction")
            self._held = []
        elif isinstance(record, EndTransactionRecord | AbortTransactionRecord):
            if self._held is None:
                raise CatalogueError(f"catalogue: {where}: {type(record).__name__} without a transaction")
            held, self._held = self._held, None
            if isinstance(record, EndTransactionRecord):
                for change in held:
                    self._apply(change)
        elif self._held is not None:
            self._held.append(found)
        else:
            self._apply(found)

    def _apply(self, found: _Found) -> None:
        try:
            self.image.replay(found.record, found.epoch)
        except ReplayError as impossible:
            raise CatalogueError(f"catalogue: {found.where}: {impossible}") from impossible
        self.carried.replay(found.record, found.value)


def _decode(record: BatchRecord, where: str) -> Stored:
    if record.key is not None or record.headers:
        raise CatalogueError(f"catalogue: {where}: a record with a key or headers")
    try:
        return decode_record(record.value)
    except DecodeError as unknown:
        raise CatalogueError(f"catalogue: {where}: {unknown}") from unknown


def read_bootstrap(data: bytes) -> list[Stored]:
    """Return the records of a `bootstrap.checkpoint` of `kafka-storage.sh format`. Raise CatalogueError if damaged."""
    found = []
    try:
        for position, header in iter_batches(data):
            if not header.is_control:
                for record in iter_records(memoryview(data)[position : position + header.size_in_bytes]):
                    found.append(_decode(record, f"bootstrap record {record.offset}"))
    except DecodeError as damaged:
        raise CatalogueError(f"bootstrap.checkpoint: {damaged}") from damaged
    return found
