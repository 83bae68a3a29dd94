"""How the APIs of the share coordinator answer (keys 83 to 87): each share partition for itself, in order.

A request without a group id, without topics, or with a topic without partitions gets an answer without results, as in
Kafka. Many partitions are served in slices; what has begun is completed, even if the client does not wait any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from barnabas.broker.partitions.share.persister import SharePartitionKey
from barnabas.broker.runtime.replies import Reply, reply_to, reply_to_all
from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.broker.services import Services
from barnabas.protocol.errors import KafkaError
from barnabas.storage.steps import mapped

R = TypeVar("R")
"""The partition of a response."""
A = TypeVar("A")
"""The response."""

_AT_ONCE = 4  # each may begin to load a partition of the coordinator's topic
_SERVING = WorkClass(may_begin_again=False)


class RequestedPartition(Protocol):
    """A partition of a request."""

    partition: int


P = TypeVar("P", bound=RequestedPartition)


class RequestedStates(Protocol):
    """A request with share partitions by topic."""

    @property
    def group_id(self) -> str: ...

    @property
    def topics(self) -> Sequence[Any]: ...


def serve_each(
    request: RequestedStates,
    services: Services,
    serve: Callable[[SharePartitionKey, P], Reply[R]],
    refused: Callable[[int, KafkaError], R],
    respond: Callable[[list[tuple[bytes, list[R]]]], A],
) -> Reply[A]:
    """Return the response with the result of `serve` for each partition, or of `refused` with its error."""
    group_id, topics = request.group_id, request.topics
    if not group_id or not topics or not all(topic.partitions for topic in topics):
        return respond([])

    def serve_one(requested: tuple[bytes, P]) -> Reply[R]:
        topic_id, partition = requested
        number = partition.partition
        key = SharePartitionKey(group_id, topic_id, number)
        return reply_to(lambda: serve(key, partition), _itself, lambda refusal: refused(number, refusal))

    def by_topic(results: list[R]) -> A:
        left = iter(results)
        return respond([(topic.topic_id, [next(left) for _ in topic.partitions]) for topic in topics])

    def all_of(replies: list[Reply[R]]) -> Reply[A]:
        return reply_to_all(replies, by_topic, _never_refused)

    return reply_to(
        lambda: services.request_scheduler.to_the_end(
            lambda: mapped(serve_one, _requested(topics), _AT_ONCE), _SERVING
        ),
        all_of,
    )


def _requested(topics: Sequence[Any]) -> Iterator[tuple[bytes, Any]]:
    for topic in topics:
        for partition in topic.partitions:
            yield topic.topic_id, partition


def _itself(result: R) -> R:
    return result


def _never_refused(refusal: KafkaError) -> Any:
    raise AssertionError(f"a refusal is a result: {refusal}")
