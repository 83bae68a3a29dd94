"""The state of a sink at one moment, and what follows from it: runs, batches, open transactions. Pure.

A batch is `finished` when all its transactions are committed; `decided` while one of them is still open, or being
committed; `lost` when one was aborted. It is `unknown` if coordinators have forgotten its transactions, which they
do a week after their end: then it was almost certainly finished. An undecided batch has no line: its transactions do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from barnabas.client.admin.transactions import TransactionHold, TransactionInfo
from barnabas.client.metadata import TopicPartition
from barnabas.protocol.log_records.transaction_states import OPEN_STATES, PREPARE_COMMIT
from pyspark_barnabas.commit.identity import RunToken, parse_task_id
from pyspark_barnabas.commit.ledger import Decided, Ledger, LedgerRecord, Run
from pyspark_barnabas.commit.messages import PreparedTransaction
from pyspark_barnabas.commit.prepared_state import PreparedState, View, prepared_state


class StoredRecord(NamedTuple):
    """A record of the ledger, with its offset and timestamp."""

    offset: int
    timestamp_ms: int
    record: LedgerRecord


class Written(NamedTuple):
    """How far a producer has come in a partition: two looks show whether it still writes."""

    place: TopicPartition
    producer_id: int
    last_sequence: int


@dataclass(frozen=True, slots=True)
class Look:
    """One look at a sink. It is taken in the order of the protocol: see `looking`.

    records: the ledger's end, oldest first; is_whole: all of it. stable_offset, end_offset: up to where committed
    records of the ledger can be read, and its end. listed: the open transactions under the prefix, the driver's too.
    described: the ids of all decisions that the ledger does not prove finished. driver: described after the list.
    holds: by transactional id; None if the client is not authorized to read them.
    """

    prefix: str
    topic: str
    now_ms: int
    records: tuple[StoredRecord, ...] = ()
    is_whole: bool = True
    stable_offset: int = 0
    end_offset: int = 0
    listed: tuple[TransactionInfo, ...] = ()
    described: Mapping[str, View | None] = field(default_factory=dict)
    driver: View | None = None
    holds: Mapping[str, tuple[TransactionHold, ...]] | None = field(default_factory=dict)
    written: frozenset[Written] = frozenset()

    @property
    def ledger(self) -> Ledger:
        """The records, as the protocol queries them."""
        return Ledger(tuple(each.record for each in self.records))


class BatchState(Enum):
    """The state of a decided batch."""

    FINISHED = "finished"
    DECIDED = "decided"
    LOST = "lost"
    UNKNOWN = "unknown"


class BatchLine(NamedTuple):
    """A decided batch."""

    decision: Decided
    decided_ms: int
    state: BatchState
    still_open: tuple[PreparedTransaction, ...] = ()
    lost: tuple[PreparedTransaction, ...] = ()


class RunLine(NamedTuple):
    """A run that took the token. batches: the first and the last that it decided among those read; None for none.

    taken_over_by: the token of the run after it; None for the one that holds the token as far as the ledger knows.
    """

    run: Run
    since_ms: int
    batches: tuple[int, int] | None
    taken_over_by: RunToken | None


class PendingTransaction(NamedTuple):
    """A transaction that is not ended, and the decided batch that it belongs to; None if it is of no decided batch."""

    info: TransactionInfo
    decision: Decided | None

    @property
    def is_ending(self) -> bool:
        """Whether its end is decided at its coordinator, which only has to write it into the partitions."""
        return self.info.state != "Ongoing"

    @property
    def is_of_the_driver(self) -> bool:
        """Whether it is the driver's transaction, which decides."""
        return parse_task_id(self.info.transactional_id) is None


def batches(look: Look) -> list[BatchLine]:
    """Return the decided batches, oldest first."""
    ledger = look.ledger
    found = []
    for offset_and_record in look.records:
        decision = offset_and_record.record
        if isinstance(decision, Decided):
            found.append(_batch(look, ledger, decision, offset_and_record.timestamp_ms))
    return found


def _batch(look: Look, ledger: Ledger, decision: Decided, decided_ms: int) -> BatchLine:
    if ledger.is_settled(decision):
        return BatchLine(decision, decided_ms, BatchState.FINISHED)
    stands = {each: prepared_state(each, look.described.get(each.transactional_id)) for each in decision.transactions}
    still_open = tuple(each for each, how in stands.items() if how is PreparedState.OPEN)
    lost = tuple(each for each, how in stands.items() if how is PreparedState.ABORTED)
    if lost:
        return BatchLine(decision, decided_ms, BatchState.LOST, still_open, lost)
    if still_open or any(_is_being_committed(look, each) for each in stands):
        return BatchLine(decision, decided_ms, BatchState.DECIDED, still_open)
    is_known = PreparedState.UNKNOWN not in stands.values()
    return BatchLine(decision, decided_ms, BatchState.FINISHED if is_known else BatchState.UNKNOWN)


def _is_being_committed(look: Look, transaction: PreparedTransaction) -> bool:
    view = look.described.get(transaction.transactional_id)
    return view is not None and view.state == PREPARE_COMMIT


def runs(look: Look) -> list[RunLine]:
    """Return the runs, oldest first."""
    taken = [each for each in look.records if isinstance(each.record, Run)]
    found = []
    for index, stored in enumerate(taken):
        run = stored.record
        assert isinstance(run, Run), "only these were taken"
        decided = [each.batch_id for each in look.ledger.of_run(run.run) if isinstance(each, Decided)]
        after = taken[index + 1].record.run if index + 1 < len(taken) else None
        found.append(RunLine(run, stored.timestamp_ms, (decided[0], decided[-1]) if decided else None, after))
    return found


def newer_token(look: Look) -> RunToken | None:
    """Return the token that the coordinator knows and the ledger does not: of a run that has not registered."""
    holder = look.ledger.holder()
    if look.driver is None:
        return None
    token = RunToken(look.driver.producer_id, look.driver.producer_epoch)
    return None if holder is not None and holder.run == token else token


def open_transactions(look: Look) -> list[PendingTransaction]:
    """Return the open transactions under the prefix, the oldest first."""
    ledger = look.ledger
    unsettled = [each for each in ledger.records if isinstance(each, Decided) and not ledger.is_settled(each)]
    found = []
    for info in sorted(look.listed, key=lambda each: (each.start_timestamp_ms, each.transactional_id)):
        if info.state in OPEN_STATES:
            mine = PreparedTransaction(info.transactional_id, info.producer_id, info.producer_epoch)
            decision = next((each for each in unsettled if mine in each.transactions), None)
            found.append(PendingTransaction(info, decision))
    return found
