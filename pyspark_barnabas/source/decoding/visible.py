"""The batches of an answer that a reader sees: only undamaged ones, with data that was not aborted. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.client.consume.decoding import Aborted, AbortedFilter
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.records.batch import BatchHeader, verify_crc
from pyspark_barnabas.source.errors import SourceError

Batch = tuple[BatchHeader, memoryview]


def visible(batches: Iterable[Batch], aborted: Iterable[Aborted] | None, start: int, end: int) -> list[Batch]:
    """Return the batches with records that may be read and that reach into the offsets from `start` to below `end`.

    batches: in the order of the log. aborted: as the answer lists them, or None for read_uncommitted.
    """
    hidden = None if aborted is None else AbortedFilter(aborted)
    found: list[Batch] = []
    for header, batch in batches:
        if not verify_crc(batch):
            raise SourceError(f"the batch at offset {header.base_offset} is damaged: its crc is wrong")
        try:
            is_hidden = hidden is not None and hidden.hides(header, batch)
        except DecodeError as error:
            raise SourceError(f"the marker at offset {header.base_offset} is damaged: {error}") from error
        if not (is_hidden or header.is_control or header.next_offset <= start or header.base_offset >= end):
            found.append((header, batch))
    return found
