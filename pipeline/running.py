"""Starts a job's query and waits for its end: the shared part of `validate` and `aggregate`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamWriter

from pipeline.config import PipelineConfigError, Streaming
from pipeline.progress import ProgressListener
from pipeline.session import session

AVAILABLE_NOW = "available-now"


def read_stream(spark: SparkSession, config: Streaming, topic: str) -> DataFrame:
    """Return the committed records of a topic."""
    reader = (
        spark.readStream.format(config.source_format)
        .option("kafka.bootstrap.servers", config.bootstrap_servers)
        .option("kafka.isolation.level", "read_committed")
        .option("subscribe", topic)
        .option("startingOffsets", config.starting_offsets)
    )
    if config.max_offsets_per_trigger:
        reader = reader.option("maxOffsetsPerTrigger", str(config.max_offsets_per_trigger))
    return reader.load()


def sink_options(config: Streaming, prefix: str, topic: str | None) -> dict[str, str]:
    """Return the options of the sink, for `writeStream` and for foreachBatch; without a topic each row has its own."""
    options = {"kafka.bootstrap.servers": config.bootstrap_servers}
    if topic is not None:
        options["topic"] = topic
    if config.sink_format == "barnabas":
        options |= {"transactionalIdPrefix": prefix, "batchHeader": "batch"}
    return options


def run(name: str, config: Streaming, build: Callable[[SparkSession], DataStreamWriter]) -> int:
    """Run the query until nothing is left, or it fails. Return the exit status: 0; 1 or 2 with a sentence."""
    if config.checkpoint_location is None:
        _say("--checkpoint-location is required: it is the directory for the query's progress")
        return 2
    spark = session(name, {"spark.sql.shuffle.partitions": str(config.shuffle_partitions)})
    spark.streams.addListener(ProgressListener(config.metrics))
    try:
        writer = build(spark).queryName(name).option("checkpointLocation", config.checkpoint_location)
        query = _trigger(writer, config.trigger).start()
        query.awaitTermination()
    except StreamingQueryException as error:
        _say(f"{name} failed: {error}")
        return 1
    except PipelineConfigError as error:
        _say(f"{name}: {error}")
        return 2
    finally:
        spark.stop()
    return 0


def _trigger(writer: DataStreamWriter, trigger: str) -> Any:
    if trigger == AVAILABLE_NOW:
        return writer.trigger(availableNow=True)
    return writer.trigger(processingTime=trigger)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
