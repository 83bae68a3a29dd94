"""A user's program: copies a topic of numbers by a stream, then adds what a batch write has; nothing is registered.

copy_numbers.py ADDRESS SOURCE TARGET CHECKPOINT
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession


def main() -> int:
    address, source, target, checkpoint = sys.argv[1:]
    brokers = {"kafka.bootstrap.servers": address}
    spark = SparkSession.builder.appName("copy-numbers").getOrCreate()
    rows = spark.readStream.format("barnabas").options(subscribe=source, startingOffsets="earliest", **brokers).load()
    writer = rows.select("key", "value").writeStream.format("barnabas").options(topic=target, **brokers)
    writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination()
    more = spark.range(1000, 1100, numPartitions=2).selectExpr("CAST(id AS STRING) AS value")
    gzip = {"kafka.compression.type": "gzip"} | brokers
    more.write.format("barnabas").options(topic=target, **gzip).mode("append").save()
    spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
