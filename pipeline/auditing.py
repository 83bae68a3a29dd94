"""The audit's questions, which are answered one after the other from the same rows.

A question that cannot be answered (no broker, a missing topic, a log that cannot be read) gets the answer
`unknown` with a sentence, and the others are still answered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from barnabas.protocol.errors import KafkaError
from pipeline.config import setting
from pipeline.frames import Frames
from pipeline.ledgers import BatchSum, LedgerContents, LedgerRow, check_ledger, read_ledger
from pipeline.transforms import batches, coverage, orders, reference, revenue, sums, visibility
from pipeline.verdict import Check, PipelineFinding

_COLLECTED = 1000  # findings that are examined one by one; more are only counted
_SHOWN = 20
_RAISED = re.compile(r"(?!org\.|java\.|scala\.)[a-z_]\w*(?:\.\w+)*\.[A-Z]\w*: (.+)")  # module, class, and its message
_CANNOT_TELL = (PySparkException, Py4JError, KafkaError, OSError, ValueError)


def ledger_topic(prefix: str) -> str:
    """Return the topic of the ledger of the sink with this prefix."""
    return f"__{prefix}.ledger"


@dataclass(frozen=True)
class AuditConfig:
    """The settings of `audit`."""

    bootstrap_servers: str | None = setting(None, "brokers to read from, host:port, separated by commas")
    data_directory: str | None = setting(None, "a broker's data directory, to read the files without a broker")
    source_topic: str = setting("orders.raw", "the topic that orders come from")
    valid_topic: str = setting("orders.valid", "the topic of the valid orders")
    rejected_topic: str = setting("orders.rejected", "the topic of the rejected orders")
    revenue_topic: str = setting("revenue.1m", "the topic of the sums; empty without `aggregate`")
    validate_prefix: str = setting("validate", "the transactional id prefix of `validate`")
    aggregate_prefix: str = setting("aggregate", "the transactional id prefix of `aggregate`")
    output_mode: str = setting("append", "the output mode of `aggregate`: append or update")
    has_ledger: bool = setting(True, "whether the exactly-once sink wrote the rows; false for another sink")
    allow_open: bool = setting(False, "whether transactions may be open, because the pipeline is running")
    report: str | None = setting(None, "a file for the verdict, as JSON")
    shuffle_partitions: int = setting(2, "spark.sql.shuffle.partitions, for a session that the job creates")


class Audit:
    """One audit. Rows are read when a question needs them, and cached for the next."""

    def __init__(self, spark: SparkSession, config: AuditConfig) -> None:
        self._spark = spark
        self._config = config
        self._frames = Frames(spark, config.bootstrap_servers, config.data_directory)

    def checks(self) -> list[Check]:
        """Return every question's answer."""
        config = self._config
        questions: dict[str, Callable[[], Check]] = {"coverage": self._coverage}
        if config.has_ledger:
            questions[f"ledger {ledger_topic(config.validate_prefix)}"] = lambda: self._ledger(
                config.validate_prefix, self._outputs
            )
        if config.revenue_topic:
            questions["sums"] = self._sums
            if config.has_ledger:
                questions[f"ledger {ledger_topic(config.aggregate_prefix)}"] = lambda: self._ledger(
                    config.aggregate_prefix, coverage.with_lineage(self._frames.committed(config.revenue_topic))
                )
        if config.data_directory is not None:
            questions["segments"] = self._segments
        return [_answer(name, ask) for name, ask in questions.items()]

    # --- shared by the questions ---

    @cached_property
    def _source(self) -> DataFrame:
        """The records that batches were decided about; without a ledger all of them."""
        rows = self._frames.committed(self._config.source_topic)
        if self._config.has_ledger:
            ends = [(*place, end) for place, end in self._read_ledger(self._config.validate_prefix).ends().items()]
            rows = coverage.decided_part(rows, self._spark.createDataFrame(ends, coverage.ENDS))
        return rows.persist()

    @cached_property
    def _outputs(self) -> DataFrame:
        config = self._config
        return coverage.with_lineage(self._frames.committed(config.valid_topic, config.rejected_topic)).persist()

    def _read_ledger(self, prefix: str) -> LedgerContents:
        topic = ledger_topic(prefix)
        rows = self._frames.committed(topic).select("offset", "value").collect()
        return read_ledger(
            topic, [LedgerRow(row.offset, None if row.value is None else bytes(row.value)) for row in rows]
        )

    # --- the questions ---

    def _coverage(self) -> Check:
        """Check that every record of the source became exactly one row, the right one, in order within its key."""
        config = self._config
        expected = coverage.with_lineage(
            orders.outputs(
                self._source,
                reference.products(self._spark),
                reference.rates(self._spark),
                valid=config.valid_topic,
                rejected=config.rejected_topic,
            )
        )
        found = [
            coverage.uncovered(self._source, self._outputs),
            coverage.altered(expected, self._outputs),
            coverage.reordered(self._outputs),
        ]
        by_topic = {row.topic: row["count"] for row in self._outputs.groupBy("topic").count().collect()}
        counts = {
            config.source_topic: self._source.count(),
            **{topic: by_topic.get(topic, 0) for topic in (config.valid_topic, config.rejected_topic)},
        }
        return _collect("coverage", found, counts)

    def _ledger(self, prefix: str, rows: DataFrame) -> Check:
        """Check that each batch has the rows of its record in the ledger, and that the group's offsets are its end."""
        ledger = self._read_ledger(prefix)
        found = {
            int(row.batch_id): BatchSum(row.rows, batches.digest_of(row.high, row.low))
            for row in batches.sums(rows).collect()
        }
        return check_ledger(ledger_topic(prefix), ledger, found, self._frames.group_offsets(prefix))

    def _sums(self) -> Check:
        """Check that the written revenue is the sum of the valid orders."""
        config = self._config
        valid = orders.read_valid(self._outputs.where(F.col("topic") == config.valid_topic))
        expected = revenue.per_minute(valid).persist()
        written = revenue.read_records(self._frames.committed(config.revenue_topic))
        if config.output_mode == "update":
            written = sums.last_of_each(written)
        counts = {"windows": expected.count(), "written": written.count()}
        return _collect("sums", [sums.wrong_sums(expected, written)], counts)

    def _segments(self) -> Check:
        """Check that the logs are whole, no transaction is open, and the committed rows are the decided ones."""
        config = self._config
        outputs = [config.valid_topic, config.rejected_topic, *([config.revenue_topic] if config.revenue_topic else [])]
        prefixes = [config.validate_prefix, *([config.aggregate_prefix] if config.revenue_topic else [])]
        ledgers = [ledger_topic(prefix) for prefix in prefixes] if config.has_ledger else []
        logs = self._frames.batches(config.source_topic, *outputs, *ledgers).persist()
        found = [visibility.damaged(self._frames.findings(config.source_topic, *outputs, *ledgers))]
        if not config.allow_open:
            found.append(visibility.still_open(logs))
        if config.has_ledger:
            read = [self._read_ledger(prefix) for prefix in prefixes]
            visible = self._decided([each.visible_transactions() for each in read])
            decided = self._decided([each.transactions() for each in read])
            written = logs.where(F.col("topic").isin(outputs))
            found += [visibility.half_visible(written, visible), visibility.undecided(written, decided)]
        tally = logs.agg(
            F.count("*").alias("batches"),
            F.sum("size").alias("bytes"),
            F.count_if(F.expr("control_type = 1")).alias("commits"),
            F.count_if(F.expr("control_type = 0")).alias("aborts"),
        ).first()
        return _collect("segments", found, {name: count or 0 for name, count in tally.asDict().items()})

    def _decided(self, ledgers: list[dict[tuple[int, int], tuple[int, str]]]) -> DataFrame:
        rows = [
            (producer_id, epoch, batch_id, name)
            for transactions in ledgers
            for (producer_id, epoch), (batch_id, name) in transactions.items()
        ]
        return self._spark.createDataFrame(rows, visibility.DECIDED)


