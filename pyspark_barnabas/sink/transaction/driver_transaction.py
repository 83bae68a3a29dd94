"""The driver's transaction: the source's offsets, one record into the ledger, and its end.

It uses the older protocol, under which an end does not change the epoch, and so not the run token. The record is alone
in its batch, under the next sequence number according to the ledger: even if it is sent twice, it is there once.
The offsets come first, because their refusal is final (the group is not ours): while there is no record yet, the
transaction can be aborted, and no reader takes it for a decision in progress.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.client.client import Client
from barnabas.client.clock import Deadline
from barnabas.client.metadata import TopicPartition
from barnabas.client.produce.batch_sender import BatchSender
from barnabas.client.produce.new_batch import NewBatch, encode
from barnabas.client.transaction_requests import (
    EXPLICIT,
    ConsumerGroupMetadata,
    EndUnanswered,
    ProducerIdentity,
    add_offsets,
    add_partitions,
    commit_offsets,
    end,
    end_once,
    highest_version,
)
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.records.builder import NewRecord
from barnabas.protocol.registry import ApiKey
from pyspark_barnabas.commit.identity import driver_id
from pyspark_barnabas.commit.ledger import LedgerRecord, SourceOffset, encode_key, encode_value
from pyspark_barnabas.reporting.own_log import own_log
from pyspark_barnabas.sink.error_explanations import FENCED, explain
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.sink.settings import SinkSettings


class Fenced(Exception):
    """The run token is invalid: another run has taken it."""


def write_record(
    client: Client,
    settings: SinkSettings,
    topic: str,
    record: LedgerRecord,
    offsets: Iterable[SourceOffset] = (),
    *,
    prefix: str,
    rows: Iterable[NewBatch] = (),
    is_last: bool = False,
    is_end_repeated: bool = True,
) -> None:
    """Commit the offsets for the group, write the record, end the transaction; retry until it is answered.

    rows: rows that become visible with the record, of partitions that the run has not written. is_last: the run writes
    nothing more if this fails, so that the transaction is aborted then, and no reader waits for its timeout. If the run
    continues, no record of it may be aborted: the next one would have the same sequence number, and be dropped. If the
    offsets are refused, there is no record yet, and the transaction is aborted in any case.
    is_end_repeated: False where other processes write with the run token as soon as the record is visible: a repeated
    end would end their transaction. Raise EndUnanswered then if the end was sent, and not answered.
    Raise Fenced if the coordinator, or the ledger's leader, knows a newer run; SinkFailed if it cannot be done, or if
    no answer to its end came in time, so that it is not known whether the record counts. The prefix is the sink's own,
    even if the record is about another query.
    """
    name, identity = driver_id(prefix), ProducerIdentity(*record.run)
    where: TopicPartition = (topic, 0)
    group = prefix if settings.group_id is None else settings.group_id
    moved = _of_this_cluster(client, {(each.topic, each.partition): each.offset for each in offsets}) if group else {}
    timeout_ms = settings.delivery_timeout_ms
    deadline = client.deadline(timeout_ms)
    doing, is_abortable = "writing the decision", is_last
    sender = BatchSender(
        client,
        identity,
        transactional_id=name,
        highest_version=highest_version(ApiKey.PRODUCE, EXPLICIT),
        before_first=lambda places: add_partitions(client, name, identity, places, client.deadline(timeout_ms)),
        first_sequences={where: record.sequence},
        delivery_timeout_ms=timeout_ms,
    )
    try:
        if moved:
            doing, is_abortable = f"committing the source's offsets for group {group!r}", True
            add_offsets(client, name, identity, group, deadline)
            commit_offsets(
                client, name, identity, ConsumerGroupMetadata(group), moved, protocol=EXPLICIT, deadline=deadline
            )
        doing, is_abortable = "writing the decision", is_last
        for each in rows:
            sender.put(each)
        sender.put(encode(where, [NewRecord(encode_key(record), encode_value(record), (), client.clock.now_ms())]))
        sender.flush()
        doing, is_abortable = "ending the transaction that decides", False
        if is_end_repeated:
            end(client, name, identity, commit=True, protocol=EXPLICIT, deadline=client.deadline(timeout_ms))
        else:
            end_once(client, name, identity, commit=True, deadline=client.deadline(timeout_ms))
    except EndUnanswered:
        raise  # it may have taken effect, so that it is no failure
    except KafkaError as error:
        if error.code in FENCED:
            raise Fenced(str(error)) from error
        raise _failed(error, settings, prefix, doing) from error
    finally:
        sender.close()
        if is_abortable:
            _abort(client, name, identity, client.deadline(settings.abort_timeout_ms))


def _abort(client: Client, name: str, identity: ProducerIdentity, deadline: Deadline) -> None:
    """Abort as far as possible: the failure that led here is the one to report."""
    try:
        end(client, name, identity, commit=False, protocol=EXPLICIT, deadline=deadline)
    except KafkaError as error:
        if error.code not in FENCED | {ErrorCode.INVALID_TXN_STATE}:  # it is not open any more then
            own_log().warning("the transaction of %r could not be aborted, its timeout will end it: %s", name, error)


def _of_this_cluster(client: Client, offsets: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
    """Return the offsets of partitions that exist: the source may have been deleted, or be another cluster's."""
    unknown = {topic for topic, _ in offsets} - client.cluster.topics.keys()
    if unknown:
        client.refresh(unknown, client.deadline())
    topics = client.cluster.topics
    return {place: offset for place, offset in offsets.items() if place[1] in topics[place[0]].partitions}


def _failed(error: KafkaError, settings: SinkSettings, prefix: str, doing: str) -> SinkFailed:
    if doing.startswith("committing") and error.code is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        return SinkFailed(
            f"{doing} failed: {str(error).rstrip('.')}. This needs READ on the topics that the query reads:"
            ' have it granted, or set kafka.group.id to "" to commit none, then restart the query'
        )
    failure = explain(error, settings, prefix, doing)
    if doing.startswith("ending") and error.code.retriable:
        return SinkFailed(
            f"{failure}. It is not known whether the batch is decided, because no response came: the next run finds "
            "out, and writes it again or makes it visible"
        )
    return failure
