"""A batch by itself: what its header claims, and what its records say."""

import pytest

from barnabas.logfiles.batch_check import BatchCheck, check_batch
from barnabas.logfiles.findings import FindingKind
from barnabas.protocol.records.batch import HEADER_SIZE, encode_batch, parse_header
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.protocol.records.compression import GZIP, LZ4, SNAPPY, ZSTD
from barnabas.protocol.records.control import ControlRecordType, control_batch, end_txn_marker
from tests.support.records.batches import batch_of, without_max_timestamp


def look(batch: bytes | bytearray, *, with_records: bool = True) -> BatchCheck:
    return check_batch(parse_header(batch), batch, with_records=with_records)


def claiming(batch: bytearray, **fields: int) -> bytearray:
    return encode_batch(parse_header(batch)._replace(**fields), batch[HEADER_SIZE:])


@pytest.mark.parametrize("compression", [0, GZIP, SNAPPY, LZ4, ZSTD])
def test_a_right_batch_is_right(compression: int) -> None:
    assert look(batch_of([5, 9, 7], compression=compression)) == ((), 9, None, 3)
    assert look(batch_of([5, 9, 7], compression=compression), with_records=False) == ((), 9, None, 0)


def test_a_batch_that_compaction_emptied_is_right() -> None:
    batch = encode_batch(parse_header(batch_of([5, 9]))._replace(records_count=0), b"")
    assert look(batch) == ((), 9, None, 0)


def test_a_marker_is_reported() -> None:
    looked = look(end_txn_marker(True, 7, 1, 3, 50, base_offset=12), with_records=False)
    assert looked.marker is not None
    assert (looked.marker.commit, looked.marker.producer_id, looked.marker.offset) == (True, 7, 12)


def test_the_quorums_control_records_are_no_markers() -> None:
    batch = control_batch([(ControlRecordType.LEADER_CHANGE, b"\0\0")], timestamp_ms=5)
    assert look(batch) == ((), 5, None, 1)


def test_control_records_without_a_key_are_found_whoever_wrote_them() -> None:
    plain = build_batch([NewRecord(None, b"v", (), 5)])
    control = claiming(plain, attributes=0x20)
    assert [each.kind for each in look(control).defects] == [FindingKind.CONTROL]
    marker = claiming(plain, attributes=0x30, producer_id=7, producer_epoch=0)
    for with_records in (True, False):
        assert [each.kind for each in look(marker, with_records=with_records).defects] == [FindingKind.CONTROL]


def test_of_many_records_out_of_their_places_the_first_is_reported() -> None:
    batch = batch_of([5, 6, 7, 8])
    cut = claiming(batch, base_offset=10, last_offset_delta=3)
    area = cut[HEADER_SIZE:]
    size = 1 + (area[0] >> 1)
    area[size + 3] = area[2 * size + 3] = 0  # the second and the third say that they are the first
    (defect,) = look(encode_batch(parse_header(cut), area)).defects
    assert (defect.kind, defect.detail) == (FindingKind.RECORDS, "record 1 has offset 10, which is out of place")


def test_a_header_that_contradicts_itself_is_not_held_against_its_records() -> None:
    looked = look(claiming(batch_of([5, 6]), records_count=7))
    assert [each.kind for each in looked.defects] == [FindingKind.HEADER]
    assert looked.defects[0].detail == "7 records for the offsets 0 to 1"


def test_an_index_is_to_tell_the_largest_timestamp_that_a_header_lacks() -> None:
    batch = without_max_timestamp(batch_of([5, 9, 7]))
    looked = look(batch)
    assert (looked.largest, [each.kind for each in looked.defects]) == (9, [FindingKind.TIMESTAMP])
    assert look(batch, with_records=False) == ((), 9, None, 0)
    unreadable = encode_batch(parse_header(batch), b"\xff" * 30)
    assert look(unreadable, with_records=False).largest == 5
