"""A streams group without a broker: decisions are replayed at once, timers are listed, the clock is moved by hand."""

from collections.abc import Iterable, Mapping
from typing import Any

from barnabas.broker.coordinator.group.decisions.modern import records
from barnabas.broker.coordinator.group.decisions.modern.group import ModernGroup
from barnabas.broker.coordinator.group.decisions.streams import leaving
from barnabas.broker.coordinator.group.decisions.streams.group import StreamsGroup
from barnabas.broker.coordinator.group.decisions.streams.heartbeat import StreamsOutcome, heartbeat
from barnabas.broker.coordinator.group.decisions.streams.model import (
    StreamsConfig,
    StreamsHeartbeatReply,
    StreamsHeartbeatRequest,
)
from barnabas.broker.coordinator.group.decisions.streams.replay import STREAMS_REPLAY
from barnabas.broker.coordinator.group.decisions.streams.tasks import TaskSets, task_map
from barnabas.broker.coordinator.group.decisions.streams.topics.topology import StreamsTopology, topology_of
from barnabas.broker.coordinator.runtime.outcome import SetTimer, TimerKey
from barnabas.protocol.log_records.streams_group import (
    STREAMS_GROUP_KEYS,
    StoredCopartitionGroup,
    StoredSubtopology,
    StoredTopicConfig,
    StoredTopicInfo,
    StreamsGroupTopologyValue,
)
from barnabas.protocol.log_records.versioned_messages import decode_key
from barnabas.storage.steps import finish
from tests.support.worlds.streams_topics import StreamsTopics

GROUP_ID = "app"


def internal(name: str, partitions: int = 0, configs: Mapping[str, str] | None = None) -> StoredTopicInfo:
    """An internal topic, as a topology declares it."""
    stored = [StoredTopicConfig(key=key, value=value) for key, value in (configs or {}).items()]
    return StoredTopicInfo(name=name, partitions=partitions, replication_factor=0, topic_configs=stored)


def subtopology(
    subtopology_id: str,
    sources: Iterable[str] = (),
    *,
    sinks: Iterable[str] = (),
    repartitions: Iterable[StoredTopicInfo] = (),
    changelogs: Iterable[StoredTopicInfo] = (),
    copartitioned: Iterable[tuple[list[int], list[int]]] = (),
) -> StoredSubtopology:
    return StoredSubtopology(
        subtopology_id=subtopology_id,
        source_topics=list(sources),
        source_topic_regex=[],
        state_changelog_topics=list(changelogs),
        repartition_sink_topics=list(sinks),
        repartition_source_topics=list(repartitions),
        copartition_groups=[
            StoredCopartitionGroup(source_topics=external, source_topic_regex=[], repartition_source_topics=of_group)
            for external, of_group in copartitioned
        ],
    )


def topology(*subtopologies: StoredSubtopology, epoch: int = 0) -> StreamsTopology:
    return finish(topology_of(StreamsGroupTopologyValue(epoch=epoch, subtopologies=list(subtopologies))))


COUNTING = (
    subtopology("0", ["words"], sinks=["by-word"]),
    subtopology("1", repartitions=[internal("by-word")], changelogs=[internal("counts", configs={"a": "b"})]),
)
"""A program that counts words."""


def tasks(active: Mapping[str, Iterable[int]], standby: Mapping[str, Iterable[int]] | None = None) -> TaskSets:
    return TaskSets(task_map(active.items()), task_map((standby or {}).items()))


class StreamsWorld:
    """One streams group, its topics and its timers."""

    def __init__(self, topics: Mapping[str, int], **settings: Any) -> None:
        self.topics = StreamsTopics(topics)
        self.config = StreamsConfig(**settings)
        self.groups: dict[str, ModernGroup] = {}
        self.timers: dict[TimerKey, int] = {}
        self.now_ms = 1_000_000
        self.log: list[records.KeyedRecord] = []

    @property
    def group(self) -> StreamsGroup:
        group = self.groups[GROUP_ID]
        assert isinstance(group, StreamsGroup)
        return group

    def join(self, member_id: str, *, of: StreamsTopology | None = None, **more: Any) -> StreamsHeartbeatReply:
        """Join with the program that counts words, or another one."""
        more = {"rebalance_timeout_ms": 300_000, "process_id": member_id, "owned": TaskSets()} | more
        return self.heartbeat(member_id, 0, topology=topology(*COUNTING) if of is None else of, **more)

    def heartbeat(self, member_id: str, epoch: int, **more: Any) -> StreamsHeartbeatReply:
        request = StreamsHeartbeatRequest(GROUP_ID, member_id, epoch, **more)
        group = self.group if self.groups else StreamsGroup(GROUP_ID)
        decided = heartbeat(group, request, topics=self.topics, now_ms=self.now_ms, config=self.config)
        reply: StreamsHeartbeatReply = self._done(finish(decided))
        return reply

    def leave(self, member_id: str, epoch: int = -1, **more: Any) -> StreamsHeartbeatReply:
        left = leaving.leave(self.group, StreamsHeartbeatRequest(GROUP_ID, member_id, epoch, **more))
        reply: StreamsHeartbeatReply = self._done(left)
        return reply

    def fire(self, timer: TimerKey) -> None:
        self.timers.pop(timer)
        group = self.group if self.groups else None
        self._done(finish(leaving.timer_fired(group, timer, config=self.config, now_ms=self.now_ms)))

    def written(self) -> list[str]:
        """Return the types of the records since the last call."""
        told = [f"{record.key.__schema__.key}{'' if record.value is not None else ' gone'}" for record in self.log]
        self.log.clear()
        return told

    def _done(self, outcome: StreamsOutcome) -> Any:
        for record in outcome.records:
            key, value = records.encode(record)
            decoded = decode_key(STREAMS_GROUP_KEYS, key)
            assert decoded is not None
            STREAMS_REPLAY.replay(self.groups, GROUP_ID, records.decode(decoded, value))
        self.log += outcome.records
        if outcome.volatile is not None and GROUP_ID in self.groups:
            self.group.install(outcome.volatile)
        for effect in outcome.effects:
            if isinstance(effect, SetTimer):
                self.timers[effect.timer] = effect.delay_ms
            else:
                self.timers.pop(effect.timer, None)  # type: ignore[union-attr]  # all others cancel one
        return outcome.reply
