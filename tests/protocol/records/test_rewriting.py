"""Batches with some of their records: what they keep of the batch they were, and that they are batches."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.records.batch import LOG_APPEND_TIME, BatchHeader, parse_header, verify_crc
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.protocol.records.compression import compress, decompress, new_compressor
from barnabas.protocol.records.record import BatchRecord, iter_records
from barnabas.protocol.records.record_rows import ROWS_MAX, UNWANTED, row_pieces
from barnabas.protocol.records.rewriting import NO_HORIZON, Rewriting, delete_horizon_of, empty_batch

_TEXT = st.one_of(st.none(), st.binary(max_size=20))
_RECORDS = st.lists(
    st.tuples(_TEXT, _TEXT, st.lists(st.tuples(st.text(max_size=4), _TEXT), max_size=2), st.integers(0, 1 << 42)),
    min_size=1,
    max_size=12,
)
_KEPT = {"base_offset", "partition_leader_epoch", "last_offset_delta", "producer_id", "producer_epoch", "base_sequence"}


def batch_with(records: list[NewRecord], **fields: int) -> bytes:
    return bytes(
        build_batch(
            records,
            base_offset=1_000,
            leader_epoch=4,
            producer_id=9,
            producer_epoch=2,
            base_sequence=77,
            compression=fields.get("compression", 0),
            timestamp_type=fields.get("timestamp_type", 0),
        )
    )


def rewritten(batch: bytes, chosen: set[int], horizon_ms: int = NO_HORIZON) -> tuple[BatchHeader, bytes]:
    """The batch with the records at these places."""
    header = parse_header(batch)
    rewriting = Rewriting(header, horizon_ms)
    for piece in row_pieces(batch, header):
        if piece is not None:
            buffer, rows = piece
            for offset, timestamp, _, _, tail, end in rows:
                if offset - header.base_offset in chosen:
                    rewriting.add(offset, timestamp, buffer[tail:end])
    found, data = rewriting.seal()
    assert verify_crc(data)
    assert found == parse_header(data)._replace(crc=found.crc)
    return parse_header(data), bytes(data)


@given(_RECORDS, st.data(), st.integers(0, 4), st.sampled_from((0, LOG_APPEND_TIME)), st.booleans())
def test_the_records_that_stay_are_as_they_were(
    records: list[NewRecord], data: st.DataObject, compression: int, timestamp_type: int, has_horizon: bool
) -> None:
    records = [NewRecord(*record) for record in records]
    batch = batch_with(records, compression=compression, timestamp_type=timestamp_type)
    chosen = data.draw(st.sets(st.integers(0, len(records) - 1), min_size=1))
    header, found = rewritten(batch, chosen, 5_000 if has_horizon else NO_HORIZON)
    before = parse_header(batch)
    all_before = list(iter_records(batch))
    kept = [all_before[place] for place in sorted(chosen)]
    assert list(iter_records(found)) == kept
    assert {name: getattr(header, name) for name in _KEPT} == {name: getattr(before, name) for name in _KEPT}
    assert header.attributes & ~0x40 == before.attributes
    assert header.has_delete_horizon == has_horizon
    assert header.base_timestamp == (5_000 if has_horizon else kept[0].timestamp)
    assert header.max_timestamp == max(record.timestamp for record in kept)
    assert delete_horizon_of(header) == (5_000 if has_horizon else NO_HORIZON)


def test_all_records_without_a_horizon_are_the_same_bytes() -> None:
    batch = batch_with([NewRecord(b"k", b"v" * 300, [("h", None)], 5), NewRecord(b"l", None, (), 9)])
    assert rewritten(batch, {0, 1})[1] == batch


@given(st.integers(0, 4))
def test_an_empty_batch_tells_of_its_producer(compression: int) -> None:
    batch = batch_with([NewRecord(b"k", b"v", (), 5), NewRecord(b"l", b"w", (), 9)], compression=compression)
    empty = empty_batch(parse_header(batch))
    header = parse_header(empty)
    assert (len(empty), header.records_count, header.compression) == (61, 0, 0)
    assert (header.base_timestamp, header.max_timestamp, header.last_sequence) == (-1, 9, 78)
    assert verify_crc(empty)
    assert list(iter_records(empty)) == []
    assert [piece for piece in row_pieces(bytes(empty), header) if piece] == []


@pytest.mark.parametrize("compression", range(5))
def test_a_batch_that_is_huge_inside_is_walked_in_chunks(compression: int) -> None:
    records = [NewRecord(b"%d" % number, b"\0" * 200, (), number) for number in range(20_000)]
    batch = batch_with(records, compression=compression)
    largest, offsets, pauses = 0, [], 0
    for piece in row_pieces(batch, parse_header(batch)):
        if piece is None:
            pauses += 1
            continue
        buffer, rows = piece
        assert len(rows) <= ROWS_MAX
        largest = max(largest, len(buffer))
        offsets += [row[0] for row in rows]
    assert offsets == list(range(1_000, 21_000))
    if compression:
        assert largest < 1 << 17
        assert pauses > 50


@pytest.mark.parametrize("compression", range(5))
def test_pieces_compressed_are_read_as_one(compression: int) -> None:
    pieces = [bytes([number % 251]) * size for number, size in enumerate((0, 1, 70_000, 32_768, 5, 200_000))]
    compressor = new_compressor(compression)
    if compressor is None:
        assert compression == 0
        return
    stream = b"".join([*(compressor.compress(piece) for piece in pieces), compressor.flush()])
    assert decompress(compression, stream) == b"".join(pieces)


@pytest.mark.parametrize("compression", [1, 2, 3])
def test_a_stream_is_framed_as_what_is_compressed_at_once(compression: int) -> None:
    compressor = new_compressor(compression)
    assert compressor is not None
    assert compressor.compress(b"abc") + compressor.flush() == compress(compression, b"abc")


def _damaged(change: dict[int, int]) -> bytes:
    batch = bytearray(batch_with([NewRecord(b"k", b"v", (), 5), NewRecord(b"l", b"w", (), 9)]))
    for position, value in change.items():
        batch[position] = value
    return bytes(batch)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({61: 0}, "claims 0 bytes"),
        ({61: 40}, "ends 2 records too early"),
        ({65: 40}, "ends too early"),
        ({67: 40}, "beyond its end"),
        ({64: 4}, "offset 1002 behind 999"),
        ({73: 0}, "offset 1000 behind 1000"),
        ({60: 1}, "bytes behind its 1 records"),
        ({60: 3}, "ends 1 records too early"),
    ],
)
def test_records_that_contradict_their_batch_are_damage(change: dict[int, int], message: str) -> None:
    batch = _damaged(change)
    with pytest.raises(DecodeError, match=message):
        list(row_pieces(batch, parse_header(batch)))


@given(_RECORDS, st.data(), st.integers(0, 4))
def test_marked_records_are_passed_over(records: list[NewRecord], data: st.DataObject, compression: int) -> None:
    records = [NewRecord(*record) for record in records * data.draw(st.sampled_from((1, 20)))]
    batch = batch_with(records, compression=compression)
    marks = bytes(data.draw(st.lists(st.integers(0, 3), min_size=len(records), max_size=len(records))))
    header = parse_header(batch)
    rows = [row for piece in row_pieces(batch, header) if piece for row in piece[1]]
    wanted = [row for row, mark in zip(rows, marks, strict=True) if mark != UNWANTED]
    assert [row for piece in row_pieces(batch, header, marks=marks) if piece for row in piece[1]] == wanted


@given(st.integers(61, 90), st.integers(0, 255))
def test_any_byte_may_be_wrong(position: int, value: int) -> None:
    batch = _damaged({min(position, 78): value})
    rows: list[int] = []
    try:
        for piece in row_pieces(batch, parse_header(batch)):
            rows += [row[0] for row in piece[1]] if piece else []
    except DecodeError:
        return
    assert rows == [1_000, 1_001]


def test_a_record_may_be_larger_than_many_chunks() -> None:
    value = bytes(range(256)) * 2_000
    records = [NewRecord(b"k", value, (), 1), NewRecord(b"l", b"w", (), 2)]
    header, batch = rewritten(batch_with(records, compression=1), {0, 1})
    assert list(iter_records(batch)) == [BatchRecord(1_000, 1, b"k", value, []), BatchRecord(1_001, 2, b"l", b"w", [])]
    with pytest.raises(DecodeError, match="claims"):
        list(row_pieces(batch, header, max_record_bytes=1_000))
