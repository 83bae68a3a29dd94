"""Both jobs in one Spark session: the process that the demo kills and restarts.

    python -m pipeline.demo.driver --bootstrap-servers 127.0.0.1:9092 --directory DIR

Two queries with a checkpoint and a ledger each, as the jobs' own modules build them; one JVM, because the demo runs
on a laptop. It ends after its stdin has ended and everything in the topics has been read.
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming import DataStreamWriter

from pipeline.jobs import aggregate, validate
from pipeline.progress import ProgressListener
from pipeline.session import session

READY = "driver ready"
TRIGGER = "500 milliseconds"
_LOOK_S = 1
WATERMARK_DELAY = "15 minutes"  # a quarter of a minute of the shop's time


def main(arguments: Sequence[str] | None = None) -> int:
    """Run both queries until stdin ends. Return 0 if all was read then, 1 if a query failed."""
    parser = argparse.ArgumentParser(description="The demo's two queries, in one session.")
    parser.add_argument("--bootstrap-servers", required=True)
    parser.add_argument("--directory", required=True, type=Path)
    given = parser.parse_args(arguments)
    spark = session("demo", {"spark.sql.shuffle.partitions": "2"})
    spark.streams.addListener(ProgressListener(str(given.directory / "metrics.jsonl")))
    shared: dict[str, Any] = {"bootstrap_servers": given.bootstrap_servers, "trigger": TRIGGER}
    first = validate.build(spark, validate.ValidateConfig(**shared))
    second = aggregate.build(spark, aggregate.AggregateConfig(**shared, watermark_delay=WATERMARK_DELAY))
    try:
        queries = [_start(first, "validate", given.directory), _start(second, "aggregate", given.directory)]
        threading.Thread(target=_finish, args=(queries,), daemon=True).start()
        while not all(query.lastProgress for query in queries) and not queries[0].awaitTermination(_LOOK_S):
            continue  # the first batches take the longest
        print(READY, flush=True)
        for query in queries:
            query.awaitTermination()
    except StreamingQueryException as error:
        print(f"a query failed: {error}", file=sys.stderr, flush=True)
        return 1
    finally:
        spark.stop()
    return 0


def _start(writer: DataStreamWriter, name: str, directory: Path) -> Any:
    checkpoint = str(directory / f"checkpoint-{name}")
    return writer.queryName(name).option("checkpointLocation", checkpoint).trigger(processingTime=TRIGGER).start()


def _finish(queries: Sequence[Any]) -> None:
    """Stop the queries when stdin ends: each reads what exists, the first one first, and ends between two batches."""
    sys.stdin.read()
    try:
        for query in queries:
            query.processAllAvailable()
    except StreamingQueryException:
        return  # the main thread gets the error, too
    for query in queries:
        query.stop()


if __name__ == "__main__":
    sys.exit(main())
