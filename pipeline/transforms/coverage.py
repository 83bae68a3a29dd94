"""Whether every record of the source became exactly one row, the right one, in order among those of its key.

Each function returns findings: rows of FINDING, none if all is well. Records have the columns of a Kafka source; the
outputs have their lineage read from their headers first (`with_lineage`).
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from pipeline.transforms.orders import BATCH, SRC_OFFSET, SRC_PARTITION, SRC_TOPIC

FINDING = StructType(
    [
        StructField("kind", StringType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("detail", StringType()),
    ]
)
ENDS = StructType(
    [
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("end", LongType()),
    ]
)
_SOURCE = ("src_topic", "src_partition", "src_offset")
_PLACES = 5  # how many places are listed of something that is there more than once


def with_lineage(rows: DataFrame) -> DataFrame:
    """Add src_topic, src_partition, src_offset and batch_id, null if a header is missing or is not a number."""
    return rows.withColumns(
        {
            "src_topic": _header(SRC_TOPIC),
            "src_partition": _header(SRC_PARTITION).try_cast("int"),
            "src_offset": _header(SRC_OFFSET).try_cast("bigint"),
            "batch_id": _header(BATCH).try_cast("bigint"),
        }
    )


def decided_part(source: DataFrame, ends: DataFrame) -> DataFrame:
    """Return the records that batches were decided about: those below the ends, of ENDS."""
    return source.join(F.broadcast(ends), ["topic", "partition"], "inner").where("offset < end").drop("end")


def uncovered(source: DataFrame, outputs: DataFrame) -> DataFrame:
    """Find records without an output or with several, and outputs of no record."""
    place = F.struct("topic", "partition", "offset")
    counted = (
        outputs.where(F.col("src_offset").isNotNull())
        .groupBy(*_SOURCE)
        .agg(F.count("*").alias("times"), F.sort_array(F.collect_list(place)).alias("places"))
    )
    named = source.select(
        F.col("topic").alias("src_topic"),
        F.col("partition").alias("src_partition"),
        F.col("offset").alias("src_offset"),
    ).withColumn("is_there", F.lit(True))
    joined = named.join(counted, list(_SOURCE), "full_outer")
    kind = (
        F.when(F.col("times").isNull(), "lost")
        .when(F.col("is_there").isNull(), "of no record")
        .when(F.col("times") > 1, "duplicated")
    )
    detail = (
        F.when(kind == "lost", F.lit("no output names it as its source"))
        .when(kind == "of no record", F.concat(F.lit("is named by an output that no batch can have: "), _named()))
        .otherwise(F.concat(F.col("times").cast("string"), F.lit(" outputs: "), _named()))
    )
    found = joined.where(kind.isNotNull()).select(
        kind.alias("kind"),
        F.col("src_topic").alias("topic"),
        F.col("src_partition").alias("partition"),
        F.col("src_offset").alias("offset"),
        detail.alias("detail"),
    )
    return found.unionByName(_without_lineage(outputs))


def altered(expected: DataFrame, outputs: DataFrame) -> DataFrame:
    """Find outputs that are not what their record should have become. Both have topic, key, value and their lineage."""
    content = F.struct("topic", "key", "value")
    should = expected.select(*_SOURCE, F.xxhash64("topic", "key", "value").alias("should"), content.alias("content"))
    return (
        outputs.join(should, list(_SOURCE), "inner")
        .where(F.xxhash64("topic", "key", "value") != F.col("should"))
        .select(
            F.lit("altered").alias("kind"),
            "topic",
            "partition",
            "offset",
            F.concat(
                F.lit("is not what "),
                _source(),
                F.lit(" should have become in "),
                F.col("content.topic"),
                F.lit(": "),
                F.coalesce(F.substring(F.col("content.value").cast("string"), 1, 200), F.lit("null")),
            ).alias("detail"),
        )
    )


def reordered(outputs: DataFrame) -> DataFrame:
    """Find outputs that come after a younger record of the same key and the same partition of the source."""
    key = Window.partitionBy("topic", "key", "src_topic", "src_partition").orderBy("partition", "offset")
    before = F.max("src_offset").over(key.rowsBetween(Window.unboundedPreceding, -1))
    return (
        outputs.where(F.col("key").isNotNull() & F.col("src_offset").isNotNull())
        .withColumn("before", before)
        .where("src_offset < before")
        .select(
            F.lit("reordered").alias("kind"),
            "topic",
            "partition",
            "offset",
            F.concat(_source(), F.lit(" comes behind offset "), F.col("before").cast("string")).alias("detail"),
        )
    )


def _without_lineage(outputs: DataFrame) -> DataFrame:
    return outputs.where(F.col("src_offset").isNull()).select(
        F.lit("of no record").alias("kind"),
        "topic",
        "partition",
        "offset",
        F.lit("its headers do not name its source").alias("detail"),
    )


def _header(name: str) -> Column:
    """Return the first header of a name, as text."""
    return F.get(F.filter("headers", lambda header: header["key"] == name), F.lit(0))["value"].cast("string")


def _named() -> Column:
    places = F.slice("places", 1, _PLACES)
    return F.array_join(
        F.transform(places, lambda at: F.concat_ws(" ", at["topic"], at["partition"], at["offset"])), ", "
    )


def _source() -> Column:
    return F.concat_ws(" ", "src_topic", "src_partition", F.lit("offset"), "src_offset")
