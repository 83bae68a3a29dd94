"""Events for the topics that are created and deleted."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.broker.metadata.image.image import TopicImage
from barnabas.broker.metadata.image.topic_changes import CreatedTopic
from barnabas.broker.runtime.events.bounded_facts import some
from barnabas.broker.runtime.events.events import Events
from barnabas.broker.runtime.events.kind import EventKind
from barnabas.broker.runtime.events.kinds import TOPIC_CREATED, TOPIC_CREATING, TOPIC_DELETED
from barnabas.protocol.errors import KafkaError


def report_creating(events: Events, results: Sequence[CreatedTopic | KafkaError]) -> None:
    """Emit an event for the valid new topics before they are written."""
    names = [result.name for result in results if isinstance(result, CreatedTopic)]
    if names:
        events.emit(TOPIC_CREATING, {"topics": some(names), "topics_count": len(names)})


class TopicEvents:
    """Emits events for topics that are created and deleted. A `CatalogueListener`."""

    def __init__(self, events: Events) -> None:
        self._events = events

    def on_topic_created(self, topic: TopicImage) -> None:
        """Emit the event of a topic that is in the catalogue now."""
        self._report(TOPIC_CREATED, topic)

    def on_topic_deleted(self, topic: TopicImage) -> None:
        """Emit the event of a topic that was deleted."""
        self._report(TOPIC_DELETED, topic)

    def on_partitions_added(self, topic: TopicImage, first_new: int) -> None:
        """Do nothing: there is no event for new partitions."""

    def on_configs_changed(self, resource_type: int, resource_name: str) -> None:
        """Do nothing: there is no event for changed settings."""

    def _report(self, kind: EventKind, topic: TopicImage) -> None:
        if self._events.is_on:
            self._events.emit(kind, {"topic": topic.name, "partitions_count": len(topic.partitions)})
