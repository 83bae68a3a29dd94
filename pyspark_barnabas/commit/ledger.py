"""The ledger's records, and their bytes: docs/formats/ledger.md.

`Run` shows the tasks of a run which token it has (`opening`). `Decided` is the commit point of a batch: it exists,
committed, or the batch never happened. `Settled` says that all transactions of a batch are committed: of a batch write,
and of the last batch of a query that is followed by another query; otherwise the next batch says so.

A record is written by a separate process, often a new one, and yet by the same producer as the one before: so every
record has its `sequence`, the number under which it is produced on the ledger's partition. A run's first record is its
`Run`, and has 0; `Ledger.next_sequence` returns the next one. If a record of a run is aborted, the run ends, so there
are no counted records that readers do not see.

Versioned JSON, so that people can read it with any consumer, years later. A record that is not understood is refused,
never guessed: a ledger misread writes a batch twice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark_barnabas.commit.identity import RunToken
from pyspark_barnabas.commit.messages import PreparedTransaction, WrittenPartition

VERSION = 1


class LedgerDamaged(ValueError):
    """A record of the ledger that cannot be read; the message has the reason, and what to do."""


@dataclass(frozen=True, slots=True)
class SourceOffset:
    """How far the batch read a partition of its source: the offset of the next record."""

    topic: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class Run:
    """A run holds the token, and the holder before it decides nothing any more: its decisions are before this record.

    run_id: Spark's name of the run, new with every start of a query, which all its tasks know.
    """

    query_id: str
    run_id: str
    run: RunToken

    @property
    def sequence(self) -> int:
        """The sequence of its producer's first record."""
        return 0


@dataclass(frozen=True, slots=True)
class Decided:
    """A batch counts. In atomic mode its rows are in the transaction of this record, and there are no others.

    written: in atomic mode, every partition that the run wrote so far, and its next sequence number there.
    """

    query_id: str
    batch_id: int
    run_id: str
    run: RunToken
    sequence: int
    transactions: tuple[PreparedTransaction, ...]
    rows: int
    digest: int
    offsets: tuple[SourceOffset, ...]
    checkpoint_hash: str | None
    is_atomic: bool = False
    written: tuple[WrittenPartition, ...] = ()


@dataclass(frozen=True, slots=True)
class Settled:
    """Every transaction of a decided batch is committed. The run is the one that wrote this, of any query."""

    query_id: str
    batch_id: int
    run_id: str
    run: RunToken
    sequence: int


LedgerRecord = Run | Decided | Settled

_KINDS: dict[type[LedgerRecord], str] = {Run: "run", Decided: "decided", Settled: "settled"}


@dataclass(frozen=True, slots=True)
class Ledger:
    """The records that were read of the ledger, oldest first: all of it, or its end.

    An end is enough if `reaches` says so: a backward read stops there, or at the ledger's beginning.
    """

    records: tuple[LedgerRecord, ...] = ()

    def reaches(self, query_id: str, batch_id: int) -> bool:
        """Return whether this end has all that is needed about a batch: the record of any batch of the query from two
        before it on. A batch without an earlier record is known to be new only at the ledger's beginning.
        """
        return any(each.batch_id <= batch_id - 2 for each in self.decided(query_id))

    def holder(self) -> LedgerRecord | None:
        """Return the newest record of all: its run is the last that is known to hold the token."""
        return self.records[-1] if self.records else None

    def of_run(self, run: RunToken) -> tuple[LedgerRecord, ...]:
        """Return the records that a run wrote, oldest first."""
        return tuple(each for each in self.records if each.run == run)

    def next_sequence(self, run: RunToken) -> int:
        """Return the sequence number under which the run's next record is produced on the ledger's partition."""
        own = self.of_run(run)
        return own[-1].sequence + 1 if own else 0

    def written(self, run: RunToken) -> tuple[WrittenPartition, ...]:
        """Return, in atomic mode, the run's next sequence number in each partition that it wrote; it is 0 elsewhere."""
        decided = [each for each in self.of_run(run) if isinstance(each, Decided)]
        return decided[-1].written if decided else ()

    def decided(self, query_id: str) -> tuple[Decided, ...]:
        """Return the decisions of a query, oldest first."""
        return tuple(each for each in self.records if isinstance(each, Decided) and each.query_id == query_id)

    def of(self, query_id: str, batch_id: int) -> Decided | None:
        """Return the decision about a batch; None if there is none."""
        return next((each for each in self.decided(query_id) if each.batch_id == batch_id), None)

    def newest(self) -> Decided | None:
        """Return the last decision about any batch of any query under the prefix."""
        return next((each for each in reversed(self.records) if isinstance(each, Decided)), None)

    def is_settled(self, decision: Decided) -> bool:
        """Return whether the ledger itself proves that all is committed."""
        if decision.is_atomic or not decision.transactions:
            return True
        if any(each.batch_id > decision.batch_id for each in self.decided(decision.query_id)):
            return True  # a batch is only decided when the one before it is settled
        return any(
            isinstance(each, Settled) and (each.query_id, each.batch_id) == (decision.query_id, decision.batch_id)
            for each in self.records
        )


