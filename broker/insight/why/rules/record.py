"""The outcome of a record: committed, aborted or open, by which producer, since when, and who can see it."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from barnabas.broker.insight.why.rules.answer import WhyAnswer, evidence
from barnabas.broker.insight.why.rules.deliveries import GroupDelivery, delivery_sentences
from barnabas.broker.insight.why.rules.formatting import moment, named
from barnabas.broker.insight.why.rules.record_schemas import SchemaFacts, schema_sentences
from barnabas.broker.insight.why.rules.transaction import TransactionFacts, waits_for, whose


class OffsetContent(StrEnum):
    """The kind of content at an offset."""

    BEFORE_START = "before the log's start"
    BEYOND_END = "beyond the log's end"
    GONE = "gone"
    MARKER = "marker"
    CONTROL = "control record"
    RECORD = "record"


class Fate(StrEnum):
    """The outcome of a record's transaction."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    OPEN = "open"


class MarkerFacts(NamedTuple):
    """The marker that ended the transaction."""

    offset: int
    timestamp_ms: int | None
    is_commit: bool
    producer_epoch: int | None = None
    coordinator_epoch: int | None = None


class RecordFacts(NamedTuple):
    """An offset of a partition, and the facts about it."""

    topic: str
    partition: int
    offset: int
    trouble: str | None = None
    """Why the log cannot be read."""
    log_start_offset: int | None = None
    last_stable_offset: int | None = None
    high_watermark: int | None = None
    log_end_offset: int | None = None
    place: OffsetContent | None = None
    next_offset: int | None = None
    """If the offset is gone: the first existing offset after it."""
    base_offset: int | None = None
    """Of its batch, from this offset to `last_offset`."""
    last_offset: int | None = None
    batch_timestamp_ms: int | None = None
    producer_id: int | None = None
    producer_epoch: int | None = None
    base_sequence: int | None = None
    fate: Fate | None = None
    """None for a record in no transaction."""
    marker: MarkerFacts | None = None
    batches_read: int = 0
    """How many batches were examined for the marker."""
    transactional_id: str | None = None
    client_id: str | None = None
    peer: str | None = None
    transaction: TransactionFacts | None = None
    """The transaction that holds the last stable offset back, if that is at or below this offset."""

    schemas: tuple[SchemaFacts, ...] = ()
    """The schemas of its key and value, if a registry is served and they are in its clients' format."""
    share_groups: tuple[GroupDelivery, ...] = ()
    """What became of it in the share groups that read the partition."""
    share_states_are_loading: bool | None = None
    """True while stored states of share groups are being loaded, so that groups may be missing."""

    @property
    def where(self) -> str:
        """topic-partition."""
        return f"{named(self.topic)}-{self.partition}"


def explain(facts: RecordFacts) -> WhyAnswer:
    """Return the answer to `why record`."""
    return WhyAnswer(tuple(_sentences(facts)), evidence(facts))


def _sentences(facts: RecordFacts) -> list[str]:
    if facts.trouble is not None:
        return [f"{facts.where} cannot be read: {facts.trouble}."]
    what = f"Offset {facts.offset} of {facts.where}"
    match facts.place:
        case OffsetContent.BEFORE_START:
            return [
                f"{what} is below the log's start, {facts.log_start_offset}: retention or DeleteRecords removed it.",
                "A consumer that fetches it gets OFFSET_OUT_OF_RANGE, and applies its auto.offset.reset.",
            ]
        case OffsetContent.BEYOND_END:
            return [f"{what} is not written yet: the log ends at {facts.log_end_offset}."]
        case OffsetContent.GONE:
            return _gone(what, facts)
        case OffsetContent.CONTROL:
            return [f"{what} is a control record of the broker; consumers never receive it."]
        case OffsetContent.MARKER:
            return _marker(what, facts)
    first = _record(what, facts)
    loading = ["Stored states of share groups are being loaded: ask again for groups that are missing here."]
    in_share_groups = [*delivery_sentences(facts.share_groups), *(loading if facts.share_states_are_loading else ())]
    return [first, *_writer(facts), *_seen_by(facts), *schema_sentences(facts.schemas), *in_share_groups]


def _gone(what: str, facts: RecordFacts) -> list[str]:
    why = "compaction removed it, since a later record has its key, or it is an old tombstone or marker"
    next_one = "" if facts.next_offset is None else f" The next offset that exists is {facts.next_offset}."
    return [f"{what} is gone: {why}.{next_one}", "A consumer that fetches it receives the next one."]


def _marker(what: str, facts: RecordFacts) -> list[str]:
    marker = facts.marker
    assert marker is not None, "a batch with a marker contains it"
    decided = "COMMIT" if marker.is_commit else "ABORT"
    first = f"{what} is a transaction marker, {decided} of producer {facts.producer_id}{_transactional(facts)}"
    at = "" if marker.timestamp_ms is None else f", written at {moment(marker.timestamp_ms)}"
    return [f"{first}{at}.", "It occupies an offset and counts in the lag, but consumers never receive it."]


def _record(what: str, facts: RecordFacts) -> str:
    if facts.fate is None:
        return f"{what} is a record in no transaction."
    producer = f"of producer {facts.producer_id} epoch {facts.producer_epoch}{_transactional(facts)}"
    if facts.fate is Fate.OPEN:
        return f"{what} is open: the transaction {producer} has not ended."
    decided = _decided(facts)
    return f"{what} is {facts.fate.value}, in a transaction {producer}{decided}."


def _decided(facts: RecordFacts) -> str:
    marker = facts.marker
    if marker is None:
        return f"; its marker is not among the {facts.batches_read} batches behind it that were read"
    at = "" if marker.timestamp_ms is None else f" at {moment(marker.timestamp_ms)}"
    return f", by the marker at offset {marker.offset}{at}"


def _transactional(facts: RecordFacts) -> str:
    return "" if facts.transactional_id is None else f", transactional id {named(facts.transactional_id)}"


def _writer(facts: RecordFacts) -> list[str]:
    lines: list[str] = []
    if facts.client_id is not None:
        peer = f" from {facts.peer}" if facts.peer else ""
        lines.append(f"It was written by client {named(facts.client_id)}{peer}.")
    elif facts.fate is None and facts.producer_id is not None:
        lines.append(f"It was written by producer {facts.producer_id} epoch {facts.producer_epoch} (idempotent).")
    return lines


def _seen_by(facts: RecordFacts) -> list[str]:
    assert facts.last_stable_offset is not None
    assert facts.high_watermark is not None
    if facts.offset >= facts.high_watermark:
        return ["No consumer can see it yet: it is beyond the high watermark, since too few replicas are in sync."]
    if facts.fate is Fate.ABORTED:
        return ["Consumers with isolation.level=read_uncommitted see it; read_committed ones never will."]
    if facts.fate is Fate.OPEN:
        return ["Consumers with isolation.level=read_uncommitted see it; others when it is committed.", *_holder(facts)]
    if facts.offset < facts.last_stable_offset:
        return ["Every consumer can see it."]
    until = f"others stop at offset {facts.last_stable_offset}, the last stable offset"
    return [f"Consumers with isolation.level=read_uncommitted see it; {until}.", *_holder(facts)]


def _holder(facts: RecordFacts) -> list[str]:
    txn = facts.transaction
    if txn is None:
        return []
    held = (
        f"{facts.where} is held by {whose(txn)}."
        if facts.fate is not Fate.OPEN
        else f"The transaction is that of {whose(txn)}."
    )
    return [held, *waits_for(txn)]
