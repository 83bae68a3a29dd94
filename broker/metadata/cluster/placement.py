"""The placement of a partition: its replicas, the in-sync replicas and the leader. Pure decisions over several nodes.

Knows ids of nodes, no topic's content and no file. Every node reads the same log (decision 0112), so a replica that is
running is in sync at once: only stopped nodes are out of sync. The rules are those of Apache Kafka's controller: the
replicas of a new partition are striped over the nodes; the leader is the first replica that is in sync and running; the
last in-sync replica stays in sync when it stops, and the partition has no leader then; a node that restarts leads the
partitions that had no leader, and no others.

Invariants: `isr` is a part of `replicas`, in the same order, and never empty; the leader is in it and running, or is
NO_LEADER.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple
from zlib import crc32

from barnabas.broker.metadata.image.image import NO_LEADER

_NO_RACKS: Mapping[int, str | None] = {}


class Placement(NamedTuple):
    """The placement of one partition; all values are ids of nodes."""

    replicas: tuple[int, ...]
    """The first is the preferred leader."""
    isr: tuple[int, ...]
    leader: int
    """NO_LEADER while no in-sync replica is running."""

    @property
    def preferred(self) -> int:
        """The replica that becomes the leader in a preferred leader election."""
        return self.replicas[0]


def placed(replicas: Sequence[int], running: Container[int]) -> Placement:
    """Return the placement of a new partition: all replicas that are running are in sync, or all if none is running."""
    isr = [node for node in replicas if node in running]
    return _led(replicas, isr or replicas, running)


def spread(
    topic: str,
    numbers: Iterable[int],
    factor: int,
    nodes: Sequence[int],
    stopped: Sequence[int] = (),
    racks: Mapping[int, str | None] = _NO_RACKS,
) -> list[tuple[int, ...]]:
    """Choose the replicas of a topic's new partitions: leaders round-robin over the nodes, followers on the next nodes.

    The first leader depends on the topic's name. With each round the followers shift by one, so that a stopped node's
    partitions do not all move to its neighbour. `nodes` are running, and at least one; if `factor` is larger than their
    number, replicas on `stopped` nodes follow. `factor` is at most the number of both. No two replicas are in the same
    of the `racks` while there is another rack, as in Kafka's placer.
    """
    count, begin = len(nodes), crc32(topic.encode())
    found = []
    for number in numbers:
        first = (begin + number) % count
        others = [nodes[(first + 1 + step) % count] for step in range(count - 1)]
        shift = number // count % max(1, count - 1)
        away = [stopped[(number + step) % len(stopped)] for step in range(factor - count)]
        others = _over_racks(nodes[first], others[shift:] + others[:shift], racks)
        found.append((nodes[first], *others[: factor - 1], *away))
    return found


def _over_racks(first: int, others: Sequence[int], racks: Mapping[int, str | None]) -> list[int]:
    """Return the other nodes reordered, so that each rack is used once before it is used again; `first` counts."""
    there = Counter([racks.get(first)])
    rounds = []
    for node in others:
        rounds.append((there[racks.get(node)], node))
        there[racks.get(node)] += 1
    return [node for _, node in sorted(rounds, key=itemgetter(0))]


def stopped(placement: Placement, node: int, running: Container[int]) -> Placement:
    """Return the placement after `node`, not in `running`, stopped: removed as leader and, unless alone, from ISR."""
    if node not in placement.isr:
        return placement
    isr = [replica for replica in placement.isr if replica != node]
    return _led(placement.replicas, isr or placement.isr, running, placement.leader)


def started(placement: Placement, running: Container[int]) -> Placement:
    """Return the placement after a node, now in `running`, started: with a leader, all running replicas are in sync."""
    after = _led(placement.replicas, placement.isr, running, placement.leader)
    if after.leader == NO_LEADER:
        return after
    isr = [replica for replica in after.replicas if replica in after.isr or replica in running]
    return after._replace(isr=tuple(isr))


def reassigned(
    placement: Placement, replicas: Sequence[int], running: Container[int], *, may_be_unclean: bool = False
) -> Placement | None:
    """Return the partition's placement on these replicas; its leader stays if possible.

    Without a leader no replica can become in sync, so there is no leader afterwards: None if none of these replicas is
    in sync. An unclean election is made if `may_be_unclean`.
    """
    if placement.leader == NO_LEADER:
        in_order = tuple(replica for replica in replicas if replica in placement.isr)
        now = Placement(tuple(replicas), in_order, NO_LEADER)
        return elected(now, running, preferred=False) if may_be_unclean else now if in_order else None
    isr = [replica for replica in replicas if replica in running]
    return _led(replicas, isr or replicas, running, placement.leader)


def elected(placement: Placement, running: Container[int], *, preferred: bool) -> Placement | None:
    """Return the placement after electing the preferred replica if in sync, or any running one. None if there is none.

    An elected replica that was not in sync is alone in the ISR, as in Kafka; it has all records here, so none is lost.
    """
    if not preferred:
        leader = next((replica for replica in placement.replicas if replica in running), None)
        return None if leader is None else Placement(placement.replicas, (leader,), leader)
    if placement.preferred not in placement.isr or placement.preferred not in running:
        return None
    return placement._replace(leader=placement.preferred)


def _led(replicas: Sequence[int], isr: Sequence[int], running: Container[int], leader: int = NO_LEADER) -> Placement:
    """Return a placement led by `leader` if in sync and running, else by the first replica that is both."""
    in_order = tuple(replica for replica in replicas if replica in isr)
    if leader not in in_order or leader not in running:
        leader = next((replica for replica in in_order if replica in running), NO_LEADER)
    return Placement(tuple(replicas), in_order, leader)
