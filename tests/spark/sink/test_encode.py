"""Rows to record batches: a column at a time and a row at a time come to the same, and readers get what was written."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.client.produce.new_batch import NewBatch
from barnabas.client.produce.partitioner import murmur2, partition_for_key
from barnabas.protocol.primitives import write_varlong
from barnabas.protocol.records.batch import BatchHeader, encode_batch
from barnabas.protocol.records.record import iter_records
from pyspark_barnabas.rows import digest, encoded_columns
from pyspark_barnabas.sink.encoding.arrow_batches import Encoder
from pyspark_barnabas.sink.encoding.batch_layout import BadRows, BatchLayout
from pyspark_barnabas.sink.encoding.plain_rows import PlainEncoder

PARTITIONS = {"a": 3, "b": 5, "d": 4, "": 3}
NOW_MS = 1_700_000_000_000
SCHEMA = pa.schema(
    {
        "topic": pa.string(),
        "key": pa.binary(),
        "value": pa.binary(),
        "headers": pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
        "partition": pa.int32(),
        "timestamp": pa.timestamp("us", "UTC"),
    }
)
_bytes = st.binary(max_size=40) | st.binary(max_size=300)
_rows = st.lists(
    st.fixed_dictionaries(
        {
            "topic": st.sampled_from(["a", "b", "", None]),
            "key": st.none() | _bytes,
            "value": st.none() | _bytes,
            "headers": st.none()
            | st.lists(st.fixed_dictionaries({"key": st.text(max_size=5), "value": st.none() | _bytes}), max_size=3),
            "partition": st.none() | st.integers(0, 2),
            "timestamp": st.none() | st.integers(0, 1 << 51),
        }
    ),
    max_size=60,
)


def layout(**changes: Any) -> BatchLayout:
    fields: dict[str, Any] = {"topic": "d", "compression": 0, "batch_bytes": 700, "max_batch_bytes": 4096}
    return BatchLayout(**(fields | changes))


def encode(encoder: Encoder | PlainEncoder, batches: list[Any]) -> list[NewBatch]:
    return [*(made for batch in batches for made in encoder.add(batch)), *encoder.finish()]


def read(batches: list[NewBatch]) -> dict[tuple[str, int], list[Any]]:
    """What a consumer gets of each partition."""
    found: dict[tuple[str, int], list[Any]] = {}
    for each in batches:
        header = BatchHeader(
            *(0, 0, -1, 2, 0, each.compression, each.count - 1, each.base_timestamp, each.max_timestamp),
            *(1, 0, 0, each.count),
        )
        records = list(iter_records(memoryview(encode_batch(header, each.records))))
        assert each.max_timestamp == max(record.timestamp for record in records)
        found.setdefault((each.topic, each.partition), []).extend(record[1:] for record in records)
    return found


@given(_rows, st.integers(1, 25), st.sampled_from([1, 61, 700]))
def test_columns_and_rows_come_to_the_same(rows: list[dict[str, Any]], chunk: int, batch_bytes: int) -> None:
    batches = pa.Table.from_pylist(rows, schema=SCHEMA).to_batches(max_chunksize=chunk)
    how = layout(fixed_headers=(("batch", b"7"),), batch_bytes=batch_bytes)
    fast, slow = (kind(how, PARTITIONS.__getitem__, lambda: NOW_MS) for kind in (Encoder, PlainEncoder))
    by_column, by_row = read(encode(fast, batches)), read(encode(slow, batches))
    assert (fast.rows, fast.digest) == (slow.rows, slow.digest) == (len(rows), fast.digest)
    for where in by_column.keys() | by_row.keys():
        placed = [[each for each in of.get(where, []) if each[1] is not None] for of in (by_column, by_row)]
        assert placed[0] == placed[1]  # rows with a key, in their order; those without may lie in other partitions
    everything = [sorted(repr(each) for records in of.values() for each in records) for of in (by_column, by_row)]
    assert everything[0] == everything[1]


@given(_rows)
def test_the_digest_is_that_of_what_readers_get(rows: list[dict[str, Any]]) -> None:
    encoder = Encoder(layout(), PARTITIONS.__getitem__, lambda: NOW_MS)
    seen = read(encode(encoder, pa.Table.from_pylist(rows, schema=SCHEMA).to_batches()))
    hashes = [
        digest.row_hash(topic, digest.tail(key, value, headers))
        for (topic, _), records in seen.items()
        for _, key, value, headers in records
    ]
    assert encoder.digest == sum(hashes) % digest.MODULUS


@given(st.lists(_bytes | st.none(), max_size=50), st.integers(0, 10))
def test_keys_go_where_kafkas_clients_put_them(keys: list[bytes | None], start: int) -> None:
    found = encoded_columns.murmur2(pa.array(keys, pa.binary()).slice(start)).tolist()
    expected = [None if key is None else murmur2(key) for key in keys[start:]]
    assert [None if want is None else got for got, want in zip(found, expected, strict=True)] == expected


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1)))
def test_varints_are_those_of_records(numbers: list[int]) -> None:
    import numpy as np

    def one(number: int) -> bytes:
        out = bytearray()
        write_varlong(out, number)
        return bytes(out)

    assert encoded_columns.varints(np.array(numbers, np.int64)).to_pylist() == [one(number) for number in numbers]


def test_a_slice_larger_than_the_rest_is_hashed_alike() -> None:
    values = [b"x" * 3_000_000, b"", None, b"y" * 17]
    tails = encoded_columns.tails(None, pa.array(values, pa.binary()))
    expected = [digest.row_hash("t", digest.tail(None, value)) for value in values]
    assert digest.row_hashes(tails, digest.seed("t")).tolist() == expected


def test_the_worked_example_of_the_format_holds() -> None:
    """docs/formats/ledger.md."""
    its_tail = digest.tail(b"k", b"v", [("h", b"x")])
    assert its_tail.hex() == "026b02760202680278"
    assert digest.seed("orders") == 0x4D7FB467E8EBACD5
    assert digest.row_hash("orders", its_tail) == 0xB37AAF28A9DBD6FC


def test_rows_without_a_key_fill_one_partition_after_the_other() -> None:
    batch = pa.record_batch({"value": [b"x" * 79] * 100})  # 102 bytes each, with what surrounds them
    encoder = Encoder(layout(topic="a", batch_bytes=1020), PARTITIONS.__getitem__, lambda: NOW_MS)
    made = encode(encoder, [batch])
    assert {each.partition for each in made} == {0, 1, 2}
    assert max(each.count for each in made) <= 10
    assert sum(each.count for each in made) == 100


@pytest.mark.parametrize("kind", [Encoder, PlainEncoder])
@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"topic": "a", "value": b"", "partition": 3}, "asks for partition 3 of topic 'a', which has 3"),
        ({"topic": "a", "value": b"", "partition": -2}, "partition -2: partitions are counted from 0"),
        ({"value": b""}, "a row without a key has no topic"),
        ({"topic": "a", "value": b"x" * 5000}, r"takes \d+ bytes, and kafka.max.request.size is 4096"),
        ({"topic": "a", "value": b"", "timestamp": -5000}, "before 1970"),
        ({"topic": "a", "value": b"", "headers": [{"key": None, "value": b""}]}, "a header has no name"),
    ],
)
def test_rows_that_cannot_be_written_are_reported(kind: type[Encoder], row: dict[str, Any], told: str) -> None:
    encoder = kind(layout(topic=None), PARTITIONS.__getitem__, lambda: NOW_MS)
    good = {"topic": "a", "value": b"good"}
    with pytest.raises(BadRows, match=told):
        encode(encoder, pa.Table.from_pylist([good, row], schema=SCHEMA).to_batches())


@pytest.mark.parametrize(
    ("column", "told"),
    [
        ({"value": pa.array([1])}, "`value` is int64, and must be text or bytes"),
        ({"value": pa.array(["a"]), "headers": pa.array(["h"])}, "`headers` is string, and must be array<struct"),
        ({"value": pa.array(["a"]), "partition": pa.array(["0"])}, "`partition` is string, and must be a whole"),
        ({"value": pa.array(["a"]), "timestamp": pa.array(["now"])}, "`timestamp` is string, and must be a time"),
        ({"value": pa.array(["a"]), "topic": pa.array([b"t"])}, "`topic` is binary, and must be text"),
    ],
)
def test_columns_of_other_types_are_reported(column: dict[str, Any], told: str) -> None:
    encoder = Encoder(layout(), PARTITIONS.__getitem__, lambda: NOW_MS)
    with pytest.raises(BadRows, match=told):
        encode(encoder, [pa.record_batch(column)])


def test_wide_text_and_whole_numbers_of_time_are_taken() -> None:
    batch = pa.record_batch(
        {
            "value": pa.array(["ä", None], pa.large_string()),
            "key": pa.array([b"k", None], pa.large_binary()),
            "topic": pa.array(["a", "a"], pa.large_string()),
            "partition": pa.array([1, 1], pa.int64()),
            "timestamp": pa.array([5, None], pa.int64()),
        }
    )
    seen = read(encode(Encoder(layout(), PARTITIONS.__getitem__, lambda: NOW_MS), [batch]))
    assert seen == {("a", 1): [(5, b"k", "ä".encode(), []), (NOW_MS, None, None, [])]}


def test_a_key_lands_where_its_hash_specifies() -> None:
    batch = pa.record_batch({"value": [b"v"], "key": [b"key-7"]})
    made = encode(Encoder(layout(topic="b"), PARTITIONS.__getitem__, lambda: NOW_MS), [batch])
    assert made[0].partition == partition_for_key(b"key-7", 5)
