"""The nodes of one process: which of them are running, and where each partition is. The one state that all share.

Knows ids of nodes and placements; `on_moved` is called so that a node can act on what it leads. The catalogue has only
one node, so the rest is stored in a file beside it (`topology_file.py`).

Invariants: every partition of the catalogue has a placement, on existing nodes. A change is in the catalogue (the
leader epochs it raises) and then in the file before anything is notified of it. The order matters: a crash in between
leaves an epoch that is too high, never an epoch that two leaders used. New topics and partitions are written to the
file first: a crash in between leaves some there that are never looked up. A change that cannot be stored is not made.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from barnabas.broker.config.racks import RACK_AWARE_SELECTOR, racks
from barnabas.broker.config.resources.topic_configs import effective
from barnabas.broker.metadata.cluster import placement, topology_file
from barnabas.broker.metadata.cluster.placement import Placement
from barnabas.broker.metadata.cluster.topology_file import NodesFile, PlacedTopic
from barnabas.broker.metadata.image.image import NO_LEADER
from barnabas.broker.metadata.image.topic_changes import replication_factor_key
from barnabas.broker.runtime.events.events import Events
from barnabas.broker.runtime.events.kind import EventKind
from barnabas.broker.runtime.events.kinds import LEADER_MOVED
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.primitives import uuid_text
from barnabas.storage.errors import StorageError

if TYPE_CHECKING:
    from barnabas.broker.config import BrokerConfig
    from barnabas.broker.metadata.catalogue import Catalogue, TopicImage
    from barnabas.broker.metadata.image.topic_changes import CreatedTopic, NewPartitions
    from barnabas.storage.disk.directory import Directory

_log = logger("cluster")

PartitionKey = tuple[str, int]
HaveStopped = Callable[[Callable[[Collection[int]], Collection[int]]], "Future[None] | None"]
INTERNAL_FACTOR = 3
"""The replication factor of a coordinator's topic that is not configured, with as many nodes: Kafka's default."""
_PREFERRED_IS_AWAY = KafkaError(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, "The preferred leader was not available.")
_NO_ELIGIBLE_LEADER = KafkaError(
    ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, "Eligible topic partition leaders are not available."
)


class ClusterTopology:
    """All nodes, stopped and running. A `CatalogueListener`, and the `Placing` of `Catalogue.place_with`."""

    def __init__(
        self,
        ids: Sequence[int],
        catalogue: Catalogue,
        config: BrokerConfig,
        root: Directory,
        soon: Callable[[Callable[[], None]], object],
        events: Events | None = None,
    ) -> None:
        """Load the state that the last run left in `root`; place new partitions. Raises NodesFileError, StorageError.

        soon: schedules a function for the next turn of the event loop.
        """
        self._soon = soon
        self.events = events or Events()
        self.brokers: Collection[int] = tuple(ids)
        self.racks = dict(zip(ids, racks(config.text("broker.rack"), len(ids)), strict=True))
        """The rack of each node; None if it has none."""
        self.reads_by_rack = config.text("replica.selector.class") == RACK_AWARE_SELECTOR
        """Whether consumers are directed to replicas in their racks."""
        self._catalogue = catalogue
        self._config = config
        self._file = NodesFile(root, tuple(ids))
        before = topology_file.read(root)
        self.stopped = {node for node in before.stopped if node in self.brokers}
        """The ids of the nodes that are not running: always the same set, which the catalogue refers to."""
        if not self.running:
            _log.warning(line("every node is started", reason="the file names no node that may run"))
            self.stopped.clear()
        self.leaving: set[int] = set()
        """The ids of the running nodes that are about to stop, once others lead their partitions."""
        self.have_stopped: HaveStopped
        """Set by `Switching` to its `have_stopped`."""
        self._placements: dict[str, list[Placement]] = {}
        self.on_moved: Callable[[Mapping[PartitionKey, Placement]], None] = lambda before: None
        """Called with the former placements of partitions that have new ones, or may have got another epoch."""
        self.on_stopped: Callable[[int], None] = lambda node: None
        """Called once no client is directed to the node any more."""
        self.on_starting: Callable[[int], None] = lambda node: None
        """Called before clients are directed to the node; raises OSError if it cannot be reached."""
        for topic in catalogue.topics.values():
            self._place_again(topic, before.topics.get(uuid_text(topic.topic_id), ()))
            self._file.note(self._placed(topic.name))
        if not self._file.is_current(self.stopped):
            self._file.write(self.stopped)
        catalogue.place_with(self)
        catalogue.subscribe(self)

    @property
    def running(self) -> list[int]:
        """The ids of the nodes that are not stopped."""
        return [node for node in self.brokers if node not in self.stopped]

    @property
    def available(self) -> list[int]:
        """The ids of the nodes that may lead and be in sync: those that are running and not about to stop."""
        return [node for node in self.running if node not in self.leaving]

    def of(self, topic: str, partition: int) -> Placement:
        """Return the placement of a partition, which must exist."""
        return self._placements[topic][partition]

    def racks_of(self, topic: str, partition: int) -> list[str]:
        """Return the racks of a partition's replicas, without those that have none; the partition must exist."""
        return [rack for node in self.of(topic, partition).replicas if (rack := self.racks[node]) is not None]

    def led_by(self, node: int, topic: str) -> list[int]:
        """Return the numbers of the topic's partitions that the node leads."""
        return [number for number, each in enumerate(self._placements[topic]) if each.leader == node]

    def hosted_by(self, node: int, topic: str) -> list[int]:
        """Return the numbers of the topic's partitions that the node has a replica of."""
        return [number for number, each in enumerate(self._placements[topic]) if node in each.replicas]

    @property
    def topics(self) -> list[str]:
        """The names of all topics, as they are now."""
        return list(self._placements)

    def unbalanced(self, topic: str) -> list[int]:
        """Return the topic's partitions that are led by another than the preferred replica, which could lead them."""
        running = self.available
        return [
            number
            for number, each in enumerate(self._placements.get(topic, ()))
            if each.leader != each.preferred and placement.elected(each, running, preferred=True) is not None
        ]

    def those(self, topic: str, are_wanted: Callable[[Placement], bool]) -> list[PartitionKey]:
        """Return the topic's partitions whose placements match; none if the topic is deleted."""
        return [(topic, number) for number, each in enumerate(self._placements.get(topic, ())) if are_wanted(each)]

    def there(self, keys: Iterable[PartitionKey]) -> list[PartitionKey]:
        """Return those of the partitions that exist now."""
        return [key for key in keys if key[1] < len(self._placements.get(key[0], ()))]

    # --- called by the catalogue -------------------------------------------------------------------------------------

    def factor(self, topic: str) -> int:
        """Return the topic's replication factor, as `Placing.factor` requires."""
        there = self._placements.get(topic)
        if there:
            return len(there[0].replicas)
        key = replication_factor_key(topic)
        is_set = any(key in layer for _, layer in self._config.layers())
        return min(self._config.integer(key) if is_set else INTERNAL_FACTOR, len(self.brokers))

    def placing(self, created: Sequence[CreatedTopic]) -> AbstractContextManager[None]:
        """Hold the placement of new topics, as `Placing.placing` requires."""
        return self._placing_topics(
            PlacedTopic(
                it.topic_id,
                it.name,
                self._new(it.name, range(it.num_partitions), it.replication_factor, it.assignments),
            )
            for it in created
        )

    def placing_more(self, grown: Sequence[NewPartitions]) -> AbstractContextManager[None]:
        """Hold the placement of added partitions, as `Placing.placing_more` requires."""
        return self._placing_topics(self._placed(it.name, self._grown(it)) for it in grown)

    def _grown(self, wish: NewPartitions) -> list[Placement]:
        there, factor = self._placements[wish.name], self.factor(wish.name)
        return [*there, *self._new(wish.name, range(len(there), wish.total), factor, wish.assignments)]

    def _new(
        self, topic: str, numbers: range, factor: int, assignments: Sequence[Sequence[int]] | None
    ) -> list[Placement]:
        running, away = self.available, sorted(self.stopped | self.leaving)
        replicas = assignments or placement.spread(topic, numbers, factor, running, away, self.racks)
        return [placement.placed(each, running) for each in replicas]

    @contextmanager
    def _placing_topics(self, topics: Iterable[PlacedTopic]) -> Iterator[None]:
        """Hold placements, in the file first: a start ignores topics that only the file has, and re-places others."""
        placed = list(topics)
        if placed:
            self._file.write(self.stopped, placed)
        try:
            yield
        except BaseException:
            for topic in placed:
                if topic.name in self._placements:
                    self._file.note(self._placed(topic.name))
                else:
                    self._file.forget(topic.topic_id)
            raise
        self._placements.update((topic.name, list(topic.placements)) for topic in placed)

    def _placed(self, name: str, placements: Sequence[Placement] | None = None) -> PlacedTopic:
        """Return the topic as it is stored, with these placements, or with its current ones."""
        topic_id = self._catalogue.topics[name].topic_id
        return PlacedTopic(topic_id, name, self._placements[name] if placements is None else placements)

    def _place_again(self, topic: TopicImage, before: Sequence[Placement]) -> None:
        """Place a topic as in the file, as far as its nodes exist; place partitions anew that are not in the file."""
        running = self.running
        fresh = placement.spread(topic.name, range(len(topic.partitions)), 1, running)
        placements = []
        for number, replicas in enumerate(fresh):
            old = before[number] if number < len(before) else None
            left = old and tuple(node for node in old.replicas if node in self.brokers)
            if old is not None and left == old.replicas:
                placements.append(placement.started(old, running))
            else:
                placements.append(placement.placed(left or replicas, running))
        self._placements[topic.name] = placements

    def on_topic_created(self, topic: TopicImage) -> None:
        """Do nothing: the topic was placed before listeners were notified."""

    def on_partitions_added(self, topic: TopicImage, first_new: int) -> None:
        """Do nothing: the partitions were placed before listeners were notified."""

    def on_configs_changed(self, resource_type: int, resource_name: str) -> None:
        """Do nothing: no setting moves a partition."""

    def on_topic_deleted(self, topic: TopicImage) -> None:
        """Forget the topic. The file need not be written: a new topic of this name gets another id."""
        self._placements.pop(topic.name, None)
        self._file.forget(topic.topic_id)

    # --- changes -----------------------------------------------------------------------------------------------------

    def change(self, wanted: Mapping[PartitionKey, Placement]) -> None:
        """Give partitions these placements; leader epochs rise where leaders change. Raises KafkaError or StorageError.

        Where a partition gets a leader again, its other running replicas become in sync in the next turn of the loop.
        """
        before = {key: self.of(*key) for key in wanted}
        after = {topic: list(self._placements[topic]) for topic in dict.fromkeys(topic for topic, _ in wanted)}
        for (topic, number), now in wanted.items():
            after[topic][number] = now
        try:
            self._catalogue.raise_leader_epochs(key for key, now in wanted.items() if _ends_an_epoch(before[key], now))
            self._file.write(self.stopped, [self._placed(topic, placements) for topic, placements in after.items()])
            self._placements.update(after)
            for key, now in wanted.items():
                if now.leader != (was := before[key].leader):
                    self.emit(LEADER_MOVED, "leader moved", topic=key[0], partition=key[1], was=was, now=now.leader)
            led_again = [key for key, was in before.items() if was.leader == NO_LEADER != wanted[key].leader]
            if led_again:
                self._soon(lambda: self._join_isr(led_again))
        finally:
            self.on_moved(before)  # even if it failed: epochs that rose must be set in the open logs

    def emit(self, kind: EventKind, text: str, **facts: Any) -> None:
        """Log what happened, and emit it as an event."""
        _log.info(line(text, **facts))
        if self.events.is_on:
            self.events.emit(kind, facts)

    def may_be_unclean(self, topic: str) -> bool:
        """Return whether a replica that is out of sync may lead the topic's partitions."""
        return effective(self._catalogue.topics[topic].configs, self._config, "unclean.leader.election.enable") is True

    def check(self, node: int) -> None:
        """Raise KafkaError if there is no such node."""
        if node not in self.brokers:
            existing = ", ".join(map(str, sorted(self.brokers)))
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"There is no node {node}, only {existing}.")

    def reassign(self, wishes: Mapping[PartitionKey, Sequence[int]]) -> None:
        """Move partitions to these replicas, which are existing nodes, at once. Raises KafkaError or StorageError."""
        wanted = {key: self.reassigned(*key, replicas) for key, replicas in wishes.items()}
        self.change(wanted)

    def reassigned(self, topic: str, partition: int, replicas: Sequence[int]) -> Placement:
        """Return the placement of a partition on these replicas. Raise KafkaError if it is impossible."""
        running, unclean = self.available, self.may_be_unclean(topic)
        if not set(replicas) & set(running):
            raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "None of these replicas is on a node that runs.")
        now = placement.reassigned(self.of(topic, partition), replicas, running, may_be_unclean=unclean)
        if now is None:
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT, "The partition has no leader, and none of these is in sync."
            )
        return now

    def lead(self, key: PartitionKey, node: int) -> None:
        """Make a running node the leader, as an additional replica if necessary. Raises KafkaError or StorageError."""
        self.check(node)
        if node not in self.available:
            raise KafkaError(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, f"Node {node} is stopped.")
        others = [replica for replica in self.of(*key).replicas if replica != node]
        now = placement.placed([node, *others], self.available)
        self.change({key: now._replace(leader=node)})

    def elect(self, keys: Iterable[PartitionKey], *, preferred: bool) -> dict[PartitionKey, KafkaError | None]:
        """Elect leaders of existing partitions: the preferred, or any if there is none. Return each failure, or None.

        Raise KafkaError or StorageError if none was elected.
        """
        answers: dict[PartitionKey, KafkaError | None] = {}
        wanted: dict[PartitionKey, Placement] = {}
        for key in keys:
            before = self.of(*key)
            now = placement.elected(before, self.available, preferred=preferred)
            if before.leader == before.preferred if preferred else before.leader != NO_LEADER:
                answers[key] = KafkaError(
                    ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition."
                )
            elif now is None:
                answers[key] = _PREFERRED_IS_AWAY if preferred else _NO_ELIGIBLE_LEADER
            else:
                answers[key], wanted[key] = None, now
        if wanted:
            self.change(wanted)
        return answers

    def _join_isr(self, keys: Iterable[PartitionKey]) -> None:
        """Add the other running replicas to the ISR: they have the leader's records, as in Kafka after a fetch."""
        before = {key: self.of(*key) for key in self.there(keys)}
        now = {key: placement.started(each, self.available) for key, each in before.items()}
        joined = {key: each for key, each in now.items() if each != before[key]}
        try:
            if joined:
                self.change(joined)
        except (KafkaError, StorageError) as error:
            _log.error(line("replicas not in sync", reason=error))

    def every(self) -> Iterable[tuple[PartitionKey, Placement]]:
        """Yield every partition and its placement."""
        for topic, placements in self._placements.items():
            for number, each in enumerate(placements):
                yield (topic, number), each


def _ends_an_epoch(before: Placement, now: Placement) -> bool:
    """Return whether the leader epoch rises: the leader changes, or a replica is removed and must not seem in sync."""
    return before.leader != now.leader or not set(before.replicas) <= set(now.replicas)
