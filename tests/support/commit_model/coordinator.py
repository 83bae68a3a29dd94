"""A small transaction coordinator with its partitions: epochs, fencing, ends and what they make visible. Values only.

As Kafka's under the older protocol: an end keeps the epoch, asking for the same end again is answered well, and a new
producer aborts what is open. An end and its markers are one step: the states between them are internal to the broker.
"""

from __future__ import annotations

from typing import NamedTuple

from pyspark_barnabas.commit.identity import parse_task_id
from pyspark_barnabas.commit.ledger import Decided, LedgerRecord
from pyspark_barnabas.commit.messages import PreparedTransaction
from pyspark_barnabas.commit.prepared_state import View


class Row(NamedTuple):
    """What a task writes: all its rows count as one."""

    query_id: str
    batch_id: int
    partition: int


Write = Row | LedgerRecord


class Txn(NamedTuple):
    """A transactional id."""

    producer_id: int
    epoch: int
    state: str
    writes: tuple[Write, ...] = ()
    sequences: tuple[tuple[int, int], ...] = ()
    """Which sequence number comes next, in each partition that this epoch of the producer wrote."""


LEDGER = -1
"""The ledger's partition; those of the rows are numbered from 0."""


class Refused(Exception):
    """The request is answered with an error: the producer is fenced, or the transaction is not what it thinks."""


class Broker(NamedTuple):
    """All that is durable: a restart of the broker changes nothing of it."""

    txns: tuple[tuple[str, Txn], ...] = ()
    rows: tuple[Row, ...] = ()
    """What read_committed shows, in order, each as often as it stands there."""
    ledger: tuple[LedgerRecord, ...] = ()
    aborted: tuple[PreparedTransaction, ...] = ()
    """The transactions that had records and were aborted."""
    next_producer_id: int = 1

    def find(self, transactional_id: str) -> Txn | None:
        return dict(self.txns).get(transactional_id)

    def describe(self, transactional_id: str) -> View | None:
        txn = self.find(transactional_id)
        return None if txn is None else View(txn.state, txn.producer_id, txn.epoch)

    def ongoing(self) -> tuple[str, ...]:
        return tuple(each for each, txn in self.txns if txn.state == "Ongoing")

    def init_producer(self, transactional_id: str) -> tuple[Broker, tuple[int, int]]:
        """InitProducerId: the next epoch, and what was open is aborted."""
        txn = self.find(transactional_id)
        if txn is None:
            fresh = Txn(self.next_producer_id, 0, "Empty")
            broker = self._replace(next_producer_id=self.next_producer_id + 1)
            return broker._put(transactional_id, fresh), (fresh.producer_id, 0)
        broker = self.abort_open(transactional_id) if txn.state == "Ongoing" else self
        raised = Txn(txn.producer_id, txn.epoch + 1, "Empty")
        return broker._put(transactional_id, raised), (raised.producer_id, raised.epoch)

    def write(self, transactional_id: str, producer: tuple[int, int], what: Write, sequence: int) -> Broker:
        txn = self._require(transactional_id, producer)
        partition = what.partition if isinstance(what, Row) else LEDGER
        known = dict(txn.sequences)
        if sequence > known.get(partition, 0):
            raise Refused("OUT_OF_ORDER_SEQUENCE_NUMBER")
        if sequence < known.get(partition, 0):
            return self  # a duplicate: acknowledged, and dropped
        sequences = tuple(sorted((known | {partition: sequence + 1}).items()))
        writes = (*txn.writes, what) if txn.state == "Ongoing" else (what,)
        return self._put(transactional_id, Txn(*producer, "Ongoing", writes, sequences))

    def end(self, transactional_id: str, producer: tuple[int, int], *, commit: bool) -> Broker:
        """EndTxn, which may be repeated."""
        txn = self._require(transactional_id, producer)
        if txn.state == ("CompleteCommit" if commit else "CompleteAbort"):
            return self
        if txn.state != "Ongoing":
            raise Refused("INVALID_TXN_STATE")
        if not commit:
            broker = self.abort_open(transactional_id)
            return broker._put(transactional_id, Txn(*producer, "CompleteAbort", (), txn.sequences))
        rows = tuple(sorted((*self.rows, *(each for each in txn.writes if isinstance(each, Row)))))
        ledger = (*self.ledger, *(each for each in txn.writes if not isinstance(each, Row)))
        committed = Txn(*producer, "CompleteCommit", (), txn.sequences)
        return self._replace(rows=rows, ledger=ledger)._put(transactional_id, committed)

    def abort_open(self, transactional_id: str) -> Broker:
        """The coordinator aborts an open transaction: fenced, or its time is up. The epoch rises."""
        txn = self.find(transactional_id)
        assert txn is not None
        lost = PreparedTransaction(transactional_id, txn.producer_id, txn.epoch)
        broker = self._replace(aborted=tuple(sorted({*self.aborted, lost}, key=repr)))
        return broker._put(transactional_id, Txn(txn.producer_id, txn.epoch + 1, "CompleteAbort"))

    def expire(self) -> Broker:
        """Tasks' ids that have ended are forgotten, but for those that the last decision names."""
        decided = [each for each in self.ledger if isinstance(each, Decided)]
        last = {each.transactional_id for each in decided[-1].transactions} if decided else set()
        remaining = [
            (each, txn)
            for each, txn in self.txns
            if txn.state == "Ongoing" or each in last or parse_task_id(each) is None
        ]
        return self._replace(txns=tuple(remaining))

    def _require(self, transactional_id: str, producer: tuple[int, int]) -> Txn:
        txn = self.find(transactional_id)
        if txn is None or (txn.producer_id, txn.epoch) != producer:
            raise Refused("PRODUCER_FENCED")
        return txn

    def _put(self, transactional_id: str, txn: Txn) -> Broker:
        return self._replace(txns=tuple(sorted((dict(self.txns) | {transactional_id: txn}).items())))
