"""Records of a partition from an offset on, those that match, up to a page of them; and one complete record.

A search stops after some records or bytes and returns where it stopped, so that the next request can continue there.
Values are stored truncated, as far as they are shown. Records of internal topics, and control records, are decoded.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from barnabas.client.admin.offset_resets import offset_since
from barnabas.logfiles.decoders import decoder_for
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.records.batch import BatchHeader, iter_batches
from barnabas.protocol.records.record import BatchRecord, iter_records_with_pauses
from barnabas.storage.errors import FileRemoved
from barnabas.storage.log.log_cells import kind_of
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from barnabas.storage.log.log import PartitionLog

SHOWN_MAX = 50
VALUE_BYTES_MAX = 64 << 10
_RECORDS_LOOKED_AT_MAX = 20_000
_BYTES_LOOKED_AT_MAX = 16 << 20
_BYTES_AT_A_TIME = 256 << 10
_RECORDS_IN_A_STEP = 100
MARKER = "marker"


class Seen(NamedTuple):
    """A record to show. kind: its outcome, such as aborted. Key and value are truncated; their sizes are complete."""

    record: BatchRecord
    kind: str
    key_size: int
    value_size: int
    decoded: str | None
    """The content of a record of an internal topic, or of a control record."""
    header: BatchHeader


class RecordsPage(NamedTuple):
    """A page of records. next_offset: where to continue, None at the end. is_full: else the search limit is reached."""

    records: list[Seen]
    next_offset: int | None
    looked_at: int
    is_full: bool
    damage: str | None
    """Why reading stopped, if the log is damaged."""


def search(
    log: PartitionLog, first: int, needle: str, *, committed: bool, shown_max: int = SHOWN_MAX
) -> Steps[RecordsPage]:
    """Return, in steps, the records from an offset on whose key, value, headers or decoded content contain the needle.

    committed: as a read_committed consumer sees them; else all, markers included. Raises StorageError.
    """
    offset = max(first, log.log_start_offset)
    records: list[Seen] = []
    looked_at = looked_at_bytes = 0
    bytes_wanted = needle.encode("utf-8", "surrogatepass")
    while log.log_start_offset <= offset <= log.log_end_offset:
        data = log.read(offset, _BYTES_AT_A_TIME, committed=committed, force_first_batch=True).read_all()
        yield
        before = offset
        for position, header in iter_batches(data):
            kind = yield from _kind(log, header)
            if committed and kind in ("aborted", MARKER):
                offset = header.next_offset
                continue
            try:
                for record in _records(data[position : position + header.size_in_bytes]):
                    if record is None:
                        yield
                        continue
                    if record.offset < offset:
                        continue
                    looked_at += 1
                    looked_at_bytes += len(record.value or b"")
                    offset = record.offset + 1
                    seen = _seen(log.topic, record, header, kind)
                    if not needle or _has(seen, record, needle, bytes_wanted):
                        records.append(seen)
                    if len(records) >= shown_max:
                        return RecordsPage(records, offset, looked_at, is_full=True, damage=None)
                    if looked_at >= _RECORDS_LOOKED_AT_MAX or looked_at_bytes >= _BYTES_LOOKED_AT_MAX:
                        return RecordsPage(records, offset, looked_at, is_full=False, damage=None)
                    if looked_at % _RECORDS_IN_A_STEP == 0:
                        yield
            except DecodeError as damage:
                return RecordsPage(records, header.next_offset, looked_at, is_full=False, damage=str(damage))
            offset = header.next_offset
        if offset == before:
            break  # the end, for this isolation level
    return RecordsPage(records, None, looked_at, is_full=False, damage=None)


def offset_at(log: PartitionLog, timestamp_ms: int, *, committed: bool) -> Steps[int]:
    """Return, in steps, the first offset at or after a time, and the end of the log if there is none.

    committed: as a read_committed consumer sees them. Raises StorageError.
    """
    try:
        found = yield from log.find_offset(timestamp_ms, committed=committed)
    except FileRemoved:  # retention removed a segment meanwhile: the log as it is now
        found = yield from log.find_offset(timestamp_ms, committed=committed)
    return offset_since(found.offset, log.last_stable_offset if committed else log.high_watermark)


def _records(batch: bytes) -> Iterator[BatchRecord | None]:
    return iter_records_with_pauses(batch)


def _kind(log: PartitionLog, header: BatchHeader) -> Steps[str]:
    if header.is_control:
        return MARKER
    if not header.is_transactional:
        return "plain"
    aborted = yield from log.aborted_ranges(header.base_offset, header.next_offset)
    return kind_of(header, log.producers, aborted)


def _seen(topic: str, record: BatchRecord, header: BatchHeader, kind: str) -> Seen:
    cut = record._replace(key=_cut(record.key), value=_cut(record.value))
    return Seen(cut, kind, len(record.key or b""), len(record.value or b""), _decoded(topic, record, header), header)


def _cut(data: bytes | None) -> bytes | None:
    return data if data is None or len(data) <= VALUE_BYTES_MAX else data[:VALUE_BYTES_MAX]


def _decoded(topic: str, record: BatchRecord, header: BatchHeader) -> str | None:
    decode = decoder_for(topic, header)
    if decode is None:
        return None
    try:
        found: dict[str, Any] = decode(record)
    except DecodeError:
        return None
    return json.dumps(found, ensure_ascii=False)


def _has(seen: Seen, record: BatchRecord, needle: str, wanted: bytes) -> bool:
    if seen.decoded is not None and needle in seen.decoded:
        return True
    if wanted in (record.key or b"") or wanted in (record.value or b""):
        return True
    return any(needle in name or wanted in (value or b"") for name, value in record.headers)
