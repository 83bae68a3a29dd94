"""Whether the written revenue is the sum of the valid orders. Rows of FINDING.

In append mode a window is written once, when the watermark has passed its end, together with all that ended
before. So each window that ends at or before the last written one has to be there; later windows are not due yet.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

_WINDOW = ("merchant", "window_start", "window_end")


def wrong_sums(expected: DataFrame, written: DataFrame) -> DataFrame:
    """Find wrong sums. expected: the columns of REVENUE, of all valid orders. written: those of the records, with
    their places.
    """
    last = written.agg(F.max("window_end").alias("last"))
    due = expected.crossJoin(F.broadcast(last)).where("window_end <= last").drop("last")
    there = written.groupBy(*_WINDOW).agg(
        F.count("*").alias("times"),
        F.min(F.struct("topic", "partition", "offset")).alias("place"),
        F.max("orders").alias("written_orders"),
        F.max("amount").alias("written_amount"),
    )
    joined = due.join(there, list(_WINDOW), "full_outer")
    kind = (
        F.when(F.col("times").isNull(), "missing window")
        .when(F.col("orders").isNull(), "window of no orders")
        .when(F.col("times") > 1, "window written twice")
        .when(F.expr("orders <> written_orders OR amount <> written_amount"), "wrong sum")
    )
    return joined.where(kind.isNotNull()).select(
        kind.alias("kind"),
        F.col("place.topic").alias("topic"),
        F.col("place.partition").alias("partition"),
        F.col("place.offset").alias("offset"),
        F.concat(
            F.concat_ws(" ", "merchant", F.col("window_start").cast("string")),
            F.lit(": "),
            _amounts("written_orders", "written_amount"),
            F.lit(" written, should be "),
            _amounts("orders", "amount"),
        ).alias("detail"),
    )


def last_of_each(written: DataFrame) -> DataFrame:
    """Return the newest of update mode's records for each window: the one that counts."""
    newest = F.max_by(F.struct(*written.columns), F.struct("offset")).alias("newest")
    return written.groupBy(*_WINDOW, "partition").agg(newest).select("newest.*")


def _amounts(orders: str, amount: str) -> Column:
    nothing = F.lit("nothing")
    return F.coalesce(
        F.concat(F.col(orders).cast("string"), F.lit(" orders for "), F.col(amount).cast("string")), nothing
    )
