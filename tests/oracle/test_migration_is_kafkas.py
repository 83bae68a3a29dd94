"""Groups that change their protocol answer as Apache Kafka's do, and one of both protocols goes on in either broker.

Members by hand, a request at a time. Their ids differ, and which half of the partitions a member gets may depend on its
id: so it is told how many these are.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from barnabas.broker.coordinator.group.decisions import records
from barnabas.broker.coordinator.group.decisions.classic.model import GroupStored, StoredGroup
from barnabas.broker.coordinator.group.decisions.modern.records import KeyedRecord
from barnabas.client.admin.groups import describe_group
from barnabas.client.admin.topics import create_topic
from barnabas.client.client import GROUP, Client
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from barnabas.protocol.records.batch import iter_batches
from barnabas.protocol.records.record import iter_records
from tests.support.clients.classic_members import ClassicMember, ask_coordinator
from tests.support.kafka.process import KafkaProcess
from tests.support.processes.broker import BrokerProcess
from tests.support.stories.consumer_records import record_text

SETTINGS = {
    "group.consumer.assignment.interval.ms": 0,
    "group.initial.rebalance.delay.ms": 0,
    "offsets.topic.num.partitions": 4,
}
PARTITIONS = 4
_TOPIC = "words"
_ALL = tuple((_TOPIC, number) for number in range(PARTITIONS))


class _Consumer:
    """A member of the consumer protocol."""

    def __init__(self, client: Client, group: str, member_id: str, instance: str | None = None) -> None:
        self.client = client
        self._group = group
        self._member_id = member_id
        self._instance = instance
        self.epoch = 0
        self.owned: list[TopicPartitions] = []

    def beat(self) -> tuple[ErrorCode, str | None, int, int]:
        """Its epoch, and how many partitions it has."""
        answer = self._ask(self.epoch)
        if answer[0] is ErrorCode.NONE:
            self.epoch = answer[2]
        return (*answer, sum(len(each.partitions) for each in self.owned))

    def bye(self, epoch: int = -1) -> tuple[ErrorCode, str | None, int]:
        return self._ask(epoch)

    def _ask(self, epoch: int) -> tuple[ErrorCode, str | None, int]:
        request = ConsumerGroupHeartbeatRequest(
            group_id=self._group,
            member_id=self._member_id,
            member_epoch=epoch,
            instance_id=self._instance,
            topic_partitions=self.owned if epoch >= 0 else None,
        )
        if epoch == 0:
            request.rebalance_timeout_ms, request.subscribed_topic_names = 60_000, [_TOPIC]
        answer = ask_coordinator(self.client, self._group, request)
        if answer.assignment is not None:
            self.owned = answer.assignment.topic_partitions
        return ErrorCode(answer.error_code), answer.error_message, answer.member_epoch


def _described(client: Client, group: str) -> object:
    """How the group is, and each member's protocol and epoch, and how many partitions it has and is to have."""
    found = describe_group(client, group)
    members = []
    for each in found.members:
        own = each.consumer and (each.consumer.type, each.consumer.epoch, len(each.consumer.target))
        members.append((own, len(each.assignment or ())))
    return found.type, found.state, found.group_epoch, found.assignment_epoch, sorted(members, key=str)


def _rolled(client: Client) -> Iterator[object]:
    """A dynamic classic member, a consumer that comes and goes."""
    group = "rolled"
    a, n = ClassicMember(client, group, _TOPIC), _Consumer(client, group, "n")
    yield from (a.join(), a.sync(*_ALL), a.heartbeat(), n.beat(), _described(client, group))
    yield from (a.heartbeat(), a.sync(), a.join(), len(a.sync().assigned), a.heartbeat(), n.beat())
    yield from (a.join(), len(a.sync().assigned), a.heartbeat(), n.beat(), _described(client, group))
    yield from (n.bye(), _described(client, group), a.heartbeat(), a.join(), a.sync(*_ALL), a.heartbeat())
    yield from (_described(client, group), a.leave(), _described(client, group))


def _static(client: Client) -> Iterator[object]:
    """Static members that come back by the other protocol, up and down."""
    group = "static"
    a, n = ClassicMember(client, group, _TOPIC, instance="1"), _Consumer(client, group, "n", "1")
    b, m = ClassicMember(client, group, _TOPIC, instance="2"), _Consumer(client, group, "m", "2")
    yield from (a.join(), a.sync(*_ALL), n.beat(), a.heartbeat(), a.sync(), _described(client, group))
    yield from (b.join(), b.sync().code, n.beat(), n.beat(), b.heartbeat(), b.join(), len(b.sync().assigned))
    yield from (m.beat(), b.heartbeat(), b.join(), _described(client, group))
    yield from (m.bye(-2), _described(client, group))
    b = ClassicMember(client, group, _TOPIC, instance="2")
    yield from (b.join(), len(b.sync().assigned), _described(client, group))
    a = ClassicMember(client, group, _TOPIC, instance="1")
    yield from (a.join(), _described(client, group), len(a.sync().assigned), a.heartbeat(), b.heartbeat(), n.beat())


