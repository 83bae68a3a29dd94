"""Where a partition is: its replicas, those in sync, and the one that leads. Pure decisions over several nodes.

Knows ids of nodes, no topic's content and no file. Every node reads the same log (decision 0112), so a replica that
runs is in sync at once: out of sync is only who is stopped. The rules are those of Apache Kafka's controller: a new
partition's replicas stripe over the nodes; the leader is the first replica that is in sync and runs; the last replica
in sync stays so when it stops, and nobody leads then; a node that comes back leads what nobody led, and nothing else.

Invariants: `isr` is a part of `replicas`, in their order, and never empty; the leader is in it and runs, or is
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
    """Of one partition; all are ids of nodes."""

    replicas: tuple[int, ...]
    """The first is the preferred leader."""
    isr: tuple[int, ...]
    leader: int
    """NO_LEADER while no replica in sync runs."""

    @property
    def preferred(self) -> int:
        """The replica that leads when leaders are evened out."""
        return self.replicas[0]


def placed(replicas: Sequence[int], running: Container[int]) -> Placement:
    """A partition with these replicas, as it begins: all that run are in sync, all if none does."""
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
    """The replicas of a topic's new partitions: leaders in turn over the nodes, followers on the nodes after them.

    Where the leaders begin depends on the topic's name; with each round of them the followers shift by one, so that a
    stopped node's partitions do not all fall to its neighbour. `nodes` run, and are at least one; where `factor` is
    more than they are, replicas on `stopped` nodes follow. It is at most as many as there are of both. No two replicas
    are in the same of the `racks` while there is another one, as Kafka's placer has it.
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
    """The others in their order, but one of each rack before there is a second, and `first` counts."""
    there = Counter([racks.get(first)])
    rounds = []
    for node in others:
        rounds.append((there[racks.get(node)], node))
        there[racks.get(node)] += 1
    return [node for _, node in sorted(rounds, key=itemgetter(0))]


def stopped(placement: Placement, node: int, running: Container[int]) -> Placement:
    """`node` has stopped, and is not in `running`: it leaves the ISR unless it is alone there, and leads no more."""
    if node not in placement.isr:
        return placement
    isr = [replica for replica in placement.isr if replica != node]
    return _led(placement.replicas, isr or placement.isr, running, placement.leader)


def started(placement: Placement, running: Container[int]) -> Placement:
    """A node has started, and is in `running`: replicas that run are in sync where somebody leads, or now can."""
    after = _led(placement.replicas, placement.isr, running, placement.leader)
    if after.leader == NO_LEADER:
        return after
    isr = [replica for replica in after.replicas if replica in after.isr or replica in running]
    return after._replace(isr=tuple(isr))


def reassigned(
    placement: Placement, replicas: Sequence[int], running: Container[int], *, may_be_unclean: bool = False
) -> Placement | None:
    """The partition is on these replicas from now on; its leader stays if it can.

    Where nobody leads, no replica can get in sync, so nobody leads afterwards: None if those in sync are not among
    these replicas. An unclean election is made where it may be.
    """
    if placement.leader == NO_LEADER:
        in_order = tuple(replica for replica in replicas if replica in placement.isr)
        now = Placement(tuple(replicas), in_order, NO_LEADER)
        return elected(now, running, preferred=False) if may_be_unclean else now if in_order else None
    isr = [replica for replica in replicas if replica in running]
    return _led(replicas, isr or replicas, running, placement.leader)


def elected(placement: Placement, running: Container[int], *, preferred: bool) -> Placement | None:
    """After an election: of the preferred replica if it is in sync, or of any that runs. None if there is no such one.

    One that was not in sync is alone in the ISR, as in Kafka; it has all records here, so nothing is lost with it.
    """
    if not preferred:
        leader = next((replica for replica in placement.replicas if replica in running), None)
        return None if leader is None else Placement(placement.replicas, (leader,), leader)
    if placement.preferred not in placement.isr or placement.preferred not in running:
        return None
    return placement._replace(leader=placement.preferred)


def _led(replicas: Sequence[int], isr: Sequence[int], running: Container[int], leader: int = NO_LEADER) -> Placement:
    """Led by `leader` if it is in sync and runs, else by the first replica that is and does."""
    in_order = tuple(replica for replica in replicas if replica in isr)
    if leader not in in_order or leader not in running:
        leader = next((replica for replica in in_order if replica in running), NO_LEADER)
    return Placement(tuple(replicas), in_order, leader)