def encode_key(record: LedgerRecord) -> bytes:
    """Return the record's key: the query's id, so that a reader can select one query."""
    return record.query_id.encode()


def encode_value(record: LedgerRecord) -> bytes:
    """Return the record's value; equal records have equal bytes."""
    fields: dict[str, Any] = {"version": VERSION, "kind": _KINDS[type(record)], "query": record.query_id}
    if not isinstance(record, Run):
        fields |= {"batch": record.batch_id}
    fields |= {"run_id": record.run_id, "run": list(record.run), "sequence": record.sequence}
    if isinstance(record, Decided):
        fields |= {
            "transactions": [
                [each.transactional_id, each.producer_id, each.producer_epoch] for each in record.transactions
            ],
            "rows": record.rows,
            "digest": f"{record.digest:016x}",
            "offsets": [[each.topic, each.partition, each.offset] for each in record.offsets],
            "checkpoint": record.checkpoint_hash,
            "atomic": record.is_atomic,
            "written": [list(each) for each in record.written],
        }
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()


def decode_value(value: bytes | None) -> LedgerRecord:
    """Decode a record's value. Raise LedgerDamaged unless it is exactly what encode_value makes."""
    try:
        fields = json.loads(value or b"")
        if not isinstance(fields, dict):
            raise TypeError("not an object")
    except (TypeError, ValueError) as error:
        raise _damaged("it is not a JSON object") from error
    version = fields.get("version")
    if type(version) is int and version > VERSION:
        raise LedgerDamaged(
            f"a record of the ledger has version {version}, and this release reads up to {VERSION}: use the newer "
            "release that wrote it"
        )
    try:
        record = _record(fields)
        written_anew = encode_value(record)
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(f"its fields are not those of version {VERSION} ({error})") from error
    if written_anew != value:
        raise _damaged("it has fields or spellings that this release does not know")
    return record


def _record(fields: Mapping[str, Any]) -> LedgerRecord:
    query_id, run_id = str(fields["query"]), str(fields["run_id"])
    run = RunToken(*map(_whole, fields["run"]))
    if fields["kind"] == "run":
        return Run(query_id, run_id, run)
    head = (query_id, _whole(fields["batch"]), run_id, run, _whole(fields["sequence"]))
    if fields["kind"] == "settled":
        return Settled(*head)
    return Decided(
        *head,
        transactions=tuple(
            PreparedTransaction(str(name), _whole(producer_id), _whole(epoch))
            for name, producer_id, epoch in fields["transactions"]
        ),
        rows=_whole(fields["rows"]),
        digest=int(fields["digest"], 16),
        offsets=tuple(
            SourceOffset(str(topic), _whole(partition), _whole(offset))
            for topic, partition, offset in fields["offsets"]
        ),
        checkpoint_hash=None if fields["checkpoint"] is None else str(fields["checkpoint"]),
        is_atomic=bool(fields["atomic"]),
        written=tuple(
            WrittenPartition(str(topic), _whole(partition), _whole(sequence))
            for topic, partition, sequence in fields["written"]
        ),
    )


def _whole(number: Any) -> int:
    if type(number) is not int or number < 0:
        raise ValueError(f"{number!r} is not a count")
    return number


def _damaged(why: str) -> LedgerDamaged:
    return LedgerDamaged(
        f"a record of the ledger cannot be read: {why}. Nothing was written. Find out what else writes to the "
        "ledger's topic; to continue without its history, choose another prefix and a new checkpoint"
    )
