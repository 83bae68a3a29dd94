"""A user's program over Spark Connect: a stream, a batch write, and update mode through foreachBatch.

over_connect.py ADDRESS SOURCE TARGET DIRECTORY
"""

from __future__ import annotations

import sys

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

from pyspark_barnabas import exactly_once


def main() -> int:
    address, source, target, directory = sys.argv[1:]
    brokers = {"kafka.bootstrap.servers": address}
    builder = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()

    def read() -> DataFrame:
        options = {"subscribe": source, "startingOffsets": "earliest"} | brokers
        return spark.readStream.format("barnabas").options(**options).load()

    writer = read().select("key", "value").writeStream.format("barnabas").options(topic=target, **brokers)
    query = writer.option("checkpointLocation", f"{directory}/stream").trigger(availableNow=True).start()
    assert query.awaitTermination(180)
    more = spark.range(1000, 1100, numPartitions=2).selectExpr("CAST(id AS STRING) AS value")
    more.write.format("barnabas").options(topic=target, **brokers).mode("append").save()
    counts = read().groupBy((col("value").cast("string").cast("int") % 3).cast("string").alias("key")).count()
    table = counts.selectExpr("key", "CAST(count AS STRING) AS value")
    checkpoint = f"{directory}/counts"
    count = exactly_once(brokers, topic=f"{target}-counts", checkpointLocation=checkpoint)
    for _ in range(2):  # the second one finds nothing new
        update = table.writeStream.outputMode("update").foreachBatch(count)
        query = update.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        assert query.awaitTermination(180), query.exception()
    spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
