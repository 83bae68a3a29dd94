"""Arrow columns hold what the exact decoder of records gives, for whatever bytes; Spark itself is not needed here."""

import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.primitives import Buffer
from barnabas.protocol.records.batch import LOG_APPEND_TIME, BatchHeader, encode_batch, parse_header
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.protocol.records.compression import COMPRESSION_NAMES
from barnabas.protocol.records.record import iter_records
from pyspark_barnabas.source.decoding import decoded_columns, record_layout
from pyspark_barnabas.source.decoding.decoded_columns import ROWS, read_columns
from tests.support.records.batches import rebuild_batch
from tests.support.records.random_records import batches_of_records

CODECS = sorted(COMPRESSION_NAMES)
_TIMESTAMP_MAX = (2**63 - 1) // 1000

Row = tuple[int, int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]


def exact(batches: Sequence[Buffer]) -> list[Row]:
    """What iter_records gives, in the form of `decoded`."""
    rows = []
    for record in (record for batch in batches for record in iter_records(batch)):
        if abs(record.timestamp) > _TIMESTAMP_MAX:
            raise DecodeError("not in microseconds")
        headers = [(key.encode(errors="surrogateescape").decode(errors="replace"), v) for key, v in record.headers]
        rows.append((record.offset, record.timestamp, record.key, record.value, headers))
    return rows


