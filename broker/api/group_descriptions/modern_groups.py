"""The describing of modern groups: what ConsumerGroupDescribe, ShareGroupDescribe and StreamsGroupDescribe have alike.

Each group is described in a slice of its own, and answered with its own code. The answer waits until what it shows is
on the disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from barnabas.broker.api.group_descriptions.repeated_ids import each_described
from barnabas.broker.coordinator.runtime.replies_after_sync import once_synced
from barnabas.broker.runtime.replies import Reply, reply_to
from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.registry import ApiKey, response_codec
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from barnabas.broker.services import RequestContext

G = TypeVar("G")
"""The group of a response."""
R = TypeVar("R")
"""The response."""

_GROUPS = WorkClass()


def describe_each(
    group_ids: Iterable[str],
    context: RequestContext,
    *,
    is_offered: bool,
    describe: Callable[[str], G],
    undescribed: Callable[..., G],
    respond: Callable[..., R],
) -> Reply[R]:
    """Return the response with the groups. `undescribed`: makes a group from its id, an error code and a message.

    UNSUPPORTED_VERSION for each group if groups of this type are not offered, INVALID_GROUP_ID for an empty id, and the
    errors of `describe`.
    """
    codec = response_codec(ApiKey(context.api_key), context.api_version)

    def refused(group_id: str, error: KafkaError) -> G:
        return undescribed(group_id=group_id, error_code=error.code, error_message=error.message)

    def described(group_id: str) -> G:
        try:
            if not is_offered:
                raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
            if not group_id:
                raise KafkaError(ErrorCode.INVALID_GROUP_ID)
            return describe(group_id)
        except KafkaError as error:
            return refused(group_id, error)

    def size_in_bytes(group: G) -> int:
        response: Any = respond(groups=[group])
        return len(codec.encode(response))

    def all_described() -> Steps[R]:
        return respond(groups=(yield from each_described(group_ids, described, size_in_bytes, refused)))

    services = context.services
    return reply_to(
        lambda: services.request_scheduler.in_slices(all_described, _GROUPS),
        lambda response: once_synced(response, services.groups.unsynced()),
    )


def named_topics(
    partitions: Mapping[bytes, Iterable[int]], context: RequestContext
) -> Iterator[tuple[bytes, str, list[int]]]:
    """Return id, name and partitions of each topic that exists."""
    topics = context.services.catalogue.topics_by_id
    return (
        (topic_id, topics[topic_id].name, list(numbers))
        for topic_id, numbers in partitions.items()
        if topic_id in topics
    )
