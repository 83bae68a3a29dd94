"""What is built in one go is what is built piece by piece."""

from hypothesis import given
from hypothesis import strategies as st

from barnabas.protocol.records.builder import NewRecord, build_batch, build_plain, build_single


@given(st.binary(max_size=200), st.none() | st.binary(max_size=20_000), st.integers(-1, 2**50))
def test_a_single_record_is_built_as_any_batch(key: bytes, value: bytes | None, timestamp_ms: int) -> None:
    assert build_single(key, value, timestamp_ms) == build_batch([NewRecord(key, value, (), timestamp_ms)])


@given(
    st.lists(st.tuples(st.binary(max_size=200), st.none() | st.binary(max_size=2_000)), min_size=1, max_size=100),
    st.integers(-1, 2**50),
)
def test_plain_records_are_built_as_any_batch(records: list[tuple[bytes, bytes | None]], timestamp_ms: int) -> None:
    rows = [NewRecord(key, value, (), timestamp_ms) for key, value in records]
    assert build_plain(records, timestamp_ms) == build_batch(rows)
