"""The first pass in vectors: it finds what the pass over rows finds, and takes the records that are plain."""

import sys
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas import form
from barnabas.protocol.records.batch import HEADER_SIZE, parse_header
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.storage import cleaner
from barnabas.storage.cleaner.dirty_records import LATEST, SUPERSEDED, TOMBSTONE
from barnabas.storage.cleaner.offset_map import ENTRY_BYTES
from barnabas.storage.cleaner.results import CleanTally
from barnabas.storage.cleaner.vector_offset_map import VectorDirtyRecords, VectorKeyTaker, VectorOffsetMap
from tests.storage.cleaner.test_dirty_records import cleaned_files
from tests.support.files.memory_files import MemoryFiles
from tests.support.worlds.compacted_log import TIME_MS, CompactedLog
from tests.support.worlds.random_log import RandomLog

pytestmark = pytest.mark.skipif(form.running() != form.COMPILED, reason="nothing is compiled: scripts/test compiled")


class Pass:
    """A first pass over batches of one buffer, from offset 0 on."""

    def __init__(self, slots: int) -> None:
        self.map = VectorOffsetMap(slots * ENTRY_BYTES, 1.0, 1 << 20)
        self.records = VectorDirtyRecords(0, 10_000)
        self.tally = CleanTally()
        self._taker = VectorKeyTaker(self.map, self.records, 1 << 20, self.tally)

    def take(self, pairs: Sequence[tuple[bytes | None, bytes | None]], base_offset: int) -> tuple[int, int]:
        """Take a batch; return the number of records that were taken, and the offset of the last one."""
        batch = bytes(build_batch([NewRecord(key, value, (), 5) for key, value in pairs], base_offset=base_offset))
        header = parse_header(batch)
        self.records.begin_batch(header)
        position, count, last = self._taker.take(batch, HEADER_SIZE, len(pairs), base_offset - 1, header)
        assert (position == len(batch)) == (count == len(pairs))
        return count, last

    def states(self, base_offset: int, count: int) -> bytes:
        header = parse_header(build_batch([NewRecord(b"k", b"v", (), 5)] * count, base_offset=base_offset))
        return self.records.states(header)


def test_plain_records_are_taken_until_one_is_not() -> None:
    first = Pass(1_000)
    assert first.take([(b"a" * 20, b"1"), (b"b", b"longer value"), (b"a" * 20, None), (None, b"2")], 10) == (3, 12)
    assert first.tally.map_messages_read == 3
    assert first.records.latest_offset == 12
    assert first.states(10, 3) == bytes([SUPERSEDED, LATEST, TOMBSTONE])
    assert first.take([(b"b", b"longer value"), (b"a" * 20, b"longer value")], 20) == (2, 21)
    assert first.states(10, 3) == bytes([SUPERSEDED, SUPERSEDED, SUPERSEDED])
    assert [first.map.get(key) for key in (b"a" * 20, b"b", b"c")] == [21, 20, -1]


def test_nothing_is_taken_into_a_map_with_little_room() -> None:
    first = Pass(200)
    pairs = [(b"key %d" % number, b"a value") for number in range(100)]
    assert first.take(pairs, 0) == (100, 99)
    assert first.take(pairs, 100) == (0, 99)
    assert first.map.entries == 100


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from((0, 0, 1, 2, 3, 4)),
    st.sampled_from((24 * 6, 24 * 30, 24 * 160, 1 << 16)),
)
def test_a_round_in_vectors_is_one_over_rows(seed: int, compression: int, dedupe_buffer_bytes: int) -> None:
    log = CompactedLog(MemoryFiles(now_ms=TIME_MS).with_directory("/log"), "/log")
    life = RandomLog(log, Random(seed), compression)
    for turn in range(3):
        life.go_on()
        now_ms = TIME_MS + turn * 50_000_000
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(sys.modules, "barnabas.storage.cleaner.vector_offset_map", None)
            patch.delattr(cleaner, "vector_offset_map")
            over_rows = cleaned_files(log, now_ms, dedupe_buffer_bytes, 4)
        assert cleaned_files(log, now_ms, dedupe_buffer_bytes, 4) == over_rows
        log.swap(over_rows[0])