def _refused(client: Client) -> Iterator[object]:
    """Who is not let in, and what is not upgraded."""
    group = "refused"
    n, a = _Consumer(client, group, "n"), ClassicMember(client, group, _TOPIC)
    yield n.beat()
    yield from (a.join(kind="connect"), a.join(protocols=()), a.join(said=b"x"), a.join(protocols=("sticky", "range")))
    yield from (a.sync(protocol="range"), a.sync(protocol="sticky").code)
    yield ClassicMember(client, group, _TOPIC).join(protocols=("roundrobin",))
    stranger = ClassicMember(client, group, _TOPIC)
    stranger.member_id, stranger.generation_id = "n", 2
    yield from (stranger.heartbeat(), stranger.sync())
    a.generation_id += 5
    yield from (a.heartbeat(), a.sync())
    for name, kind, said, custom in (
        ("worker", "connect", None, b""),
        ("malformed", "consumer", b"x", b""),
        ("custom", "consumer", None, b"mine"),
    ):
        alone = ClassicMember(client, name, _TOPIC)
        yield alone.join(kind=kind, said=said)
        if kind == "consumer":
            yield alone.sync(*_ALL, custom=custom).code
        yield _Consumer(client, name, "n").beat()
    late = _Consumer(client, "custom", "n")
    late.epoch = 3
    yield from (late.beat(), late.bye())


def _told(address: str) -> list[object]:
    with Client(address) as client:
        create_topic(client, _TOPIC, partitions=PARTITIONS)
        client.with_retries(lambda: client.coordinator(GROUP, "rolled", client.deadline()), client.deadline())
        return [*_rolled(client), *_static(client), *_refused(client)]


def _written(data_dir: Path) -> list[str]:
    """The records of the groups, without the times and the ids that are drawn, in an order that depends on neither."""
    found: list[tuple[str, str]] = []
    drawn: set[str] = set()
    for path in data_dir.glob("__consumer_offsets-*/*.log"):
        data = path.read_bytes()
        for position, header in iter_batches(data):
            batch = data[position : position + header.size_in_bytes]
            for raw in () if header.is_control else iter_records(batch):
                record = records.decode(raw.key, raw.value)
                if isinstance(record, GroupStored):
                    stored = record.stored
                    found.append((record.group_id, "deleted" if stored is None else _told_group(stored)))
                    drawn |= {each.member_id for each in (stored.members if stored else ())}
                elif isinstance(record, KeyedRecord):
                    key: Any = record.key
                    found.append((key.group_id, record_text(record)))
                    drawn |= {getattr(key, "member_id", "n")}
    nameless = re.compile("|".join(re.escape(each) for each in drawn - {"n", "m"}))
    topic = re.compile(r" \d+:(?=\d)|at=\d{5,}")
    return sorted(f"{group}: {topic.sub(' t:', nameless.sub('*', told))}" for group, told in found)


def _told_group(stored: StoredGroup) -> str:
    members = sorted(stored.members, key=lambda each: each.group_instance_id or "")
    return str(stored._replace(state_timestamp_ms=0, members=tuple(members)))


def test_every_step_is_answered_and_written_as_by_kafka(tmp_path: Path) -> None:
    with KafkaProcess(tmp_path / "kafka", SETTINGS) as kafka:
        expected = _told(kafka.address)
    with BrokerProcess(tmp_path / "barnabas", SETTINGS) as broker:
        assert _told(broker.address) == expected
    assert _written(tmp_path / "barnabas") == _written(tmp_path / "kafka")
    assert len(expected) > 60


def test_a_group_of_both_protocols_goes_on_in_either_broker(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    with BrokerProcess(data_dir, SETTINGS) as broker, Client(broker.address) as client:
        create_topic(client, _TOPIC, partitions=PARTITIONS)
        a, n = ClassicMember(client, "g", _TOPIC), _Consumer(client, "g", "n")
        a.join()
        a.sync(*_ALL)
        assert n.beat()[2:] == (2, 0)
        a.join()
        a.sync()
        a.join()
        has = a.sync().assigned
        described = _described(client, "g")
        assert broker.stop() == 0
    with KafkaProcess(data_dir, SETTINGS) as kafka, Client(kafka.address) as client:
        a.client = n.client = client
        assert a.heartbeat() is ErrorCode.NONE
        assert _described(client, "g") == described
        assert n.beat()[2:] == (2, PARTITIONS // 2)
        b = ClassicMember(client, "g", _TOPIC)
        assert b.join().code is ErrorCode.NONE
        b.sync()
        described = _described(client, "g")
        kafka.stop()
    with BrokerProcess(data_dir, SETTINGS) as broker, Client(broker.address) as client:
        a.client = b.client = n.client = client
        assert _described(client, "g") == described
        assert (a.heartbeat(), b.heartbeat()) == (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.NONE)
        assert a.sync().code is ErrorCode.REBALANCE_IN_PROGRESS
        assert a.join().code is ErrorCode.NONE
        assert {*a.sync().assigned} <= {*has}
        assert b.leave() == (ErrorCode.NONE,)
        assert n.bye()[0] is ErrorCode.NONE
        assert describe_group(client, "g").type == "classic"
        assert a.join().is_leader
