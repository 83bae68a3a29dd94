"""Every way in which the outputs can be wrong is found, and named by where it is; and nothing else is."""

from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from pipeline.transforms import batches, coverage, revenue, sums, visibility
from pyspark_barnabas.rows import digest

ROWS = (
    "topic STRING, partition INT, offset BIGINT, key BINARY, value BINARY,"
    " headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
)
Out = tuple[str, int, int, bytes | None, bytes, list[tuple[str, bytes]] | None]
NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def lineage(partition: object, offset: object, batch: object = 0) -> list[tuple[str, bytes]]:
    return [
        ("src-topic", b"orders.raw"),
        ("src-partition", str(partition).encode()),
        ("src-offset", str(offset).encode()),
        ("batch", str(batch).encode()),
    ]


def source(spark: SparkSession, count: int) -> DataFrame:
    rows = [("orders.raw", at % 2, at // 2, b"k%d" % (at % 2), b"v%d" % at, None) for at in range(count)]
    return spark.createDataFrame(rows, ROWS)


def outputs(count: int) -> list[Out]:
    """What the source's records become, as it should be: all of one partition in order in the same partition."""
    return [
        ("orders.valid", at % 2, at // 2, b"k%d" % (at % 2), b"v%d" % at, lineage(at % 2, at // 2))
        for at in range(count)
    ]


def found(frame: DataFrame) -> list[tuple[Any, ...]]:
    assert frame.columns == coverage.FINDING.names
    return sorted(tuple(row)[:4] for row in frame.collect())


def read(spark: SparkSession, rows: list[Out]) -> DataFrame:
    return coverage.with_lineage(spark.createDataFrame(rows, ROWS))


def test_coverage_names_what_is_lost_doubled_or_of_nowhere_and_nothing_else(spark: SparkSession) -> None:
    rows = outputs(20)
    assert found(coverage.uncovered(source(spark, 20), read(spark, rows))) == []
    again = ("orders.rejected", 0, 0, *rows[4][3:])
    lost = [rows.pop(at) for at in (17, 15, 5)]
    rows += [
        again,
        ("orders.valid", 0, 50, b"k0", b"v", lineage(0, 77)),
        ("orders.valid", 0, 51, b"k0", b"v", None),
        ("orders.valid", 0, 52, b"k0", b"v", lineage("zero", "many")),
    ]
    assert found(coverage.uncovered(source(spark, 20), read(spark, rows))) == sorted(
        [
            *(("lost", "orders.raw", partition, offset) for _, partition, offset, *_ in lost),
            ("duplicated", "orders.raw", 0, 2),
            ("of no record", "orders.raw", 0, 77),
            ("of no record", "orders.valid", 0, 51),
            ("of no record", "orders.valid", 0, 52),
        ]
    )


def test_records_beyond_what_was_decided_are_not_requested(spark: SparkSession) -> None:
    ends = spark.createDataFrame([("orders.raw", 0, 4), ("orders.raw", 1, 3)], coverage.ENDS)
    decided = coverage.decided_part(source(spark, 10), ends)
    rows = [row for row in outputs(10) if row[2] < (4, 3)[row[1]]]
    assert found(coverage.uncovered(decided, read(spark, rows))) == []
    beyond = outputs(10)[8]
    assert found(coverage.uncovered(decided, read(spark, [*rows, beyond]))) == [("of no record", "orders.raw", 0, 4)]


def test_an_output_that_is_not_what_it_should_be_is_named(spark: SparkSession) -> None:
    expected = read(spark, outputs(6))
    rows = outputs(6)
    rows[2] = (*rows[2][:4], b"other", rows[2][5])
    rows[3] = ("orders.rejected", *rows[3][1:])
    assert found(coverage.altered(expected, read(spark, rows))) == [
        ("altered", "orders.rejected", 1, 1),
        ("altered", "orders.valid", 0, 1),
    ]
    assert found(coverage.altered(expected, read(spark, outputs(6)))) == []


def test_outputs_that_overtook_others_of_their_key_are_named(spark: SparkSession) -> None:
    rows = outputs(12)
    assert found(coverage.reordered(read(spark, rows))) == []
    rows[4], rows[8] = (*rows[4][:5], lineage(0, 4)), (*rows[8][:5], lineage(0, 2))  # offsets 2 and 4 change places
    assert found(coverage.reordered(read(spark, rows))) == [
        ("reordered", "orders.valid", 0, 3),
        ("reordered", "orders.valid", 0, 4),
    ]


def test_digests_of_batches_are_those_of_their_rows(spark: SparkSession) -> None:
    rows: list[Out] = [
        (topic, 0, at, key, value, lineage(0, at, at % 3))
        for at, (topic, key, value) in enumerate([("a", b"k", b"v"), ("b", None, b""), ("a", b"\xff", b"x" * 500)] * 30)
    ]
    expected: dict[int, tuple[int, int]] = {}
    for topic, _, at, key, value, headers in rows:
        count, total = expected.get(at % 3, (0, 0))
        hashed = digest.row_hash(topic, digest.tail(key, value, headers or ()))
        expected[at % 3] = count + 1, (total + hashed) % digest.MODULUS
    rows.append(("a", 0, 99, b"k", b"v", None))  # of no batch
    told = {
        row.batch_id: (row.rows, batches.digest_of(row.high, row.low))
        for row in batches.sums(read(spark, rows)).collect()
    }
    assert told.pop(-1)[0] == 1
    assert told == expected


def test_transactions_that_were_decided_and_are_not_committed_are_named(spark: SparkSession) -> None:
    schema = (
        "topic STRING, partition INT, base_offset BIGINT, producer_id BIGINT, producer_epoch INT,"
        " is_transactional BOOLEAN, is_control BOOLEAN, outcome STRING"
    )
    logs = spark.createDataFrame(
        [
            ("orders.valid", 0, 0, 7, 1, True, False, "committed"),
            ("orders.valid", 0, 5, 7, 1, True, True, None),
            ("orders.valid", 1, 0, 8, 1, True, False, "aborted"),
            ("orders.valid", 1, 9, 8, 2, True, False, "open"),
            ("orders.valid", 2, 3, 9, 9, True, False, "committed"),
            ("orders.valid", 2, 4, None, None, False, False, None),
            ("orders.valid", 3, 0, 9, 10, True, False, "aborted"),
        ],
        schema,
    )
    decided = spark.createDataFrame([(7, 1, 0, "a"), (8, 1, 0, "b"), (8, 2, 1, "c")], visibility.DECIDED)
    assert found(visibility.half_visible(logs, decided)) == [
        ("half visible", "orders.valid", 1, 0),
        ("half visible", "orders.valid", 1, 9),
    ]
    assert found(visibility.undecided(logs, decided)) == [
        ("undecided", "orders.valid", 2, 3),
        ("undecided", "orders.valid", 2, 4),
    ]
    assert found(visibility.still_open(logs)) == [("open", "orders.valid", 1, 9)]


def test_sums_that_are_wrong_missing_or_there_twice_are_named(spark: SparkSession) -> None:
    def window(merchant: str, minute: int, orders: int, amount: int) -> tuple[Any, ...]:
        return merchant, NOON.replace(minute=minute), NOON.replace(minute=minute + 1), orders, amount

    expected = spark.createDataFrame(
        [window("a", 0, 2, 200), window("b", 0, 1, 100), window("c", 1, 1, 5), window("a", 7, 3, 3)], revenue.REVENUE
    )
    places = "topic STRING, partition INT, offset BIGINT"
    schema = StructType([*spark.createDataFrame([], places).schema.fields, *revenue.REVENUE.fields])

    def written(*windows: tuple[Any, ...]) -> DataFrame:
        return spark.createDataFrame([("revenue.1m", 0, at, *each) for at, each in enumerate(windows)], schema)

    right = [window("a", 0, 2, 200), window("b", 0, 1, 100), window("c", 1, 1, 5)]  # the last is not due yet
    assert found(sums.wrong_sums(expected, written(*right))) == []
    wrong = [window("a", 0, 2, 201), window("c", 1, 1, 5), window("c", 1, 1, 5), window("z", 0, 1, 1)]
    assert found(sums.wrong_sums(expected, written(*wrong))) == [
        ("missing window", None, None, None),
        ("window of no orders", "revenue.1m", 0, 3),
        ("window written twice", "revenue.1m", 0, 1),
        ("wrong sum", "revenue.1m", 0, 0),
    ]
    updated = written(window("a", 0, 1, 100), *right)
    assert found(sums.wrong_sums(expected, sums.last_of_each(updated))) == []
