"""The topics of the catalogue for consumer groups: ids, numbers of partitions, and Kafka's hashes of them.

A catalogue listener updates them, so that a heartbeat costs nothing for topics that have not changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from barnabas.broker.coordinator.group.decisions.consumer.subscriptions import topic_hash

if TYPE_CHECKING:
    from barnabas.broker.metadata.catalogue import Catalogue, TopicImage


Racks = Callable[[str, int], Iterable[str]]


def all_in(rack: str | None) -> Racks:
    """Return racks for one replica per partition, in this rack, or without a rack."""
    racks = () if rack is None else (rack,)
    return lambda topic, partition: racks


def topic_ids_in(catalogue: Catalogue) -> Callable[[str], bytes | None]:
    """Return a function that returns the id of the topic that now has a name, or None."""

    def topic_id(name: str) -> bytes | None:
        topic = catalogue.topics.get(name)
        return None if topic is None else topic.topic_id

    return topic_id


class CatalogueTopics:
    """A view of the catalogue, as `group.consumer.model.Topics`."""

    def __init__(self, catalogue: Catalogue, racks: Racks) -> None:
        """Create the view. `racks`: of the current replicas of a partition, without those that have no rack."""
        self._catalogue = catalogue
        self._racks = racks
        self.version = self.newest_topic_version = catalogue.features_epoch
        self._ids = {topic.name: topic.topic_id for topic in catalogue.topics.values()}
        self._counts = {topic.topic_id: len(topic.partitions) for topic in catalogue.topics.values()}
        self._hashes: dict[str, int] = {}
        catalogue.subscribe(self)

    @property
    def ids(self) -> Mapping[str, bytes]:
        return self._ids

    @property
    def partition_counts(self) -> Mapping[bytes, int]:
        return self._counts

    def name_of(self, topic_id: bytes) -> str | None:
        topic = self._catalogue.topics_by_id.get(topic_id)
        return None if topic is None else topic.name

    def hash(self, name: str) -> int:
        found = self._hashes.get(name)
        if found is None:
            topic_id = self._ids[name]
            racks = [self._racks(name, number) for number in range(self._counts[topic_id])]
            found = self._hashes[name] = topic_hash(name, topic_id, racks)
        return found

    # The catalogue's listener

    def on_topic_created(self, topic: TopicImage) -> None:
        self._changed(topic)
        self.newest_topic_version = self.version
        self._ids[topic.name] = topic.topic_id
        self._counts[topic.topic_id] = len(topic.partitions)

    def on_topic_deleted(self, topic: TopicImage) -> None:
        self._changed(topic)
        if self._ids.get(topic.name) == topic.topic_id:
            del self._ids[topic.name]
        self._counts.pop(topic.topic_id, None)

    def on_partitions_added(self, topic: TopicImage, first_new: int) -> None:
        self._changed(topic)
        self._counts[topic.topic_id] = len(topic.partitions)

    def on_configs_changed(self, resource_type: int, resource_name: str) -> None:
        """Do nothing: settings do not matter here."""

    def _changed(self, topic: TopicImage) -> None:
        self.version = self._catalogue.features_epoch
        self._hashes.pop(topic.name, None)
