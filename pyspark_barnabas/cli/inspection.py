"""Looks at a sink: its ledger, its transactions, and the readers that they block. Changes nothing, creates no topic.

The order is that of the commit protocol (`pyspark_barnabas.commit`): open transactions are listed before the driver is
described, so that none of them can be of a run after that driver's; and the ledger is read last, so that a decision
about a listed transaction is not missed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from barnabas.client.admin.transactions import (
    TransactionHold,
    TransactionInfo,
    describe_producers,
    holds_of,
    partition_ends,
    read_transaction,
)
from barnabas.client.client import Client
from barnabas.client.metadata import TopicPartition
from barnabas.client.near_names import did_you_mean
from barnabas.client.offsets import EARLIEST, LATEST, READ_COMMITTED, READ_UNCOMMITTED, list_offsets
from barnabas.client.transactions.bulk_transactions import find_transactions
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.log_records.transaction_states import ONGOING, OPEN_STATES
from barnabas.protocol.records.record import BatchRecord
from pyspark_barnabas.cli.ledger_summary import LedgerSummary
from pyspark_barnabas.cli.sink_state import Look, StoredRecord, Written
from pyspark_barnabas.commit.identity import driver_id, parse_task_id
from pyspark_barnabas.commit.ledger import Decided, Ledger, decode_value
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.sink.ledger.reader import iter_between, read_between
from pyspark_barnabas.sink.ledger.topic import ledger_topic, prefix_of
from pyspark_barnabas.sink.transaction.coordinators import list_ids, view_of, views

_OFFSETS_A_BATCH = 4  # a decision and its marker, and now and then a run or a settlement with theirs
_OFFSETS_MIN = 400


class _LedgerEnds(NamedTuple):
    """The first offset of a ledger, its last stable offset, and its end offset."""

    earliest: int
    stable: int
    end: int


class _Records(NamedTuple):
    """The records that were read of a ledger, and whether they are all of it."""

    records: tuple[StoredRecord, ...]
    is_whole: bool


_Read = Callable[[TopicPartition, _LedgerEnds], _Records]


def look(client: Client, prefix: str, last: int) -> Look:
    """Return the current state, with at least the last `last` batches. Raise SinkFailed if there is no such sink."""
    return _look(client, prefix, lambda where, ends: _read_end(client, where, ends, last))


class WholeLedger:
    """Looks that know all of the ledger: the first one reads it from its beginning, the others only what is new."""

    def __init__(self, client: Client, prefix: str) -> None:
        self._client = client
        self._prefix = prefix
        self._kept = LedgerSummary()
        self._position = -1

    def look(self, *, is_driver: bool = False) -> Look:
        """Return the current state, with all unfinished decisions. Raise SinkFailed if there is no such sink.

        is_driver: the caller holds the token, so nothing can be open in the ledger, and it is read to its end offset.
        """
        return _look(self._client, self._prefix, lambda where, ends: self._read(where, ends, is_driver=is_driver))

    def _read(self, where: TopicPartition, ends: _LedgerEnds, *, is_driver: bool) -> _Records:
        start = ends.earliest if self._position < 0 else self._position
        end = max(start, ends.end if is_driver else ends.stable)
        for each in iter_between(self._client, where, start, end):
            self._kept.add(_stored(each))
            self._position = each.offset + 1  # even if reading fails after this, the record is not added twice
        self._position = end
        return _Records(self._kept.records(), is_whole=False)


def _look(client: Client, prefix: str, read: _Read) -> Look:
    topic = ledger_topic(prefix)
    _refuse_if_missing(client, topic, prefix)
    listed = _listed(client, prefix)
    driver = find_transactions(client, [driver_id(prefix)])[driver_id(prefix)]
    ends = _ledger_ends(client, (topic, 0))
    records, is_whole = read((topic, 0), ends)
    ledger = Ledger(tuple(each.record for each in records))
    unsettled = [each for each in ledger.records if isinstance(each, Decided) and not ledger.is_settled(each)]
    ids = [each.transactional_id for decision in unsettled for each in decision.transactions]
    holds, written = _partitions(client, listed)
    return Look(
        prefix,
        topic,
        client.clock.now_ms(),
        records,
        is_whole,
        ends.stable,
        ends.end,
        listed,
        views(client, ids),
        view_of(driver),
        holds,
        written,
    )


def _refuse_if_missing(client: Client, topic: str, prefix: str) -> None:
    try:
        client.refresh([topic], client.deadline()).topic(topic)
    except KafkaError as error:
        if error.code is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            raise SinkFailed(
                f"{str(error).rstrip('.')}: READ on the ledger is needed, or the prefix {prefix!r} is wrong"
            ) from error
        if error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise
        meant = did_you_mean(prefix, _prefixes(client), "")
        raise SinkFailed(
            f"there is no ledger {topic!r}{f' ({meant})' if meant else ''}: no query wrote under the prefix {prefix!r}"
            " to this cluster. `barnabas txn list` shows the prefixes of open transactions"
        ) from error


def _prefixes(client: Client) -> Iterable[str]:
    """Yield the prefixes that have a ledger."""
    topics = client.refresh(None, client.deadline()).topics
    return (prefix for topic in topics if (prefix := prefix_of(topic)) is not None)


def _listed(client: Client, prefix: str) -> tuple[TransactionInfo, ...]:
    """Return the open transactions of the sink's tasks and of its driver."""
    tasks = {name: parse_task_id(name) for name in list_ids(client, prefix, OPEN_STATES)}
    own = sorted(name for name, task in tasks.items() if task is not None and task.prefix == prefix)
    states = find_transactions(client, [driver_id(prefix), *own]).values()
    return tuple(
        read_transaction(each) for each in states if each is not None and each.transaction_state in OPEN_STATES
    )


