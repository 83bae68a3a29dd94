"""`uniform` if members subscribe to different topics: as equal as their subscriptions permit.

Members first keep their partitions of topics to which they still subscribe. Unassigned partitions go topic by topic to
the least loaded of the topic's subscribers. Then the most loaded members pass partitions to the least loaded, topic by
topic, until a round through all topics moves nothing, or sixteen rounds are over. Members may still differ by more than
one partition then: each topic is balanced among its own subscribers, and nothing is passed across two topics.

Of Java's orders only that of members matters: it breaks ties between members with equally many partitions. Topics are
sorted by rules without ties, and of a member's partitions of a topic the last is passed first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Iterable

from barnabas.broker.coordinator.group.decisions.consumer.assignors.drafts import AssignmentDraft
from barnabas.broker.coordinator.group.decisions.consumer.assignors.hash_order import id_rank, roomy_table_size
from barnabas.broker.coordinator.group.decisions.consumer.assignors.input_order import member_order
from barnabas.broker.coordinator.group.decisions.consumer.assignors.loads import Loads
from barnabas.broker.coordinator.group.decisions.consumer.assignors.model import (
    GroupSpec,
    Steps,
    Targets,
    partitions_of,
)

_ROUNDS_MAX = 16
_NO_OWNER = -1


def assign_heterogeneous(spec: GroupSpec) -> Steps:
    """Return the new targets of the members. Raises AssignorError."""
    member_ids = yield from member_order(spec.members)
    work = _Work(spec, member_ids)
    yield from work.find_subscribers()
    yield from work.keep()
    yield from work.hand_out()
    yield from work.balance()
    targets: Targets = {}
    for member_id, draft in zip(member_ids, work.drafts, strict=True):
        targets[member_id] = draft.result()
        yield
    return targets


class _Work:
    """An assignment in progress. Members are identified by their index in `member_ids`."""

    def __init__(self, spec: GroupSpec, member_ids: list[str]) -> None:
        self._spec = spec
        self._members = [spec.members[member_id] for member_id in member_ids]
        self.drafts = [AssignmentDraft(member.assignment) for member in self._members]
        self._sizes = [0] * len(member_ids)
        """How many partitions each member has."""
        self._subscribers: dict[bytes, list[int]] = {}
        """By topic id; topics without subscribers are absent."""
        self._owners: dict[bytes, list[int]] = {}
        """By topic id, for each partition."""

    def find_subscribers(self) -> Generator[None, None, None]:
        for index, member in enumerate(self._members):
            for topic_id in member.subscription.topic_ids:
                if topic_id not in self._subscribers:
                    self._subscribers[topic_id] = []
                    self._owners[topic_id] = [_NO_OWNER] * partitions_of(self._spec, topic_id)
                self._subscribers[topic_id].append(index)
            yield

    def keep(self) -> Generator[None, None, None]:
        sets: dict[tuple[bytes, ...], frozenset[bytes]] = {}  # many members may subscribe to the same thousand topics
        for index, member in enumerate(self._members):
            draft = self.drafts[index]
            topic_ids = member.subscription.topic_ids
            subscribed = sets.get(topic_ids)
            if subscribed is None:
                sets[topic_ids] = subscribed = frozenset(topic_ids)
            for topic_id, partitions in member.assignment.items():
                if topic_id not in subscribed:
                    yield from draft.copy()
                    draft.drop(topic_id)
                    continue
                self._sizes[index] += len(partitions)
                owners = self._owners[topic_id]
                for partition in partitions:
                    owners[partition] = index
            yield

    def hand_out(self) -> Generator[None, None, None]:
        unassigned = {topic_id: _indices_without_owner(owners) for topic_id, owners in self._owners.items()}
        for topic_id in self._sorted(topic_id for topic_id, partitions in unassigned.items() if partitions):
            loads = Loads(self._subscribers[topic_id], self._sizes)
            for partition in unassigned[topic_id]:
                yield from self._assign(topic_id, partition, loads.receiver())
                yield

    def balance(self) -> Generator[None, None, None]:
        topic_ids = self._sorted(topic_id for topic_id, members in self._subscribers.items() if len(members) > 1)
        last_moved = None
        for _ in range(_ROUNDS_MAX):
            for topic_id in topic_ids:
                if topic_id == last_moved:  # nothing has moved since then
                    return
                has_moved = yield from self._balance_topic(topic_id)
                if has_moved or last_moved is None:
                    last_moved = topic_id
                yield

    def _balance_topic(self, topic_id: bytes) -> Generator[None, None, bool]:
        """Balance one topic; return whether a partition was moved."""
        loads = Loads(self._subscribers[topic_id], self._sizes)
        if loads.spread <= 1:
            return False
        to_give: defaultdict[int, list[int]] = defaultdict(list)  # partitions received from now on are not passed
        for partition, owner in enumerate(self._owners[topic_id]):
            to_give[owner].append(partition)
        has_moved = False
        while not loads.is_balanced:
            giver = loads.giver()
            while giver is not None and not to_give[giver]:
                loads.set_giver_aside()
                giver = loads.giver()
            if giver is None:
                break
            receiver = loads.receiver()
            if loads.is_balanced:
                break
            yield from self._assign(topic_id, to_give[giver].pop(), receiver)
            has_moved = True
            yield
        return has_moved

    def _assign(self, topic_id: bytes, partition: int, member: int) -> Generator[None, None, None]:
        owners = self._owners[topic_id]
        before = owners[partition]
        if before != _NO_OWNER:
            yield from self.drafts[before].copy()
            self.drafts[before].remove(topic_id, partition)
            self._sizes[before] -= 1
        even_share = -(-len(owners) // len(self._subscribers[topic_id]))
        yield from self.drafts[member].copy()
        self.drafts[member].add(topic_id, partition, roomy_table_size(even_share))
        owners[partition] = member
        self._sizes[member] += 1

    def _sorted(self, topic_ids: Iterable[bytes]) -> list[bytes]:
        """Return topic ids sorted by most partitions for each subscriber, then fewest subscribers, then id."""

        def rank(topic_id: bytes) -> tuple[float, int, tuple[int, int]]:
            subscribers = len(self._subscribers[topic_id])
            return -len(self._owners[topic_id]) / subscribers, subscribers, id_rank(topic_id)

        return sorted(topic_ids, key=rank)


def _indices_without_owner(owners: list[int]) -> list[int]:
    return [partition for partition, owner in enumerate(owners) if owner == _NO_OWNER]
