"""What is read, and from where to where, as the options say it: before any broker was asked. Pure values."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from client.metadata import TopicInfo, TopicPartition


class Named(NamedTuple):
    """All partitions of these topics."""

    topics: tuple[str, ...]


class Pattern(NamedTuple):
    """All partitions of the topics whose whole name fits a regular expression."""

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
    fits = re.compile(subscription.pattern).fullmatch
    return {where for where in there if fits(where[0])}
