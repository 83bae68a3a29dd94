"""Transactions: the groups held back by one, its earlier changes, and its present state.

Its history is read from the end of `__transaction_state`, where every change is a record: so it is available after a
restart, too, and contains what compaction left.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.coordinator.runtime.partition_for import partition_for
from barnabas.broker.coordinator.transaction.decisions.records import decode
from barnabas.broker.coordinator.transaction.decisions.states import TransactionState
from barnabas.broker.http.console import formatting
from barnabas.broker.insight.inspection.groups import Position, positions
from barnabas.broker.insight.inspection.transactions import loaded_transactions
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files.names import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from barnabas.protocol.records.batch import iter_batches
from barnabas.protocol.records.record import iter_records
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from barnabas.broker.coordinator.transaction.decisions.model import TransactionMetadata
    from barnabas.broker.services import Services
    from barnabas.storage.log.log import PartitionLog

HISTORY_MAX = 40
_RECORDS_LOOKED_AT = 4_000
_BYTES_AT_A_TIME = 64 << 10
_IDS_IN_A_STEP = 200
_length = Struct(">h").pack


class HeldPartition(NamedTuple):
    """A partition of an open transaction, and its waiting readers. Offsets are None if nothing was written yet."""

    topic: str
    partition: int
    first_offset: int | None
    """Of the transaction in this partition."""
    last_stable_offset: int
    high_watermark: int
    is_first: bool
    """Whether read_committed consumers wait for this transaction; else for an earlier one."""
    waiting: int
    """Number of requests that wait here."""
    groups: list[Position]
    """Groups whose position is below the high watermark."""

    @property
    def held_back(self) -> int:
        """Number of offsets that read_committed consumers do not see yet."""
        return self.high_watermark - self.last_stable_offset


class TransactionChange(NamedTuple):
    """A change of an id. offset: of its record in `__transaction_state`. txn: None if the id expired."""

    offset: int
    timestamp_ms: int
    txn: TransactionMetadata | None


def every_id(services: Services) -> Steps[list[TransactionMetadata]]:
    """Return, in steps, all loaded transactional ids: open ones first, each by the last change."""
    found: list[TransactionMetadata] = []
    for txn in loaded_transactions(services):
        found.append(txn)
        if len(found) % _IDS_IN_A_STEP == 0:
            yield
    found.sort(key=lambda txn: (not txn.state.is_open, -txn.last_update_timestamp_ms, txn.transactional_id))
    return found


def find(services: Services, transactional_id: str) -> TransactionMetadata | None:
    """Return the present transaction of an id, if its partition is loaded."""
    topic = services.catalogue.topics.get(TRANSACTION_STATE_TOPIC)
    if topic is None:
        return None
    index = partition_for(transactional_id, len(topic.partitions))
    for node in services.every_node:
        for partition in node.transactions.loaded():
            if partition.index == index:
                return partition.machine.transaction(transactional_id)
    return None


def until_timeout_ms(txn: TransactionMetadata, now_ms: int) -> int | None:
    """Return the time until it is aborted; None unless it is open and undecided."""
    if txn.state is not TransactionState.ONGOING:
        return None
    return txn.start_timestamp_ms + txn.timeout_ms - now_ms


def holds(services: Services, txn: TransactionMetadata, partitions_max: int) -> Iterator[HeldPartition]:
    """Yield where the transaction may hold readers back: its partitions with open logs, without __consumer_offsets."""
    places = sorted(place for place in txn.partitions if place[0] != CONSUMER_OFFSETS_TOPIC)
    for topic, partition in places[:partitions_max]:
        if services.partitions.is_open(topic, partition):
            yield _hold(services, services.partitions.get(topic, partition), txn)


def _hold(services: Services, log: PartitionLog, txn: TransactionMetadata) -> HeldPartition:
    held_back_by = list(log.producers.unstable.items())
    first = next((offset for offset, producer_id in held_back_by if producer_id == txn.producer_id), None)
    is_first = bool(held_back_by) and held_back_by[0][1] == txn.producer_id
    topic, partition = log.topic, log.partition
    groups = sorted(each for each in positions(services, topic, partition) if each.offset < log.high_watermark)
    waiting = services.purgatory.parked_on(topic, partition)
    return HeldPartition(topic, partition, first, log.last_stable_offset, log.high_watermark, is_first, waiting, groups)


def what_abort_does(txn: TransactionMetadata, holds: list[HeldPartition], groups: list[str]) -> list[str]:
    """Describe the effects of an abort in sentences, before the button is pressed; empty if nothing can be aborted."""
    if txn.state is not TransactionState.ONGOING:
        return []
    data = sum(1 for topic, _ in txn.partitions if topic != CONSUMER_OFFSETS_TOPIC)
    sentences = [
        f"An ABORT marker is written into {formatting.counted(data, 'partition')}. "
        "What the transaction wrote there stays in the log, and readers of committed records skip it."
    ]
    if groups:
        sentences.append(f"The offsets that it commits for {', '.join(groups)} are dropped.")
    freed = sum(hold.held_back for hold in holds if hold.is_first)
    if freed:
        sentences.append(
            f"Readers of committed records, which are held back by {formatting.counted(freed, 'offset')}, continue."
        )
    sentences.append(
        f"Producer {txn.producer_id}, epoch {txn.producer_epoch}, is fenced: its next request fails, "
        "and it must start again. This cannot be undone."
    )
    return sentences


def history(services: Services, transactional_id: str) -> Steps[list[TransactionChange]]:
    """Return, in steps, the last changes of an id, oldest first, in its partition's last records. Raises KafkaError."""
    topic = services.catalogue.topics.get(TRANSACTION_STATE_TOPIC)
    if topic is None:
        return []
    log = services.partitions.get_if_written(topic.name, partition_for(transactional_id, len(topic.partitions)))
    if log is None:
        return []
    name = transactional_id.encode("utf-8", "surrogatepass")
    key = b"\0\0" + _length(len(name)) + name  # the encoding of TransactionLogKey
    found: deque[TransactionChange] = deque(maxlen=HISTORY_MAX)
    offset, end = max(log.log_start_offset, log.log_end_offset - _RECORDS_LOOKED_AT), log.log_end_offset
    while offset < end:
        data = log.read_own(offset, _BYTES_AT_A_TIME)
        yield
        before = offset
        for position, header in iter_batches(data):
            if not header.is_control:
                _note_changes(data[position : position + header.size_in_bytes], key, found)
            offset = header.next_offset
        if offset == before:
            break  # less than a batch: the log was truncated meanwhile
    return list(found)


def _note_changes(batch: bytes, key: bytes, found: deque[TransactionChange]) -> None:
    try:
        for record in iter_records(batch):
            if record.key == key:
                stored = decode(record.key, record.value)
                found.append(
                    TransactionChange(record.offset, record.timestamp, None if stored is None else stored.stored)
                )
    except DecodeError:
        return  # unreadable records are reported where partitions are checked, not here
