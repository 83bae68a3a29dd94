"""Everything that Spark can ask of `pyspark_barnabas`, once, in what every release from 3.5 on understands.

every_spark.py ADDRESS DATA_DIRECTORY PREFIX DIRECTORY prints a JSON object: of each piece of work what came of it, or
the sentence that it was refused with. docs/spark-versions.md tells the outcome for each release.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from pyspark_barnabas import exactly_once

COUNT = 300
LIMIT = 100
MOMENT = "2026-03-29 02:30:00.123"
_COLUMNS = (
    "CAST(id AS STRING) AS value",
    "CAST(id % 7 AS STRING) AS key",
    f"timestamp'{MOMENT}' AS timestamp",
    "array(struct('from' AS key, CAST('batch' AS BINARY) AS value)) AS headers",
)


class Work:
    """The pieces of work, whose names are what is printed. Later ones read what earlier ones wrote."""

    def __init__(self, spark: SparkSession, address: str, data_directory: str, prefix: str, directory: Path) -> None:
        self._spark = spark
        self._brokers = {"kafka.bootstrap.servers": address}
        self._data_directory = data_directory
        self._prefix = prefix
        self._directory = directory
        (directory / "lines").mkdir()
        for part in range(2):
            lines = "\n".join(str(n) for n in range(part, COUNT, 2))
            (directory / "lines" / f"{part}.txt").write_text(lines, encoding="utf-8")

    def for_each_batch(self) -> int:
        """Update mode, twice on one checkpoint: the second run finds nothing new."""
        checkpoint = str(self._directory / "each")
        sink = exactly_once(self._brokers, topic=f"{self._prefix}-each", checkpointLocation=checkpoint)
        counts = self._lines().groupBy("value").count().selectExpr("value AS key", "value")
        for _ in range(2):
            writer = counts.writeStream.outputMode("update").foreachBatch(sink)
            _run(writer.option("checkpointLocation", checkpoint))
        return COUNT

    def batch_write(self) -> int:
        """All of the columns that a sink takes."""
        rows = self._spark.range(0, COUNT, 1, 2).selectExpr(*_COLUMNS)
        rows.write.format("barnabas").options(topic=f"{self._prefix}-batch", **self._brokers).mode("append").save()
        return COUNT

    def batch_read(self) -> list[Any]:
        """What the batch wrote: the sum of its numbers, and the timestamp and the header that each row has."""
        options = {"subscribe": f"{self._prefix}-batch", "includeHeaders": "true", **self._brokers}
        rows = self._spark.read.format("barnabas").options(**options).load()
        found = rows.selectExpr(
            "CAST(CAST(value AS STRING) AS INT) AS number",
            "date_format(timestamp, 'yyyy-MM-dd HH:mm:ss.SSS') AS moment",
            "headers[0].key AS header",
        )
        return [list(row) for row in found.groupBy("moment", "header").sum("number").collect()]

    def stream_write(self) -> int:
        """Append mode."""
        writer = self._lines().writeStream.format("barnabas").options(topic=f"{self._prefix}-stream", **self._brokers)
        _run(writer.option("checkpointLocation", str(self._directory / "stream")))
        return COUNT

    def stream_read(self) -> list[int]:
        """What the stream wrote, and on the same checkpoint what came later: how many in each run."""
        topic, checkpoint = f"{self._prefix}-stream", str(self._directory / "read")
        return [sum(self._read(topic, checkpoint)), self._more(topic), sum(self._read(topic, checkpoint))]

    def limited_stream_read(self) -> list[Any]:
        """What the batch wrote, with a limit: how many records came, and whether each batch kept to it."""
        checkpoint = str(self._directory / "limited")
        counts = self._read(f"{self._prefix}-batch", checkpoint, maxOffsetsPerTrigger=str(LIMIT))
        return [sum(counts), max(counts) <= LIMIT]

    def files(self) -> int:
        """The log files of a topic, without its broker."""
        rows = self._spark.read.format("barnabas").option("subscribe", f"{self._prefix}-batch")
        count: int = rows.load(self._data_directory).where("NOT is_control AND offset >= 0").count()
        return count

    def _lines(self) -> DataFrame:
        return self._spark.readStream.text(str(self._directory / "lines"))

    def _read(self, topic: str, checkpoint: str, **options: str) -> list[int]:
        """How many records each batch had."""
        counts: list[int] = []
        options = {"subscribe": topic, "startingOffsets": "earliest", **options, **self._brokers}
        rows = self._spark.readStream.format("barnabas").options(**options).load()
        writer = rows.writeStream.foreachBatch(lambda frame, _: counts.append(frame.count()))
        _run(writer.option("checkpointLocation", checkpoint))
        return counts

    def _more(self, topic: str) -> int:
        rows = self._spark.range(0, 50, 1, 1).selectExpr("CAST(id AS STRING) AS value")
        rows.write.format("barnabas").options(topic=topic, **self._brokers).mode("append").save()
        return 50


PIECES: tuple[Callable[[Work], Any], ...] = (
    *(Work.for_each_batch, Work.batch_write, Work.batch_read, Work.stream_write, Work.stream_read),
    *(Work.limited_stream_read, Work.files),
)


def outcomes(work: Work) -> dict[str, Any]:
    """What came of each piece, by its name; a refusal is its text."""
    found: dict[str, Any] = {}
    for piece in PIECES:
        try:
            found[piece.__name__] = piece(work)
        except Exception as error:
            found[piece.__name__] = f"{type(error).__name__}: {error}"
    return found


def _run(writer: Any) -> None:
    writer.trigger(availableNow=True).start().awaitTermination()


def main() -> int:
    address, data_directory, prefix, directory = sys.argv[1:]
    builder = SparkSession.builder.master("local[2]").appName("every-spark").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    print(json.dumps(outcomes(Work(spark, address, data_directory, prefix, Path(directory)))))
    spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
