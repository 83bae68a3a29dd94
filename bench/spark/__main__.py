"""`scripts/bench spark`: our source and sink beside Spark's own, over one broker, in alternating rounds of one run.

Prints the figures, the ratios to the stock connector and the aims, and writes the same as JSON. The broker is
Barnabas, or with --against kafka Apache Kafka. Every lane copies key and value of the same topic. Spark, its Python
workers and the broker share the processors, as on a laptop: trust ratios.
"""

import argparse
import json
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from barnabas import form
from bench.measuring import measured_form
from bench.peers.measure import ROOT
from bench.spark.commits import commit_ms, task_ms
from bench.spark.decode import decode_rates
from bench.spark.queries import NOWHERE, OURS, STOCK, Figures, Lane, batch_latency, copy, idle_latency, session
from bench.spark.topics import drop_topic, fill, make_topic
from tests.support.kafka.process import KafkaProcess
from tests.support.processes.broker import BrokerProcess
from tests.support.processes.server import Server

SOURCES = (Lane(STOCK, NOWHERE), Lane(OURS, NOWHERE))
PIPELINES = (Lane(STOCK, STOCK), Lane(OURS, OURS), Lane(STOCK, OURS))
PARTS = ("throughput", "latency", "commit", "decode", "audit")
ROWS_A_BATCH = {100: 250_000, 1000: 75_000}
BATCHES, ROUNDS, QUICK_BATCHES, QUICK_ROUNDS = 8, 5, 4, 1
SETTINGS = {"log.segment.delete.delay.ms": 1000}  # or the disk fills up with measured topics
AIMS = {100: 1.0, 1000: 0.9}  # of the stock connector's rate, by the size of a row
COMMIT_AIM_MS, TASK_AIM_MS = 50, 4
COMMIT_TASKS = 8

