"""The checks of a ledger: batches without a gap, and the rows that each of them should have. Pure.

Nothing is trusted because it is in the ledger: the rows are counted and hashed again from the topics, and compared
with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from pipeline.verdict import Check, PipelineFinding, check
from pyspark_barnabas.commit.identity import is_rescue
from pyspark_barnabas.commit.ledger import Decided, LedgerDamaged, LedgerRecord, Settled, decode_value

MODULUS = 1 << 64


class LedgerRow(NamedTuple):
    """A committed record of the ledger's topic: its offset, and its value."""

    offset: int
    value: bytes | None


class BatchSum(NamedTuple):
    """The rows of a batch that were found in the topics."""

    rows: int
    digest: int


class LedgerContents(NamedTuple):
    """The readable records of the ledger, with their offsets, and the errors of others."""

    records: tuple[tuple[int, LedgerRecord], ...]
    findings: tuple[PipelineFinding, ...]

    def decided(self) -> list[tuple[int, Decided]]:
        """Return the decisions, oldest first."""
        return [(offset, each) for offset, each in self.records if isinstance(each, Decided)]

    def ends(self) -> dict[tuple[str, int], int]:
        """Return how far the decided batches read the source, by topic and partition."""
        found: dict[tuple[str, int], int] = {}
        for _, each in self.decided():
            for place in each.offsets:
                at = place.topic, place.partition
                found[at] = max(found.get(at, 0), place.offset)
        return found

    def transactions(self) -> dict[tuple[int, int], tuple[int, str]]:
        """Return batch and transactional id of all whose rows may be visible, by producer id and epoch."""
        found: dict[tuple[int, int], tuple[int, str]] = {}
        for _, each in self.decided():
            found |= _own_transactions(each)
        for settled in self._rescues():  # copies of rows that a timeout had aborted are in the driver's transaction
            found[settled.run.producer_id, settled.run.producer_epoch] = settled.batch_id, "of `recover`"
        return found

    def visible_transactions(self) -> dict[tuple[int, int], tuple[int, str]]:
        """Return those whose rows have to be visible, likewise: not of a batch that `recover` may have had to copy."""
        rescued = {(each.query_id, each.batch_id) for each in self._rescues()}
        found: dict[tuple[int, int], tuple[int, str]] = {}
        for _, each in self.decided():
            if (each.query_id, each.batch_id) not in rescued:
                found |= _own_transactions(each)
        return found

    def _rescues(self) -> list[Settled]:
        """Return the batches that `ledger abandon` and `recover` finished. The rows show whether they are complete."""
        return [each for _, each in self.records if isinstance(each, Settled) and is_rescue(each.run_id)]


def _own_transactions(decision: Decided) -> dict[tuple[int, int], tuple[int, str]]:
    found = {
        (each.producer_id, each.producer_epoch): (decision.batch_id, each.transactional_id)
        for each in decision.transactions
    }
    if decision.is_atomic:  # its rows are in the driver's transactions
        found[decision.run.producer_id, decision.run.producer_epoch] = decision.batch_id, "of the driver"
    return found


def read_ledger(topic: str, rows: Iterable[LedgerRow]) -> LedgerContents:
    """Return the records of a ledger, oldest first."""
    records: list[tuple[int, LedgerRecord]] = []
    findings: list[PipelineFinding] = []
    for row in sorted(rows):
        try:
            records.append((row.offset, decode_value(row.value)))
        except LedgerDamaged as error:
            findings.append(PipelineFinding("unreadable", topic, 0, row.offset, str(error)))
    return LedgerContents(tuple(records), tuple(findings))


def check_ledger(
    topic: str,
    ledger: LedgerContents,
    found: Mapping[int, BatchSum],
    committed: Mapping[tuple[str, int], int] | None,
) -> Check:
    """Check the ledger against the rows that were found, batch by batch.

    found: of the committed rows in the topics, by the batch that they name. committed: the consumer group's offsets;
    None if there was no broker.
    """
    decided = ledger.decided()
    findings = [*ledger.findings, *_gaps(topic, decided), *_sums(topic, decided, found)]
    if committed is not None:
        findings += _offsets(topic, ledger.ends(), committed)
    counts = {
        "batches": len(decided),
        "runs": len({each.run for _, each in decided}),
        "rows": sum(each.rows for _, each in decided),
    }
    answer = check(f"ledger {topic}", findings, counts)
    return answer if decided else replace(answer, unknown="no batch was decided: there is nothing to check")


def _gaps(topic: str, decided: Sequence[tuple[int, Decided]]) -> list[PipelineFinding]:
    """Return findings for batches that are missing between others of their query, and for those decided twice."""
    findings = []
    last: dict[str, int] = {}
    for offset, each in decided:
        before = last.get(each.query_id)
        if before is not None and each.batch_id > before + 1:
            missing = f"{before + 1}" if each.batch_id == before + 2 else f"{before + 1} to {each.batch_id - 1}"
            detail = f"batch {each.batch_id} comes after batch {before}: the record of {missing} is missing"
            findings.append(PipelineFinding("missing decision", topic, 0, offset, detail))
        if before is not None and each.batch_id <= before:
            detail = f"batch {each.batch_id} is decided after batch {before}: a batch must be decided only once"
            findings.append(PipelineFinding("decided twice", topic, 0, offset, detail))
        last[each.query_id] = each.batch_id
    return findings


def _sums(topic: str, decided: Sequence[tuple[int, Decided]], found: Mapping[int, BatchSum]) -> list[PipelineFinding]:
    findings = []
    by_batch: dict[int, list[tuple[int, Decided]]] = {}
    for offset, each in decided:
        by_batch.setdefault(each.batch_id, []).append((offset, each))
    for batch_id, decisions in sorted(by_batch.items()):  # of several queries, if there were several checkpoints
        rows = sum(each.rows for _, each in decisions)
        digest = sum(each.digest for _, each in decisions) % MODULUS
        there = found.get(batch_id, BatchSum(0, 0))
        if there.rows != rows:
            detail = f"batch {batch_id} has {rows} rows in the ledger, but {there.rows} were found"
            findings.append(PipelineFinding("wrong count", topic, 0, decisions[0][0], detail))
        elif there.digest != digest:
            detail = (
                f"the rows of batch {batch_id} differ from the written rows: {there.digest:016x}, not {digest:016x}"
            )
            findings.append(PipelineFinding("wrong digest", topic, 0, decisions[0][0], detail))
    for batch_id in sorted(set(found) - set(by_batch)):
        detail = f"{found[batch_id].rows} rows name batch {batch_id}, which was never decided"
        findings.append(PipelineFinding("undecided batch", topic, None, None, detail))
    return findings


def _offsets(
    topic: str, ends: Mapping[tuple[str, int], int], committed: Mapping[tuple[str, int], int]
) -> list[PipelineFinding]:
    """Check the group's offsets: they were written in the same transactions, so they are those of the last decision."""
    findings = []
    for (source, partition), end in sorted(ends.items()):
        stands = committed.get((source, partition))
        if stands != end:
            detail = f"the ledger {topic} has decided up to offset {end}, but the consumer group has {stands}"
            findings.append(PipelineFinding("wrong group offset", source, partition, stands, detail))
    return findings
