"""Index entries and producer snapshots: golden bytes, round trips, and damage refused."""

from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files import offset_index, producer_snapshot, time_index, txn_index
from barnabas.protocol.files.preallocation import trimmed_size
from barnabas.protocol.files.producer_snapshot import ProducerEntry
from barnabas.protocol.files.txn_index import AbortedTxn

T = 1700000000000  # ms

GOLDEN_TXN_INDEX = bytes.fromhex("00000000000000000fa0000000000000006400000000000000660000000000000067")
GOLDEN_SNAPSHOT = bytes.fromhex(
    "0001b0034755000000010000000000000fa00003000000080000000000000065000000010000018bcfe56805ffffffff0000000000000064"
)

int16, int32, int64 = (st.integers(-(2**n), 2**n - 1) for n in (15, 31, 63))
positive32 = st.integers(0, 2**31 - 1)


def test_the_golden_txn_index_entry() -> None:
    entry = AbortedTxn(producer_id=4000, first_offset=100, last_offset=102, last_stable_offset=103)
    assert txn_index.encode([entry]) == GOLDEN_TXN_INDEX
    assert txn_index.decode(GOLDEN_TXN_INDEX) == [entry]


def test_the_golden_producer_snapshot() -> None:
    entry = ProducerEntry(
        producer_id=4000,
        producer_epoch=3,
        last_sequence=8,
        last_offset=101,
        offset_delta=1,
        timestamp=T + 5,
        coordinator_epoch=-1,
        current_txn_first_offset=100,
    )
    assert producer_snapshot.encode([entry]) == GOLDEN_SNAPSHOT
    assert producer_snapshot.decode(GOLDEN_SNAPSHOT) == [entry]


@given(st.lists(st.tuples(positive32, positive32), max_size=20))
def test_offset_index_entries_round_trip(pairs: list[tuple[int, int]]) -> None:
    offsets, positions = ({pair[column] for pair in pairs} for column in (0, 1))
    entries = list(zip(sorted(offsets), sorted(positions), strict=False))
    assert offset_index.decode(offset_index.encode(entries)) == entries


@given(st.lists(st.tuples(int64, positive32), max_size=20))
def test_time_index_entries_round_trip(pairs: list[tuple[int, int]]) -> None:
    timestamps = sorted({timestamp for timestamp, _ in pairs})
    entries = list(zip(timestamps, sorted(offset for _, offset in pairs), strict=False))
    assert time_index.decode(time_index.encode(entries)) == entries


@given(st.lists(st.builds(AbortedTxn, int64, int64, int64, int64), max_size=20, unique_by=lambda txn: txn.last_offset))
def test_txn_index_entries_round_trip(entries: list[AbortedTxn]) -> None:
    entries.sort(key=lambda txn: txn.last_offset)
    assert txn_index.decode(txn_index.encode(entries)) == entries


producer_entries = st.builds(ProducerEntry, int64, int16, int32, int64, int32, int64, int32, int64)


@given(st.lists(producer_entries, max_size=20))
def test_producer_snapshots_round_trip(entries: list[ProducerEntry]) -> None:
    assert producer_snapshot.decode(producer_snapshot.encode(entries)) == entries


@given(st.lists(producer_entries, max_size=3), st.data())
def test_any_single_damage_to_a_producer_snapshot_is_noticed(entries: list[ProducerEntry], data: st.DataObject) -> None:
    damaged = bytearray(producer_snapshot.encode(entries))
    damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(DecodeError):
        producer_snapshot.decode(damaged)


def test_a_producer_snapshot_that_claims_more_than_it_holds_is_refused() -> None:
    from barnabas.protocol.records.crc32c import crc32c

    body = (2**31 - 1).to_bytes(4, "big")
    with pytest.raises(DecodeError, match="for 2147483647 entries"):
        producer_snapshot.decode(b"\x00\x01" + crc32c(body).to_bytes(4, "big") + body)


@pytest.mark.parametrize("decode", [offset_index.decode, time_index.decode, txn_index.decode])
def test_a_piece_of_an_entry_is_refused(decode: object) -> None:
    assert callable(decode)
    assert decode(b"") == []
    with pytest.raises(DecodeError, match="multiple"):
        decode(bytes(5))


def test_entries_out_of_order_are_refused() -> None:
    for entries in ([(5, 10), (5, 20)], [(5, 10), (6, 10)]):
        with pytest.raises(DecodeError, match="does not come after"):
            offset_index.decode(offset_index.encode(entries))
    for entries in ([(100, 5), (100, 6)], [(100, 5), (101, 4)]):
        with pytest.raises(DecodeError, match="does not come after"):
            time_index.decode(time_index.encode(entries))
    with pytest.raises(DecodeError, match="does not come after"):
        txn_index.decode(GOLDEN_TXN_INDEX * 2)


def test_a_txn_index_entry_of_another_version_is_refused() -> None:
    with pytest.raises(DecodeError, match="version 1"):
        txn_index.decode(b"\x00\x01" + GOLDEN_TXN_INDEX[2:])


@pytest.mark.parametrize("index", [offset_index, time_index])
def test_the_zeros_of_a_preallocated_index_are_not_entries(index: ModuleType) -> None:
    entries = index.encode([(7, 100), (9, 200)])
    for zeros in (0, 1, index.ENTRY_SIZE, 4096):
        assert trimmed_size(entries + bytes(zeros), index.ENTRY_SIZE) == len(entries)
    assert trimmed_size(bytes(4096), index.ENTRY_SIZE) == 0
    assert trimmed_size(b"", index.ENTRY_SIZE) == 0


@given(st.integers(0, 5), st.integers(0, 50), st.integers(1, 12))
def test_trimming_stops_at_the_last_entry_with_something_in_it(entries: int, zeros: int, entry_size: int) -> None:
    data = (b"\1" + bytes(entry_size - 1)) * entries + bytes(zeros)
    if len(data) != entry_size:
        assert trimmed_size(data, entry_size) == entries * entry_size


def test_a_file_of_one_entry_is_trimmed_already() -> None:
    assert trimmed_size(bytes(12), 12) == 12
