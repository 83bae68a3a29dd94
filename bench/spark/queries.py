"""Streams that Spark runs to be measured: from a source to a sink, batch by batch, and Spark's report of each."""

import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from bench.peers.measure import CLOCK_TICKS
from pyspark_barnabas.data_source import BarnabasDataSource
from tests.support.kafka.jars import spark_connector_libs
from tests.support.processes.server import Server
from tests.support.waiting import until

Figures = dict[str, float]
STOCK, OURS, NOWHERE = "kafka", "barnabas", "noop"
_IDLE_TRIGGERS = 30
_TIMEOUT_S = 600
_LOOK_EVERY_S = 0.1


class Lane(NamedTuple):
    """A path from one source to one sink, by the names of Spark's formats."""

    source: str
    sink: str

    def __str__(self) -> str:
        words = {STOCK: "stock", OURS: "ours", NOWHERE: "nowhere"}
        return f"{words[self.source]} → {words[self.sink]}"


@contextmanager
def session(scratch: Path) -> Iterator[SparkSession]:
    """Keep a Spark session on two threads, with the stock connector and ours."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master("local[2]")
        .appName("barnabas-bench")
        .config("spark.jars", ",".join(str(jar) for jar in sorted(spark_connector_libs().glob("*.jar"))))
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.speculation", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.streaming.numRecentProgressUpdates", "1000")
        .config("spark.local.dir", str(scratch / "local"))
        .config("spark.sql.warehouse.dir", str(scratch / "warehouse"))
        .config("spark.driver.memory", "2g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    spark.dataSource.register(BarnabasDataSource)
    try:
        yield spark
    finally:
        spark.stop()


def copy(spark: SparkSession, server: Server, lane: Lane, source: str, target: str, batch_rows: int) -> Figures:
    """Run the whole source through the lane, `batch_rows` offsets a batch.

    Both figures omit the first batch, for which nothing is cached yet, and which starts what a query needs.
    rows_per_second is that of the median batch; processor seconds are those of Spark with its workers and the broker.
    """
    meter = _Meter(spark, server)
    progress = _run(spark, server, lane, source, target, batch_rows, meter)
    return {
        "rows_per_second": statistics.median(
            each["numInputRows"] / each["durationMs"]["triggerExecution"] * 1000 for each in progress[1:]
        ),
        "cpu_s_per_million_rows": meter.spent_s()
        / sum(each["numInputRows"] for each in progress[meter.skipped :])
        * 1e6,
    }


def batch_latency(
    spark: SparkSession, server: Server, lane: Lane, source: str, target: str, batch_rows: int
) -> Figures:
    """Return the median batch of `batch_rows` rows, from its trigger to its end, in ms, without the first two."""
    progress = _run(spark, server, lane, source, target, batch_rows)
    return {"batch_ms": statistics.median(each["durationMs"]["triggerExecution"] for each in progress[2:])}


def idle_latency(spark: SparkSession, server: Server, lane: Lane, source: str, target: str) -> Figures:
    """Return the median trigger that finds nothing to do, in ms."""
    spark.conf.set("spark.sql.streaming.noDataProgressEventInterval", "0")
    with tempfile.TemporaryDirectory(prefix="barnabas-bench-") as checkpoint:
        frame = _frame(spark, server, lane.source, source, startingOffsets="latest")
        query = _writer(frame, server, lane.sink, target, checkpoint).start()
        try:
            until(lambda: query.exception() or len(query.recentProgress) > 2 * _IDLE_TRIGGERS, timeout_s=120)
            durations = [each["durationMs"] for each in query.recentProgress[-_IDLE_TRIGGERS:]]
        finally:
            query.stop()
            spark.conf.unset("spark.sql.streaming.noDataProgressEventInterval")
    return {"batch_ms": statistics.median(each["triggerExecution"] for each in durations)}


class _Meter:
    """Processor seconds from the end of the first batch on, or of the one that is seen first. `skipped`: how many."""

    def __init__(self, spark: SparkSession, server: Server) -> None:
        self._spark, self._server = spark, server
        self._begun_s: float | None = None
        self.skipped = 0

    def look(self, query: StreamingQuery) -> None:
        """Check for the first batch; called now and then."""
        if self._begun_s is None and (done := len(query.recentProgress)):
            self._begun_s, self.skipped = _cpu_seconds(self._spark, self._server), done

    def spent_s(self) -> float:
        if self._begun_s is None:
            raise RuntimeError("a query ended before its first batch was seen")
        return _cpu_seconds(self._spark, self._server) - self._begun_s


def _run(
    spark: SparkSession,
    server: Server,
    lane: Lane,
    source: str,
    target: str,
    batch_rows: int,
    meter: _Meter | None = None,
) -> list[Any]:
    """Return Spark's progress report of each batch that had rows."""
    with tempfile.TemporaryDirectory(prefix="barnabas-bench-") as checkpoint:
        frame = _frame(spark, server, lane.source, source, maxOffsetsPerTrigger=str(batch_rows))
        query = _writer(frame, server, lane.sink, target, checkpoint).trigger(availableNow=True).start()
        _finish(query, meter)
        return [each for each in query.recentProgress if each["numInputRows"]]


def _finish(query: StreamingQuery, meter: _Meter | None) -> None:
    for _ in range(int(_TIMEOUT_S / _LOOK_EVERY_S)):
        if query.awaitTermination(_LOOK_EVERY_S):
            return
        if meter is not None:
            meter.look(query)
    query.stop()
    raise RuntimeError(f"a query did not end in {_TIMEOUT_S} s")


def _frame(spark: SparkSession, server: Server, source: str, topic: str, **options: str) -> DataFrame:
    named = {
        "kafka.bootstrap.servers": server.address,
        "kafka.isolation.level": "read_committed",
        "subscribe": topic,
        "startingOffsets": "earliest",
    }
    return spark.readStream.format(source).options(**(named | options)).load().select("key", "value")


def _writer(frame: DataFrame, server: Server, sink: str, topic: str, checkpoint: str) -> Any:
    writer = frame.writeStream.format(sink).option("checkpointLocation", checkpoint)
    if sink != NOWHERE:
        writer = writer.option("kafka.bootstrap.servers", server.address).option("topic", topic)
    return writer


def _cpu_seconds(spark: SparkSession, server: Server) -> float:
    """Return the processor time of the JVM and all its children, living and dead, and of the broker."""
    jvm = spark.sparkContext._gateway.proc.pid
    return sum(_with_dead_children(pid) for pid in _tree(jvm)) + _with_dead_children(server.pid)


def _tree(root: int) -> set[int]:
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue  # it has ended since
    found = {root}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def _with_dead_children(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / CLOCK_TICKS
