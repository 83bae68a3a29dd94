"""The requests of a transaction, one function each, for any transactional id with any producer id and epoch.

No state is stored between calls, so one process may begin a transaction that another one ends: code that knows the
transactional id, the producer id and the epoch may add, commit and abort. TransactionalProducer tracks them for one
producer.

Two protocols (KIP-890). In the older (1) partitions and the group's offsets are added by separate requests, and an
epoch stays the same. In the newer (2) writing adds them, and each end of a transaction returns the next epoch.
A request's version determines the protocol, hence the limits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from barnabas.client.client import GROUP, TRANSACTION, Client
from barnabas.client.clock import Deadline
from barnabas.client.errors import ConnectionFailed, raise_for
from barnabas.client.metadata import TopicPartition
from barnabas.protocol.codec.schema import Request
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from barnabas.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from barnabas.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from barnabas.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from barnabas.protocol.registry import ApiKey

T = TypeVar("T")

TRANSACTION_VERSION = "transaction.version"
EXPLICIT, IMPLICIT = 1, 2  # the two protocols: partitions are added by requests, or by writing

_TWO_PHASE_SINCE = 6
# The highest versions of the older protocol. From v4 on AddPartitionsToTxn is used between brokers.
_EXPLICIT_VERSIONS = {
    ApiKey.PRODUCE: 11,
    ApiKey.ADD_PARTITIONS_TO_TXN: 3,
    ApiKey.END_TXN: 4,
    ApiKey.TXN_OFFSET_COMMIT: 4,
}
_IMPLICIT_SINCE = {ApiKey.PRODUCE: 12, ApiKey.END_TXN: 5, ApiKey.TXN_OFFSET_COMMIT: 5}
_STILL_THE_COORDINATOR = frozenset({ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS})

_WITHOUT_EFFECT = frozenset({ErrorCode.CONCURRENT_TRANSACTIONS})
"""Responses to EndTxn that say that nothing was stored. Others that are retriable also come after a write: when it
timed out, or when the coordinator moved meanwhile."""


class EndUnanswered(KafkaError):
    """An EndTxn that was sent, and may have taken effect or not: no response, or one that does not say.

    UNKNOWN_SERVER_ERROR, so that it is not retried.
    """

    def __init__(self, cause: KafkaError) -> None:
        super().__init__(ErrorCode.UNKNOWN_SERVER_ERROR, str(cause))

    def __str__(self) -> str:
        return self.message


class ProducerIdentity(NamedTuple):
    """The identity of a producer for the broker."""

    producer_id: int
    producer_epoch: int


NO_PRODUCER = ProducerIdentity(-1, -1)


class Initialised(NamedTuple):
    """The producer's new identity; and that of the preserved prepared transaction, if there is one."""

    identity: ProducerIdentity
    ongoing: ProducerIdentity | None = None


class ConsumerGroupMetadata(NamedTuple):
    """The member whose offsets are committed. Without a generation the broker does not check the member."""

    group_id: str
    generation_id: int = -1
    member_id: str = ""
    instance_id: str | None = None


def highest_version(api: ApiKey, protocol: int) -> int | None:
    """Return the highest version of an API in the protocol; None for no limit."""
    return _EXPLICIT_VERSIONS.get(api) if protocol == EXPLICIT else None


def find_protocol(client: Client, transactional_id: str, deadline: Deadline | None = None) -> int:
    """Return the coordinator's protocol: the newer one if transaction.version is 2 and all APIs are offered."""

    def attempt(deadline: Deadline) -> int:
        coordinator = client.coordinator(TRANSACTION, transactional_id, deadline)
        if coordinator.features.get(TRANSACTION_VERSION, 0) < IMPLICIT:
            return EXPLICIT
        offered = coordinator.versions
        is_offered = all(api in offered and offered[api].high >= since for api, since in _IMPLICIT_SINCE.items())
        return IMPLICIT if is_offered else EXPLICIT

    return _until_done(client, TRANSACTION, transactional_id, attempt, deadline)


