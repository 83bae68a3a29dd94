"""The topics of the catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from barnabas.broker.services import Services


class TopicSummary(NamedTuple):
    """A topic and its size."""

    name: str
    partitions_count: int
    here: Sequence[int]
    """The numbers of the partitions that this node leads."""
    is_internal: bool
    """Whether it is an internal topic of the broker."""


def every_topic(services: Services) -> list[TopicSummary]:
    """Return every topic, in the catalogue's order."""
    return [
        TopicSummary(topic.name, len(topic.partitions), services.cluster.led(topic), topic.is_internal)
        for topic in services.catalogue.topics.values()
    ]


def topic_name(services: Services, key: str | bytes) -> str | None:
    """Return the name of the topic with this id (bytes) or name (str); None if there is no such topic now."""
    catalogue = services.catalogue
    topic = catalogue.topics_by_id.get(key) if isinstance(key, bytes) else catalogue.topics.get(key)
    return None if topic is None else topic.name
