"""From the log's batches to the image: what a start does.

Knows where records come from (snapshot, log, bootstrap file) and metadata transactions: records between Begin and
End count once End is read, and vanish with Abort or with the end of the log. Every complaint names the offset.
"""

from broker.catalogue.framing import decode_record
from broker.catalogue.image import Image, ReplayError
from broker.catalogue.metadata_log import CatalogueError, MetadataLog, StoredBatch
from broker.catalogue.quorum import Quorum
from protocol.errors import DecodeError
from protocol.log_records.catalogue import AbortTransactionRecord, BeginTransactionRecord, EndTransactionRecord
from protocol.records.batch import iter_batches
from protocol.records.record import Record, iter_records
from protocol.schema import Stored


class Replaying:
    """One pass over a log. Afterwards `image` and `quorum` are what it says; `in_transaction`: it ends inside one."""

    def __init__(self, image: Image, quorum: Quorum) -> None:
        self.image = image
        self.quorum = quorum
        self._held: list[tuple[Stored, int, str]] | None = None

    @property
    def in_transaction(self) -> bool:
        return self._held is not None

    def run(self, log: MetadataLog) -> None:
        """Read the whole log. CatalogueError if it cannot be read or replayed."""
        for batch in log.read():
            try:
                self._batch(batch)
            except DecodeError as damaged:
                where = "snapshot record" if batch.in_snapshot else "offset"
                raise CatalogueError(f"catalogue: batch at {where} {batch.header.base_offset}: {damaged}") from damaged
        try:
            self.image.check_complete()
        except ReplayError as incomplete:
            raise CatalogueError(f"catalogue: {incomplete}") from incomplete

    def _batch(self, batch: StoredBatch) -> None:
        epoch = batch.header.partition_leader_epoch
        for record in iter_records(batch.data):
            if batch.header.is_control:
                self.quorum.observe(record)
            else:
                where = f"{'snapshot record' if batch.in_snapshot else 'offset'} {record.offset}"
                self._record(_decode(record, where), epoch, where)

    def _record(self, record: Stored, epoch: int, where: str) -> None:
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
                    self._apply(*change)
        elif self._held is not None:
            self._held.append((record, epoch, where))
        else:
            self._apply(record, epoch, where)

    def _apply(self, record: Stored, epoch: int, where: str) -> None:
        try:
            self.image.replay(record, epoch)
        except ReplayError as impossible:
            raise CatalogueError(f"catalogue: {where}: {impossible}") from impossible


def _decode(record: Record, where: str) -> Stored:
    if record.key is not None or record.headers:
        raise CatalogueError(f"catalogue: {where}: a record with a key or headers")
    try:
        return decode_record(record.value)
    except DecodeError as unknown:
        raise CatalogueError(f"catalogue: {where}: {unknown}") from unknown


def read_bootstrap(data: bytes) -> list[Stored]:
    """The records of a `bootstrap.checkpoint` that `kafka-storage.sh format` left. CatalogueError if it is damaged."""
    found = []
    try:
        for position, header in iter_batches(data):
            if not header.is_control:
                for record in iter_records(memoryview(data)[position : position + header.size_in_bytes]):
                    found.append(_decode(record, f"bootstrap record {record.offset}"))
    except DecodeError as damaged:
        raise CatalogueError(f"bootstrap.checkpoint: {damaged}") from damaged
    return found