def decoded(batches: Sequence[Buffer], *, with_headers: bool = True) -> list[Row]:
    """What read_columns gives, as rows of Python; every piece is held to Arrow's own rules."""
    rows: list[Row] = []
    for piece in read_columns([(parse_header(batch), batch) for batch in batches], with_headers=with_headers):
        for column in piece[1:4]:
            column.validate(full=True)
        headers: list[Any] = [None] * len(piece.offsets)
        if with_headers:
            assert piece.headers is not None
            piece.headers.validate(full=True)
            headers = piece.headers.to_pylist()
        assert sum(count for _, count in piece.spans) == len(piece.offsets) <= ROWS
        milliseconds = [moment // 1000 for moment in piece.timestamps.cast("int64").to_pylist()]
        pairs = [[(each["key"], each["value"]) for each in row or ()] for row in headers]
        rows += zip(
            piece.offsets.tolist(), milliseconds, piece.keys.to_pylist(), piece.values.to_pylist(), pairs, strict=True
        )
    return rows


def outcome(decode: object, batches: Sequence[Buffer]) -> object:
    """The rows, or that the bytes were refused."""
    try:
        return decode(batches)  # type: ignore[operator]  # because it is one of the two above
    except DecodeError:
        return "refused"


many_alike = st.builds(
    lambda seed, count, size, key: [
        NewRecord(key, random.Random(seed).randbytes(size), (), 1_700_000_000_000 + index) for index in range(count)
    ],
    st.integers(0, 9),
    st.integers(1, 200),
    st.sampled_from([0, 5, 54, 57, 60, 100, 8180, 8190]),
    st.none() | st.binary(max_size=6),
)
of_many_lengths = st.builds(
    lambda seed, count: [
        NewRecord(None, b"v" * random.Random(seed + index).randrange(70), (), 5) for index in range(count)
    ],
    st.integers(0, 99),
    st.integers(1, 150),
)
some_batch = st.builds(
    lambda records, compression, base_offset, timestamp_type: bytes(
        build_batch(records, compression=compression, base_offset=base_offset, timestamp_type=timestamp_type)
    ),
    batches_of_records | many_alike | of_many_lengths,
    st.sampled_from(CODECS),
    st.integers(0, 2**60),
    st.sampled_from([0, 0, 0, LOG_APPEND_TIME]),
)


@settings(max_examples=200)
@given(st.lists(some_batch, min_size=1, max_size=5), st.booleans())
def test_columns_hold_what_the_exact_decoder_gives(batches: list[bytes], with_headers: bool) -> None:
    expected = outcome(exact, batches)
    if not with_headers and isinstance(expected, list):
        expected = [(*row[:4], []) for row in expected]
    assert outcome(lambda each: decoded(each, with_headers=with_headers), batches) == expected


@settings(max_examples=300)
@given(st.lists(some_batch, min_size=1, max_size=3), st.data())
def test_damaged_bytes_are_read_as_the_exact_decoder_reads_them(batches: list[bytes], data: st.DataObject) -> None:
    damaged = [bytearray(batch) for batch in batches]
    for _ in range(data.draw(st.integers(1, 3))):
        batch = data.draw(st.sampled_from(damaged))
        position = data.draw(st.integers(61, len(batch) - 1))
        batch[position] = data.draw(st.integers(0, 255))
    assert outcome(decoded, damaged) == outcome(exact, damaged)


@settings(max_examples=300)
@given(st.binary(max_size=200), st.integers(-5, 40))
def test_garbage_is_read_as_the_exact_decoder_reads_it(area: bytes, count: int) -> None:
    batch = encode_batch(header_with(records_count=count), area)
    assert outcome(decoded, [batch]) == outcome(exact, [batch])


# One byte of each meaning: lengths of 0 to 4, -1 and -2, and what goes on in the next byte.
_telling = st.sampled_from([0, 0, 0, 1, 1, 2, 2, 3, 4, 6, 8, 0x80, 0x81])
nearly_records = st.tuples(
    st.just(b"\0"), st.lists(_telling, min_size=5, max_size=9).map(bytes), st.sampled_from([b"", b"\x80\x80\x80\x80\0"])
).map(b"".join)


@settings(max_examples=800)
@given(st.lists(nearly_records, min_size=1, max_size=2) | st.lists(st.binary(max_size=12), max_size=12))
def test_records_that_are_nearly_right_and_garbage_are_read_as_by_the_exact_decoder(bodies: list[bytes]) -> None:
    """The lengths are right, so that what is behind them is looked at."""
    area = b"".join(bytes((2 * len(body),)) + body for body in bodies)
    batch = encode_batch(header_with(records_count=len(bodies)), area)
    assert outcome(decoded, [batch]) == outcome(exact, [batch])


@pytest.mark.parametrize(
    "body",
    [
        b"\0\0\0\3\0\0",  # a key of length -2
        b"\0\0\0\1\3\0",  # a value of length -2
        b"\0\0\0\1\1\2\1\1",  # a header without a key
        b"\0\0\0\1\1\2\2h\3",  # a header's value of length -2
        b"\0\0\0\1\1\1",  # -1 headers
        b"\0\0\x80\x80\x80\x80\x80\0\1\1\0",  # an offset of six bytes
        b"\0\0\x80\x80\x80\x80\x70\1\1\0",  # one of more than 32 bits
    ],
)
def test_numbers_that_cannot_be_are_refused(body: bytes) -> None:
    batch = encode_batch(header_with(records_count=1), bytes((2 * len(body),)) + body)
    assert outcome(exact, [batch]) == "refused"
    assert outcome(decoded, [batch]) == "refused"


def test_compacted_and_emptied_batches_keep_their_offsets() -> None:
    records = [NewRecord(b"k%d" % n, b"v%d" % n, (), n) for n in range(100)]
    batch = build_batch(records, base_offset=1000, compression=4)
    left = [record for record in iter_records(batch) if record.offset % 3 == 0]
    compacted = rebuild_batch(parse_header(batch), left, compression=4)
    emptied = rebuild_batch(parse_header(batch), [], compression=0)
    assert [row[0] for row in decoded([emptied, compacted, emptied])] == list(range(1002, 1100, 3))


@pytest.mark.parametrize("compression", CODECS)
def test_ordinary_batches_are_read_at_once(monkeypatch: pytest.MonkeyPatch, compression: int) -> None:
    monkeypatch.setattr(decoded_columns, "_one_by_one", None)
    rows = [NewRecord(b"k", b"v" * (n % 90), [("h", None)] * (n % 4), 1_700_000_000_000 - n) for n in range(3000)]
    batches = [build_batch(rows[at : at + 700], base_offset=at, compression=compression) for at in range(0, 3000, 700)]
    assert decoded(batches) == exact(batches)


def test_a_batch_of_very_many_records_comes_in_pieces() -> None:
    batch = build_batch([NewRecord(None, b"%d" % n, (), 7) for n in range(2 * ROWS + 1)])
    sizes = [piece.spans for piece in read_columns([(parse_header(batch), batch)], with_headers=False)]
    assert sizes == [[(0, ROWS)], [(0, ROWS)], [(0, 1)]]
    assert decoded([batch]) == exact([batch])


def test_a_batch_that_grows_too_large_is_read_record_by_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoded_columns, "_AT_ONCE_BYTES", 1 << 16)
    monkeypatch.setattr(decoded_columns, "PIECE_BYTES", 1 << 16)
    small = build_batch([NewRecord(b"k", b"small", (), 7)])
    large = build_batch([NewRecord(b"k", bytes(5000), [("h", b"x")], 7) for _ in range(100)], compression=1)
    batches = [small, large, small]
    spans = [p.spans for p in read_columns([(parse_header(each), each) for each in batches], with_headers=False)]
    assert spans[0] == [(0, 1)]
    assert [number for [(number, _)] in spans[1:-1]] == [1] * 8
    assert decoded(batches) == exact(batches)


def test_more_headers_than_are_walked_together_are_read_all_the_same() -> None:
    rows = [NewRecord(b"k", b"v", [(f"h{n}", b"%d" % n) for n in range(count)], 7) for count in (1, 100, 0)]
    assert len(rows[1].headers) > record_layout.HEADERS_MAX
    batch = build_batch(rows)
    assert decoded([batch]) == exact([batch])


def header_with(**fields: int) -> BatchHeader:
    return parse_header(build_batch([NewRecord(None, b"")]))._replace(**fields)
