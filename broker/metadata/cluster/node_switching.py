"""Stopping and starting nodes of a process: some hundred partitions at a time, with other work in between.

Knows which partitions are to be changed, and in which order; `ClusterTopology` makes a change and stores it.

Theory of operation: as in Apache Kafka's controlled shutdown, a node that stops keeps running while others take over
the partitions it leads. Meanwhile it is `leaving`: it does not become a leader or an in-sync replica. Its last
partitions and the node itself are stopped in one change. A node that starts is running from the first change on, and
its replicas become in sync from then on, like Kafka's replicas that catch up.

Invariants: one request is carried out at a time, and one node of it. A node that counts as stopped leads no partition.
Every change is complete by itself: if one fails, or the broker ends in between, the node is running, and those of its
replicas that are out of sync become in sync when it is started again, by a request or at the next start of the broker.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.metadata.cluster import placement
from barnabas.broker.metadata.cluster.placement import Placement
from barnabas.broker.metadata.image.image import NO_LEADER
from barnabas.broker.runtime.events.kinds import NODE_STARTED, NODE_STOPPED
from barnabas.broker.runtime.scheduler import CooperativeScheduler, WorkClass
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from barnabas.broker.metadata.cluster.topology import ClusterTopology, PartitionKey
    from barnabas.broker.runtime.events.cause import Cause

PARTITIONS_IN_A_TURN = 100
TOPICS_IN_A_TURN = 2_500
"""How many topics are scanned in one turn, if the node has few partitions."""
_ONE_AT_A_TIME = WorkClass(under_way_max=1, steps_max=1, may_begin_again=False)


class _Some(NamedTuple):
    """Partitions that are changed in one turn."""

    keys: list[PartitionKey]
    are_last: bool


class NodeSwitching:
    """Stops and starts the nodes of one process. Registers itself with them."""

    def __init__(self, nodes: ClusterTopology, upkeep: CooperativeScheduler) -> None:
        nodes.have_stopped = self.have_stopped
        self._nodes = nodes
        self._upkeep = upkeep
        self._unfinished: set[int] = set()
        """Running nodes with replicas that may be out of sync because a change failed."""

    def have_stopped(self, wanted: Callable[[Collection[int]], Collection[int]]) -> Future[None] | None:
        """Start and stop nodes, so that the stopped ones are those that `wanted` returns for those stopped at its turn.

        Done at once if there is little to do. Raises KafkaError or StorageError; some nodes may have been switched
        then.
        """
        cause = self._nodes.events.cause
        return self._upkeep.to_the_end(lambda: self._because(cause, self._all(wanted)), _ONE_AT_A_TIME)

    def _because(self, cause: Cause | None, steps: Steps[None]) -> Steps[None]:
        """Run the steps; in each turn set the cause of the events that they emit."""
        events = self._nodes.events
        with closing(steps):
            while True:
                before, events.cause = events.cause, cause
                try:
                    next(steps)
                except StopIteration:
                    return
                finally:
                    events.cause = before
                yield

    def _all(self, wanted: Callable[[Collection[int]], Collection[int]]) -> Steps[None]:
        nodes = self._nodes
        stopped = set(wanted(frozenset(nodes.stopped)))
        for node in stopped:
            nodes.check(node)
        if stopped == set(nodes.brokers):
            raise KafkaError(ErrorCode.INVALID_REQUEST, "One node must run, so that the others can be started again.")
        for node in sorted((nodes.stopped | self._unfinished) - stopped):
            yield from self._start(node)
        for node in sorted(stopped - nodes.stopped):
            yield from self._stop(node)

    def _stop(self, node: int) -> Steps[None]:
        """Stop the node: other in-sync replicas lead its partitions, or there is no leader."""
        nodes = self._nodes
        nodes.leaving.add(node)
        self._unfinished.add(node)
        try:
            for some in self._in_turns(lambda each: node in each.isr):
                if some.are_last:
                    nodes.stopped.add(node)
                if some.keys or some.are_last:
                    available = nodes.available
                    nodes.change({key: placement.stopped(nodes.of(*key), node, available) for key in some.keys})
                if not some.are_last:
                    yield
        except BaseException:
            nodes.stopped.discard(node)
            raise
        finally:
            nodes.leaving.discard(node)
        self._unfinished.discard(node)
        nodes.emit(NODE_STOPPED, "node stopped", node=node)
        nodes.on_stopped(node)

    def _start(self, node: int) -> Steps[None]:
        """Start the node: its replicas are in sync, and it leads the partitions that had no leader.

        A partition without a running in-sync replica gets another leader if `unclean.leader.election.enable` allows it.
        """
        nodes, was_stopped = self._nodes, node in self._nodes.stopped
        if was_stopped:
            try:
                nodes.on_starting(node)
            except OSError as error:
                raise KafkaError(ErrorCode.INVALID_REQUEST, f"Node {node} cannot listen: {error.strerror}") from error
        nodes.stopped.discard(node)
        try:
            for some in self._in_turns(lambda each: node in each.replicas):
                if some.keys or some.are_last or was_stopped:
                    nodes.change({key: self._joined(key) for key in some.keys})
                if was_stopped:
                    was_stopped = False
                    self._unfinished.add(node)
                    nodes.emit(NODE_STARTED, "node started", node=node)
                if not some.are_last:
                    yield
        except BaseException:
            if was_stopped:
                nodes.stopped.add(node)
                nodes.on_stopped(node)
            raise
        self._unfinished.discard(node)

    def _joined(self, key: PartitionKey) -> Placement:
        nodes = self._nodes
        now = placement.started(nodes.of(*key), nodes.available)
        if now.leader == NO_LEADER and nodes.may_be_unclean(key[0]):
            return placement.elected(now, nodes.available, preferred=False) or now
        return now

    def _in_turns(self, are_wanted: Callable[[Placement], bool]) -> Iterator[_Some]:
        """Yield the matching partitions that exist when their turn comes; the last turn may have none."""
        nodes = self._nodes
        found: list[PartitionKey] = []
        for looked_at, topic in enumerate(nodes.topics, 1):
            found += nodes.those(topic, are_wanted)
            while len(found) > PARTITIONS_IN_A_TURN:
                yield _Some(nodes.there(found[:PARTITIONS_IN_A_TURN]), are_last=False)
                del found[:PARTITIONS_IN_A_TURN]
            if not looked_at % TOPICS_IN_A_TURN:
                yield _Some([], are_last=False)
        yield _Some(nodes.there(found), are_last=True)
