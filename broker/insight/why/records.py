"""Facts about one offset of a partition: its batch, its transaction's marker, and the consumers that cannot see it.

The outcome of a record follows from three checks, the first that applies: its producer's open transaction, the index
of aborted transactions, and its absence from both. So it is known however far away its marker is; the search for the
marker itself is limited.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.insight.inspection.share_partitions import begin_loading_share_states
from barnabas.broker.insight.why.group_types.share_deliveries import share_deliveries
from barnabas.broker.insight.why.history_lookup import TransactionPast
from barnabas.broker.insight.why.partitions import opened
from barnabas.broker.insight.why.positions import BATCHES_MAX, Budget
from barnabas.broker.insight.why.rules.record import Fate, MarkerFacts, OffsetContent, RecordFacts
from barnabas.broker.insight.why.sources.why_sources import WhySources
from barnabas.broker.insight.why.transactions import Holders
from barnabas.broker.runtime.scheduler import Work
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.records.record import iter_records_with_pauses
from barnabas.storage.errors import StorageError
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from barnabas.broker.insight.why.sources.history_source import HistorySource
    from barnabas.storage.log.batches import LogBatch
    from barnabas.storage.log.log import PartitionLog

_RECORDS_A_STEP = 200
_BATCHES_A_STEP = 20


def record_facts(known: WhySources, topic: str, partition: int, offset: int) -> Steps[RecordFacts]:
    """Collect the facts for `why record`."""
    facts = RecordFacts(topic, partition, offset)
    log = opened(known.services, topic, partition)
    if isinstance(log, str):
        return facts._replace(trouble=log)
    if log is None:
        return facts._replace(place=OffsetContent.BEYOND_END, log_end_offset=0)
    facts = facts._replace(
        log_start_offset=log.log_start_offset,
        last_stable_offset=log.last_stable_offset,
        high_watermark=log.high_watermark,
        log_end_offset=log.log_end_offset,
    )
    if offset < log.log_start_offset:
        return facts._replace(place=OffsetContent.BEFORE_START)
    if offset >= log.log_end_offset:
        return facts._replace(place=OffsetContent.BEYOND_END)
    try:
        facts, batch = yield from _found(log, facts)
        if facts.place is OffsetContent.RECORD and batch is not None and batch.header.is_transactional:
            facts = yield from _decided(log, facts, batch)
    except (StorageError, DecodeError) as failure:
        return facts._replace(trouble=str(failure))
    facts = yield from _with_transaction(log, facts, Holders(known), known.ring)
    is_loading = begin_loading_share_states(known.services)
    share_groups = yield from share_deliveries(known, topic, partition, offset)
    return facts._replace(share_groups=share_groups, share_states_are_loading=is_loading or None)


def facts_with_schemas(known: WhySources, topic: str, partition: int, offset: int) -> Work[RecordFacts]:
    """Collect the facts for `why record`, with the schemas of key and value if a registry is served."""
    facts = yield from record_facts(known, topic, partition, offset)
    served, log = known.registry(), opened(known.services, topic, partition)
    if served is None or facts.place is not OffsetContent.RECORD or log is None or isinstance(log, str):
        return facts
    from barnabas.broker.insight.why.sources.record_schemas import record_schemas  # only where there is a registry

    try:
        return facts._replace(schemas=(yield from record_schemas(served, log, offset)))
    except (StorageError, DecodeError) as failure:
        return facts._replace(trouble=str(failure))


def _found(log: PartitionLog, facts: RecordFacts) -> Steps[tuple[RecordFacts, LogBatch | None]]:
    """Return the facts extended by the record or batch at the offset, and the batch."""
    offset = facts.offset
    batch = next(log.batches(offset), None)
    if batch is None or batch.header.base_offset > offset:
        return facts._replace(
            place=OffsetContent.GONE, next_offset=None if batch is None else batch.header.base_offset
        ), None
    header = batch.header
    facts = facts._replace(
        base_offset=header.base_offset,
        last_offset=header.last_offset,
        batch_timestamp_ms=header.max_timestamp,
        producer_id=header.producer_id if header.has_producer_id else None,
        producer_epoch=header.producer_epoch if header.has_producer_id else None,
        base_sequence=header.base_sequence if header.base_sequence >= 0 else None,
    )
    if batch.marker is not None:
        return facts._replace(place=OffsetContent.MARKER, marker=_marker(batch)), batch
    if header.records_count <= header.last_offset - header.base_offset:
        behind = yield from _first_left(log, offset)
        if behind != offset:
            return facts._replace(place=OffsetContent.GONE, next_offset=behind), batch
    return facts._replace(place=OffsetContent.CONTROL if header.is_control else OffsetContent.RECORD), batch


def _first_left(log: PartitionLog, offset: int) -> Steps[int]:
    """Return the first remaining offset of a compacted batch, from the given one on; the end of the batch if none."""
    end = offset
    for number, record in enumerate(iter_records_with_pauses(log.read_own(offset, 1))):
        if record is None or number % _RECORDS_A_STEP == _RECORDS_A_STEP - 1:
            yield
        if record is not None:
            if record.offset >= offset:
                return record.offset
            end = record.offset + 1
    batch = next(log.batches(offset), None)
    return end if batch is None else batch.header.next_offset


def _decided(log: PartitionLog, facts: RecordFacts, batch: LogBatch) -> Steps[RecordFacts]:
    """Return the facts extended by the outcome of the record's transaction, and its marker."""
    producer_id = batch.header.producer_id
    begin = log.transaction_begin(producer_id)
    if begin is not None and begin <= facts.offset:
        return facts._replace(fate=Fate.OPEN)
    aborted = yield from log.aborted_around(producer_id, facts.offset)
    if aborted is not None:
        marker = MarkerFacts(aborted.last_offset, None, is_commit=False)
        found = next(log.batches(aborted.last_offset), None)
        if found is not None and found.marker is not None and found.marker.offset == aborted.last_offset:
            marker = _marker(found)
        return facts._replace(fate=Fate.ABORTED, marker=marker)
    budget = Budget(BATCHES_MAX)
    for number, later in enumerate(log.batches(batch.header.next_offset)):
        if later.marker is not None and later.marker.producer_id == producer_id:
            return facts._replace(fate=Fate.COMMITTED, marker=_marker(later))
        if not budget.take():
            break
        if number % _BATCHES_A_STEP == _BATCHES_A_STEP - 1:
            yield
    return facts._replace(fate=Fate.COMMITTED, batches_read=BATCHES_MAX - max(budget.left, 0))


