# compiled: mypyc
"""The topics that the members of a consumer group subscribe to, together and one by one.

A topic is subscribed to by its name, or by a regular expression that was resolved to names. The metadata hash covers
all existing topics of the group (KIP-1101): if it changes, a new target has to be computed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from barnabas.broker.coordinator.group.decisions.consumer.assignors.model import SubscriptionType
from barnabas.broker.coordinator.group.decisions.consumer.group import ConsumerGroup, counted, names_by_name, regex_of
from barnabas.broker.coordinator.group.decisions.consumer.model import ConsumerGroupMember, ResolvedRegex, Topics
from barnabas.broker.coordinator.runtime.partition_for import utf16


def names_of(member: ConsumerGroupMember, regexes: Mapping[str, ResolvedRegex]) -> tuple[str, ...]:
    """Return the topics of one member, each once."""
    resolved = regexes.get(member.topic_regex) if member.topic_regex else None
    if resolved is None or not resolved.topics:
        return member.topic_names
    return tuple(dict.fromkeys((*member.topic_names, *resolved.topics)))


def topic_ids_of(member: ConsumerGroupMember, regexes: Mapping[str, ResolvedRegex], topics: Topics) -> frozenset[bytes]:
    """Return the ids of the member's existing topics."""
    ids = topics.ids
    return frozenset([ids[name] for name in names_of(member, regexes) if name in ids])


class Subscriptions:
    """The subscriptions of a group after a change of some members."""

    def __init__(
        self,
        group: ConsumerGroup,
        before: Iterable[ConsumerGroupMember] = (),
        after: Iterable[ConsumerGroupMember] = (),
    ) -> None:
        """Compute them. `before` are members of the group, or new ones, `after` their next versions, if any."""
        before, after = tuple(before), tuple(after)
        self.by_name = counted(group.name_counts, _each(names_by_name, before), _each(names_by_name, after))
        self.by_regex = counted(group.regex_counts, _each(regex_of, before), _each(regex_of, after))
        self.resolved = {
            regex: resolved
            for regex, resolved in group.regexes.items()
            if regex in self.by_regex or regex not in group.regex_counts
        }

    def topics(self) -> Collection[str]:
        names = dict.fromkeys(self.by_name)
        for resolved in self.resolved.values():
            names.update(dict.fromkeys(resolved.topics))
        return names.keys()

    def kind(self, members_count: int) -> SubscriptionType:
        """Return whether all members subscribe to the same topics, as Kafka counts it."""
        if self._is_homogeneous(members_count):
            return SubscriptionType.HOMOGENEOUS
        return SubscriptionType.HETEROGENEOUS

    def _is_homogeneous(self, members_count: int) -> bool:
        topics = self.topics()
        if not self.by_regex:
            return all(self.by_name.get(name, 0) == members_count for name in topics)
        if next(iter(self.by_regex.values())) != members_count:
            return False
        times: dict[str, int] = {}
        for resolved in self.resolved.values():
            for name in resolved.topics:
                times[name] = times.get(name, 0) + 1
        return all(times.get(name) == 1 and name not in self.by_name for name in topics)


def _each(
    what: Callable[[ConsumerGroupMember], tuple[str, ...]], members: Iterable[ConsumerGroupMember]
) -> tuple[str, ...]:
    return tuple(each for member in members for each in what(member))


def metadata_hash(names: Iterable[str], topics: Topics) -> int:
    """Return Kafka's hash of the existing topics among these; 0 for none. Signed, 64 bits."""
    existing = sorted(name for name in names if name in topics.ids)  # ASCII only, so Java sorts them alike
    hashes = [topics.hash(name) for name in existing]
    if not hashes:
        return 0
    return xxh3(b"".join(each.to_bytes(8, "little", signed=True) for each in hashes))


def topic_hash(name: str, topic_id: bytes, racks: Iterable[Iterable[str]]) -> int:
    """Return Kafka's hash of one topic. racks: of the replicas of each partition, in order. Signed, 64 bits."""
    racks = list(racks)
    parts = [b"\0", topic_id[7::-1], topic_id[:7:-1], _hashed(name), len(racks).to_bytes(4, "little")]
    for number, of_partition in enumerate(racks):
        parts.append(number.to_bytes(4, "little"))
        for rack in sorted(of_partition, key=utf16):
            parts += [(len(utf16(rack)) // 2).to_bytes(4, "little"), _hashed(rack)]
    return xxh3(b"".join(parts))


def _hashed(text: str) -> bytes:
    """Return a string in hash4j's format: its UTF-16 units, then how many these are."""
    units = text.encode("utf-16-le", "surrogatepass")
    return units + (len(units) // 2).to_bytes(4, "little")


def xxh3(data: bytes) -> int:
    """Return XXH3 with 64 bits, as Java's signed number."""
    from xxhash import xxh3_64_intdigest  # few brokers have such groups

    value = xxh3_64_intdigest(data)
    return value - 2**64 if value >> 63 else value
