"""AlterPartitionReassignments (key 45), v0-1: move partitions to other replicas, or cancel (null) their moves.

With one node, every partition has that node as its only replica. A request for it is no change, and done at once; any
other list of replicas is INVALID_REPLICA_ASSIGNMENT. Several nodes of one process read the same log, so a partition has
moved when the request is answered (decision 0112); INVALID_REPLICA_ASSIGNMENT is also the answer if none of its new
replicas runs, or if the partition has no leader and none of them is in sync. There never is a move to cancel:
NO_REASSIGNMENT_IN_PROGRESS. A request with no time left is REQUEST_TIMED_OUT, unless it is empty. Versions: 1 whether
the replication factor may change, else INVALID_REPLICATION_FACTOR.
"""

from __future__ import annotations

from asyncio import Future

from barnabas.broker.metadata.image.topic_changes import check_replicas
from barnabas.broker.runtime.refusals import Words, without_time
from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.broker.services import RequestContext, Services
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from barnabas.storage.steps import Steps

_Wish = tuple[str, ReassignablePartition, ReassignablePartitionResponse]
"""The topic, the requested change, and the answer."""
_PARTITIONS = WorkClass(steps_max=1_000, slice_ms=5, may_begin_again=False)
MOVED_IN_A_TURN = 150


def handle(
    request: AlterPartitionReassignmentsRequest, context: RequestContext
) -> AlterPartitionReassignmentsResponse | Future[AlterPartitionReassignmentsResponse]:
    if not request.topics:  # an empty message, as in Kafka, where otherwise there is none
        return AlterPartitionReassignmentsResponse(error_code=ErrorCode.NONE, error_message="", responses=[])
    return context.services.request_scheduler.in_slices(lambda: _alter(request, context.services), _PARTITIONS)


def _alter(
    request: AlterPartitionReassignmentsRequest, services: Services
) -> Steps[AlterPartitionReassignmentsResponse]:
    late = without_time(request.timeout_ms)
    words, may_change_factor = Words(), request.allow_replication_factor_change
    topics = []
    wishes: list[_Wish] = []
    for topic in request.topics:
        partitions = []
        for wish in topic.partitions:
            why = late or _why_not(topic.name, wish, may_change_factor, services)
            answer = ReassignablePartitionResponse(
                partition_index=wish.partition_index, error_code=ErrorCode.NONE, error_message=None
            )
            if why is None:
                wishes.append((topic.name, wish, answer))
            else:
                _refuse(answer, why, words)
            partitions.append(answer)
            yield
        topics.append(ReassignableTopicResponse(name=topic.name, partitions=partitions))
    if services.cluster.shared is not None:
        for first in range(0, len(wishes), MOVED_IN_A_TURN):
            some = wishes[first : first + MOVED_IN_A_TURN]
            services.cluster.shared.reassign(_still_possible(some, may_change_factor, services, words))
            yield
    response = AlterPartitionReassignmentsResponse(error_code=ErrorCode.NONE, error_message=None, responses=topics)
    if late:
        response.error_code = late.code
    else:
        response.allow_replication_factor_change = request.allow_replication_factor_change
    return response


def _still_possible(
    wishes: list[_Wish], may_change_factor: bool, services: Services, words: Words
) -> dict[tuple[str, int], list[int]]:
    """Return the replicas to set now; refuse a change that became impossible since its check in an earlier slice."""
    found = {}
    for name, wish, answer in wishes:
        why = _why_not(name, wish, may_change_factor, services)
        if why is not None:
            _refuse(answer, why, words)
        elif wish.replicas is not None:
            found[name, wish.partition_index] = wish.replicas
    return found


def _refuse(answer: ReassignablePartitionResponse, why: KafkaError, words: Words) -> None:
    answer.error_code, answer.error_message = why.code, words.of(why)


def _why_not(name: str, wish: ReassignablePartition, may_change_factor: bool, services: Services) -> KafkaError | None:
    """Return why the partition cannot have the requested replicas; None if it can."""
    topic = services.catalogue.topics.get(name)
    if topic is None:
        return KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {name}.")
    if not 0 <= wish.partition_index < len(topic.partitions):
        return KafkaError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition {name}:{wish.partition_index}."
        )
    if wish.replicas is None:
        return KafkaError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    try:
        check_replicas(wish.replicas, services.cluster.brokers)
    except KafkaError as refusal:
        return refusal
    nodes = services.cluster.shared
    if nodes is None:
        return None
    have = len(nodes.of(name, wish.partition_index).replicas)
    if not may_change_factor and len(wish.replicas) != have:
        return KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"The replication factor is changed from {have} to {len(wish.replicas)}",
        )
    try:
        nodes.reassigned(name, wish.partition_index, wish.replicas)
    except KafkaError as refusal:
        return refusal
    return None
