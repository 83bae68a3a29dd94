"""The short way to the value of a share partition's state and back says what the declared messages say, or nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.protocol.errors import DecodeError, EncodeError
from barnabas.protocol.hot.share_state import SNAPSHOT_HEAD, UPDATE_HEAD, Range, read_value, write_value
from barnabas.protocol.log_records.share_state import ShareSnapshotValue, ShareUpdateValue, StoredStateBatch
from barnabas.protocol.log_records.versioned_messages import decode_value, encode_value

_INT16, _INT32, _INT64 = (st.integers(-(2**bits), 2**bits - 1) for bits in (15, 31, 63))
_RANGES = st.lists(st.tuples(_INT64, _INT64, st.integers(-128, 127), _INT16), max_size=5)
_SNAPSHOTS = st.tuples(_INT32, _INT32, _INT32, _INT64, _INT64, _INT64)
_UPDATES = st.tuples(_INT32, _INT32, _INT64)
_COUNTS = st.one_of(st.just(-1), _INT32)
_MANY = 20_000
_UPDATE = (1, 2, 3)


def _stored(ranges: list[Range]) -> list[StoredStateBatch]:
    return [
        StoredStateBatch(first_offset=first, last_offset=last, delivery_state=state, delivery_count=count)
        for first, last, state, count in ranges
    ]


def _snapshot(fields: tuple[int, ...], ranges: list[Range], complete_count: int) -> ShareSnapshotValue:
    snapshot_epoch, state_epoch, leader_epoch, start_offset, created_ms, written_ms = fields
    return ShareSnapshotValue(
        snapshot_epoch=snapshot_epoch,
        state_epoch=state_epoch,
        leader_epoch=leader_epoch,
        start_offset=start_offset,
        delivery_complete_count=complete_count,
        create_timestamp=created_ms,
        write_timestamp=written_ms,
        state_batches=_stored(ranges),
    )


def _update(fields: tuple[int, ...], ranges: list[Range], complete_count: int) -> ShareUpdateValue:
    snapshot_epoch, leader_epoch, start_offset = fields
    return ShareUpdateValue(
        snapshot_epoch=snapshot_epoch,
        leader_epoch=leader_epoch,
        start_offset=start_offset,
        delivery_complete_count=complete_count,
        state_batches=_stored(ranges),
    )


@given(_SNAPSHOTS, _RANGES, _COUNTS)
def test_a_snapshot_is_written_and_read_as_the_message_is(
    fields: tuple[int, ...], ranges: list[Range], complete_count: int
) -> None:
    value = encode_value(_snapshot(fields, ranges, complete_count), 0)
    assert write_value(SNAPSHOT_HEAD, fields, ranges, complete_count) == value
    read = read_value(SNAPSHOT_HEAD, value)
    assert read is not None
    assert (read[0], list(read[1]), read[2]) == (fields, ranges, complete_count)


@given(_UPDATES, _RANGES, _COUNTS)
def test_an_update_is_written_and_read_as_the_message_is(
    fields: tuple[int, ...], ranges: list[Range], complete_count: int
) -> None:
    value = encode_value(_update(fields, ranges, complete_count), 0)
    assert write_value(UPDATE_HEAD, fields, ranges, complete_count) == value
    read = read_value(UPDATE_HEAD, value)
    assert read is not None
    assert (read[0], list(read[1]), read[2]) == (fields, ranges, complete_count)


def test_many_ranges_are_written_and_read() -> None:
    ranges = [(offset, offset, 2 + offset % 2 * 2, 1) for offset in range(_MANY)]
    value = write_value(UPDATE_HEAD, _UPDATE, ranges, 7)
    assert value == encode_value(_update(_UPDATE, ranges, 7), 0)
    read = read_value(UPDATE_HEAD, value)
    assert read is not None
    assert list(read[1]) == ranges


def test_unknown_tags_of_a_value_and_of_a_range_are_left_alone() -> None:
    for is_of_range in (True, False):
        message = _update(_UPDATE, [(0, 9, 2, 1), (10, 11, 0, 1)], 4)
        tagged = message.state_batches[1] if is_of_range else message
        tagged.unknown_tags = ((5, b"new"),)
        assert read_value(UPDATE_HEAD, encode_value(message, 0)) is None


@given(_UPDATES, _RANGES, _COUNTS, st.integers(0, 300), st.integers(1, 255))
def test_a_changed_byte_is_read_as_the_message_reads_it_or_not_at_all(
    fields: tuple[int, ...], ranges: list[Range], complete_count: int, at: int, by: int
) -> None:
    value = bytearray(write_value(UPDATE_HEAD, fields, ranges, complete_count))
    value[at % len(value)] ^= by
    read = read_value(UPDATE_HEAD, bytes(value))
    if read is not None:
        declared = decode_value(ShareUpdateValue, bytes(value))
        assert declared == _update(read[0], list(read[1]), read[2])


@given(_UPDATES, _RANGES, _COUNTS, st.integers(0, 300))
def test_a_cut_value_is_not_read(fields: tuple[int, ...], ranges: list[Range], complete_count: int, size: int) -> None:
    value = write_value(UPDATE_HEAD, fields, ranges, complete_count)
    cut = value[: size % len(value)]
    assert read_value(UPDATE_HEAD, cut) is None
    with pytest.raises(DecodeError):
        decode_value(ShareUpdateValue, cut)


def test_numbers_that_do_not_fit_are_refused() -> None:
    with pytest.raises(EncodeError):
        write_value(UPDATE_HEAD, _UPDATE, [(0, 1, 2, 1 << 15)], -1)
    with pytest.raises(EncodeError):
        write_value(UPDATE_HEAD, _UPDATE, [], 1 << 31)
