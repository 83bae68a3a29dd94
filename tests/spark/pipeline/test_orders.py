"""What becomes of orders, of every kind that the demo makes up, and of those at the bounds."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import Row, SparkSession

from pipeline.demo.orders import OrderStream
from pipeline.transforms import coverage, orders, reference, revenue

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
RAW = "topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, key BINARY, value BINARY"


def outputs(spark: SparkSession, values: Sequence[bytes | None], key: bytes = b"k") -> list[Row]:
    """What the values become, in order."""
    raw = spark.createDataFrame(
        [
            ("orders.raw", 3, at, NOW, key, None if value is None else bytearray(value))
            for at, value in enumerate(values)
        ],
        RAW,
    )
    rows = orders.outputs(
        raw, reference.products(spark), reference.rates(spark), valid="orders.valid", rejected="orders.rejected"
    )
    assert rows.columns == ["topic", "key", "value", "headers", "timestamp"]
    found: list[Row] = coverage.with_lineage(rows).orderBy("src_offset").collect()
    return found


def order(**changes: Any) -> bytes:
    fields: dict[str, Any] = {
        "order_id": "1",
        "merchant": "m",
        "sku": "sku-007",
        "quantity": 3,
        "price": 1999,
        "currency": "USD",
        "ordered_at": NOW.isoformat(),
    }
    return json.dumps({**fields, **changes}).encode()


def reasons(row: Row) -> list[str]:
    found = {header.key: bytes(header.value).decode() for header in row.headers}
    return found["reasons"].split(",") if "reasons" in found else []


def test_every_made_up_order_is_reported_for_what_it_is(spark: SparkSession) -> None:
    stream = OrderStream(7, corrupt_share=0.5)
    made = [stream.next(round(NOW.timestamp() * 1000)) for _ in range(400)]
    rows = outputs(spark, [each.value for each in made])
    assert len(rows) == len(made)
    for row, each in zip(rows, made, strict=True):
        assert (row.topic == "orders.valid") == (each.corruption is None), (each, row)
        if each.corruption is not None:
            assert row.value == each.value  # byte for byte as it came
            assert reasons(row)
    assert {row.batch_id for row in rows} == {None}  # the sink adds it


def test_a_valid_order_is_reported_with_what_it_is_worth(spark: SparkSession) -> None:
    (row,) = outputs(spark, [order()])
    assert json.loads(row.value) == {
        "order_id": "1",
        "merchant": "m",
        "sku": "sku-007",
        "quantity": 3,
        "price": 1999,
        "currency": "USD",
        "ordered_at": "2026-11-21T12:00:00.000Z",
        "category": "kitchen",
        "amount": 5187,  # 3 · 19.99 dollars at 0.865
    }
    assert (row.src_topic, row.src_partition, row.src_offset, bytes(row.key)) == ("orders.raw", 3, 0, b"k")
    assert row.timestamp.astimezone(UTC) == NOW


def test_each_rule_is_named_and_the_bounds_are_inside(spark: SparkSession) -> None:
    late = (NOW + timedelta(hours=1)).isoformat()
    cases: list[tuple[bytes | None, list[str]]] = [
        (order(quantity=1, price=1), []),
        (order(quantity=1000, price=10**9), []),
        (order(ordered_at=late), []),
        (order(quantity=0), ["quantity"]),
        (order(quantity=1001), ["quantity"]),
        (order(price=0), ["price"]),
        (order(price=10**9 + 1), ["price"]),
        (order(currency="DBL", sku="none"), ["product", "currency"]),
        (order(ordered_at=(NOW + timedelta(hours=1, seconds=1)).isoformat()), ["time"]),
        (order(merchant=None), ["incomplete"]),
        (None, ["empty"]),
        (b"", ["unreadable"]),
        (b"\xff\xfe", ["unreadable"]),
        (b'{"order_id":', ["unreadable"]),
        (b"{}", ["incomplete"]),
        (order(ordered_at="yesterday"), ["unreadable"]),
        (order(quantity=2**31 - 1, price=2**63 - 1), ["quantity", "price"]),
    ]
    rows = outputs(spark, [value for value, _ in cases])
    for row, (value, expected) in zip(rows, cases, strict=True):
        assert [each for each in reasons(row) if each != "incomplete" or expected == ["incomplete"]] == expected, value


def test_revenue_is_summed_by_merchant_and_minute(spark: SparkSession) -> None:
    values = [
        order(merchant=merchant, currency="EUR", price=100, quantity=quantity, ordered_at=(NOW + delay).isoformat())
        for merchant, quantity, delay in [
            ("a", 1, timedelta(0)),
            ("a", 2, timedelta(seconds=59.999)),
            ("a", 4, timedelta(seconds=60)),
            ("b", 8, timedelta(seconds=1)),
        ]
    ]
    rows = spark.createDataFrame(
        [("orders.valid", 0, at, NOW, b"k", bytes(row.value)) for at, row in enumerate(outputs(spark, values))], RAW
    )
    sums = revenue.per_minute(orders.read_valid(rows))
    assert sums.columns == revenue.REVENUE.names
    found = {(row.merchant, row.window_start.minute): (row.orders, row.amount) for row in sums.collect()}
    assert found == {("a", 0): (2, 300), ("a", 1): (1, 400), ("b", 0): (1, 800)}
    written = [
        ("revenue.1m", 0, at, NOW, row.key.encode(), row.value.encode())
        for at, row in enumerate(revenue.as_records(sums).collect())
    ]
    again = revenue.read_records(spark.createDataFrame(written, RAW))
    assert sorted(row[3:] for row in again.collect()) == sorted(tuple(row) for row in sums.collect())
