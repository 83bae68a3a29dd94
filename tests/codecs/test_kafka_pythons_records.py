"""kafka-python's parser and builder of record batches, and its hash of keys, as an independent opinion on ours."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from kafka.partitioner.default import murmur2 as their_murmur2
from kafka.record import MemoryRecords
from kafka.record.default_records import DefaultRecordBatchBuilder

from barnabas.client.produce.partitioner import murmur2
from barnabas.protocol.records.batch import verify_crc
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.protocol.records.compression import COMPRESSION_NAMES
from barnabas.protocol.records.record import BatchRecord, iter_records
from tests.support.records.random_records import batches_of_records

CODECS = sorted(COMPRESSION_NAMES)


@given(batches_of_records, st.sampled_from(CODECS))
def test_kafka_python_reads_what_is_built(records: list[NewRecord], compression: int) -> None:
    batch = build_batch(records, base_offset=17, compression=compression)
    theirs = MemoryRecords(bytes(batch)).next_batch()
    assert theirs.validate_crc()
    assert [as_ours(record) for record in theirs] == list(iter_records(batch))


@given(batches_of_records, st.sampled_from(CODECS))
def test_batches_of_kafka_python_are_read(records: list[NewRecord], compression: int) -> None:
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=compression,
        is_transactional=False,
        producer_id=7,
        producer_epoch=1,
        base_sequence=3,
        batch_size=1 << 30,
    )
    for index, record in enumerate(records):
        builder.append(index, record.timestamp, record.key, record.value, list(record.headers))
    batch = builder.build()
    assert verify_crc(batch)
    assert [(r.timestamp, r.key, r.value, r.headers) for r in iter_records(batch)] == [
        (record.timestamp, record.key, record.value, list(record.headers)) for record in records
    ]


def as_ours(record: Any) -> BatchRecord:
    return BatchRecord(record.offset, record.timestamp, record.key, record.value, list(record.headers))


@given(st.binary(max_size=40))
def test_keys_are_hashed_alike(key: bytes) -> None:
    assert murmur2(key) == their_murmur2(key) & 0xFFFFFFFF
