# compiled: mypyc
"""The order in which Kafka's group coordinator gives the members, and the topics of each, to an assignor.

Kafka stores members in a TimelineHashMap, a hash table of its own, and names of topics in Java's HashSet. Code that has
both in the order of insertion computes Kafka's order with these functions. For an assignment Kafka iterates over the
members and puts them into a HashMap: the assignor sees that order.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence

from barnabas.broker.coordinator.group.decisions.consumer.assignors.hash_order import (
    STRING,
    HashOrder,
    copied_table_size,
)
from barnabas.broker.coordinator.group.decisions.consumer.assignors.model import MEMBERS_AT_ONCE, Subscription
from barnabas.broker.coordinator.runtime.partition_for import java_hash
from barnabas.storage.steps import Pauses

_NAMES_AT_ONCE = 500
_USUAL_LENGTH = 100
"""Characters of a member id."""
_MULTIPLIER = 0x9E3779B97F4A7C15  # 2^64 divided by the golden ratio


def subscription(names: Sequence[str], topic_ids: Mapping[str, bytes]) -> Generator[None, None, Subscription]:
    """Return a subscription to topics by name, in the order of the request or record; some names may have no topic.

    `topic_ids`: the ids of the existing topics, by name. Computed in steps if there are very many names.
    """
    order = HashOrder(STRING, copied_table_size(len(names)))
    for count, name in enumerate(names, 1):
        order.put(name)
        if not count % _NAMES_AT_ONCE:
            yield
    ordered = order.in_order()
    return Subscription(tuple(topic_ids[name] for name in ordered if name in topic_ids), len(ordered))


def timeline_order(member_ids: Iterable[str], largest: int) -> Generator[None, None, list[str]]:
    """Return the members in the order in which Kafka's TimelineHashMap iterates over them, computed in small steps.

    `member_ids`: in the order in which they were added. `largest`: the largest number of keys that the table has had to
    have room for. That is the largest number of members at a time so far, and one more if any was updated while there
    were so many, because then Kafka makes room for one that does not come. The table never shrinks.
    """
    bits, most = 1, 8
    while largest * 3 > most:
        bits += 1
        most *= 2
    slots: dict[int, list[str]] = {}
    pauses = Pauses(MEMBERS_AT_ONCE)
    for member_id in member_ids:
        slots.setdefault((java_hash(member_id) * _MULTIPLIER & 2**64 - 1) >> 64 - bits, []).append(member_id)
        if pauses.is_due(_weight(member_id)):
            yield
    return [member_id for slot in sorted(slots) for member_id in reversed(slots[slot])]


def _weight(member_id: str) -> int:
    """Return how many members the id counts as: a long one takes the time of several."""
    return 1 + len(member_id) // _USUAL_LENGTH


def member_order(member_ids: Iterable[str]) -> Generator[None, None, list[str]]:
    """Return the members in the order of Kafka's assignors, computed in small steps; the input in `timeline_order`."""
    order = HashOrder(STRING)
    pauses = Pauses(MEMBERS_AT_ONCE)
    for member_id in member_ids:
        order.put(member_id)
        if pauses.is_due(_weight(member_id)):
            yield
    return order.in_order()
