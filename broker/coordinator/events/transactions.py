# compiled: mypyc, as a traced broker runs it for each event
"""The events of transactional ids: derived from each decision, and from the transaction before and after it.

Knows the values of transactions, not the requests: these are the cause of the events (broker/runtime/events/cause.py),
from which only the group named by AddOffsetsToTxn and TxnOffsetCommit is read. Markers have their own events
(transaction_marker_writer.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from barnabas.broker.coordinator.events.refusals import why_refused
from barnabas.broker.coordinator.transaction.decisions.model import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    EndReply,
    InitReply,
    TransactionMetadata,
    TransactionOutcome,
    TransactionStored,
)
from barnabas.broker.coordinator.transaction.decisions.states import TransactionState
from barnabas.broker.coordinator.transaction.decisions.transaction_machine import TransactionMachine
from barnabas.broker.runtime.events import kinds
from barnabas.broker.runtime.events.bounded_facts import some_partitions
from barnabas.broker.runtime.events.cause import RequestCause
from barnabas.broker.runtime.events.events import Events
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.files.names import CONSUMER_OFFSETS_TOPIC

_COMPLETE = (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)


class TransactionEvents:
    """The events of one partition of `__transaction_state`. A `DecisionListener`."""

    def __init__(self, machine: TransactionMachine, events: Events) -> None:
        self._machine = machine
        self._events = events

    def seen(self, entity_id: str, outcome: TransactionOutcome) -> TransactionMetadata | None:
        """Implement `DecisionListener.seen`."""
        return self._machine.transaction(entity_id)

    def writing(self, entity_id: str, records: Sequence[TransactionStored]) -> None:
        """Implement `DecisionListener.writing`."""
        for record in records:
            self._events.emit(kinds.TRANSACTION_WRITING, _stored(record))

    def written(self, entity_id: str, records: Sequence[TransactionStored], partition: int, offset: int) -> None:
        """Implement `DecisionListener.written`."""
        for position, record in enumerate(records):
            where = {"partition": partition, "offset": offset + position}
            self._events.emit(kinds.TRANSACTION_WRITTEN, {**_stored(record), **where})

    def happened(self, entity_id: str, seen: TransactionMetadata | None, outcome: TransactionOutcome) -> None:
        """Implement `DecisionListener.happened`."""
        self._report_refusal(entity_id, seen, outcome)
        for _, after in outcome.records:
            if after is not None:
                self._report_move(seen, after, outcome.reply)
            elif seen is not None:
                self._events.emit(kinds.TRANSACTIONAL_ID_EXPIRED, _whose(seen))

    def _report_refusal(self, entity_id: str, seen: TransactionMetadata | None, outcome: TransactionOutcome) -> None:
        reply = outcome.reply
        error = reply.error if isinstance(reply, (InitReply, EndReply)) else reply
        if not isinstance(error, ErrorCode) or error is ErrorCode.NONE:
            return
        producer_id, producer_epoch = (NO_PRODUCER_ID, NO_PRODUCER_EPOCH) if seen is None else seen.holder
        facts = {
            "transactional_id": entity_id,
            "error": error.name,
            "why": why_refused(error, seen, self._events.cause),
            "state": None if seen is None else seen.state.value,
            "producer_id": producer_id,
            "producer_epoch": producer_epoch,
        }
        self._events.emit(kinds.TRANSACTION_REFUSED, facts)

    def _report_move(self, before: TransactionMetadata | None, after: TransactionMetadata, reply: Any) -> None:
        if isinstance(reply, InitReply) and reply.error is ErrorCode.NONE:
            self._report_given(before, after, reply)
        elif before is not None and after.state is TransactionState.PREPARE_ABORT and not isinstance(reply, EndReply):
            if reply is None:
                open_for_ms = after.last_update_timestamp_ms - before.start_timestamp_ms
                facts = {**_whose(before), "timeout_ms": before.timeout_ms, "open_for_ms": open_for_ms}
                self._events.emit(kinds.TRANSACTION_TIMED_OUT, facts)
            why = "its transaction was open for too long" if reply is None else "another producer begins"
            self._report_fenced(before, after, why)
        if after.state is TransactionState.ONGOING:
            self._report_added(before, after)
        elif after.state in _COMPLETE:
            is_commit = after.state is TransactionState.COMPLETE_COMMIT
            self._events.emit(kinds.TRANSACTION_COMPLETED, {**_whose(after), "is_commit": is_commit})

    def _report_given(self, before: TransactionMetadata | None, after: TransactionMetadata, reply: InitReply) -> None:
        previous_id, previous_epoch = (NO_PRODUCER_ID, NO_PRODUCER_EPOCH) if before is None else before.holder
        facts = {
            "transactional_id": after.transactional_id,
            "producer_id": reply.producer_id,
            "producer_epoch": reply.producer_epoch,
            "previous_producer_id": previous_id,
            "previous_producer_epoch": previous_epoch,
            "timeout_ms": after.timeout_ms,
        }
        self._events.emit(kinds.PRODUCER_ID_GIVEN, facts)
        is_same_producer = after.last_producer_epoch != NO_PRODUCER_EPOCH  # it named its epoch (KIP-360)
        if before is not None and not is_same_producer:
            self._report_fenced(before, after, "another producer begins")

    def _report_fenced(self, before: TransactionMetadata, after: TransactionMetadata, why: str) -> None:
        producer_id, producer_epoch = before.holder
        facts = {
            "transactional_id": before.transactional_id,
            "producer_id": producer_id,
            "producer_epoch": producer_epoch,
            "new_producer_epoch": after.holder[1],
            "why": why,
        }
        self._events.emit(kinds.PRODUCER_FENCED, facts)

    def _report_added(self, before: TransactionMetadata | None, after: TransactionMetadata) -> None:
        is_new = before is None or before.state is not TransactionState.ONGOING
        if is_new:
            self._events.emit(kinds.TRANSACTION_BEGUN, {**_whose(after), "timeout_ms": after.timeout_ms})
        added = after.partitions if before is None or is_new else after.partitions - before.partitions
        groups = [partition for topic, partition in added if topic == CONSUMER_OFFSETS_TOPIC]
        cause = self._events.cause
        group = cause.request_fields.get("group") if isinstance(cause, RequestCause) else None
        for partition in groups:
            self._events.emit(kinds.TRANSACTION_GROUP_ADDED, {**_whose(after), "group": group, "partition": partition})
        if len(added) > len(groups):
            others = [each for each in added if each[0] != CONSUMER_OFFSETS_TOPIC]
            facts = {"partitions": some_partitions(others), "partitions_count": len(others)}
            self._events.emit(kinds.TRANSACTION_PARTITIONS_ADDED, {**_whose(after), **facts})


def _whose(txn: TransactionMetadata) -> dict[str, Any]:
    return {
        "transactional_id": txn.transactional_id,
        "producer_id": txn.producer_id,
        "producer_epoch": txn.producer_epoch,
    }


def _stored(record: TransactionStored) -> dict[str, Any]:
    transactional_id, stored = record
    if stored is None:
        return {"transactional_id": transactional_id, "state": None, "producer_id": None, "producer_epoch": None}
    return {**_whose(stored), "state": stored.state.value}
