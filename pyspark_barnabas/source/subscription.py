"""The partitions to read, and their bounds, as the options give them: before any request to a broker. Pure values."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

from barnabas.client.metadata import TopicInfo, TopicPartition
from barnabas.protocol.primitives import uuid_text
from pyspark_barnabas.source.offsets import TopicIds


class Named(NamedTuple):
    """All partitions of these topics."""

    topics: tuple[str, ...]


class TopicPattern(NamedTuple):
    """All partitions of the topics whose name contains a match of a regular expression, as in Spark's own source."""

    pattern: str


class Assigned(NamedTuple):
    """The listed partitions."""

    partitions: tuple[TopicPartition, ...]


Subscription = Named | TopicPattern | Assigned


class Given(NamedTuple):
    """Offsets by partition, EARLIEST and LATEST among them; or, without any, `for_all`."""

    offsets: dict[TopicPartition, int] | None
    for_all: int


class ByTime(NamedTuple):
    """The first offset at or after a time (ms): by partition, or one for all.

    if_none: the offset if no record is as late: LATEST, or None for an error.
    """

    moments: dict[TopicPartition, int] | None
    for_all: int
    if_none: int | None


Bound = Given | ByTime


def subscribed(subscription: Subscription, topics: Iterable[TopicInfo]) -> set[TopicPartition]:
    """Return the partitions that are read, of the existing ones. Internal topics are not."""
    there = {(topic.name, number) for topic in topics if not topic.is_internal for number in topic.partitions}
    if isinstance(subscription, Assigned):
        return there & set(subscription.partitions)
    if isinstance(subscription, Named):
        return {where for where in there if where[0] in subscription.topics}
    found = re.compile(subscription.pattern).search
    return {where for where in there if found(where[0])}


def ids_of(topics: Iterable[TopicInfo], partitions: Collection[TopicPartition]) -> TopicIds:
    """Return the ids of the topics that have any of the partitions. Brokers before Kafka 2.8 give none."""
    names = {topic for topic, _ in partitions}
    return {topic.name: uuid_text(topic.topic_id) for topic in topics if topic.name in names and any(topic.topic_id)}
