"""Decoding of the bytes of a Fetch response into a consumer's records. Pure.

Control batches are skipped. With read_committed the records of aborted transactions are skipped, by the list in the
response: a transaction in it is aborted from its first offset to its ABORT marker.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from barnabas.protocol.errors import DecodeError, ErrorCode, KafkaError
from barnabas.protocol.primitives import Buffer
from barnabas.protocol.records.batch import BatchHeader, iter_batches, verify_crc
from barnabas.protocol.records.control import read_marker
from barnabas.protocol.records.record import BatchRecord, iter_records


class Aborted(NamedTuple):
    """An aborted transaction in a Fetch response."""

    producer_id: int
    first_offset: int


class Decoded(NamedTuple):
    """Records from `position` on, and the next offset to fetch, which may lie beyond the last of them."""

    records: list[BatchRecord]
    next_offset: int


def decode_records(
    data: Buffer,
    position: int,
    aborted: Iterable[Aborted] | None = None,
    *,
    limit: int | None = None,
    where: str = "fetched records",
) -> Decoded:
    """Return the visible records of whole batches in `data` at or after offset `position`, at most `limit` of them.

    aborted: None for read_uncommitted. KafkaError CORRUPT_MESSAGE if a batch is damaged.
    """
    records: list[BatchRecord] = []
    hidden = None if aborted is None else AbortedFilter(aborted)
    try:
        for start, header in iter_batches(data):
            batch = memoryview(data)[start : start + header.size_in_bytes]
            if not verify_crc(batch):
                raise DecodeError(f"the batch at offset {header.base_offset} has a wrong crc")
            is_hidden = header.is_control or header.next_offset <= position
            if hidden is not None:
                is_hidden = hidden.hides(header, batch) or is_hidden
            if not is_hidden:
                visible = (record for record in iter_records(batch) if record.offset >= position)
                records += islice(visible, None if limit is None else limit - len(records))
                if len(records) == limit:
                    return Decoded(records, records[-1].offset + 1)
            position = max(position, header.next_offset)
    except DecodeError as error:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"{where}: {error}") from error
    return Decoded(records, position)


class AbortedFilter:
    """A filter for batches of aborted transactions; it must get every batch in order."""

    def __init__(self, aborted: Iterable[Aborted]) -> None:
        self._to_come = deque(sorted(aborted, key=lambda txn: txn.first_offset))
        self._open: set[int] = set()  # producers inside an aborted transaction

    def hides(self, header: BatchHeader, batch: Buffer) -> bool:
        """Return whether the batch belongs to an aborted transaction, or ends one."""
        while self._to_come and self._to_come[0].first_offset <= header.last_offset:
            self._open.add(self._to_come.popleft().producer_id)
        if not header.is_transactional or header.producer_id not in self._open:
            return False
        if header.is_control:
            marker = read_marker(batch)
            if marker is not None and not marker.commit:
                self._open.discard(header.producer_id)
        return True
