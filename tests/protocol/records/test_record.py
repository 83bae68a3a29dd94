"""Records round-trip through every codec, and damage is only ever refused."""

import zlib
from contextlib import suppress

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.records.batch import LOG_APPEND_TIME, BatchHeader, encode_batch, parse_header, verify_crc
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.protocol.records.compression import COMPRESSION_NAMES
from barnabas.protocol.records.record import BatchRecord, iter_records, iter_records_with_pauses
from tests.support.records.batches import rebuild_batch
from tests.support.records.random_records import batches_of_records

CODECS = sorted(COMPRESSION_NAMES)


@given(batches_of_records, st.sampled_from(CODECS), st.integers(0, 2**60))
def test_built_values_round_trip(records: list[NewRecord], compression: int, base_offset: int) -> None:
    batch = build_batch(records, base_offset=base_offset, compression=compression)
    header = parse_header(batch)
    assert verify_crc(batch)
    assert (header.compression, header.records_count) == (compression, len(records))
    assert header.size_in_bytes == len(batch)
    assert list(iter_records(batch)) == [
        BatchRecord(base_offset + index, record.timestamp, record.key, record.value, list(record.headers))
        for index, record in enumerate(records)
    ]


@given(batches_of_records, st.sampled_from(CODECS))
def test_pauses_are_between_the_same_records(records: list[NewRecord], compression: int) -> None:
    batch = build_batch(records, compression=compression)
    found = list(iter_records_with_pauses(batch))
    assert [record for record in found if record is not None] == list(iter_records(batch))
    assert found[0] is None


@pytest.mark.parametrize("compression", [each for each in CODECS if each])
def test_a_large_record_has_pauses_inside(compression: int) -> None:
    batch = build_batch([(None, bytes(1 << 20), (), 0)], compression=compression)
    found = list(iter_records_with_pauses(batch))
    assert found[:-1] == [None] * (len(found) - 1)
    assert len(found) > 16
    assert found[-1] == next(iter_records(batch))


@given(batches_of_records, st.sampled_from(CODECS), st.data())
def test_damaged_bytes_give_records_or_a_decode_error(
    records: list[NewRecord], compression: int, data: st.DataObject
) -> None:
    batch = build_batch(records, compression=compression)
    for _ in range(data.draw(st.integers(1, 3))):
        position = data.draw(st.integers(0, len(batch) - 1))
        batch[position] = data.draw(st.integers(0, 255))
    with suppress(DecodeError):  # the only error that is allowed
        list(iter_records(batch, max_bytes=1 << 24, max_record_bytes=1 << 20))


@given(st.binary(max_size=300), st.sampled_from([*CODECS, 5, 6, 7]), st.integers(-(2**31), 2**31 - 1))
def test_a_record_area_of_garbage_gives_records_or_a_decode_error(area: bytes, compression: int, count: int) -> None:
    batch = encode_batch(header_with(attributes=compression, records_count=count), area)
    with suppress(DecodeError):  # the only error that is allowed
        list(iter_records(batch, max_bytes=1 << 24, max_record_bytes=1 << 20))


@pytest.mark.parametrize("compression", CODECS)
def test_a_cut_record_area_never_gives_all_records_of_incompressible_data(compression: int) -> None:
    records = [NewRecord(None, zlib.compress(bytes([n])) * 3, (), 5) for n in range(20)]
    batch = build_batch(records, compression=compression)
    area = bytes(batch[61:])
    for cut in range(len(area) - 8):  # the last bytes may be a checksum or an end mark
        with pytest.raises(DecodeError):
            list(iter_records(encode_batch(parse_header(batch), area[:cut])))


def header_with(**fields: int) -> BatchHeader:
    return parse_header(build_batch([(None, None, (), 0)]))._replace(**fields)


