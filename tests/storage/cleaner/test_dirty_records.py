"""The states of dirty records: which batches have some, and that a round with them does what it does without."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.protocol.files.names import FileState
from barnabas.protocol.records.batch import BatchHeader, parse_header
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.storage.cleaner import job as job_module
from barnabas.storage.cleaner.dirty_records import LATEST, SUPERSEDED, TOMBSTONE, UNKNOWN, DirtyRecords
from barnabas.storage.cleaner.results import CleanResult
from tests.support.files.memory_files import MemoryFiles
from tests.support.work import finish_work
from tests.support.worlds.compacted_log import TIME_MS, CompactedLog
from tests.support.worlds.random_log import RandomLog


def header_of(base_offset: int, records_count: int) -> BatchHeader:
    return parse_header(build_batch([NewRecord(b"k", b"v", (), 5)] * records_count, base_offset=base_offset))


def test_a_batch_has_the_states_that_were_noted() -> None:
    records, header = DirtyRecords(100, 50), header_of(110, 4)
    assert records.begin_batch(header)
    records.note(111, SUPERSEDED)
    records.note(112, TOMBSTONE)
    records.note(113, UNKNOWN)
    records.latest_offset = 113
    assert records.states(header) == bytes([LATEST, SUPERSEDED, TOMBSTONE, UNKNOWN])


@pytest.mark.parametrize(
    ("header", "latest_offset"),
    [
        (header_of(99, 4), 200),  # begins in the clean part
        (header_of(147, 4), 200),  # ends behind the limit
        (header_of(110, 4)._replace(records_count=3), 200),  # has a gap
        (header_of(110, 4), 112),  # the map was full before its end
    ],
)
def test_a_batch_without_known_states_has_none(header: BatchHeader, latest_offset: int) -> None:
    records = DirtyRecords(100, 50)
    records.begin_batch(header)
    records.latest_offset = latest_offset
    assert records.states(header) == b""


def test_records_beyond_the_limit_are_not_noted() -> None:
    records, header = DirtyRecords(100, 50), header_of(149, 1)
    records.note(150, SUPERSEDED)
    records.latest_offset = 150
    assert records.states(header) == bytes([UNKNOWN])


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from((0, 0, 1, 2, 3, 4)),
    st.sampled_from((24 * 6, 24 * 30, 1 << 16)),
    st.sampled_from((1, 4)),
)
def test_a_round_with_states_is_one_without(
    seed: int, compression: int, dedupe_buffer_bytes: int, map_bytes_a_state: int
) -> None:
    log = CompactedLog(MemoryFiles(now_ms=TIME_MS).with_directory("/log"), "/log")
    life = RandomLog(log, Random(seed), compression)
    for turn in range(3):
        life.go_on()
        now_ms = TIME_MS + turn * 50_000_000
        without = cleaned_files(log, now_ms, dedupe_buffer_bytes, 1 << 40)
        assert cleaned_files(log, now_ms, dedupe_buffer_bytes, map_bytes_a_state) == without
        log.swap(without[0])


def cleaned_files(
    log: CompactedLog, now_ms: int, dedupe_buffer_bytes: int, map_bytes_a_state: int
) -> tuple[CleanResult, dict[str, bytes | None]]:
    """The result of a round, and its files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job_module, "_MAP_BYTES_A_STATE", map_bytes_a_state)
        result = finish_work(log.job(now_ms=now_ms, dedupe_buffer_bytes=dedupe_buffer_bytes).steps(log.files))
    names = [name for name in log.directory.names() if name.endswith(FileState.CLEANED.value)]
    return result, {name: log.directory.read(name) for name in names}
