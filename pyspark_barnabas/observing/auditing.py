"""`audit(…)`: whether every record of a source became exactly one correct record of a target; for a user's own topics.

It does not rely on the query: the committed records of the target are compared with the source, key by key. The sink's
ledger says how far the source counts; without a ledger, all of it counts. The audit knows of the query's computation
only the function that repeats it.

Of a key's records only their number and the sum of their digests are stored, and of the ledger the newest offsets, so
that memory does not grow with a key's records. Records whose key is null count together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from pyspark_barnabas.commit.ledger import Decided, LedgerDamaged, decode_value
from pyspark_barnabas.reporting.user_errors import UserError
from pyspark_barnabas.sink.ledger.topic import ledger_topic

KINDS = ("lost", "duplicated", "altered", "of no record")
_PLACES = 5  # how many places are shown of a record that is there more than once
_CONTENT = ("key", "value")
_ENDS = "topic string, partition int, end bigint, at bigint, damage string"


class AuditFailed(UserError):
    """An audit that has no result; the message has the reason."""


class AuditFinding(NamedTuple):
    """A key that is not right. places: topic, partition and offset of its records in the target, the first of them."""

    kind: str
    key: str | None
    expected: int
    found: int
    places: tuple[tuple[str, int, int], ...]

    def __str__(self) -> str:
        at = ", ".join(f"{topic}-{partition} at {offset}" for topic, partition, offset in self.places)
        return f"{self.kind}: key {self.key!r}, {self.found} of {self.expected}{f', {at}' if at else ''}"


@dataclass(frozen=True)
class AuditReport:
    """The result of an audit. expected, found: records, of the source as they should be, and of the target. counts: how
    many keys of each of KINDS are not right; `findings` are the first of them.
    """

    expected: int
    found: int
    counts: Mapping[str, int]
    findings: tuple[AuditFinding, ...]

    @property
    def is_right(self) -> bool:
        """Whether nothing is lost, duplicated, altered, or of no record."""
        return not any(self.counts.values())

    def __str__(self) -> str:
        counts = ", ".join(f"{self.counts[kind]} {kind}" for kind in KINDS)
        lines = [f"{'right' if self.is_right else 'WRONG'}: {self.found} records of {self.expected}; keys: {counts}"]
        return "\n".join([*lines, *(f"  {each}" for each in self.findings)])


def audit(
    spark: SparkSession,
    options: Mapping[str, str],
    *,
    source: str,
    target: str,
    key: str | Column,
    target_key: str | Column | None = None,
    expected: Callable[[DataFrame], DataFrame] | None = None,
    prefix: str | None = None,
    shown: int = 20,
) -> AuditReport:
    """Compare key and value of the committed records of two topics; not headers, timestamps and partitions. Stop the
    query first, or let it run out of records.

    options: how the cluster is reached, kafka.bootstrap.servers and more. source, target: topics, separated by commas.
    key: a column, or SQL, that identifies a record; target_key: in the target, if it is another one. expected: a
    function from the records of the source to those that should be in the target, with the columns that `key` reads;
    without it they are the same. prefix: the sink's transactionalIdPrefix: records count up to the last decided batch.
    """
    records = _read(spark, options, source)
    if prefix is not None:
        records = _decided_part(spark, records, _ends(_read(spark, options, ledger_topic(prefix)), source, prefix))
    wanted = records if expected is None else expected(records)
    content = [name for name in _CONTENT if name in wanted.columns]
    if not content:
        raise AuditFailed(
            "the expected rows have no column `value` to compare: let `expected` return `key` and `value`"
        )
    other_name = _name(key if target_key is None else target_key)
    there = _read(spark, options, target)
    should = _by_key(wanted, _name(key), content, "expected", "should")
    got = _by_key(there, other_name, content, "found", "is").withColumnRenamed("id", "other")
    both = should.join(got, F.col("id").eqNullSafe(F.col("other")), "full_outer").fillna(0, ["expected", "found"])
    joined = both.withColumn("id", F.coalesce("id", "other")).withColumn("kind", _kind()).persist()
    try:
        return _report(joined, there.select(other_name.alias("id"), "topic", "partition", "offset"), shown)
    finally:
        joined.unpersist()


def _read(spark: SparkSession, options: Mapping[str, str], topics: str) -> DataFrame:
    reader = spark.read.format("barnabas").options(**options)
    return reader.option("subscribe", topics).option("includeHeaders", "true").load()


def _ends(ledger: DataFrame, source: str, prefix: str) -> list[tuple[str, int, int]]:
    """Return where the last decided batches end in the source, by partition."""
    topics = {each.strip() for each in source.split(",")}
    rows: list[Any] = ledger.select("offset", "value").mapInArrow(newest_ends, _ENDS).collect()
    for row in rows:
        if row.damage is not None:
            raise AuditFailed(f"the ledger of the prefix {prefix!r}, offset {row.at}: {row.damage}")
    rows.sort(key=lambda row: row.at)
    ends = {(row.topic, row.partition): row.end for row in rows if row.topic in topics}
    if not ends:
        raise AuditFailed(
            f"no batch under the prefix {prefix!r} says how far it read {source!r}: give the topics that the query "
            "reads, or leave `prefix` out to compare all records"
        )
    return [(*where, offset) for where, offset in ends.items()]


def newest_ends(batches: Iterator[Any]) -> Iterator[Any]:
    """Read a part of the ledger in a task: yield a row for each partition with its newest end, or one for damage."""
    import pyarrow

    ends: dict[tuple[str, int], tuple[int, int, str | None]] = {}
    for batch in batches:
        for at, value in zip(batch["offset"].to_pylist(), batch["value"].to_pylist(), strict=True):
            try:
                record = decode_value(value)
            except LedgerDamaged as error:
                ends.setdefault(("", 0), (0, at, str(error)))
                continue
            if isinstance(record, Decided):
                ends.update({(each.topic, each.partition): (each.offset, at, None) for each in record.offsets})
    rows = [(*where, *end) for where, end in ends.items()]
    names = ["topic", "partition", "end", "at", "damage"]
    types = [pyarrow.string(), pyarrow.int32(), pyarrow.int64(), pyarrow.int64(), pyarrow.string()]
    columns = [pyarrow.array([row[n] for row in rows], each) for n, each in enumerate(types)]
    yield pyarrow.record_batch(columns, names=names)


def _decided_part(spark: SparkSession, records: DataFrame, ends: list[tuple[str, int, int]]) -> DataFrame:
    bounds = spark.createDataFrame(ends, "topic string, partition int, end bigint")
    return records.join(F.broadcast(bounds), ["topic", "partition"]).where("offset < end").drop("end")


def _name(key: str | Column) -> Column:
    return (F.expr(key) if isinstance(key, str) else key).cast("string")


def _by_key(rows: DataFrame, name: Column, content: list[str], count: str, hashes: str) -> DataFrame:
    """Return the number of records of each key, and the sum of their digests, which is the same in any order."""
    parts = [part for each in content for part in (F.col(each).isNull(), F.col(each).cast("binary"))]
    digest = F.xxhash64(*parts).cast("decimal(20,0)")  # ignores nulls; sums of longs would overflow
    named = rows.select(name.alias("id"), digest.alias("digest"))
    return named.groupBy("id").agg(F.count("*").alias(count), F.sum("digest").alias(hashes))


def _kind() -> Column:
    return (
        F.when(F.col("expected") == 0, "of no record")
        .when(F.col("found") < F.col("expected"), "lost")
        .when(F.col("found") > F.col("expected"), "duplicated")
        .when(F.col("should") != F.col("is"), "altered")
    )


def _report(joined: DataFrame, places: DataFrame, shown: int) -> AuditReport:
    counts = [F.count_if(F.col("kind") == kind).alias(kind) for kind in KINDS]
    for name in ("expected", "found"):
        counts.append(F.sum(name).alias(name))
        counts.append(F.sum(F.when(F.col("id").isNull(), F.col(name))).alias(f"{name}_without_key"))
    sums: Any = joined.agg(*counts).first()
    for name, where in (("expected", "`expected`"), ("found", "the target")):
        if sums[name] and sums[name] == sums[f"{name}_without_key"]:
            raise AuditFailed(
                f"the key is null in all {sums[name]} records of {where}: let `key`, or `target_key`, be a column or"
                " SQL that names each record"
            )
    found = {kind: sums[kind] for kind in KINDS}
    wrong = joined.where(F.col("kind").isNotNull()).orderBy("kind", "id").limit(shown)
    rows: list[Any] = wrong.collect() if any(found.values()) else []
    at = _first_places(places, [row.id for row in rows if row.found])
    findings = tuple(AuditFinding(row.kind, row.id, row.expected, row.found, tuple(at.get(row.id, ()))) for row in rows)
    return AuditReport(sums["expected"] or 0, sums["found"] or 0, found, findings)


def _first_places(places: DataFrame, keys: list[str | None]) -> dict[str | None, list[tuple[str, int, int]]]:
    """Return where the first records of these keys are. The target is read again: the keys are known only now."""
    if not keys:
        return {}
    is_one = F.col("id").isin([key for key in keys if key is not None])
    if None in keys:
        is_one = F.col("id").isNull() | F.coalesce(is_one, F.lit(False))
    rank = F.row_number().over(Window.partitionBy("id").orderBy("topic", "partition", "offset"))
    found: dict[str | None, list[tuple[str, int, int]]] = {}
    first = places.where(is_one).withColumn("rank", rank).where(F.col("rank") <= _PLACES)
    for row in first.orderBy("id", "rank").collect():
        found.setdefault(row.id, []).append((row.topic, row.partition, row.offset))
    return found