@pytest.mark.parametrize(
    ("area", "reason"),
    [
        ("", "record 0 of batch at offset 0 is missing"),
        ("ffffffffff01", "longer than 5"),
        ("80808080808001", "longer than 5"),
        ("01", "claims -1"),
        ("feffffff0f", "claims 2147483647"),
        ("0e000000010100", "is cut"),
        ("0c00000001010000", "bytes behind its 1 records"),
        ("0e00000001010000", "left over"),
        ("0c000000030100", "length -2"),
        ("0c0000000e0100", "runs past the end of its record"),
        ("0c000000010103", "-2 headers"),
        ("0c000000010102", "1 headers in the 0 bytes"),
        ("100000000101020100", "header without a key"),
        ("0a0000000101", "end"),
        ("00", "end"),
    ],
)
def test_a_broken_record_is_named(area: str, reason: str) -> None:
    batch = encode_batch(header_with(), bytes.fromhex(area))
    with pytest.raises(DecodeError, match=reason):
        list(iter_records(batch))


def test_the_smallest_record_has_seven_bytes() -> None:
    batch = encode_batch(header_with(), bytes.fromhex("0c000000010100"))
    assert list(iter_records(batch)) == [BatchRecord(0, 0, None, None, [])]


def test_a_negative_count_and_a_cut_batch_are_refused() -> None:
    batch = build_batch([NewRecord(b"k", b"v")])
    with pytest.raises(DecodeError, match="is cut to"):
        list(iter_records(batch[:-1]))
    with pytest.raises(DecodeError, match="-1 records"):
        list(iter_records(encode_batch(header_with(records_count=-1), b"")))


@pytest.mark.parametrize("compression", [1, 3, 4])
def test_a_bomb_is_walked_without_ever_being_held_whole(compression: int) -> None:
    import tracemalloc

    records = [NewRecord(None, bytes(1 << 20), (), 5)] * 64
    batch = build_batch(records, compression=compression)
    tracemalloc.start()
    try:
        sizes = sum(len(record.value or b"") for record in iter_records(batch))
        assert sizes == 64 << 20
        assert tracemalloc.get_traced_memory()[1] < 6 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("compression", CODECS[1:])
def test_limits_of_one_batch_and_of_one_record_are_kept(compression: int) -> None:
    batch = build_batch([NewRecord(None, bytes(200_000), (), 5)] * 4, compression=compression)
    assert len(list(iter_records(batch))) == 4
    with pytest.raises(DecodeError, match="grows beyond"):
        list(iter_records(batch, max_bytes=700_000))
    with pytest.raises(DecodeError, match="claims 2000"):
        list(iter_records(batch, max_record_bytes=200_000))


def test_header_keys_that_are_no_utf8_survive_a_rewrite() -> None:
    area = bytes.fromhex("14 00 00 00 01 01 02 04 ff41 00")
    batch = encode_batch(header_with(), area)
    (record,) = iter_records(batch)
    assert record.headers == [("\udcffA", b"")]
    assert bytes(build_batch([record])[61:]) == area


@given(batches_of_records, st.sampled_from(CODECS), st.data())
def test_a_rebuilt_batch_keeps_offsets_with_gaps(
    records: list[NewRecord], compression: int, data: st.DataObject
) -> None:
    batch = build_batch(records, base_offset=100, producer_id=9, producer_epoch=0, base_sequence=4)
    before = list(iter_records(batch))
    kept = [record for record in before if data.draw(st.booleans())]
    assume(kept)
    rebuilt = rebuild_batch(parse_header(batch), kept, compression=compression)
    assert verify_crc(rebuilt)
    assert list(iter_records(rebuilt)) == kept
    old, new = parse_header(batch), parse_header(rebuilt)
    assert (new.last_offset, new.last_sequence) == (old.last_offset, old.last_sequence)
    assert (new.base_timestamp, new.max_timestamp) == (old.base_timestamp, old.max_timestamp)


def test_a_batch_of_log_append_time_is_built_with_its_type() -> None:
    batch = build_batch([(None, b"v", [], 5), (None, b"w", [], 9)], timestamp_type=LOG_APPEND_TIME)
    assert [record.timestamp for record in iter_records(batch)] == [9, 9]


def test_no_batch_is_built_of_nothing() -> None:
    with pytest.raises(ValueError, match="at least one"):
        build_batch([])