def init_producer(
    client: Client,
    transactional_id: str,
    *,
    timeout_ms: int,
    known: ProducerIdentity = NO_PRODUCER,
    enable_2pc: bool = False,
    keep_prepared: bool = False,
    deadline: Deadline | None = None,
) -> Initialised:
    """Become the producer of this transactional id: the previous one is fenced, its open transaction aborted.

    timeout_ms: how long a transaction may stay open. known: continue as this producer, with the next epoch.
    enable_2pc, keep_prepared: KIP-939; UnsupportedByBroker if that is disabled.
    """
    request = InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=timeout_ms,
        producer_id=known.producer_id,
        producer_epoch=known.producer_epoch,
        enable2_pc=enable_2pc,
        keep_prepared_txn=keep_prepared,
    )
    two_phase = enable_2pc or keep_prepared

    def attempt(deadline: Deadline) -> Initialised:
        coordinator = client.coordinator(TRANSACTION, transactional_id, deadline)
        if two_phase and coordinator.version(ApiKey.INIT_PRODUCER_ID) < _TWO_PHASE_SINCE:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"{coordinator.address} offers no two-phase commits")
        response: InitProducerIdResponse = coordinator.ask(request, deadline)
        raise_for(response.error_code, None, f"transactional id {transactional_id!r}")
        ongoing = ProducerIdentity(response.ongoing_txn_producer_id, response.ongoing_txn_producer_epoch)
        return Initialised(
            ProducerIdentity(response.producer_id, response.producer_epoch), None if ongoing == NO_PRODUCER else ongoing
        )

    return _until_done(client, TRANSACTION, transactional_id, attempt, deadline)


def add_partitions(
    client: Client,
    transactional_id: str,
    identity: ProducerIdentity,
    partitions: Iterable[TopicPartition],
    deadline: Deadline | None = None,
) -> None:
    """Add these partitions to the transaction (the older protocol). KafkaError for the first refused one."""
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        topics.setdefault(topic, []).append(partition)
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=transactional_id,
        v3_and_below_producer_id=identity.producer_id,
        v3_and_below_producer_epoch=identity.producer_epoch,
        v3_and_below_topics=[AddPartitionsToTxnTopic(name=name, partitions=each) for name, each in topics.items()],
    )

    def read(response: AddPartitionsToTxnResponse) -> None:
        _raise_first(
            (partition.partition_error_code, f"{topic.name}-{partition.partition_index} in {transactional_id!r}")
            for topic in response.results_by_topic_v3_and_below
            for partition in topic.results_by_partition
        )

    _ask(client, TRANSACTION, transactional_id, request, read, EXPLICIT, deadline)


def add_offsets(
    client: Client,
    transactional_id: str,
    identity: ProducerIdentity,
    group_id: str,
    deadline: Deadline | None = None,
) -> None:
    """Add the offsets of a group to the transaction (the older protocol)."""
    request = AddOffsetsToTxnRequest(
        transactional_id=transactional_id,
        producer_id=identity.producer_id,
        producer_epoch=identity.producer_epoch,
        group_id=group_id,
    )

    def read(response: Any) -> None:
        raise_for(response.error_code, None, f"group {group_id!r} in {transactional_id!r}")

    _ask(client, TRANSACTION, transactional_id, request, read, EXPLICIT, deadline)


