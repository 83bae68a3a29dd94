"""Splitting, checking and patching batches without looking inside them."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.records.batch import (
    CREATE_TIME,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    SEQUENCE_MAX,
    UnsupportedMagic,
    decrement_sequence,
    increment_sequence,
    iter_batches,
    next_batch_size,
    parse_header,
    set_max_timestamp,
    verify_crc,
)
from barnabas.protocol.records.builder import build_batch
from barnabas.protocol.records.record import iter_records


def a_batch(value: bytes = b"v") -> bytearray:
    return build_batch([(None, value, [], 1000), (None, value, [], 1007)], producer_id=1, base_sequence=SEQUENCE_MAX)


def test_batches_follow_one_another_and_a_cut_tail_is_left_out() -> None:
    first, second, third = a_batch(b"1"), a_batch(b"22"), a_batch(b"333")
    whole = first + second
    for cut in range(len(third)):
        found = [position for position, _ in iter_batches(whole + third[:cut])]
        assert found == [0, len(first)]
    assert [position for position, _ in iter_batches(whole + third)] == [0, len(first), len(whole)]


def test_no_batch_is_measured_beyond_the_given_end() -> None:
    batch = a_batch()
    assert next_batch_size(batch, 0, len(batch)) == len(batch)
    assert all(next_batch_size(batch, 0, end) is None for end in range(len(batch)))


@pytest.mark.parametrize(
    ("length", "why"), [(-1, "length"), (0, "length"), (13, "length"), (-(2**31), "length"), (48, "below 49")]
)
def test_a_length_no_format_allows_is_corrupt(length: int, why: str) -> None:
    batch = a_batch()
    batch[8:12] = length.to_bytes(4, "big", signed=True)
    with pytest.raises(DecodeError, match=why):
        list(iter_batches(batch))


def test_a_batch_above_the_callers_limit_is_corrupt_before_it_is_complete() -> None:
    batch = a_batch()
    assert next_batch_size(batch, 0, len(batch), len(batch)) == len(batch)
    with pytest.raises(DecodeError, match="above the limit"):
        next_batch_size(batch, 0, 20, len(batch) - 1)


@pytest.mark.parametrize("magic", [3, 127, 128, 255])
def test_an_unknown_magic_is_corrupt(magic: int) -> None:
    batch = a_batch()
    batch[16] = magic
    with pytest.raises(DecodeError, match="magic") as caught:
        list(iter_batches(batch))
    assert not isinstance(caught.value, UnsupportedMagic)


@pytest.mark.parametrize("magic", [0, 1])
def test_an_old_message_set_is_told_apart_from_damage(magic: int) -> None:
    message = bytearray(a_batch()[:40])
    message[8:12] = (28).to_bytes(4, "big")
    message[16] = magic
    with pytest.raises(UnsupportedMagic) as caught:
        list(iter_batches(message))
    assert caught.value.magic == magic
    with pytest.raises(UnsupportedMagic):
        parse_header(bytes(message) + bytes(HEADER_SIZE))


def test_a_cut_header_is_refused() -> None:
    batch = a_batch()
    for cut in range(HEADER_SIZE):
        with pytest.raises(DecodeError):
            parse_header(batch[:cut])


@given(st.binary(max_size=200))
def test_any_bytes_split_into_batches_or_a_decode_error(data: bytes) -> None:
    with suppress(DecodeError):  # the only error that is allowed
        for position, header in iter_batches(data):
            assert position + header.size_in_bytes <= len(data)


def test_every_flipped_bit_behind_the_crc_is_noticed() -> None:
    batch = a_batch()
    assert verify_crc(batch)
    for position in range(17, len(batch)):
        batch[position] ^= 0x10
        assert not verify_crc(batch)
        batch[position] ^= 0x10


def test_log_append_time_gives_every_record_the_batchs_timestamp() -> None:
    batch = a_batch()
    assert set_max_timestamp(batch, 0, LOG_APPEND_TIME, 5555)
    assert verify_crc(batch)
    assert parse_header(batch).timestamp_type == LOG_APPEND_TIME
    assert [record.timestamp for record in iter_records(batch)] == [5555, 5555]
    assert set_max_timestamp(batch, 0, CREATE_TIME, 1007)
    assert batch == a_batch()


def test_a_timestamp_that_is_already_right_leaves_even_a_wrong_crc_alone() -> None:
    batch = a_batch()
    batch[17] ^= 1
    before = bytes(batch)
    assert not set_max_timestamp(batch, 0, CREATE_TIME, 1007)
    assert batch == before


def test_the_timestamp_of_a_batch_in_the_middle_of_a_buffer_can_be_set() -> None:
    buffer = a_batch(b"first") + a_batch(b"second")
    position = len(a_batch(b"first"))
    assert set_max_timestamp(memoryview(buffer), position, LOG_APPEND_TIME, 9)
    assert buffer[:position] == a_batch(b"first")
    assert verify_crc(buffer[position:])


def test_sequences_wrap_to_zero_after_the_largest() -> None:
    assert increment_sequence(SEQUENCE_MAX, 1) == 0
    assert increment_sequence(SEQUENCE_MAX - 1, 3) == 1
    assert decrement_sequence(0, 1) == SEQUENCE_MAX
    assert parse_header(a_batch()).last_sequence == 0


sequences = st.integers(0, SEQUENCE_MAX)


@given(sequences, sequences)
def test_decrement_undoes_increment(sequence: int, by: int) -> None:
    moved = increment_sequence(sequence, by)
    assert 0 <= moved <= SEQUENCE_MAX
    assert decrement_sequence(moved, by) == sequence
    assert moved == (sequence + by) % (SEQUENCE_MAX + 1)
