"""Control records: tolerant of what is newer, strict about what cannot be."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.records.batch import encode_batch, parse_header
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.protocol.records.control import (
    END_TXN_MARKER_SIZE,
    ControlRecordType,
    EndTxnMarker,
    control_batch,
    control_key,
    end_txn_marker,
    marker_batch,
    parse_control_key,
    parse_marker_value,
    read_marker,
)
from barnabas.protocol.records.record import iter_records


@pytest.mark.parametrize("commit", [True, False])
def test_a_marker_has_78_bytes_and_states_what_it_was_given(commit: bool) -> None:
    batch = end_txn_marker(commit, 2**40, 32767, 5, 1234, base_offset=2**41)
    assert len(batch) == END_TXN_MARKER_SIZE
    assert read_marker(batch) == (commit, 2**40, 32767, 5, 2**41, 1234)


@given(st.booleans(), st.integers(0, 2**62), st.integers(0, 32767), st.integers(-1, 2**31 - 1), st.integers(-1, 2**50))
@settings(derandomize=True, deadline=None)
def test_a_marker_is_the_batch_that_the_builder_makes_of_it(
    commit: bool, producer_id: int, producer_epoch: int, coordinator_epoch: int, timestamp_ms: int
) -> None:
    key = control_key(ControlRecordType.COMMIT if commit else ControlRecordType.ABORT)
    built = build_batch(
        [NewRecord(key, bytes(2) + coordinator_epoch.to_bytes(4, "big", signed=True), (), timestamp_ms)],
        base_offset=7,
        leader_epoch=3,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
    )
    assert end_txn_marker(commit, producer_id, producer_epoch, coordinator_epoch, timestamp_ms, 7, 3) == built


def test_a_marker_differs_from_partition_to_partition_only_in_its_place() -> None:
    commit, abort = EndTxnMarker(True, 2**40, 3, 5, -1, 1234), EndTxnMarker(False, 7, 0, 0, -1, 99)
    for marker in (commit, commit, abort, commit, abort, abort):
        for offset, leader_epoch in ((7, 3), (2**41, 0)):
            batch = marker_batch(marker, offset, leader_epoch)
            assert batch == end_txn_marker(*marker[:4], marker.timestamp, offset, leader_epoch)
            batch[:] = bytes(END_TXN_MARKER_SIZE)  # as the log may change it


@pytest.mark.parametrize("kind", [kind for kind in ControlRecordType if kind >= 0])
def test_every_type_is_read_back_from_its_key(kind: ControlRecordType) -> None:
    assert parse_control_key(control_key(kind)) is kind


def test_unknown_types_and_newer_versions_are_tolerated() -> None:
    assert parse_control_key(bytes.fromhex("00000007")) is ControlRecordType.UNKNOWN
    assert parse_control_key(bytes.fromhex("0000ffff")) is ControlRecordType.UNKNOWN
    assert parse_control_key(bytes.fromhex("00090001cafe")) is ControlRecordType.COMMIT
    assert parse_marker_value(bytes.fromhex("000300000007ff")) == 7


@pytest.mark.parametrize(("read", "bytes_needed"), [(parse_control_key, 4), (parse_marker_value, 6)])
def test_a_key_or_a_value_that_cannot_be_is_refused(read: Callable[[bytes | None], object], bytes_needed: int) -> None:
    for data in (None, b"", bytes(bytes_needed - 1), b"\xff\xff" + bytes(bytes_needed - 2)):
        with pytest.raises(DecodeError):
            read(data)


def test_other_control_batches_are_no_markers() -> None:
    batch = control_batch(
        [(ControlRecordType.LEADER_CHANGE, b"a"), (ControlRecordType.KRAFT_VERSION, b"b")], timestamp_ms=7
    )
    header = parse_header(batch)
    assert (header.attributes, header.producer_id, header.base_sequence) == (0x20, -1, -1)
    assert [record.value for record in iter_records(batch)] == [b"a", b"b"]
    assert read_marker(batch) is None
    assert read_marker(build_batch([NewRecord(bytes.fromhex("00000063"), b"")], control=True)) is None


def test_a_marker_emptied_by_compaction_is_none() -> None:
    header = parse_header(end_txn_marker(True, 1, 0, 0, 7))
    assert read_marker(encode_batch(header._replace(records_count=0), b"")) is None
