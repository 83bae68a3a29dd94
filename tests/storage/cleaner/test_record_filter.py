"""A batch that could not be written again in bounded memory stays as it is."""

import pytest

from barnabas.protocol.records.batch import parse_header
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.storage.cleaner.batch_retention import BatchRetention
from barnabas.storage.cleaner.dirty_records import DirtyRecords
from barnabas.storage.cleaner.offset_map import ArrayOffsetMap
from barnabas.storage.cleaner.record_filter import RecordFilter
from barnabas.storage.cleaner.results import CleanTally
from tests.support.work import finish_work


@pytest.mark.parametrize(("rewritten_bytes_max", "records_count"), [(1 << 27, 29_999), (20_000, 30_000)])
def test_a_batch_that_would_become_too_large_stays(rewritten_bytes_max: int, records_count: int) -> None:
    records = [NewRecord(b"%d" % number, b"\0" * 60, (), 5) for number in range(30_000)]
    batch = bytes(build_batch(records, compression=3))
    offset_map = ArrayOffsetMap(1 << 20, 0.9, 30_000)
    offset_map.put(b"0", 30_000)  # later on
    dirty = DirtyRecords(0, 0)
    dirty.latest_offset = 30_000
    batches = RecordFilter(offset_map, dirty, 0, 0, 1 << 20, CleanTally(), rewritten_bytes_max)
    found = finish_work(batches.steps(batch, parse_header(batch), BatchRetention.DELETE_EMPTY, False, False))
    assert found is not None
    assert found[0].records_count == records_count
    assert (found[1] == batch) == (records_count == 30_000)
