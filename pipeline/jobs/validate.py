"""`validate`: orders are valid or rejected, and each is one of them exactly once.

    python -m pipeline.jobs.validate --bootstrap-servers 127.0.0.1:9092 --checkpoint-location /var/lib/validate

Both topics are written by one sink, so that they and the offsets of the source are in one transaction: a reader of
committed records never sees an order in neither, or in both.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql.streaming import DataStreamWriter

from pipeline import running
from pipeline.config import Streaming, load, setting
from pipeline.transforms import orders, reference


@dataclass(frozen=True)
class ValidateConfig(Streaming):
    """The settings of `validate`."""

    source_topic: str = setting("orders.raw", "the topic of the orders")
    valid_topic: str = setting("orders.valid", "the topic of the valid orders")
    rejected_topic: str = setting("orders.rejected", "the topic of the rejected orders, unchanged")
    transactional_id_prefix: str = setting("validate", "the prefix of the names of its transactions")


def build(spark: SparkSession, config: ValidateConfig) -> DataStreamWriter:
    """Return the query, without its name, its checkpoint and its trigger."""
    raw = running.read_stream(spark, config, config.source_topic)
    rows = orders.outputs(
        raw,
        reference.products(spark),
        reference.rates(spark),
        valid=config.valid_topic,
        rejected=config.rejected_topic,
    )
    if config.sink_format != "barnabas":
        rows = rows.drop("timestamp")  # Spark's own sink cannot write it
    options = running.sink_options(config, config.transactional_id_prefix, None)
    return rows.writeStream.format(config.sink_format).options(**options)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the job. Return the exit status: 0 when all was read, 1 when it failed, 2 when its settings are invalid."""
    given = sys.argv[1:] if arguments is None else arguments
    config = load(
        ValidateConfig, "validate", given, os.environ, "Separate valid orders from invalid ones, each exactly once."
    )
    return running.run("validate", config, lambda spark: build(spark, config))


if __name__ == "__main__":
    sys.exit(main())
