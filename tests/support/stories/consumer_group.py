"""Stories about a consumer group (KIP-848), as text: commands, and what the coordinator answered and wrote.

    > topic t 2                   topic t has two partitions from now on; the first topic is 1 in the output
    > beat a topics=t             client a joins: it has no epoch yet
    log: Metadata: epoch=2 hash
    a: epoch=2 has 1:0,1

Commands, beside those of `stories/group.py`: `topic NAME PARTITIONS`, `no-topic NAME`, `settings KEY=VALUE…`, `beat
NAME [id=ID] [epoch=N] [topics=T,U] [regex=R] [assignor=A] [instance=I] [rack=R] [rebalance=MS] [still=T-0,T-1]
[silent]`, `bye NAME [epoch=-2]`, `group`. A client stores its epoch and its assignment; at its next heartbeat
it owns that, and what it `still` has, and reports it unless it is `silent`. After `forget NAME` it joins again.
"""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from barnabas.broker.coordinator.group.decisions.consumer.model import (
    Claimed,
    HeartbeatReply,
    HeartbeatRequest,
    MigrationPolicy,
)
from barnabas.protocol.errors import KafkaError
from tests.support.stories.consumer_records import partitions_text
from tests.support.stories.group import Story
from tests.support.worlds.group import reply_of


@dataclass
class _Consumer:
    """What a consumer remembers of itself."""

    member_id: str
    epoch: int = 0
    instance: str | None = None
    has: dict[bytes, set[int]] = field(default_factory=dict)


class ConsumerStory(Story):
    """One story while it is played."""

    def __init__(self) -> None:
        super().__init__()
        self._consumers: dict[str, _Consumer] = {}

    def _settings(self, names: list[str], settings: dict[str, str]) -> None:
        values: dict[str, Any] = {
            key: int(value) if value.isdecimal() else MigrationPolicy[value] for key, value in settings.items()
        }
        self.consumer_config = replace(self.consumer_config, **values)
        if self._world is not None:
            self._world.consumer_config = self.consumer_config

    def _topic(self, names: list[str], settings: dict[str, str]) -> None:
        self.world.topics.make(names[0], int(names[1]))
        self.world.topic_ids[names[0]] = self.world.topics.ids[names[0]]

    def _no_topic(self, names: list[str], settings: dict[str, str]) -> None:
        self.world.topics.delete(names[0])

    def _forget(self, names: list[str], settings: dict[str, str]) -> None:
        consumer = self._consumers[names[0]]
        consumer.epoch, consumer.has = 0, {}

    def _beat(self, names: list[str], settings: dict[str, str]) -> None:
        name = names[0]
        consumer = self._consumers.setdefault(name, _Consumer(name))
        consumer.member_id = settings.get("id", consumer.member_id)
        consumer.instance = settings.get("instance", consumer.instance)
        epoch = int(settings.get("epoch", consumer.epoch))
        topics = settings.get("topics")
        request = HeartbeatRequest(
            "g",
            consumer.member_id,
            epoch,
            instance_id=consumer.instance,
            rack_id=settings.get("rack"),
            rebalance_timeout_ms=int(settings.get("rebalance", 60_000 if epoch == 0 else -1)),
            topic_names=None if topics is None else tuple(filter(None, topics.split(","))),
            topic_regex=settings.get("regex"),
            assignor=settings.get("assignor"),
            owned=None if "silent" in names else self._claimed(consumer, epoch, settings.get("still", "")),
            client_id="c",
            client_host="/127.0.0.1",
            may_describe=lambda topic: True,
        )
        self._ask_consumer(name, request)

    def _claimed(self, consumer: _Consumer, epoch: int, still: str) -> Claimed:
        claimed = {topic_id: set(numbers) for topic_id, numbers in consumer.has.items()} if epoch > 0 else {}
        for place in filter(None, still.split(",")):
            topic, _, number = place.rpartition("-")
            claimed.setdefault(self.world.topics.ids[topic], set()).add(int(number))
        return {topic_id: frozenset(numbers) for topic_id, numbers in claimed.items()}

    def _bye(self, names: list[str], settings: dict[str, str]) -> None:
        consumer = self._consumers[names[0]]
        epoch = int(settings.get("epoch", -1))
        self._ask_consumer(names[0], HeartbeatRequest("g", consumer.member_id, epoch, consumer.instance))

    def _ask_consumer(self, name: str, request: HeartbeatRequest) -> None:
        try:
            answered = self.world.coordinator.consumer.heartbeat(request)
        except KafkaError as error:
            self._lines.append(f"{name}: {error.code.name}: {error.message}")
            return
        self._show_records()
        self._show_reply(name, reply_of(answered))

    def _show_reply(self, name: str, reply: HeartbeatReply) -> None:
        consumer = self._consumers[name]
        consumer.epoch = max(reply.member_epoch, 0)
        line = f"{name}: epoch={reply.member_epoch}"
        if reply.assignment is not None:
            consumer.has = {topic_id: set(numbers) for topic_id, numbers in reply.assignment.items()}
            line += f" has {partitions_text(reply.assignment.items())}"
        self._lines.append(line)

    def _commit(self, names: list[str], settings: dict[str, str]) -> None:
        """`commit NAME|- TOPIC-PARTITION=OFFSET… [epoch=N]`."""
        consumer = self._consumers.get(names[0])
        epoch = int(settings.pop("epoch", consumer.epoch if consumer else -1))
        offsets = [(*place.rsplit("-", 1), offset) for place, offset in settings.items()]
        call = partial(
            self.world.commit,
            [(topic, int(number), int(offset)) for topic, number, offset in offsets],
            member_id=consumer.member_id if consumer else "",
            generation_id=epoch,
        )
        self._ask(names[0], "commit", call)

    def _group(self, names: list[str], settings: dict[str, str]) -> None:
        try:
            group = self.world.coordinator.consumer.describe("g")
        except KafkaError as error:
            self._lines.append(f"group: {error.code.name}: {error.message}")
            return
        epochs = f"epoch={group.group_epoch} assignment={group.assignment_epoch}"
        self._lines.append(f"group: {group.state.value} {epochs} members: {' '.join(group.members) or 'nobody'}")
