"""Facts about the partitions that a share group reads: who is assigned them, and what can be acquired."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.insight.inspection.share_partitions import (
    UsedSharePartition,
    share_sessions,
    used_share_partitions,
)
from barnabas.broker.insight.why.group_types.share_groups import assigned_partitions
from barnabas.broker.insight.why.partitions import opened
from barnabas.broker.insight.why.rules.share_consumer import SharePartitionFacts
from barnabas.broker.metadata.config_resources.groups import GroupConfigs
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from barnabas.broker.config.resources.share_groups import ShareGroupSettings
    from barnabas.broker.coordinator.group.decisions.share.group import ShareGroup
    from barnabas.broker.services import Services

PARTITIONS_MAX = 100
"""Maximum number of partitions examined, by topic and number."""
_MEMBERS_MAX = 10
"""Maximum number of members named per partition."""


def share_partition_facts(
    services: Services, group: ShareGroup, topic: str | None
) -> Steps[tuple[tuple[SharePartitionFacts, ...], int]]:
    """Return, in steps, the facts of the group's partitions that have a state; and how many more there are."""
    settings = GroupConfigs(services.catalogue, services.config).share_group(group.group_id)
    assigned = yield from assigned_partitions(services, group)
    used = {(each.topic, each.partition): each for each in used_share_partitions(services, group.group_id)}
    fetching = {each.member_id for each in share_sessions(services) if each.group_id == group.group_id}
    places = [
        (name, number)
        for topic_id, numbers in group.states.initialized_partitions.items()
        if (there := services.catalogue.topics_by_id.get(topic_id)) is not None
        for name in [there.name]
        if topic in (None, name) and (name in group.subscribed_topics() or not group.members)
        for number in numbers
    ]
    found = []
    for place in sorted(places)[:PARTITIONS_MAX]:
        members = assigned.get(place, [])
        facts = SharePartitionFacts(
            *place,
            assigned_to=tuple(members[:_MEMBERS_MAX]),
            sessions_count=sum(each in fetching for each in members),
            locks_max=settings.partition_max_record_locks,
        )
        found.append(_with_state(services, facts, used.get(place), settings))
        yield
    return tuple(found), max(0, len(places) - PARTITIONS_MAX)


def _with_state(
    services: Services, facts: SharePartitionFacts, used: UsedSharePartition | None, settings: ShareGroupSettings
) -> SharePartitionFacts:
    log = opened(services, facts.topic, facts.partition)
    if isinstance(log, str):
        return facts._replace(trouble=log)
    summary = None if used is None else used.summary()
    if summary is None:
        return facts
    end = 0 if log is None else log.high_watermark
    readable = end if log is None or not settings.is_read_committed else log.last_stable_offset
    return facts._replace(
        is_used=True,
        start_offset=summary.start_offset,
        end_offset=summary.end_offset,
        available=summary.available,
        acquired=summary.acquired,
        by_member=tuple(sorted(summary.by_member.items(), key=lambda each: -each[1])[:_MEMBERS_MAX]),
        next_lock_left_ms=summary.next_lock_left_ms,
        lag=summary.lag,
        span=summary.span,
        readable_end=readable,
        high_watermark=end,
    )
