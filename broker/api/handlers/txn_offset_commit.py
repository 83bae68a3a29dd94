# compiled: mypyc
"""TxnOffsetCommit (key 28), v0-6: commit offsets of a group within a transaction; they count once it is committed.

Sent to the coordinator of the group. Each partition has its own code: UNKNOWN_TOPIC_OR_PARTITION (a topic in v6:
UNKNOWN_TOPIC_ID), OFFSET_METADATA_TOO_LARGE, or the code for all. First of the transaction coordinator
(coordinator/transaction/verification.py): INVALID_PRODUCER_ID_MAPPING, INVALID_PRODUCER_EPOCH, INVALID_TXN_STATE, from
v4 on TRANSACTION_ABORTABLE, and CONCURRENT_TRANSACTIONS. Then of the group: INVALID_GROUP_ID, ILLEGAL_GENERATION,
UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID; the member is checked only if the request names one (KIP-447); a member of a
group that does not exist gets GROUP_ID_NOT_FOUND (before v6: ILLEGAL_GENERATION). The decision is in
coordinator/group/decisions/offsets. Versions: 2 leader epoch, 3 flexible, member and generation, 5 adds the group's
partition to the transaction by itself, 6 topic ids (KIP-1319).
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.api.current_request import keep_current_request
from barnabas.broker.coordinator.group.decisions.classic.model import CommitRequest, OffsetToCommit
from barnabas.broker.coordinator.runtime.outcome import TransactionProducer, as_coordinator_error
from barnabas.broker.coordinator.transaction.decisions.model import TopicPartition
from barnabas.broker.coordinator.transaction.verification import (
    OFFSET_COMMIT_ADDS_SINCE,
    Verdicts,
    admit,
    confirm,
    txn_offset_commit_error,
)
from barnabas.broker.partitions.opening.recoveries import StillRecovering
from barnabas.broker.runtime.replies import Reply, reply_to
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.files.names import CONSUMER_OFFSETS_TOPIC
from barnabas.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from barnabas.storage.steps import AT_ONCE, Pauses, Steps

if TYPE_CHECKING:
    from barnabas.broker.metadata.catalogue import TopicImage

Codes = tuple[ErrorCode, ...]

_LOAD_IN_PROGRESS_SINCE = 2
_GROUP_ID_NOT_FOUND_SINCE = 6
_STALE_MEMBER_EPOCH_SINCE = 6
_TOPIC_IDS_SINCE = 6


class _Commit(NamedTuple):
    """One request in progress."""

    request: TxnOffsetCommitRequest
    context: RequestContext
    response: TxnOffsetCommitResponse
    wanted: list[OffsetToCommit]
    awaited: list[TxnOffsetCommitResponsePartition]
    """The partitions of the response that wait for the codes of `wanted`."""


def handle(request: TxnOffsetCommitRequest, context: RequestContext) -> Reply[TxnOffsetCommitResponse]:
    return reply_to(
        partial(context.services.request_scheduler.in_slices, partial(_validate, request, context)),
        partial(_validated, keep_current_request(context.services)),
    )


def _validated(
    as_current_request: Callable[[Callable[[], Reply[TxnOffsetCommitResponse]]], Reply[TxnOffsetCommitResponse]],
    given: _Commit,
) -> Reply[TxnOffsetCommitResponse]:
    return as_current_request(partial(_admit_and_commit, given))


def _admit_and_commit(given: _Commit) -> Reply[TxnOffsetCommitResponse]:
    request, context = given.request, given.context
    if len(given.wanted) >= AT_ONCE:
        given = _without_deleted(given)
    if not given.wanted:
        return given.response
    try:
        where = CONSUMER_OFFSETS_TOPIC, context.services.groups.offsets_partition(request.group_id)
        verdicts = _admission(given, where)
    except StillRecovering:
        return _refused(given, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    except KafkaError as error:
        return _refused(given, as_coordinator_error(error.code))  # e.g. another node leads it: NOT_COORDINATOR
    if isinstance(verdicts, Future):
        return reply_to(lambda: verdicts, partial(_commit_if_it_holds, given, where))
    return _commit(given, verdicts[where])


def _admission(given: _Commit, where: TopicPartition) -> Reply[Verdicts]:
    """Return the transaction coordinator's answer, without a call if the transaction is open already."""
    request, context = given.request, given.context
    services = context.services
    adds = context.api_version >= OFFSET_COMMIT_ADDS_SINCE
    is_verified = adds or services.config.boolean("transaction.partition.verification.enable")
    log = services.partitions.get_led(*where)
    if not is_verified or log.has_open_transaction(request.producer_id, request.producer_epoch):
        return {where: ErrorCode.NONE}
    return admit(
        services.transactions_of(request.transactional_id),
        request.transactional_id,
        request.producer_id,
        request.producer_epoch,
        [where],
        adds=adds,
    )


