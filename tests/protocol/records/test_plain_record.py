"""Plain records are read as rows are, and everything else is left to those."""

from hypothesis import given
from hypothesis import strategies as st

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.records.batch import HEADER_SIZE, parse_header
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.protocol.records.plain_record import PlainRecord
from barnabas.protocol.records.record_rows import Row, row_pieces

BASE = 1_000
_SIZES = st.sampled_from((0, 1, 63, 64, 8_191, 8_192))
_VALUES = st.one_of(st.none(), st.binary(max_size=9), st.builds(lambda size: b"v" * size, _SIZES))
_TIMES = st.one_of(st.integers(0, 300), st.integers(0, 1 << 62))
_HEADERS = st.lists(st.tuples(st.text(max_size=3), st.none() | st.binary(max_size=3)), max_size=2)
_RECORDS = st.lists(st.builds(NewRecord, _VALUES, _VALUES, _HEADERS, _TIMES), min_size=1, max_size=20)


def rows_of(batch: bytes) -> list[Row]:
    return [row for piece in row_pieces(batch, parse_header(batch)) if piece for row in piece[1]]


def read(batch: bytes, position: int, bytes_max: int = 1 << 20) -> tuple[int, bytes, bool, int] | None:
    """The offset, the key, whether there is a value, and the end."""
    record = PlainRecord()
    if not record.read(batch, position, bytes_max):
        return None
    key = batch[record.key_at : record.key_at + record.key_size]
    return BASE + record.offset_delta, key, record.has_value, record.end


@given(_RECORDS)
def test_records_with_a_key_are_read_as_rows(records: list[NewRecord]) -> None:
    batch = bytes(build_batch(records, base_offset=BASE))
    position = HEADER_SIZE
    for offset, timestamp, key, has_value, _, end in rows_of(batch):
        is_plain = key is not None and end - position >= 10 and abs(timestamp - records[0].timestamp) < 1 << 61
        if is_plain:
            assert read(batch, position) == (offset, key, has_value, end)
            assert read(batch, position, 3) is None
        else:
            assert read(batch, position) in (None, (offset, key, has_value, end))
        for cut in {position, position + 1, (position + end) // 2, end - 1}:
            assert read(batch[:cut], position) is None
        position = end


@given(st.integers(HEADER_SIZE, HEADER_SIZE + 21), st.integers(0, 255))
def test_a_damaged_record_is_read_as_a_row_or_not_at_all(position: int, value: int) -> None:
    damaged = bytearray(
        build_batch([NewRecord(b"key", b"v" * 80, (), 5), NewRecord(b"l", b"w", (), 9)], base_offset=BASE)
    )
    damaged[position] = value
    batch = bytes(damaged)
    found = read(batch, HEADER_SIZE)
    if found is None:
        return
    header = parse_header(batch)._replace(records_count=1, batch_length=found[3] - 12)
    try:
        [(_, [row])] = [piece for piece in row_pieces(batch[: found[3]], header) if piece]
    except DecodeError as error:
        if ": offset " not in str(error):  # a plain record does not know which offsets may come
            raise
    else:
        assert found == (row[0], row[2], row[3], row[5])
