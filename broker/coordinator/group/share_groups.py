"""Share groups (KIP-932): the interface of the group coordinator for the request handlers.

Calls the decisions in `decisions/share`, and has `GroupDecisions` carry them out. The states of share partitions are in
the share coordinator: they are initialized, altered and deleted through `Persister`. A record of the group lists the
existing ones. An initialization takes several turns, and other requests are decided between them. `_busy` has the
partitions that are being initialized, so that the next heartbeat does not initialize them again. If the broker stops
before the end, the first heartbeat after its next start initializes them again.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import TypeVar

from barnabas.broker.coordinator.group.decisions.group_types import AnyGroup, AnyOutcome, check_group_id
from barnabas.broker.coordinator.group.decisions.modern.members import LEAVING_EPOCH
from barnabas.broker.coordinator.group.decisions.share import leaving, states
from barnabas.broker.coordinator.group.decisions.share.checks import (
    check_share_request,
    share_group_of,
)
from barnabas.broker.coordinator.group.decisions.share.group import ShareGroup
from barnabas.broker.coordinator.group.decisions.share.heartbeat import share_heartbeat
from barnabas.broker.coordinator.group.decisions.share.model import (
    BegunTopic,
    ShareContext,
    ShareHeartbeatReply,
    ShareHeartbeatRequest,
    ShareStates,
)
from barnabas.broker.coordinator.group.decisions.share.records import share_states_stored
from barnabas.broker.coordinator.group.group_decisions import GroupDecisions, GroupPartitions
from barnabas.broker.coordinator.group.share_resets import ShareResets
from barnabas.broker.coordinator.runtime.outcome import InitializeShareStates, Outcome, TimerKey
from barnabas.broker.partitions.share.persister import NOT_STARTED, Persister, SharePartitionKey
from barnabas.broker.runtime.clock import Clock
from barnabas.broker.runtime.events import Events
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.broker.runtime.replies import Reply, ignore_result, reply_to, reply_to_all
from barnabas.broker.runtime.scheduler import CooperativeScheduler, WorkClass
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.steps import Steps, mapped

T = TypeVar("T")
Place = tuple[bytes, int]
"""(topic id, partition)"""
PartitionsByTopic = Mapping[bytes, Collection[int]]
"""Topic id -> partitions."""

_log = logger("coordinator")
_STORING = WorkClass(may_begin_again=False)


class ShareGroups:
    """The share groups of this broker."""

    def __init__(
        self,
        context: ShareContext,
        partitions: GroupPartitions,
        decisions: GroupDecisions,
        clock: Clock,
        upkeep: CooperativeScheduler,
        persister: Callable[[], Persister],
        events: Events | None = None,
    ) -> None:
        """Create them. `events`: where requests that set or delete offsets are reported."""
        self.context = context
        self._partitions = partitions
        self._decisions = decisions
        self._clock = clock
        self._upkeep = upkeep
        self._persister = persister
        self._events = events
        self._busy: dict[str, dict[bytes, frozenset[int]]] = {}

    def heartbeat(self, request: ShareHeartbeatRequest) -> Reply[ShareHeartbeatReply]:
        """Handle ShareGroupHeartbeat. Raises KafkaError with Kafka's error message."""
        check_share_request(request)
        check_group_id(request.group_id, may_be_empty=True)
        return self._decisions.in_steps(request.group_id, partial(self._heartbeat, request))

    def _heartbeat(self, request: ShareHeartbeatRequest, group: AnyGroup | None) -> Steps[AnyOutcome]:
        topics = self.context.topics
        if request.member_epoch == LEAVING_EPOCH:
            return leaving.leave_share_group(_known(group, request.group_id), request, topics=topics)
        return (
            yield from share_heartbeat(
                share_group_of(group, request.group_id, may_create=request.member_epoch == 0),
                request,
                topics=topics,
                now_ms=self._clock.now_ms(),
                config=self.context.config_of(request.group_id),
                busy=self._busy.get(request.group_id, {}),
            )
        )

    def describe(self, group_id: str) -> ShareGroup:
        """Return one group in its current state, only for reading. Raises KafkaError GROUP_ID_NOT_FOUND."""
        check_group_id(group_id, may_be_empty=True)
        return _known(self._partitions.of(group_id).machine.group(group_id), group_id)

    def fire(self, group_id: str, timer: TimerKey) -> Reply[None]:
        """Decide what the timer of a share group does, and carry it out. KafkaError."""
        decide = partial(leaving.share_session_ended, timer=timer, topics=self.context.topics)
        return self._decisions.made(group_id, decide)

    # The states of share partitions

    def initialized(self, group_id: str) -> Mapping[bytes, BegunTopic]:
        """Return the partitions of a group that have a state, by topic id; none for an unknown group. KafkaError."""
        group = self._partitions.of(group_id).machine.group(group_id)
        return group.states.initialized if isinstance(group, ShareGroup) else {}

    def initialize(self, group_id: str, wanted: InitializeShareStates) -> None:
        """Perform the effect: store the first states, and then the record that the partitions have one."""
        offsets = {
            (topic_id, number): NOT_STARTED for topic_id, numbers in wanted.partitions.items() for number in numbers
        }
        busy = self._busy.setdefault(group_id, {})
        for topic_id, numbers in wanted.partitions.items():
            busy[topic_id] = busy.get(topic_id, frozenset()) | numbers
        begun = reply_to(
            lambda: self._begin(group_id, wanted.state_epoch, offsets), lambda _: None, partial(_not_begun, group_id)
        )
        if begun is not None:
            ignore_result(begun)

    def _begin(
        self, group_id: str, state_epoch: int, offsets: Mapping[Place, int], resets: ShareResets | None = None
    ) -> Reply[dict[Place, KafkaError]]:
        """Store first states, and then the group's record; the reply has the partitions that were refused."""
        places = list(offsets)

        def initialize(place: Place) -> Future[None]:
            key = SharePartitionKey(group_id, *place)
            return self._reported(
                self._persister().initialize(key, state_epoch, offsets[place]), resets, place, offsets[place]
            )

        def came(answers: list[KafkaError | None]) -> Reply[dict[Place, KafkaError]]:
            self._no_longer_busy(group_id, places)
            refused = {place: answer for place, answer in zip(places, answers, strict=True) if answer is not None}
            done = _by_topic(place for place in places if place not in refused)
            decide = partial(self._begun, group_id, done, _by_topic(refused))
            return reply_to(lambda: self._decisions.made(group_id, decide), lambda _: refused)

        return self._stored(places, initialize, came)

    def _resets(self, group_id: str) -> ShareResets | None:
        """Return what reports the partitions of the current request; None if no client listens to events."""
        return None if self._events is None or not self._events.is_on else ShareResets(self._events, group_id)

    def _reported(
        self, stored: Future[None], resets: ShareResets | None, place: Place, start_offset: int | None
    ) -> Future[None]:
        """Return the future of a state that a request stores; it is reported once it is done."""
        name = None if resets is None else self.context.topics.name_of(place[0])
        if resets is not None and name is not None:
            stored.add_done_callback(partial(resets.stored, name, place[1], start_offset))
        return stored

    def _stored(
        self,
        places: Collection[Place],
        store: Callable[[Place], Future[None]],
        came: Callable[[list[KafkaError | None]], Reply[T]],
    ) -> Reply[T]:
        """Store the states of many partitions in slices; call `came` with the error of each, or None."""

        def attempted(place: Place) -> Future[None] | KafkaError:
            try:
                return store(place)
            except KafkaError as refusal:
                return refusal

        return reply_to(
            lambda: self._upkeep.in_slices(lambda: mapped(attempted, places), _STORING),
            lambda replies: reply_to(lambda: reply_to_all(replies, _errors, _error), came),
        )

    def _begun(
        self, group_id: str, done: PartitionsByTopic, failed: PartitionsByTopic, group: AnyGroup | None
    ) -> AnyOutcome:
        if not isinstance(group, ShareGroup):
            return Outcome()
        topics = self.context.topics
        still_there = {topic_id: numbers for topic_id, numbers in done.items() if topics.name_of(topic_id) is not None}
        after = states.with_initialized(states.without_initializing(group.states, failed), still_there, topics)
        return _changed(group, after)

    def _no_longer_busy(self, group_id: str, places: Collection[Place]) -> None:
        busy = self._busy.get(group_id, {})
        for topic_id, numbers in _by_topic(places).items():
            left = busy.pop(topic_id, frozenset()).difference(numbers)
            if left:
                busy[topic_id] = left
        if not busy:
            self._busy.pop(group_id, None)

    def alter(self, group_id: str, offsets: Mapping[Place, int]) -> Reply[dict[Place, KafkaError]]:
        """Set where an empty group starts, by (topic id, partition); the reply has the partitions that were refused.

        An unknown group is created. Raises GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP.
        """
        check_group_id(group_id)
        decide, resets = partial(self._altering, group_id, offsets), self._resets(group_id)
        return reply_to(
            lambda: self._decisions.made(group_id, decide), lambda epoch: self._begin(group_id, epoch, offsets, resets)
        )

    def _altering(self, group_id: str, offsets: Mapping[Place, int], group: AnyGroup | None) -> AnyOutcome:
        """Record the partitions as initializing; the reply is the epoch of their states."""
        known = share_group_of(group, group_id, may_create=True)
        if known.members:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP)
        begun = {
            topic_id: BegunTopic(self.context.topics.name_of(topic_id) or "", frozenset(numbers))
            for topic_id, numbers in _by_topic(offsets).items()
        }
        epoch = known.group_epoch
        records = [share_states_stored(group_id, states.with_initializing(known.states, begun))] if begun else []
        return Outcome(records=tuple(records), reply=epoch)

    def delete_offsets(self, group_id: str, topic_ids: Collection[bytes]) -> Reply[dict[bytes, KafkaError]]:
        """Delete the states of topics of an empty group; the reply has the topics that were refused.

        Raises GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP.
        """
        check_group_id(group_id)
        resets = self._resets(group_id)
        return reply_to(
            lambda: self._decisions.made(group_id, partial(self._deleting, group_id, topic_ids)),
            lambda going: self._delete(group_id, going, [each for each in topic_ids if each not in going], resets),
        )

    def delete_states(self, group_id: str) -> Reply[dict[bytes, KafkaError]]:
        """Delete the states of a whole empty group, before the group itself."""
        group = self._partitions.of(group_id).machine.group(group_id)
        if not isinstance(group, ShareGroup) or group.members:
            return {}
        known = group.states
        return self.delete_offsets(group_id, {**known.initializing, **known.initialized, **known.deleting})

    def _deleting(self, group_id: str, topic_ids: Collection[bytes], group: AnyGroup | None) -> AnyOutcome:
        """Record the topics as deleting; the reply has their partitions."""
        known = _known(group, group_id)
        if known.members:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP)
        going = {
            each: _partitions_with_state(known.states, each, self.context.topics.partition_counts) for each in topic_ids
        }
        going = {each: numbers for each, numbers in going.items() if numbers}
        after = states.with_deleting(known.states, going, self.context.topics)
        return _changed(known, after)._replace(reply=going)

    def _delete(
        self, group_id: str, going: PartitionsByTopic, unknown: Collection[bytes], resets: ShareResets | None
    ) -> Reply[dict[bytes, KafkaError]]:
        places = [(topic_id, number) for topic_id, numbers in going.items() for number in numbers]
        nothing = KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "There is no offset information to delete.")

        def delete(place: Place) -> Future[None]:
            deleted = self._persister().delete(SharePartitionKey(group_id, *place))
            return self._reported(deleted, resets, place, None)

        def came(answers: list[KafkaError | None]) -> Reply[dict[bytes, KafkaError]]:
            refused = dict.fromkeys(unknown, nothing)
            for (topic_id, _), answer in zip(places, answers, strict=True):
                if answer is not None:
                    refused[topic_id] = answer
            done = [topic_id for topic_id in going if topic_id not in refused]
            decide = partial(self._deleted, done)
            return reply_to(lambda: self._decisions.made(group_id, decide), lambda _: refused)

        return self._stored(places, delete, came)

    def _deleted(self, topic_ids: Collection[bytes], group: AnyGroup | None) -> AnyOutcome:
        if not isinstance(group, ShareGroup):
            return Outcome()
        return _changed(group, states.without_topics(group.states, topic_ids))

    def on_topic_deleted(self) -> None:
        """Forget the states of topics that do not exist any more: the share coordinator deletes them itself."""
        there = self.context.topics.partition_counts
        for partition in self._partitions.loaded():
            for group in list(partition.machine.groups_of_type(ShareGroup)):
                known = group.states
                gone = {
                    each for each in (*known.initializing, *known.initialized, *known.deleting) if each not in there
                }
                if gone:
                    reply = reply_to(
                        partial(self._decisions.made, group.group_id, partial(self._deleted, gone)),
                        lambda _: None,
                        partial(_not_begun, group.group_id),
                    )
                    if reply is not None:
                        ignore_result(reply)