Results = dict[str, dict[str, list[Figures]]]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class Bench:
    """One run over one broker. Results are stored by measurement, and by lane."""

    def __init__(self, spark: SparkSession, server: Server, rounds: int, batches: int) -> None:
        self._spark, self._server = spark, server
        self._rounds, self._batches = rounds, batches
        self._topics = 0
        self.results: Results = {}

    def warm(self) -> None:
        """Run every lane once, so that the JIT compiles it and the workers import what they need."""
        for size, rows in ((100, 300_000), (1000, 100_000)):
            source, rows = self._filled(2, rows, size)
            for lane in (*SOURCES, *PIPELINES):
                self._copy(source, 2, -(-rows // QUICK_BATCHES), lane)

    def throughput(self, size: int, partitions: int) -> None:
        """Measure rows per second and processor time of every lane, warmed with these very rows."""
        lanes = (*SOURCES, *PIPELINES)
        source, rows = self._filled(partitions, self._batches * ROWS_A_BATCH[size], size)
        measure = partial(self._copy, source, partitions, -(-rows // self._batches))
        for lane in lanes:
            say(f"warming, {lane}: {measure(lane)['rows_per_second']:,.0f} rows a second")
        self._alternate(f"{size} B, {partitions} partitions", lanes, measure)
        drop_topic(self._server.address, source)

    def latencies(self) -> None:
        """Measure a trigger with nothing to do, and batches of one row and of 10,000."""
        for rows in (1, 10_000):
            source, _ = self._filled(1 if rows == 1 else 2, rows * 12, 100)
            self._alternate(
                f"a batch of {rows:,} rows",
                PIPELINES,
                partial(self._batch, source, rows),
            )
        self._alternate(
            "nothing to do",
            PIPELINES,
            lambda lane: idle_latency(self._spark, self._server, lane, source, self._empty(2)),
        )

    def commits(self) -> None:
        """Measure a task that writes one row to each of eight partitions, and commit() alone after eight tasks."""
        figures = task_ms(self._server.address, self._empty(COMMIT_TASKS), COMMIT_TASKS, 20 * self._rounds)
        self.results[f"a task of a row to each of {COMMIT_TASKS} partitions"] = {str(Lane(OURS, OURS)): [figures]}
        figures = commit_ms(self._server.address, self._empty(COMMIT_TASKS), COMMIT_TASKS, 20 * self._rounds)
        self.results[f"commit() after {COMMIT_TASKS} tasks"] = {str(Lane(OURS, OURS)): [figures]}

    def decoding(self) -> None:
        """Measure decoding records into Arrow columns, without Spark and broker."""
        for kind, figures in decode_rates():
            self.results[f"decoding, {kind}"] = {"decoder": [figures]}

    def audit(self) -> None:
        """Measure counting and hashing all rows from the files of a stopped broker."""
        source, rows = self._filled(4, self._batches * ROWS_A_BATCH[100], 100)
        self._server.stop()
        found: list[Figures] = []
        for _ in range(self._rounds + 1):
            started = time.perf_counter()
            frame = self._spark.read.format(OURS).option("path", str(self._server.data_dir)).option("subscribe", source)
            [row] = frame.load().agg(F.count("*"), F.sum(F.xxhash64("key", "value") % 2**31)).collect()
            if row[0] != rows:
                raise RuntimeError(f"{row[0]} of {rows} rows were found in the files")
            found.append({"rows_per_second": rows / (time.perf_counter() - started)})
        self.results["audit of segments"] = {"segments": found[1:]}

    def _copy(self, source: str, partitions: int, per_batch: int, lane: Lane) -> Figures:
        target = self._empty(partitions)
        figures = copy(self._spark, self._server, lane, source, target, per_batch)
        drop_topic(self._server.address, target)
        return figures

    def _batch(self, source: str, rows: int, lane: Lane) -> Figures:
        return batch_latency(self._spark, self._server, lane, source, self._empty(2), rows)

    def _alternate(self, what: str, lanes: Sequence[Lane], measure: Callable[[Lane], Figures]) -> None:
        by_lane: dict[str, list[Figures]] = {str(lane): [] for lane in lanes}
        for number in range(self._rounds):
            for lane in lanes if number % 2 == 0 else lanes[::-1]:
                figures = measure(lane)
                by_lane[str(lane)].append(figures)
                say(f"{what}, {lane}: " + ", ".join(f"{key} {value:,.1f}" for key, value in figures.items()))
        self.results[what] = by_lane

    def _filled(self, partitions: int, rows: int, size: int) -> tuple[str, int]:
        topic = self._name()
        return topic, fill(self._server.address, topic, partitions, rows, size)

    def _empty(self, partitions: int) -> str:
        topic = self._name()
        make_topic(self._server.address, topic, partitions)
        return topic

    def _name(self) -> str:
        self._topics += 1
        return f"bench-{self._topics}"


def table(results: Results) -> str:
    """Return medians with their spread, and ratios to the stock connector: of rates and of times, ours over stock."""
    lines = ["| | lane | figure | median (spread) | to stock | aim |", "|---|---|---|--:|--:|---|"]
    for what, by_lane in results.items():
        for lane, rounds in by_lane.items():
            for figure in rounds[0]:
                values = [each[figure] for each in rounds]
                median = statistics.median(values)
                spread = f"{_number(median)} ({_number(min(values))}–{_number(max(values))})"
                ratio = _ratio(by_lane, lane, figure, median)
                lines.append(f"| {what} | {lane} | {figure} | {spread} | {ratio} | {_aim(what, lane, figure)} |")
    return "\n".join(lines)


def _ratio(by_lane: dict[str, list[Figures]], lane: str, figure: str, median: float) -> str:
    base = str(SOURCES[0] if lane in map(str, SOURCES) else PIPELINES[0])
    if base == lane or base not in by_lane:
        return ""
    return f"{median / statistics.median(each[figure] for each in by_lane[base]):.2f}"


def _aim(what: str, lane: str, figure: str) -> str:
    if figure == "commit_ms":
        return f"<= {COMMIT_AIM_MS}"
    if figure == "task_ms":
        return f"<= {TASK_AIM_MS}"
    if figure != "rows_per_second" or lane not in (str(SOURCES[1]), str(PIPELINES[1])):
        return ""
    return f">= {AIMS[100] if what.startswith('100 B') else AIMS[1000]}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}"


def main() -> int:
    described = "Measure our Spark source and sink."
    parser = argparse.ArgumentParser(prog="scripts/bench spark", description=described, allow_abbrev=False)
    parser.add_argument("--quick", action="store_true", help="one round, half the batches")
    parser.add_argument("--against", choices=("barnabas", "kafka"), default="barnabas", help="the broker")
    parser.add_argument("--only", choices=PARTS, action="append")
    parser.add_argument("--json", type=Path, default=ROOT / ".cache" / "bench" / "spark.json")
    measured_form.add_option(parser)
    options = parser.parse_args()
    print(measured_form.in_words(options.form), flush=True)
    rounds, batches = (QUICK_ROUNDS, QUICK_BATCHES) if options.quick else (ROUNDS, BATCHES)
    wanted = options.only or PARTS
    with tempfile.TemporaryDirectory(prefix="barnabas-bench-") as scratch:
        kind = BrokerProcess if options.against == "barnabas" else KafkaProcess
        with kind(Path(scratch) / "data", SETTINGS) as server, session(Path(scratch)) as spark:
            bench = Bench(spark, server, rounds, batches)
            bench.warm()
            if "throughput" in wanted:
                for size in ROWS_A_BATCH:
                    for partitions in (2, 8):
                        bench.throughput(size, partitions)
            if "latency" in wanted:
                bench.latencies()
            if "commit" in wanted:
                bench.commits()
            if "decode" in wanted:
                bench.decoding()
            if "audit" in wanted:
                bench.audit()
    _report(options, rounds, batches, bench.results)
    return 0


def _report(options: Any, rounds: int, batches: int, results: Results) -> None:
    print(f"{rounds} rounds over {options.against}, {batches} batches a query; {platform.platform()}\n")
    print(table(results))
    options.json.parent.mkdir(parents=True, exist_ok=True)
    found = {
        "form": form.running(),
        "against": options.against,
        "rounds": rounds,
        "batches": batches,
        "results": results,
    }
    options.json.write_text(json.dumps(found, indent=1))
    say(f"wrote {options.json}")


if __name__ == "__main__":
    sys.exit(main())