def _answer(name: str, ask: Callable[[], Check]) -> Check:
    try:
        return ask()
    except _CANNOT_TELL as error:
        return Check(name, unknown=_sentence(error))


def _sentence(error: BaseException) -> str:
    """Return the error without the stacks that Spark adds: the last error that Python raised, else the first line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    raised = [found[1] for line in lines if (found := _RAISED.fullmatch(line))]
    return (raised[-1] if raised else lines[0] if lines else type(error).__name__)[:500]


def _collect(name: str, found: list[DataFrame], counts: Mapping[str, int]) -> Check:
    """Return the check whose findings are the rows of these frames: each has the columns of coverage.FINDING."""
    every = reduce(DataFrame.unionByName, found)
    rows = every.limit(_COLLECTED).collect()
    kinds: dict[str, int] = {}
    for row in rows:
        kinds[row.kind] = kinds.get(row.kind, 0) + 1
    if len(rows) == _COLLECTED:
        kinds = {row.kind: row["count"] for row in every.groupBy("kind").count().collect()}
    first = sorted((PipelineFinding(*row) for row in rows), key=_in_order)
    return Check(name, counts, dict(sorted(kinds.items())), tuple(first[:_SHOWN]))


def _in_order(finding: PipelineFinding) -> tuple[str, str, int, int]:
    return finding.kind, finding.topic or "", finding.partition or 0, finding.offset or 0
