"""The requests of a source's driver to the cluster: which partitions exist, and which offsets they have.

Every function retries until it is answered or the client's timeout expires. Nothing is cached except by the client.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from barnabas.client.client import Client
from barnabas.client.errors import raise_for
from barnabas.client.metadata import TopicInfo, TopicPartition
from barnabas.client.near_names import did_you_mean
from barnabas.client.offsets import EARLIEST, LATEST, list_offsets
from barnabas.protocol.errors import ErrorCode
from pyspark_barnabas.source.errors import SourceError
from pyspark_barnabas.source.offsets import Offsets, describe
from pyspark_barnabas.source.subscription import Assigned, Bound, ByTime, Named, Subscription, TopicPattern, subscribed

NOT_THERE = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)


def find_partitions(client: Client, subscription: Subscription) -> set[TopicPartition]:
    """Return the partitions of the subscription that exist now."""
    return subscribed(subscription, find_topics(client, subscription))


def find_topics(client: Client, subscription: Subscription) -> list[TopicInfo]:
    """Return the topics that exist now, of those that the subscription names; of all if it has a pattern."""
    names = _names(subscription)
    deadline = client.deadline()

    def attempt() -> list[TopicInfo]:
        found = client.refresh(names, deadline)
        topics = [topic for topic in found.topics.values() if topic.error_code not in NOT_THERE]
        for topic in topics if names is not None else ():
            raise_for(topic.error_code, None, f"topic {topic.name!r}")
        return topics

    return client.with_retries(attempt, deadline)


def require_all(client: Client, subscription: Subscription, found: Collection[TopicPartition]) -> None:
    """Raise SourceError unless everything that the subscription names exists, with suggestions for the names."""
    if isinstance(subscription, Named):
        missing = set(subscription.topics) - {topic for topic, _ in found}
        if missing:
            there = client.refresh(None, client.deadline()).topics
            raise SourceError(f"there is {' and '.join(no_topic(each, there) for each in sorted(missing))}")
    elif isinstance(subscription, Assigned):
        absent = set(subscription.partitions) - set(found)
        if absent:
            raise SourceError(f"there is no partition {describe(absent)}")


def no_topic(name: str, there: Collection[str]) -> str:
    """Return `no topic 'ordrs' (did you mean orders?)`."""
    meant = did_you_mean(name, there, "")
    return f"no topic {name!r}{f' ({meant})' if meant else ''}"


def find_offsets(
    client: Client, bound: Bound, partitions: Collection[TopicPartition], *, isolation: int, side: str
) -> Offsets:
    """Return the offsets that a bound means. side: `starting` or `ending`, for the sentence of a SourceError."""
    if isinstance(bound, ByTime):
        moments = bound.moments if bound.moments is not None else dict.fromkeys(partitions, bound.for_all)
        _check_complete(moments, partitions, f"{side}OffsetsByTimestamp")
        return _at_moments(client, moments, bound.if_none, isolation)
    offsets = bound.offsets if bound.offsets is not None else dict.fromkeys(partitions, bound.for_all)
    _check_complete(offsets, partitions, f"{side}Offsets")
    special = {where: offset for where, offset in offsets.items() if offset in (EARLIEST, LATEST)}
    return {**offsets, **_look_up(client, special, isolation)}


def earliest(client: Client, partitions: Iterable[TopicPartition]) -> Offsets:
    """Return the first offsets that exist."""
    return _look_up(client, dict.fromkeys(partitions, EARLIEST), 0)


def latest(client: Client, partitions: Iterable[TopicPartition], *, isolation: int) -> Offsets:
    """Return the ends of what may be read: for read_committed, where the first open transaction begins."""
    return _look_up(client, dict.fromkeys(partitions, LATEST), isolation)


def latest_since(
    client: Client,
    partitions: Collection[TopicPartition],
    known: Mapping[TopicPartition, int],
    *,
    isolation: int,
    retries: int,
    retry_interval_ms: int,
) -> Offsets:
    """Return the same as `latest`; retry up to `retries` times if an end is below the `known` offset.

    A broker that has just become the leader may for a moment not know how far its followers have come (KAFKA-7703).
    """
    for _ in range(retries):
        found = latest(client, partitions, isolation=isolation)
        if all(offset >= known.get(where, 0) for where, offset in found.items()):
            return found
        client.clock.sleep(retry_interval_ms / 1000)
    return latest(client, partitions, isolation=isolation)


def _names(subscription: Subscription) -> list[str] | None:
    if isinstance(subscription, TopicPattern):
        return None
    if isinstance(subscription, Named):
        return list(subscription.topics)
    return sorted({topic for topic, _ in subscription.partitions})


def _check_complete(given: Collection[TopicPartition], there: Collection[TopicPartition], option: str) -> None:
    missing, unknown = set(there) - set(given), set(given) - set(there)
    if missing:
        raise SourceError(f"{option} does not have {describe(missing)}: it must have all partitions that are read")
    if unknown:
        raise SourceError(f"{option} has {describe(unknown)}, which is not read")


def _at_moments(client: Client, moments: Mapping[TopicPartition, int], if_none: int | None, isolation: int) -> Offsets:
    found = _look_up(client, moments, isolation)
    without = {where for where, offset in found.items() if offset < 0}
    if without and if_none is None:
        raise SourceError(
            f"no record of {describe(without)} is as late as the start of reading. To start at the end there, set"
            " startingOffsetsByTimestampStrategy to latest"
        )
    return {**found, **_look_up(client, dict.fromkeys(without, LATEST), isolation)}


def _look_up(client: Client, wanted: Mapping[TopicPartition, int], isolation: int) -> Offsets:
    if not wanted:
        return {}
    return {where: found.offset for where, found in list_offsets(client, wanted, isolation=isolation).items()}
