"""Revenue: the sum of each merchant's valid orders, minute by minute of the time they were ordered at."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampType

WINDOW = "1 minute"

REVENUE = StructType(
    [
        StructField("merchant", StringType()),
        StructField("window_start", TimestampType()),
        StructField("window_end", TimestampType()),
        StructField("orders", LongType()),
        StructField("amount", LongType()),  # in euro hundredths
    ]
)


def per_minute(orders: DataFrame, *, delay: str | None = None) -> DataFrame:
    """Return the columns of REVENUE, a row for each merchant and minute.

    delay: of a stream, for how long orders may come late (the watermark); later ones are not counted.
    """
    timely = orders if delay is None else orders.withWatermark("ordered_at", delay)
    grouped = timely.groupBy(F.window("ordered_at", WINDOW).alias("window"), "merchant")
    return grouped.agg(F.count("*").alias("orders"), F.sum("amount").alias("amount")).select(
        "merchant",
        F.col("window.start").alias("window_start"),
        F.col("window.end").alias("window_end"),
        "orders",
        "amount",
    )


def as_records(revenue: DataFrame) -> DataFrame:
    """Return rows for the sink, under the merchant's key."""
    fields = F.struct(*REVENUE.names)
    return revenue.select(F.col("merchant").alias("key"), F.to_json(fields).alias("value"))


def read_records(raw: DataFrame) -> DataFrame:
    """Read the records of as_records: the columns of REVENUE, and each record's position."""
    read = F.from_json(F.col("value").cast("string"), REVENUE)
    place = ("topic", "partition", "offset")
    return raw.select(*place, read.alias("revenue")).select(*place, "revenue.*")
