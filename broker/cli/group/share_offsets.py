"""Where a share group starts, for `barnabas groups offsets`, `reset` and `delete --topic` (KIP-932).

`start_offset` is the one that was stored last: the first record of a partition that is not finished, or one before it.
`lag` counts the records that are not finished, as Kafka's tool does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from barnabas.broker.cli.terminal.failures import UsageError
from barnabas.client.admin.share_offsets import share_offsets

if TYPE_CHECKING:
    from barnabas.broker.cli.terminal.topic_choice import TopicChoice
    from barnabas.client.client import Client
    from barnabas.client.metadata import TopicPartition

SHARE_COLUMNS = ["topic", "partition", "start_offset", "lag", "members"]


def share_rows(
    client: Client, group: str, readers: Mapping[TopicPartition, Sequence[str]], chosen: set[TopicPartition] | None
) -> list[dict[str, Any]]:
    """Return a row for each partition that the group has begun, or reads. chosen: only of these."""
    offsets = share_offsets(client, group)
    places = sorted(offsets.keys() | readers.keys())
    return [
        {
            "topic": place[0],
            "partition": place[1],
            "start_offset": offsets[place].start_offset if place in offsets else None,
            "lag": offsets[place].lag if place in offsets else None,
            "members": list(readers.get(place, ())),
        }
        for place in places
        if chosen is None or place in chosen
    ]


def start_offsets(client: Client, group: str) -> dict[TopicPartition, int | None]:
    """Return the start offset of each partition that the group has begun; None if nothing is finished yet."""
    return {place: found.start_offset for place, found in share_offsets(client, group).items()}


def whole_topics(choices: Iterable[TopicChoice]) -> list[str]:
    """Return the names of the topics. Raises UsageError for a choice of partitions, which cannot be deleted singly."""
    for choice in choices:
        if choice.numbers:
            raise UsageError(f"groups: the offsets of a share group are deleted by topic: --topic {choice.topic}")
    return sorted({choice.topic for choice in choices})