def _ledger_ends(client: Client, where: TopicPartition) -> _LedgerEnds:
    deadline = client.deadline()
    return _LedgerEnds(
        list_offsets(client, {where: EARLIEST}, deadline=deadline)[where].offset,
        list_offsets(client, {where: LATEST}, isolation=READ_COMMITTED, deadline=deadline)[where].offset,
        list_offsets(client, {where: LATEST}, isolation=READ_UNCOMMITTED, deadline=deadline)[where].offset,
    )


def _read_end(client: Client, where: TopicPartition, ends: _LedgerEnds, last: int) -> _Records:
    """Return the last `last` decisions, however far back they are: starts of a query decide nothing."""
    found: list[StoredRecord] = []
    start, size = ends.stable, max(_OFFSETS_MIN, _OFFSETS_A_BATCH * last)
    while start > ends.earliest and sum(isinstance(each.record, Decided) for each in found) < last:
        end, start = start, max(ends.earliest, start - size)
        found[:0] = [_stored(each) for each in read_between(client, where, start, end, client.deadline())]
        size = 4 * (ends.stable - start)
    return _Records(tuple(found), start == ends.earliest)


def _stored(record: BatchRecord) -> StoredRecord:
    return StoredRecord(record.offset, record.timestamp, decode_value(record.value))


def _partitions(
    client: Client, listed: Iterable[TransactionInfo]
) -> tuple[Mapping[str, tuple[TransactionHold, ...]] | None, frozenset[Written]]:
    """Return the readers that the transactions block, and the producers' positions; (None, nothing) if unauthorized."""
    transactions = list(listed)
    try:
        places = sorted(_existing(client, {place for each in transactions for place in each.partitions}))
        producers = describe_producers(client, places) if places else []
        ends = partition_ends(client, places) if places else {}
    except KafkaError as error:
        if error.code is not ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            raise
        return None, frozenset()
    holds = {
        each.transactional_id: tuple(
            holds_of(each.producer_id, [one for one in producers if one.place in each.partitions], ends)
        )
        for each in transactions
    }
    own = {each.producer_id for each in transactions}
    written = frozenset(
        Written(each.place, each.producer_id, each.last_sequence) for each in producers if each.producer_id in own
    )
    # Topics that the client may not describe are omitted from the description of a transaction.
    is_hidden = any(each.state == ONGOING and not each.partitions for each in transactions)
    return None if is_hidden else holds, written


def _existing(client: Client, wanted: set[TopicPartition]) -> set[TopicPartition]:
    """Return the partitions of topics that were not deleted under the transaction."""
    topics = client.refresh({topic for topic, _ in wanted}, client.deadline()).topics if wanted else {}
    return {(name, number) for name, number in wanted if name in topics and number in topics[name].partitions}
