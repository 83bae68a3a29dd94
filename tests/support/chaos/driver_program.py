"""A Spark application of several streams, each from a topic to a topic: what the tests start, kill and freeze.

Its argument is JSON: master, conf, and streams (see `tests.support.chaos.driver.Stream`). It prints what happens, a
JSON object a line: `up`, `done`, `failed` (with the first lines of the error), `over`. A stream that fails is started
anew as often as it says.
"""

import json
import sys
from contextlib import suppress
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery

from tests.support.chaos.source import ChaosDataSource


def report(event: str, **facts: Any) -> None:
    print(json.dumps({"event": event, **facts}), flush=True)


def rows(spark: SparkSession, stream: dict[str, Any]) -> DataFrame:
    frame = (
        spark.readStream.format(stream["source"])
        .options(**stream["way_in"])
        .option("subscribe", stream["topic_in"])
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", stream["rows_per_batch"])
        .load()
    )
    if stream["is_shuffled"]:
        frame = frame.repartition(2, F.rand())
    # In atomic mode a partition is written by one task: here by the one that read the same partition.
    return frame.select("key", "value", *(["partition"] if stream["is_atomic"] else []))


def start(spark: SparkSession, stream: dict[str, Any]) -> StreamingQuery:
    writer = rows(spark, stream).writeStream.queryName(stream["name"]).format(stream["sink"])
    options = {**stream["way_in"], **stream["options"], "checkpointLocation": stream["checkpoint"]}
    return writer.options(**options).trigger(availableNow=True).start()


def run(spark: SparkSession, streams: list[dict[str, Any]]) -> None:
    """All streams to their ends, each with as many starts as it may have."""
    running = {each["name"]: (each, start(spark, each), each["restarts"]) for each in streams}
    while running:
        with suppress(StreamingQueryException):  # each query is looked at below
            spark.streams.awaitAnyTermination()
        spark.streams.resetTerminated()
        for name, (stream, query, left) in list(running.items()):
            if query.isActive:
                continue
            error = query.exception()
            if error is None:
                report("done", stream=name)
            else:
                report("failed", stream=name, starts_left=left, error=str(error)[:4000])
            del running[name]
            if error is not None and left:
                running[name] = (stream, start(spark, stream), left - 1)


def main(argument: str) -> None:
    wanted = json.loads(argument)
    builder = SparkSession.builder.master(wanted["master"]).appName("chaos")
    for name, value in wanted["conf"].items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    spark.dataSource.register(ChaosDataSource)
    report("up")
    run(spark, wanted["streams"])
    report("over")


if __name__ == "__main__":
    main(sys.argv[1])
