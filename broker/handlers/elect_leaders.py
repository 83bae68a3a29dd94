"""ElectLeaders (key 43), v0-2: make the preferred replica, or any replica, the leader of partitions.

With one node a partition has one replica, which leads it: there is never anything to elect. Each partition of a list is
answered with ELECTION_NOT_NEEDED, or UNKNOWN_TOPIC_OR_PARTITION where it does not exist. Asked for all (null), every
topic is listed without the partitions that have the right leader, as in Kafka. With several nodes
PREFERRED_LEADER_NOT_AVAILABLE and ELIGIBLE_LEADERS_NOT_AVAILABLE say that the replica wanted does not run. A request
that leaves no time is REQUEST_TIMED_OUT, one with an unknown election type INVALID_REQUEST; an empty list is answered
before either is looked at. Versions: 1 election types, and an error for the whole answer.
"""

from __future__ import annotations

from asyncio import Future

from barnabas.broker.context import RequestContext, Services
from barnabas.broker.refusals import Words, without_time
from barnabas.broker.slices import Kind
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
    TopicPartitions,
)
from barnabas.storage.steps import Steps

_PREFERRED, _ANY = 0, 1
_ELECTION_TYPES = {_PREFERRED, _ANY}
_CODE_SINCE = 1
SLICE = 1_000
_TOPICS_OR_PARTITIONS = Kind(steps_max=SLICE, slice_ms=5)


def handle(
    request: ElectLeadersRequest, context: RequestContext
) -> ElectLeadersResponse | Future[ElectLeadersResponse]:
    return context.services.slices.in_slices(lambda: _elect(request, context), _TOPICS_OR_PARTITIONS)


def _elect(request: ElectLeadersRequest, context: RequestContext) -> Steps[ElectLeadersResponse]:
    refusal, services = _refusal(request), context.services
    preferred = request.election_type == _PREFERRED
    if request.topic_partitions is not None:
        results = yield from _each(request.topic_partitions, refusal, services, preferred)
    else:
        results = yield from _all([] if refusal else list(services.catalogue.topics), services, preferred)
    code = refusal.code if refusal is not None and context.api_version >= _CODE_SINCE else ErrorCode.NONE
    return ElectLeadersResponse(error_code=code, replica_election_results=results)


def _all(names: list[str], services: Services, preferred: bool) -> Steps[list[ReplicaElectionResult]]:
    results, words, nodes = [], Words(), services.cluster.shared
    for name in names:
        topic = services.catalogue.topics.get(name)
        partitions = []
        if nodes is not None and topic is not None:
            answers = nodes.elect([(name, number) for number in range(len(topic.partitions))], preferred=preferred)
            needed = [
                (number, why)
                for (_, number), why in answers.items()
                if why is None or why.code is not ErrorCode.ELECTION_NOT_NEEDED
            ]
            partitions = [_result(number, why, words) for number, why in needed]
        results.append(ReplicaElectionResult(topic=name, partition_result=partitions))
        yield
    return results


def _result(number: int, why: KafkaError | None, words: Words) -> PartitionResult:
    if why is None:
        return PartitionResult(partition_id=number, error_code=ErrorCode.NONE, error_message=None)
    return PartitionResult(partition_id=number, error_code=why.code, error_message=words.of(why))


def _each(
    topics: list[TopicPartitions], refusal: KafkaError | None, services: Services, preferred: bool
) -> Steps[list[ReplicaElectionResult]]:
    results = []
    words = Words()
    for asked in topics:
        partitions = []
        for number in asked.partitions:
            why = refusal or _elect_one(asked.topic, number, services, preferred)
            partitions.append(_result(number, why, words))
            yield
        results.append(ReplicaElectionResult(topic=asked.topic, partition_result=partitions))
    return results


def _refusal(request: ElectLeadersRequest) -> KafkaError | None:
    """Why nothing of the request is looked at."""
    if request.topic_partitions == []:
        return None
    if late := without_time(request.timeout_ms):
        return late
    if request.election_type not in _ELECTION_TYPES:
        return KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown election type {request.election_type}")
    return None


def _elect_one(name: str, number: int, services: Services, preferred: bool) -> KafkaError | None:
    """Why nobody else leads the partition now; None if somebody does."""
    topic = services.catalogue.topics.get(name)
    if topic is None:
        return KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name}")
    if not 0 <= number < len(topic.partitions):
        return KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {name}-{number}")
    if services.cluster.shared is not None:
        return services.cluster.shared.elect([(name, number)], preferred=preferred)[name, number]
    return KafkaError(ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition.")