def _marker(batch: LogBatch) -> MarkerFacts:
    found = batch.marker
    assert found is not None
    return MarkerFacts(found.offset, found.timestamp, found.commit, found.producer_epoch, found.coordinator_epoch)


def _with_transaction(
    log: PartitionLog, facts: RecordFacts, holders: Holders, ring: HistorySource
) -> Steps[RecordFacts]:
    """Return the facts extended by the transactional id, the writing client, and the transaction that holds it back."""
    where = facts.topic, facts.partition
    producer_id = facts.producer_id
    if (facts.fate is not None or facts.place is OffsetContent.MARKER) and producer_id is not None:
        txn = yield from holders.transaction(producer_id)
        if txn is not None:
            facts = facts._replace(transactional_id=txn.transactional_id)
            epoch = -1 if facts.producer_epoch is None else facts.producer_epoch
            client = TransactionPast(ring, txn.transactional_id, 0).client_of(producer_id, epoch)
            if client is not None:
                facts = facts._replace(client_id=client.client_id, peer=client.peer)
    undecided = log.first_undecided
    if facts.fate is Fate.OPEN and producer_id is not None:
        begin = log.transaction_begin(producer_id)
        if begin is not None:
            holder = yield from holders.holder(producer_id, where, begin)
            return facts._replace(transaction=holder)
    if undecided is not None and facts.offset >= log.last_stable_offset and facts.place is OffsetContent.RECORD:
        holder = yield from holders.holder(undecided[1], where, undecided[0])
        return facts._replace(transaction=holder)
    return facts
