"""The topics there are, as the catalogue has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from barnabas.broker.services import Services


class TopicSummary(NamedTuple):
    """A topic and how much there is of it."""

    name: str
    partitions_count: int
    here: Sequence[int]
    """The numbers of the partitions that this node leads."""
    is_internal: bool
    """Whether it is one of the broker's own."""


def every_topic(services: Services) -> list[TopicSummary]:
    """Every topic, in the catalogue's order."""
    return [
        TopicSummary(topic.name, len(topic.partitions), services.cluster.led(topic), topic.is_internal)
        for topic in services.catalogue.topics.values()
    ]


def topic_name(services: Services, key: str | bytes) -> str | None:
    """The name of the topic with this id (bytes) or name (str); None when there is no such topic now."""
    catalogue = services.catalogue
    topic = catalogue.topics_by_id.get(key) if isinstance(key, bytes) else catalogue.topics.get(key)
    return None if topic is None else topic.name
