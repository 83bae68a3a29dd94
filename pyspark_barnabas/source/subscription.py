"""What is read, and from where to where, as the options say it: before any broker was asked. Pure values."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from barnabas.client.metadata import TopicInfo, TopicPartition


class Named(NamedTuple):
    """All partitions of these topics."""

    topics: tuple[str, ...]


class Pattern(NamedTuple):
    """All partitions of the topics in whose name a regular expression is found, as Spark's own source looks for it."""

    pattern: str


class Assigned(NamedTuple):
    """These partitions."""

    partitions: tuple[TopicPartition, ...]


Subscription = Named | Pattern | Assigned


class Given(NamedTuple):
    """Offsets by partition, EARLIEST and LATEST among them; or, without any, `for_all`."""

    offsets: dict[TopicPartition, int] | None
    for_all: int


class ByTime(NamedTuple):
    """The first offset at or after a moment (ms): by partition, or one for all.

    if_none: what is taken where no record is as late: LATEST, or None for an error.
    """

    moments: dict[TopicPartition, int] | None
    for_all: int
    if_none: int | None


Bound = Given | ByTime


def subscribed(subscription: Subscription, topics: Iterable[TopicInfo]) -> set[TopicPartition]:
    """The partitions that are read, of those that there are. Internal topics are not."""
    there = {(topic.name, number) for topic in topics if not topic.is_internal for number in topic.partitions}
    if isinstance(subscription, Assigned):
        return there & set(subscription.partitions)
    if isinstance(subscription, Named):
        return {where for where in there if where[0] in subscription.topics}
    found = re.compile(subscription.pattern).search
    return {where for where in there if found(where[0])}