def _known(group: AnyGroup | None, group_id: str) -> ShareGroup:
    """Return the group. GROUP_ID_NOT_FOUND with the message of requests that create none."""
    if group is None:
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
    return share_group_of(group, group_id)


def _changed(group: ShareGroup, after: ShareStates) -> AnyOutcome:
    """Return the outcome that records other states; none if they are the same."""
    if after == group.states:
        return Outcome()
    return Outcome(records=(share_states_stored(group.group_id, after),))


def _partitions_with_state(known: ShareStates, topic_id: bytes, counts: Mapping[bytes, int]) -> frozenset[int]:
    """Return the partitions whose states are to be deleted; all if an earlier deletion did not end."""
    found: frozenset[int] = frozenset()
    for begun in (known.initializing, known.initialized):
        if topic_id in begun:
            found |= begun[topic_id].partitions
    if topic_id in known.deleting:
        found |= frozenset(range(counts.get(topic_id, 0)))
    return found


def _by_topic(places: Iterable[Place]) -> dict[bytes, frozenset[int]]:
    found: dict[bytes, set[int]] = {}
    for topic_id, number in places:
        found.setdefault(topic_id, set()).add(number)
    return {topic_id: frozenset(numbers) for topic_id, numbers in found.items()}


def _not_begun(group_id: str, refusal: KafkaError) -> None:
    _log.warning(line("share states not written", group=group_id, error=refusal))


def _errors(answers: list[KafkaError | None]) -> list[KafkaError | None]:
    return answers


def _error(refusal: KafkaError) -> KafkaError | None:
    return refusal
