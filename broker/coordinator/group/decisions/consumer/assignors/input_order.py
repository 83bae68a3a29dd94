"""In which order Kafka's group coordinator has what it gives to an assignor: the members, and the topics of each.

It keeps members in a TimelineHashMap, a hash table of Kafka's own, and names of topics in Java's HashSet. Who keeps
both in the order in which they came finds Kafka's order with these functions. For an assignment it goes through the
members and puts them into a HashMap: that is the order the assignor sees.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence

from barnabas.broker.coordinator.group.decisions.consumer.assignors.hash_order import (
    STRING,
    HashOrder,
    copied_table_size,
)
from barnabas.broker.coordinator.group.decisions.consumer.assignors.model import Subscription
from barnabas.broker.coordinator.runtime.placement import java_hash

_NAMES_AT_ONCE = 500
_MULTIPLIER = 0x9E3779B97F4A7C15  # 2^64 divided by the golden ratio


def subscription(names: Sequence[str], topic_ids: Mapping[str, bytes]) -> Generator[None, None, Subscription]:
    """A subscription to topics by name: in the order of the request or record, some of them perhaps of no topic.

    `topic_ids`: of the topics that exist, by name. Found in steps where there are very many.
    """
    order = HashOrder(STRING, copied_table_size(len(names)))
    for count, name in enumerate(names, 1):
        order.put(name)
        if not count % _NAMES_AT_ONCE:
            yield
    ordered = order.in_order()
    return Subscription(tuple(topic_ids[name] for name in ordered if name in topic_ids), len(ordered))


def timeline_order(member_ids: Iterable[str], largest: int) -> Generator[None, None, list[str]]:
    """The members as Kafka's TimelineHashMap iterates them, found in small steps.

    `member_ids`: in the order in which they were added. `largest`: for how many keys the table has had to be large
    enough. That is as many members as there ever were at a time, and one more if any was updated while there were so
    many, for then Kafka makes room for one that does not come. The table never shrinks.
    """
    bits = 1
    while largest * 3 > 4 << bits:
        bits += 1
    slots: dict[int, list[str]] = {}
    for member_id in member_ids:
        slots.setdefault((java_hash(member_id) * _MULTIPLIER & 2**64 - 1) >> 64 - bits, []).append(member_id)
        yield
    return [member_id for slot in sorted(slots) for member_id in reversed(slots[slot])]


def member_order(member_ids: Iterable[str]) -> Generator[None, None, list[str]]:
    """The members as an assignor of Kafka's iterates them, found in small steps; given in `timeline_order`."""
    order = HashOrder(STRING)
    for member_id in member_ids:
        order.put(member_id)
        yield
    return order.in_order()
