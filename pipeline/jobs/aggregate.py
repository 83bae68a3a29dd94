"""`aggregate`: the revenue of each merchant, minute by minute.

    python -m pipeline.jobs.aggregate --bootstrap-servers 127.0.0.1:9092 --checkpoint-location /var/lib/aggregate

In append mode each minute is written once, when no late order for it is accepted any more. In update mode each is
written again whenever it has changed; Spark has no update mode for Python sinks, so this uses foreachBatch, with the
same guarantee.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql.streaming import DataStreamWriter

from pipeline import running
from pipeline.config import PipelineConfigError, Streaming, load, setting
from pipeline.transforms import orders, revenue


@dataclass(frozen=True)
class AggregateConfig(Streaming):
    """The settings of `aggregate`."""

    valid_topic: str = setting("orders.valid", "the topic of the valid orders")
    revenue_topic: str = setting("revenue.1m", "the topic of the sums")
    transactional_id_prefix: str = setting("aggregate", "the prefix of the names of its transactions")
    output_mode: str = setting("append", "append: each minute once, after its end; update: whenever it changes")
    watermark_delay: str = setting("1 minute", "the maximum delay of an order")


def build(spark: SparkSession, config: AggregateConfig) -> DataStreamWriter:
    """Return the query, without its name, its checkpoint and its trigger."""
    if config.output_mode not in ("append", "update"):
        raise PipelineConfigError(f"--output-mode is {config.output_mode!r}, and must be append or update")
    raw = running.read_stream(spark, config, config.valid_topic)
    sums = revenue.per_minute(orders.read_valid(raw), delay=config.watermark_delay)
    writer = revenue.as_records(sums).writeStream.outputMode(config.output_mode)
    options = running.sink_options(config, config.transactional_id_prefix, config.revenue_topic)
    if config.output_mode == "update" and config.sink_format == "barnabas":
        from pyspark_barnabas.spark_sink.for_each_batch import exactly_once

        return writer.foreachBatch(exactly_once({**options, "checkpointLocation": config.checkpoint_location}))
    return writer.format(config.sink_format).options(**options)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the job. Return the exit status: 0 when all was read, 1 when it failed, 2 when its settings are invalid."""
    given = sys.argv[1:] if arguments is None else arguments
    config = load(
        AggregateConfig, "aggregate", given, os.environ, "Sum the revenue of each merchant, minute by minute."
    )
    return running.run("aggregate", config, lambda spark: build(spark, config))


if __name__ == "__main__":
    sys.exit(main())
