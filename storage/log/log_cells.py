"""A range of a log as a strip of cells, for inspection: each a batch, or a sample of the batches there.

Reads headers, no records. If the range has few batches, each has a cell. Else the range is divided evenly, and a cell
has samples of its batches, also evenly: the first of a segment that begins there, which costs no look-up, or the one
found by the offset index. Of sealed segments whose index is not in memory only some are read; the previous cell is
extended instead. So the work is bounded whatever the log's size.

Runs in steps: the log may grow meanwhile. Segments that are deleted raise FileRemoved.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.records.batch import HEADER_SIZE, BatchHeader, parse_header
from barnabas.protocol.records.control import ControlRecordType, parse_control_key
from barnabas.protocol.records.record import iter_records
from barnabas.storage.errors import CorruptFile
from barnabas.storage.log.segments import Segments
from barnabas.storage.producers.producer_state_manager import ProducerStateManager
from barnabas.storage.segment.segment import Segment
from barnabas.storage.steps import Steps

PLAIN, COMMITTED, ABORTED, OPEN = "plain", "committed", "aborted", "open"
COMMIT_MARKER, ABORT_MARKER, CONTROL = "commit marker", "abort marker", "control"
_HEADERS_IN_A_STEP = 16
_INDEXES_MAX = 8
_SAMPLES = 6
"""Places of a cell that are looked at."""
_CONTROL_BYTES_MAX = 1 << 12

AbortedRanges = dict[int, list[tuple[int, int]]]
"""Producer id -> first and last offset of each aborted transaction."""


class Cell(NamedTuple):
    """Offsets from `first_offset` to before `next_offset`. is_whole: it is one batch; else `header` is a sample."""

    first_offset: int
    next_offset: int
    header: BatchHeader
    kind: str
    is_whole: bool
    kinds: tuple[str, ...] = ()
    """Of the samples, if it is not one batch; a batch at several of the places counts as often."""


class _Found(NamedTuple):
    segment: Segment
    position: int
    header: BatchHeader


def log_cells(
    segments: Segments, producers: ProducerStateManager, first: int, end: int, cells_max: int
) -> Steps[list[Cell]]:
    """Return the cells of [first, end), in order. StorageError."""
    aborted = yield from aborted_ranges(segments, first, end)
    found: list[_Found] = []
    for each in batches_from(segments, first):
        if each.header.base_offset >= end:
            break
        if len(found) == cells_max:
            return (yield from _sampled(segments, producers, first, end, cells_max, aborted))
        found.append(each)
        if len(found) % _HEADERS_IN_A_STEP == 0:
            yield
    cells = []
    for each in found:
        header = each.header
        kind = _kind(each, producers, aborted)
        cells.append(Cell(max(first, header.base_offset), min(end, header.next_offset), header, kind, is_whole=True))
        if len(cells) % _HEADERS_IN_A_STEP == 0:
            yield
    return cells


def batches_from(segments: Segments, offset: int) -> Iterator[_Found]:
    """Yield every batch that ends at or after `offset`, by its header."""
    index = segments.index_of(offset)
    position = segments.all[index].position_of(offset)
    for segment in segments.all[index:]:
        try:
            for at, header in segment.headers(position):
                yield _Found(segment, at, header)
        except DecodeError as damage:
            raise CorruptFile(segment.log.path, str(damage)) from damage
        position = 0


def aborted_ranges(segments: Segments, first: int, end: int) -> Steps[AbortedRanges]:
    """Return the aborted transactions that overlap [first, end)."""
    found: AbortedRanges = defaultdict(list)
    for segment in segments.all[segments.index_of(first) :]:
        entries, is_complete = segment.aborted(first, end)
        for entry in entries:
            found[entry.producer_id].append((entry.first_offset, entry.last_offset))
        yield
        if is_complete:
            break
    return found


def kind_of(header: BatchHeader, producers: ProducerStateManager, aborted: AbortedRanges) -> str:
    """Return the state of a batch's records: plain, committed, aborted or open. Not for control batches."""
    if not header.is_transactional:
        return PLAIN
    producer = producers.get(header.producer_id)
    begun = None if producer is None else producer.current_txn_first_offset
    if begun is not None and begun <= header.base_offset:
        return OPEN
    ranges = aborted.get(header.producer_id, ())
    return ABORTED if any(low <= header.base_offset <= high for low, high in ranges) else COMMITTED


def _kind(found: _Found, producers: ProducerStateManager, aborted: AbortedRanges) -> str:
    header = found.header
    if not header.is_control:
        return kind_of(header, producers, aborted)
    if header.size_in_bytes > _CONTROL_BYTES_MAX:
        return CONTROL
    try:
        record = next(iter_records(found.segment.batch_bytes(found.position, header.size_in_bytes)), None)
        what = None if record is None else parse_control_key(record.key)
    except DecodeError:
        return CONTROL
    kinds = {ControlRecordType.COMMIT: COMMIT_MARKER, ControlRecordType.ABORT: ABORT_MARKER}
    return CONTROL if what is None else kinds.get(what, CONTROL)


def _sampled(
    segments: Segments, producers: ProducerStateManager, first: int, end: int, cells_max: int, aborted: AbortedRanges
) -> Steps[list[Cell]]:
    cells: list[Cell] = []
    left = _INDEXES_MAX
    last: tuple[BatchHeader, str] | None = None
    for low, high in _parts(first, end, cells_max):
        new: tuple[BatchHeader, str] | None = None
        kinds: list[str] = []
        for at, before in _parts(low, high, min(_SAMPLES, high - low)):
            segment, begins_here = _segment_for(segments, at, before)
            if not begins_here and not segment.offset_index.is_loaded:
                left -= 1
            found = _first_batch(segment, at, begins_here=begins_here) if begins_here or left >= 0 else None
            yield
            if found is None:
                continue
            if last is None or found.header.base_offset != last[0].base_offset:
                last = found.header, _kind(found, producers, aborted)
                new = new or last
            kinds.append(last[1])
        if new is not None:
            cells.append(Cell(low, high, *new, is_whole=False, kinds=tuple(kinds)))
        elif cells:
            cells[-1] = cells[-1]._replace(next_offset=high, kinds=(*cells[-1].kinds, *kinds))
    return cells


def _parts(first: int, end: int, count: int) -> Iterator[tuple[int, int]]:
    """Divide [first, end) evenly."""
    for number in range(count):
        yield first + (end - first) * number // count, first + (end - first) * (number + 1) // count


def _segment_for(segments: Segments, low: int, high: int) -> tuple[Segment, bool]:
    """Return the first segment that begins in [low, high), if one does; else the one that contains `low`."""
    index = segments.index_of(low)
    here = segments.all[index]
    if here.base_offset < low and index + 1 < len(segments.all) and segments.all[index + 1].base_offset < high:
        here = segments.all[index + 1]
    return here, low <= here.base_offset < high


def _first_batch(segment: Segment, offset: int, *, begins_here: bool) -> _Found | None:
    position = 0 if begins_here else segment.position_of(offset)
    data = segment.batch_bytes(position, HEADER_SIZE)
    if position >= segment.size or len(data) < HEADER_SIZE:
        return None
    try:
        return _Found(segment, position, parse_header(data))
    except DecodeError as damage:
        raise CorruptFile(segment.log.path, str(damage)) from damage
