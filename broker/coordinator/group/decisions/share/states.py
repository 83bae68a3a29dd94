"""Which share partitions of a group have a state in the share coordinator, and how that changes. Pure.

A partition is initializing, from the heartbeat that subscribes to its topic on, until the persister has stored its
first state; then it is initialized, and may be assigned. A topic whose states are deleted is deleting meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from barnabas.broker.coordinator.group.decisions.consumer.model import Topics
from barnabas.broker.coordinator.group.decisions.share.model import BegunTopic, BegunTopics, ShareStates

Partitions = Mapping[bytes, Collection[int]]
"""Topic id -> partitions."""
_UNKNOWN_TOPIC = "<UNKNOWN>"


def uninitialized(
    states: ShareStates, names: Iterable[str], busy: Partitions, topics: Topics
) -> dict[bytes, BegunTopic]:
    """Return the partitions of the subscribed topics without a state. `busy` are those that are being initialized."""
    found: dict[bytes, BegunTopic] = {}
    for name in names:
        topic_id = topics.ids.get(name)
        if topic_id is None:
            continue
        known = states.initialized.get(topic_id)
        missing = set(range(topics.partition_counts[topic_id])).difference(
            known.partitions if known else (), busy.get(topic_id, ())
        )
        if missing:
            found[topic_id] = BegunTopic(name, frozenset(missing))
    return found


def with_initializing(states: ShareStates, begun: BegunTopics) -> ShareStates:
    """Return the states with these as initializing; what is initialized stays so, and is not deleting any more."""
    deleting = {topic_id: name for topic_id, name in states.deleting.items() if topic_id not in begun}
    return states._replace(initializing=_joined(states.initializing, begun), deleting=deleting)


def with_initialized(states: ShareStates, partitions: Partitions, topics: Topics) -> ShareStates:
    """Return the states with these partitions initialized, and no longer initializing."""
    done = {
        topic_id: BegunTopic(topics.name_of(topic_id) or _UNKNOWN_TOPIC, frozenset(numbers))
        for topic_id, numbers in partitions.items()
    }
    return states._replace(
        initializing=_without(states.initializing, partitions), initialized=_joined(states.initialized, done)
    )


def without_initializing(states: ShareStates, partitions: Partitions) -> ShareStates:
    """Return the states after these partitions could not be initialized."""
    return states._replace(initializing=_without(states.initializing, partitions))


def with_deleting(states: ShareStates, topic_ids: Collection[bytes], topics: Topics) -> ShareStates:
    """Return the states while those of some topics are deleted."""
    names = {each: topics.name_of(each) or _UNKNOWN_TOPIC for each in topic_ids}
    return ShareStates(
        {each: topic for each, topic in states.initializing.items() if each not in names},
        {each: topic for each, topic in states.initialized.items() if each not in names},
        {**states.deleting, **names},
    )


def without_topics(states: ShareStates, topic_ids: Collection[bytes]) -> ShareStates:
    """Return the states without those of some topics."""
    return ShareStates(
        {each: topic for each, topic in states.initializing.items() if each not in topic_ids},
        {each: topic for each, topic in states.initialized.items() if each not in topic_ids},
        {each: name for each, name in states.deleting.items() if each not in topic_ids},
    )


def _joined(some: BegunTopics, more: BegunTopics) -> dict[bytes, BegunTopic]:
    joined = dict(some)
    for topic_id, topic in more.items():
        known = joined.get(topic_id)
        joined[topic_id] = topic if known is None else topic._replace(partitions=known.partitions | topic.partitions)
    return joined


def _without(topics: BegunTopics, partitions: Partitions) -> dict[bytes, BegunTopic]:
    left: dict[bytes, BegunTopic] = {}
    for topic_id, topic in topics.items():
        kept = topic.partitions.difference(partitions.get(topic_id, ()))
        if kept:
            left[topic_id] = topic._replace(partitions=kept)
    return left
