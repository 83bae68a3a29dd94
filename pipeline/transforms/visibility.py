"""The state in a log of the transactions that the ledger decided, and of those that it did not. Rows of FINDING.

batches: rows of the segment source, one for each batch of the log (`content=batches`). decided: of DECIDED; for
`half_visible` without those of batches that `recover` copied, whose aborted rows are there a second time.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

DECIDED = StructType(
    [
        StructField("producer_id", LongType()),
        StructField("producer_epoch", IntegerType()),
        StructField("batch_id", LongType()),
        StructField("transactional_id", StringType()),
    ]
)


def half_visible(batches: DataFrame, decided: DataFrame) -> DataFrame:
    """Find data of decided transactions that readers do not get: lost rows of a batch that counts."""
    data = batches.where("is_transactional AND NOT is_control AND outcome <> 'committed'")
    return data.join(F.broadcast(decided), ["producer_id", "producer_epoch"], "inner").select(
        F.lit("half visible").alias("kind"),
        "topic",
        "partition",
        F.col("base_offset").alias("offset"),
        F.concat(
            F.lit("batch "),
            F.col("batch_id").cast("string"),
            F.lit(" was decided, and its transaction "),
            F.col("transactional_id"),
            F.lit(" is "),
            F.col("outcome"),
        ).alias("detail"),
    )


def undecided(batches: DataFrame, decided: DataFrame) -> DataFrame:
    """Find data that readers get without a decision: it comes from elsewhere, or its decision is gone."""
    data = batches.where("NOT is_control AND (NOT is_transactional OR outcome = 'committed')")
    return data.join(F.broadcast(decided), ["producer_id", "producer_epoch"], "left_anti").select(
        F.lit("undecided").alias("kind"),
        "topic",
        "partition",
        F.col("base_offset").alias("offset"),
        F.concat(
            F.lit("committed by producer "),
            F.coalesce(F.concat_ws(" epoch ", "producer_id", "producer_epoch"), F.lit("unknown")),
            F.lit(", which no decision names"),
        ).alias("detail"),
    )


def still_open(batches: DataFrame) -> DataFrame:
    """Find data of transactions that have not ended: readers of committed data get nothing behind it."""
    return batches.where("outcome = 'open'").select(
        F.lit("open").alias("kind"),
        "topic",
        "partition",
        F.col("base_offset").alias("offset"),
        F.concat(
            F.lit("the transaction of producer "),
            F.concat_ws(" epoch ", "producer_id", "producer_epoch"),
            F.lit(" has not ended"),
        ).alias("detail"),
    )


def damaged(found: DataFrame) -> DataFrame:
    """Find errors of the files. `found`: rows of the segment source (`content=findings`)."""
    return found.select(
        "kind",
        "topic",
        "partition",
        "offset",
        F.concat(F.col("file"), F.lit(": "), F.col("detail")).alias("detail"),
    )
