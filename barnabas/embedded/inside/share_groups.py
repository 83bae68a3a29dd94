"""Share groups in plain values (KIP-932): the fields of barnabas.embedded.answers.SharedGroup.

A view of the broker's read model (broker/insight/inspection/), and it waits where that does not: for loading. Records
in flight are known of share partitions that a member fetches. Of all others the stored start and lag are known.
"""

from __future__ import annotations

from typing import Any

from barnabas.broker.control.share_locks import coordinated_share_group
from barnabas.broker.insight.inspection.logs import ends
from barnabas.broker.insight.inspection.share_partitions import DeliveryRange, UsedSharePartition, used_share_partitions
from barnabas.broker.partitions.share.persister import NOT_STARTED, UNKNOWN_COUNT, SharePartitionKey
from barnabas.broker.services import Services

_RANGES_MAX = 10_000
_ANY_EPOCH = -1

Fields = tuple[Any, ...]


async def share_group(services: Services, group_id: str) -> Fields:
    """Return the state, the ids of the members, and the partitions. Raises KafkaError."""
    node, group = await coordinated_share_group(services, group_id)
    used = {(each.topic, each.partition): each for each in used_share_partitions(services, group_id)}
    begun = {
        (topic.name, number): SharePartitionKey(group_id, topic_id, number)
        for topic_id, topic in node.groups.share.initialized(group_id).items()
        if topic_id in node.catalogue.topics_by_id
        for number in topic.partitions
    }
    partitions = []
    for place, key in sorted(begun.items()):
        live = used.get(place)
        partitions.append(_live(live) if live is not None else await _stored(node, key, *place))
    return group.state.value, sorted(group.members), partitions


def held_records(services: Services) -> list[tuple[str, list[Fields]]]:
    """Return the records that members hold, by group: (topic, partition, the fields of a range)."""
    found: dict[str, list[Fields]] = {}
    used = used_share_partitions(services)
    for each in sorted(used, key=lambda each: (each.group_id, each.topic, each.partition)):
        held = [_range(one) for one in each.ranges(_RANGES_MAX) if one.member_id is not None]
        if held:
            found.setdefault(each.group_id, []).extend((each.topic, each.partition, *one) for one in held)
    return list(found.items())


def _live(used: UsedSharePartition) -> Fields:
    found = used.summary()
    start_offset, lag = (None, None) if found is None else (found.start_offset, found.lag)
    return used.topic, used.partition, start_offset, lag, [_range(each) for each in used.ranges(_RANGES_MAX)]


async def _stored(node: Services, key: SharePartitionKey, topic: str, partition: int) -> Fields:
    stored = await node.persister.summarize(key, _ANY_EPOCH)
    if stored.start_offset == NOT_STARTED:
        return topic, partition, None, None, []
    end = ends(node, topic, partition)
    if end is None or stored.delivery_complete_count == UNKNOWN_COUNT:
        return topic, partition, stored.start_offset, None, []
    lag = max(0, end.high_watermark - stored.start_offset - stored.delivery_complete_count)
    return topic, partition, stored.start_offset, lag, []


def _range(found: DeliveryRange) -> Fields:
    state = found.state.name.lower()
    return found.first_offset, found.last_offset, state, found.delivery_count, found.member_id, found.lock_left_ms
