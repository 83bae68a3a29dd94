"""Iteration over a log by the headers of its batches, for inspection: markers with their content.

Reads only, and changes nothing that readers see. Each step reads some kilobytes of a file at most. The iteration covers
the segments at its beginning: one that was deleted meanwhile raises FileRemoved, and one that was compacted
meanwhile is read in its old state.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files.txn_index import AbortedTxn
from barnabas.protocol.records.batch import BatchHeader
from barnabas.protocol.records.control import EndTxnMarker, read_marker
from barnabas.storage.errors import CorruptFile
from barnabas.storage.log.segments import Segments
from barnabas.storage.steps import Steps

_CONTROL_BATCH_BYTES_MAX = 64 << 10  # a marker takes 78


class LogBatch(NamedTuple):
    """One batch: its header, and for a transaction marker its content."""

    header: BatchHeader
    marker: EndTxnMarker | None


def batches_from(segments: Segments, offset: int) -> Iterator[LogBatch]:
    """Yield the batches from the one with `offset`, or the first after it, to the log's end. StorageError."""
    first = segments.index_of(offset)
    for number, segment in enumerate(segments.all[first:]):
        position = segment.position_of(offset) if number == 0 else 0
        try:
            for at, header in segment.headers(position):
                marker: EndTxnMarker | None = None
                if header.is_control and header.size_in_bytes <= _CONTROL_BATCH_BYTES_MAX:
                    marker = read_marker(segment.batch_bytes(at, header.size_in_bytes))
                yield LogBatch(header, marker)
        except DecodeError as damage:
            raise CorruptFile(segment.log.path, str(damage)) from damage


def aborted_around(segments: Segments, producer_id: int, offset: int) -> Steps[AbortedTxn | None]:
    """Return the aborted transaction of a producer that contains `offset`, by the transaction indexes. CorruptFile."""
    for segment in segments.all[segments.index_of(offset) :]:
        entries, is_complete = segment.aborted(offset, offset + 1)
        for entry in entries:
            if entry.producer_id == producer_id and entry.first_offset <= offset <= entry.last_offset:
                return entry
        if is_complete:
            break
        yield
    return None
