"""Batches before they have a producer: sealed they are what build_batch makes, halved they keep records and numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.client.produce.new_batch import encode, seal, split
from barnabas.client.transaction_requests import NO_PRODUCER, ProducerIdentity
from barnabas.protocol.records.batch import NO_SEQUENCE, parse_header
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.protocol.records.compression import COMPRESSION_IDS

some_records = st.lists(
    st.builds(
        NewRecord,
        st.none() | st.binary(max_size=30),
        st.none() | st.binary(max_size=300),
        st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=9)), max_size=3),
        st.integers(0, 2**60),
    ),
    min_size=1,
    max_size=30,
)


@given(some_records, st.sampled_from(sorted(COMPRESSION_IDS.values())), st.booleans())
def test_a_sealed_batch_is_the_one_that_is_built_in_one_go(
    records: list[NewRecord], compression: int, transactional: bool
) -> None:
    encoded = encode(("t", 0), records, compression=compression)
    assert seal(encoded, ProducerIdentity(7, 3), 10, transactional=transactional) == build_batch(
        records, compression=compression, producer_id=7, producer_epoch=3, base_sequence=10, transactional=transactional
    )


@pytest.mark.parametrize(
    ("identity", "sequence", "expected"),
    [(ProducerIdentity(7, 3), 10, (10, 12)), (NO_PRODUCER, NO_SEQUENCE, (NO_SEQUENCE, NO_SEQUENCE))],
)
def test_a_batch_that_is_split_keeps_its_records_and_numbers(
    identity: ProducerIdentity, sequence: int, expected: tuple[int, int]
) -> None:
    records = [NewRecord(b"k%d" % number, b"v", (), number) for number in range(5)]
    data = seal(encode(("t", 0), records), identity, sequence, transactional=identity != NO_PRODUCER)
    left, right = map(parse_header, split(data))
    assert (left.records_count, right.records_count) == (2, 3)
    assert (left.base_sequence, right.base_sequence) == expected
    assert all(each.is_transactional == (identity != NO_PRODUCER) for each in (left, right))
    assert all((each.producer_id, each.producer_epoch) == identity for each in (left, right))