def _commit_if_it_holds(given: _Commit, where: TopicPartition, admitted: Verdicts) -> Reply[TxnOffsetCommitResponse]:
    """Commit after the coordinator's answer, only if it is still valid then."""
    code = admitted[where]
    if code is ErrorCode.NONE:
        request = given.request
        producer = request.producer_id, request.producer_epoch
        transactions = given.context.services.transactions_of(request.transactional_id)
        code = confirm(transactions, request.transactional_id, *producer, [where])[where]
    return _commit(_without_deleted(given), code)


def _without_deleted(given: _Commit) -> _Commit:
    """Remove the offsets of topics that were deleted while the request waited, because they would never be deleted."""
    there = given.context.services.catalogue.topics_by_id
    kept = []
    for offset, answer in zip(given.wanted, given.awaited, strict=True):
        if offset.topic_id in there:
            kept.append((offset, answer))
        else:
            answer.error_code = _unknown_topic(given.context)
    return given._replace(wanted=[offset for offset, _ in kept], awaited=[answer for _, answer in kept])


def _commit(given: _Commit, verdict: ErrorCode) -> Reply[TxnOffsetCommitResponse]:
    request, context, response, wanted, awaited = given
    if verdict is not ErrorCode.NONE:
        return _refused(given, txn_offset_commit_error(verdict, context.api_version))
    commit = CommitRequest(
        request.group_id,
        request.generation_id_or_member_epoch,
        request.member_id,
        request.group_instance_id,
        tuple(wanted),
        has_member_epoch=context.api_version >= _STALE_MEMBER_EPOCH_SINCE,
    )
    producer = TransactionProducer(request.producer_id, request.producer_epoch)
    has_own_code = context.api_version >= _GROUP_ID_NOT_FOUND_SINCE
    missing_group = ErrorCode.GROUP_ID_NOT_FOUND if has_own_code else ErrorCode.ILLEGAL_GENERATION
    return reply_to(
        lambda: context.services.groups.commit_offsets_in_transaction(commit, producer, missing_group=missing_group),
        lambda codes: _filled(response, awaited, codes),
        lambda refusal: _refused(given, refusal.code),
    )


def _validate(request: TxnOffsetCommitRequest, context: RequestContext) -> Steps[_Commit]:
    """Return the response as far as it is known, and the offsets to commit."""
    wanted: list[OffsetToCommit] = []
    awaited: list[TxnOffsetCommitResponsePartition] = []
    topics: list[TxnOffsetCommitResponseTopic] = []
    pauses = Pauses()
    for given in request.topics:
        topic = _topic(given, context)
        answers = []
        for partition in given.partitions:
            index = partition.partition_index
            answer = TxnOffsetCommitResponsePartition(partition_index=index, error_code=ErrorCode.NONE)
            answers.append(answer)
            if pauses.is_due():
                yield
            if topic is None or not 0 <= index < len(topic.partitions):
                unknown = _unknown_topic(context) if topic is None else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                answer.error_code = unknown
                continue
            awaited.append(answer)
            wanted.append(
                OffsetToCommit(
                    topic.name,
                    topic.topic_id,
                    index,
                    partition.committed_offset,
                    partition.committed_leader_epoch,
                    partition.committed_metadata or "",
                )
            )
        topics.append(TxnOffsetCommitResponseTopic(name=given.name, topic_id=given.topic_id, partitions=answers))
    return _Commit(request, context, TxnOffsetCommitResponse(topics=topics), wanted, awaited)


def _topic(given: TxnOffsetCommitRequestTopic, context: RequestContext) -> TopicImage | None:
    catalogue = context.services.catalogue
    if context.api_version >= _TOPIC_IDS_SINCE:
        return catalogue.topics_by_id.get(given.topic_id)
    return catalogue.topics.get(given.name)


def _unknown_topic(context: RequestContext) -> ErrorCode:
    """Return the code for the partitions of a topic that does not exist."""
    if context.api_version >= _TOPIC_IDS_SINCE:
        return ErrorCode.UNKNOWN_TOPIC_ID
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _refused(given: _Commit, code: ErrorCode) -> TxnOffsetCommitResponse:
    """Return the same code for all open answers; the oldest clients do not know COORDINATOR_LOAD_IN_PROGRESS."""
    if code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and given.context.api_version < _LOAD_IN_PROGRESS_SINCE:
        code = ErrorCode.COORDINATOR_NOT_AVAILABLE
    return _filled(given.response, given.awaited, (code,) * len(given.awaited))


def _filled(
    response: TxnOffsetCommitResponse, awaited: list[TxnOffsetCommitResponsePartition], codes: Codes
) -> TxnOffsetCommitResponse:
    for answer, code in zip(awaited, codes, strict=True):
        answer.error_code = code
    return response
