"""Orders: their rules, and the reasons why one is rejected.

An order comes as JSON under its merchant's key. Every record that is read becomes exactly one row: in the topic of
the valid ones, with its value in euros; or in that of the rejected ones, byte for byte as it came, with the
reasons in a header. Both have their source's position in their headers, so that they can be counted.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType, TimestampType

SRC_TOPIC, SRC_PARTITION, SRC_OFFSET = "src-topic", "src-partition", "src-offset"
BATCH = "batch"  # added by the sink, which knows it
REASONS = "reasons"

ORDER = StructType(
    [
        StructField("order_id", StringType()),
        StructField("merchant", StringType()),
        StructField("sku", StringType()),
        StructField("quantity", IntegerType()),
        StructField("price", LongType()),  # of one, in the currency's hundredths
        StructField("currency", StringType()),
        StructField("ordered_at", TimestampType()),
    ]
)
_CORRUPT = "_corrupt_record"
_LENIENT = StructType([*ORDER.fields, StructField(_CORRUPT, StringType())])

PRODUCTS = StructType([StructField("sku", StringType()), StructField("category", StringType())])
RATES = StructType(
    [StructField("currency", StringType()), StructField("euro_millionths", LongType())]
)  # the value of one hundredth of the currency, in millionths of a euro's hundredth

VALID = StructType(
    [
        *ORDER.fields,
        StructField("category", StringType()),
        StructField("amount", LongType()),  # of all of them, in euro hundredths, rounded half up
    ]
)

_QUANTITY_MAX = 1000
_PRICE_MAX = 10**9
_LEAD = "INTERVAL 1 HOUR"  # how much younger an order may be than its record


def outputs(raw: DataFrame, products: DataFrame, rates: DataFrame, *, valid: str, rejected: str) -> DataFrame:
    """Return rows for the sink: topic, key, value, headers, timestamp. `raw` has the columns of a Kafka source."""
    judged = judge(parse(raw), products, rates)
    is_valid = F.size("reasons") == 0
    return judged.select(
        F.when(is_valid, F.lit(valid)).otherwise(F.lit(rejected)).alias("topic"),
        "key",
        F.when(is_valid, _as_json().cast("binary")).otherwise(F.col("value")).alias("value"),
        _headers(is_valid).alias("headers"),
        "timestamp",
    )


def parse(raw: DataFrame) -> DataFrame:
    """Return the raw columns and `order`, a struct whose fields are null if the value is not an order."""
    read = F.from_json(
        F.col("value").cast("string"), _LENIENT, {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
    )
    return raw.select("topic", "partition", "offset", "timestamp", "key", "value", read.alias("order"))


def judge(parsed: DataFrame, products: DataFrame, rates: DataFrame) -> DataFrame:
    """Add `category`, `amount`, and `reasons`: the names of the rules that the order breaks."""
    known = parsed.join(
        F.broadcast(products.withColumnRenamed("sku", "known_sku")), F.col("order.sku") == F.col("known_sku"), "left"
    ).join(
        F.broadcast(rates.withColumnRenamed("currency", "known_currency")),
        F.col("order.currency") == F.col("known_currency"),
        "left",
    )
    price = F.try_multiply(F.col("order.quantity").cast("bigint"), F.col("order.price"))
    worth = F.try_add(F.try_multiply(price, F.col("euro_millionths")), F.lit(500_000))
    broken = F.array_compact(F.array(*(F.when(rule, F.lit(name)) for name, rule in _rules().items())))
    return known.withColumn("reasons", broken).withColumn(
        "amount", F.when(F.size("reasons") == 0, F.call_function("div", worth, F.lit(1_000_000)))
    )


def _rules() -> Mapping[str, Column]:
    """Return when each rule is broken. A null condition is not broken, as missing fields are another rule."""
    order = F.col("order")
    is_readable = F.col("value").isNotNull() & order.isNotNull() & order[_CORRUPT].isNull()
    is_missing = F.lit(False)
    for field in ORDER.fields:
        is_missing |= order[field.name].isNull()
    return {
        "empty": F.col("value").isNull(),
        "unreadable": F.col("value").isNotNull() & (order.isNull() | order[_CORRUPT].isNotNull()),
        "incomplete": is_readable & is_missing,
        "quantity": is_readable & ~order["quantity"].between(1, _QUANTITY_MAX),
        "price": is_readable & ~order["price"].between(1, _PRICE_MAX),
        "product": is_readable & order["sku"].isNotNull() & F.col("known_sku").isNull(),
        "currency": is_readable & order["currency"].isNotNull() & F.col("known_currency").isNull(),
        "time": is_readable & (order["ordered_at"] > F.col("timestamp") + F.expr(_LEAD)),
    }


def _as_json() -> Column:
    fields = [F.col(f"order.{field.name}").alias(field.name) for field in ORDER.fields]
    return F.to_json(F.struct(*fields, "category", "amount"))


def _headers(is_valid: Column) -> Column:
    source = F.array(
        _header(SRC_TOPIC, F.col("topic")),
        _header(SRC_PARTITION, F.col("partition")),
        _header(SRC_OFFSET, F.col("offset")),
    )
    reasons = F.array(_header(REASONS, F.concat_ws(",", "reasons")))
    return F.when(is_valid, source).otherwise(F.concat(source, reasons))


def _header(name: str, value: Column) -> Column:
    return F.struct(F.lit(name).alias("key"), value.cast("string").cast("binary").alias("value"))


def read_valid(raw: DataFrame) -> DataFrame:
    """Return the orders in the topic of the valid ones: the columns of VALID, and each record's position."""
    order = F.from_json(F.col("value").cast("string"), VALID)
    return raw.select("partition", "offset", order.alias("order")).select("partition", "offset", "order.*")