def commit_offsets(
    client: Client,
    transactional_id: str,
    identity: ProducerIdentity,
    member: ConsumerGroupMetadata,
    offsets: Mapping[TopicPartition, int],
    *,
    protocol: int,
    deadline: Deadline | None = None,
) -> None:
    """Commit offsets, each the next to be read, in the transaction: they take effect when it is committed."""
    topics: dict[str, list[TxnOffsetCommitRequestPartition]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        topics.setdefault(topic, []).append(
            TxnOffsetCommitRequestPartition(partition_index=partition, committed_offset=offset, committed_metadata="")
        )
    request = TxnOffsetCommitRequest(
        transactional_id=transactional_id,
        group_id=member.group_id,
        producer_id=identity.producer_id,
        producer_epoch=identity.producer_epoch,
        generation_id_or_member_epoch=member.generation_id,
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        topics=[TxnOffsetCommitRequestTopic(name=name, partitions=each) for name, each in topics.items()],
    )

    def read(response: TxnOffsetCommitResponse) -> None:
        _raise_first(
            (answer.error_code, f"offset of {topic.name}-{answer.partition_index} for group {member.group_id!r}")
            for topic in response.topics
            for answer in topic.partitions
        )

    _ask(client, GROUP, member.group_id, request, read, protocol, deadline)


def end(
    client: Client,
    transactional_id: str,
    identity: ProducerIdentity,
    *,
    commit: bool,
    protocol: int,
    deadline: Deadline | None = None,
) -> ProducerIdentity:
    """Commit or abort; return the identity for the next transaction.

    It is repeated after a lost response. In the older protocol that is harmless only while no one else writes as this
    producer: a repeated end would be that of their transaction, too. For others there is `end_once`.
    """
    return _ask(
        client,
        TRANSACTION,
        transactional_id,
        _end_request(transactional_id, identity, commit=commit),
        lambda response: _next_identity(transactional_id, identity, response, commit=commit, protocol=protocol),
        protocol,
        deadline,
    )


def end_once(
    client: Client, transactional_id: str, identity: ProducerIdentity, *, commit: bool, deadline: Deadline
) -> None:
    """Commit or abort in the older protocol, and repeat the request only if it certainly had no effect.

    Raise EndUnanswered if it was sent, and its effect is not known.
    """
    request = _end_request(transactional_id, identity, commit=commit)
    highest = highest_version(ApiKey.END_TXN, EXPLICIT)

    def attempt(limit: Deadline) -> None:
        connection = client.coordinator(TRANSACTION, transactional_id, limit)
        try:
            response = connection.ask(request, limit, highest_version=highest)
            _next_identity(transactional_id, identity, response, commit=commit, protocol=EXPLICIT)
        except KafkaError as error:
            is_known = not error.code.retriable or error.code in _WITHOUT_EFFECT
            if isinstance(error, ConnectionFailed) or not is_known:
                raise EndUnanswered(error) from error
            raise

    _until_done(client, TRANSACTION, transactional_id, attempt, deadline)


def _end_request(transactional_id: str, identity: ProducerIdentity, *, commit: bool) -> EndTxnRequest:
    return EndTxnRequest(
        transactional_id=transactional_id,
        producer_id=identity.producer_id,
        producer_epoch=identity.producer_epoch,
        committed=commit,
    )


def _next_identity(
    transactional_id: str, identity: ProducerIdentity, response: EndTxnResponse, *, commit: bool, protocol: int
) -> ProducerIdentity:
    raise_for(response.error_code, None, f"{'commit' if commit else 'abort'} of {transactional_id!r}")
    answered = ProducerIdentity(response.producer_id, response.producer_epoch)
    return identity if protocol == EXPLICIT or answered == NO_PRODUCER else answered


def _ask(
    client: Client,
    kind: int,
    key: str,
    request: Request,
    read: Callable[[Any], T],
    protocol: int,
    deadline: Deadline | None,
) -> T:
    highest = highest_version(ApiKey(request.__schema__.key or 0), protocol)
    return _until_done(
        client,
        kind,
        key,
        lambda deadline: read(client.coordinator(kind, key, deadline).ask(request, deadline, highest_version=highest)),
        deadline,
    )


def _until_done(client: Client, kind: int, key: str, attempt: Callable[[Deadline], T], deadline: Deadline | None) -> T:
    limit = deadline or client.deadline()

    def look_again(error: KafkaError) -> None:
        if error.code not in _STILL_THE_COORDINATOR:
            client.forget_coordinator(kind, key)

    return client.with_retries(lambda: attempt(limit), limit, look_again)


def _raise_first(answers: Iterable[tuple[int, str]]) -> None:
    """Raise the worst error: final before retriable, retriable before OPERATION_NOT_ATTEMPTED."""
    failure: KafkaError | None = None
    for code, where in answers:
        try:
            raise_for(code, None, where)
        except KafkaError as error:
            if failure is None or _weight(error.code) > _weight(failure.code):
                failure = error
    if failure is not None:
        raise failure


def _weight(code: ErrorCode) -> int:
    return 0 if code is ErrorCode.OPERATION_NOT_ATTEMPTED else 1 if code.retriable else 2
