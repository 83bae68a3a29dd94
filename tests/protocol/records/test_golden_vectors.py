"""Bytes computed independently of this code and cross-read with another implementation."""

import pytest

from barnabas.protocol.records.batch import compute_crc, encode_batch, parse_header, verify_crc
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.protocol.records.control import EndTxnMarker, end_txn_marker, read_marker
from barnabas.protocol.records.crc32c import crc32c, load_extension, load_package, load_plain
from barnabas.protocol.records.record import BatchRecord, iter_records
from tests.support.records.batches import patch_offset_and_epoch

T = 1700000000000  # ms

DATA_SENT = bytes.fromhex(
    "000000000000000000000047ffffffff027380f5810010000000010000018bcfe568000000018bcfe568050000000000000fa00003"
    "00000007000000021c000000046b3104763102026802780c000a02010100"
)
DATA_STORED = bytes.fromhex(
    "00000000000000640000004700000009027380f5810010000000010000018bcfe568000000018bcfe568050000000000000fa00003"
    "00000007000000021c000000046b3104763102026802780c000a02010100"
)
COMMIT_MARKER = bytes.fromhex(
    "0000000000000066000000420000000902bc0859a60030000000000000018bcfe568320000018bcfe568320000000000000fa00003"
    "ffffffff000000012000000008000000010c00000000000c00"
)
DATA_EMPTIED = bytes.fromhex(
    "0000000000000064000000310000000902167288fd001000000001ffffffffffffffff0000018bcfe568050000000000000fa00003"
    "0000000700000000"
)

DATA = [NewRecord(b"k1", b"v1", [("h", b"x")], T), NewRecord(None, None, [], T + 5)]


def build_data() -> bytearray:
    return build_batch(DATA, producer_id=4000, producer_epoch=3, base_sequence=7, transactional=True)


def test_a_data_batch_is_built_byte_for_byte() -> None:
    assert build_data() == DATA_SENT


def test_a_data_batch_is_patched_into_its_stored_form_without_touching_the_crc() -> None:
    batch = build_data()
    patch_offset_and_epoch(batch, 100, 9)
    assert batch == DATA_STORED
    assert verify_crc(batch)


def test_the_header_of_the_stored_batch_reads_as_written() -> None:
    header = parse_header(DATA_STORED)
    assert (header.base_offset, header.last_offset, header.next_offset) == (100, 101, 102)
    assert (header.base_timestamp, header.max_timestamp) == (T, T + 5)
    assert (header.producer_id, header.producer_epoch) == (4000, 3)
    assert (header.base_sequence, header.last_sequence) == (7, 8)
    assert (header.partition_leader_epoch, header.records_count) == (9, 2)
    assert header.is_transactional
    assert not header.is_control
    assert not header.has_delete_horizon
    assert (header.compression, header.timestamp_type) == (0, 0)
    assert header.size_in_bytes == len(DATA_STORED) == 83
    assert header.crc == compute_crc(DATA_STORED)


def test_the_records_of_the_stored_batch_read_as_written() -> None:
    assert list(iter_records(DATA_STORED)) == [
        BatchRecord(100, T, b"k1", b"v1", [("h", b"x")]),
        BatchRecord(101, T + 5, None, None, []),
    ]


def test_a_commit_marker_is_built_byte_for_byte() -> None:
    assert end_txn_marker(True, 4000, 3, 12, T + 50, base_offset=102, leader_epoch=9) == COMMIT_MARKER


def test_a_commit_marker_reads_as_written() -> None:
    assert read_marker(COMMIT_MARKER) == EndTxnMarker(True, 4000, 3, 12, 102, T + 50)
    header = parse_header(COMMIT_MARKER)
    assert header.is_control
    assert header.is_transactional
    assert header.last_sequence == -1


def test_a_batch_emptied_by_compaction_keeps_its_offsets_and_has_no_records() -> None:
    header = parse_header(DATA_EMPTIED)
    assert encode_batch(parse_header(DATA_STORED)._replace(records_count=0, base_timestamp=-1), b"") == DATA_EMPTIED
    assert verify_crc(DATA_EMPTIED)
    assert header.last_offset == 101
    assert list(iter_records(DATA_EMPTIED)) == []


@pytest.mark.parametrize("function", [crc32c, load_extension(), load_package(), load_plain()])
def test_crc32c_gives_the_check_value(function: object) -> None:
    assert callable(function)
    assert function(b"123456789") == 0xE3069283
    assert function(memoryview(b"x123456789")[1:]) == 0xE3069283
