"""ElectLeaders (key 43), v0-2: make the preferred replica, or any replica, the leader of partitions.

With one node a partition has one replica, which leads it: there is never anything to elect. Each partition of a list is
answered with ELECTION_NOT_NEEDED, or UNKNOWN_TOPIC_OR_PARTITION where it does not exist. A request for all (null) lists
every topic without the partitions that have the right leader, as in Kafka. With several nodes
PREFERRED_LEADER_NOT_AVAILABLE and ELIGIBLE_LEADERS_NOT_AVAILABLE mean that the wanted replica does not run. A request
with no time left is REQUEST_TIMED_OUT, one with an unknown election type INVALID_REQUEST; an empty list is answered
before either is checked. Versions: 1 election types, and an error for the whole answer.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Iterable
from typing import TYPE_CHECKING

from barnabas.broker.runtime.refusals import Words, without_time
from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.broker.services import RequestContext, Services
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
    TopicPartitions,
)
from barnabas.storage.steps import Steps, mapped

if TYPE_CHECKING:
    from barnabas.broker.metadata.cluster.topology import PartitionKey

_PREFERRED, _ANY = 0, 1
_NOT_LISTED = {ErrorCode.ELECTION_NOT_NEEDED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
_ELECTION_TYPES = {_PREFERRED, _ANY}
_CODE_SINCE = 1
SLICE = 1_000
ELECTED_IN_A_TURN = 150
_TOPICS_OR_PARTITIONS = WorkClass(steps_max=SLICE, slice_ms=5, may_begin_again=False)
_NOT_NEEDED = KafkaError(ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition.")


def handle(
    request: ElectLeadersRequest, context: RequestContext
) -> ElectLeadersResponse | Future[ElectLeadersResponse]:
    return context.services.request_scheduler.in_slices(lambda: _elect(request, context), _TOPICS_OR_PARTITIONS)


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
    """Return, for every topic, the partitions that had another leader than they should."""
    if services.cluster.shared is None:
        return (
            yield from mapped(lambda name: ReplicaElectionResult(topic=name, partition_result=[]), names, at_once=1)
        )
    topics = services.catalogue.topics
    counts = {name: len(topics[name].partitions) for name in names}
    every = (TopicPartitions(topic=name, partitions=list(range(count))) for name, count in counts.items())
    results = yield from _each(every, None, services, preferred)
    for result in results:
        result.partition_result = [each for each in result.partition_result if each.error_code not in _NOT_LISTED]
    return results


def _each(
    topics: Iterable[TopicPartitions], refusal: KafkaError | None, services: Services, preferred: bool
) -> Steps[list[ReplicaElectionResult]]:
    results = []
    words, elections = Words(), _Elections(services, preferred)
    why_not = _NOT_NEEDED if services.cluster.shared is None else None
    for requested in topics:
        partitions = []
        for number in requested.partitions:
            result = PartitionResult(partition_id=number, error_code=ErrorCode.NONE, error_message=None)
            partitions.append(result)
            why = refusal or _unknown(requested.topic, number, services) or why_not
            if why is None:
                elections.add(requested.topic, result, words)
            else:
                _refuse(result, why, words)
            yield
        results.append(ReplicaElectionResult(topic=requested.topic, partition_result=partitions))
    if why_not is None:
        elections.hold(words)
    return results


def _refuse(result: PartitionResult, why: KafkaError, words: Words) -> None:
    result.error_code, result.error_message = why.code, words.of(why)


class _Elections:
    """Elections that are held together: in one change of the catalogue, and one of the placements."""

    def __init__(self, services: Services, preferred: bool) -> None:
        self._services = services
        self._preferred = preferred
        self._results: list[tuple[PartitionKey, PartitionResult]] = []

    def add(self, topic: str, result: PartitionResult, words: Words) -> None:
        """Hold an election for this partition, now or soon."""
        self._results.append(((topic, result.partition_id), result))
        if len(self._results) == ELECTED_IN_A_TURN:
            self.hold(words)

    def hold(self, words: Words) -> None:
        """Hold the elections that are still pending. Raises KafkaError and StorageError."""
        nodes = self._services.cluster.shared
        assert nodes is not None, "a single node cannot elect another leader"
        answers = nodes.elect(nodes.there(key for key, _ in self._results), preferred=self._preferred)
        for key, result in self._results:
            why = answers[key] if key in answers else _unknown(*key, self._services)
            if why is not None:
                _refuse(result, why, words)
        self._results.clear()


def _refusal(request: ElectLeadersRequest) -> KafkaError | None:
    """Return why the request is refused as a whole, or None."""
    if request.topic_partitions == []:
        return None
    if late := without_time(request.timeout_ms):
        return late
    if request.election_type not in _ELECTION_TYPES:
        return KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown election type {request.election_type}")
    return None


def _unknown(name: str, number: int, services: Services) -> KafkaError | None:
    """Return why there is no such partition; None if there is."""
    topic = services.catalogue.topics.get(name)
    if topic is None:
        return KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name}")
    if not 0 <= number < len(topic.partitions):
        return KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {name}-{number}")
    return None
