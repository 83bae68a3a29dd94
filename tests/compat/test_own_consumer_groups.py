"""Our own client in consumer groups (KIP-848): alone, beside others, fenced, static; and what is told of the groups."""

import json
import threading
from contextlib import ExitStack
from functools import partial
from typing import Any, Self

import pytest
from confluent_kafka import Consumer

from barnabas.broker.cli import main
from barnabas.client.admin.group_descriptions import GroupInfo
from barnabas.client.admin.groups import describe_group
from barnabas.client.admin.topics import create_topic, delete_topic
from barnabas.client.client import GROUP, Client
from barnabas.client.consume.classic_membership import ClassicProtocol
from barnabas.client.consume.consumer_membership import ConsumerProtocol
from barnabas.client.consume.group_consumer import GroupConsumer
from barnabas.client.consume.membership import GroupProtocol
from barnabas.client.metadata import TopicPartition
from barnabas.client.offsets import commit_offsets, committed_offsets, stable_offsets
from barnabas.client.produce.producer import Producer
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tests.compat.model import quick_groups
from tests.support.clients.committed import begun, read_to_end
from tests.support.clients.heartbeats import heartbeat
from tests.support.clients.queues import send_numbers, set_of_group
from tests.support.processes.server import Server
from tests.support.waiting import until

PARTITIONS = 4
SETTINGS = quick_groups(heartbeat_interval_ms=100) | {"num.partitions": PARTITIONS, "log.retention.ms": -1}


@pytest.fixture
def name(request: pytest.FixtureRequest, client: Client) -> str:
    """A name of its own for each test's group and topic, which has ten records in each partition."""
    name: str = request.node.name.replace("[", "-").replace("]", "")[:200]
    create_topic(client, name, partitions=PARTITIONS)
    send_numbers(client, name, range(10 * PARTITIONS), PARTITIONS)
    return name


def consumer(client: Client, name: str, protocol: GroupProtocol | None = None, **more: bool) -> GroupConsumer:
    """Of the topic from its beginning, in the group of the same name."""
    kind = protocol or ConsumerProtocol()
    return GroupConsumer(client, name, [name], protocol=kind, auto_offset_reset="earliest", **more)


def _all(topic: str) -> list[TopicPartition]:
    return [(topic, number) for number in range(PARTITIONS)]


class Member:
    """A member that polls in a thread, with a client of its own, so that the others' heartbeats go on meanwhile."""

    def __init__(self, server: Server, group: str, topics: list[str], protocol: GroupProtocol | None = None) -> None:
        self._client = Client(server.address, client_id="ours")
        protocol = protocol or ConsumerProtocol()
        self.consumer = GroupConsumer(self._client, group, topics, protocol=protocol, auto_offset_reset="earliest")
        self.records: list[bytes | None] = []
        self.assigned: list[TopicPartition] = []
        self.was_at_end = False  # after the last poll: its client is for one thread
        self.failures: list[KafkaError] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._poll, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave the group."""
        self._stop.set()
        self._thread.join()
        self._client.close()

    def _poll(self) -> None:
        while not self._stop.is_set():
            try:
                self.records += [each.record.value for each in self.consumer.poll(50)]
                self.assigned = self.consumer.assignment
                self.was_at_end = self.consumer.is_at_end()
            except KafkaError as error:
                self.failures.append(error)
                break
        self.consumer.close()


# --- sharing ---


def test_what_is_there_is_read_committed_and_read_on(client: Client, name: str) -> None:
    with consumer(client, name) as member:
        found = [each for _ in range(5) for each in member.poll(500, max_records=5)]
        assert member.assignment == _all(name)
    assert sum(committed_offsets(client, name).values()) == len(found) == 25
    with consumer(client, name) as member:
        found += read_to_end(member)
    assert sorted(int(each.record.value or b"") for each in found) == [*range(10 * PARTITIONS)]
    assert committed_offsets(client, name) == dict.fromkeys(_all(name), 10)


def test_members_share_and_inherit_and_no_record_is_read_twice(server: Server, client: Client, name: str) -> None:
    with ExitStack() as stack:
        members = [stack.enter_context(Member(server, name, [name]))]
        until(lambda: members[0].assigned == _all(name))
        for count in (2, 3, 4):
            members.append(stack.enter_context(Member(server, name, [name])))
            until(partial(_is_shared, members, name, at_most=5 - count))
        send_numbers(client, name, range(40, 80), PARTITIONS)
        until(lambda: sum(len(each.records) for each in members) >= 80)
        for left in members[:3]:
            left.close()
        until(lambda: members[3].assigned == _all(name))
        send_numbers(client, name, range(80, 100), PARTITIONS)
        until(lambda: sum(len(each.records) for each in members) >= 100)
        assert sorted(int(value or b"") for each in members for value in each.records) == [*range(100)]
        assert [each.failures for each in members] == [[]] * 4


def _is_shared(members: list[Member], topic: str, at_most: int) -> bool:
    """Whether each partition has one reader, and no member more than so many."""
    assigned = [each.assigned for each in members]
    return sorted(where for each in assigned for where in each) == _all(topic) and max(map(len, assigned)) <= at_most


def test_the_end_is_behind_what_a_member_had_that_is_gone_without_a_word(
    server: Server, client: Client, name: str
) -> None:
    set_of_group(client, name, {"consumer.session.timeout.ms": "2000"})
    with Client(server.address) as killed:
        gone = consumer(killed, name)
        found = read_to_end(gone)
        gone.commit()
    assert len(found) == 10 * PARTITIONS
    send_numbers(client, name, range(40, 80), PARTITIONS)
    with consumer(client, name) as member:
        found += read_to_end(member)
    assert sorted(int(each.record.value or b"") for each in found) == [*range(80)]


def test_librdkafkas_member_has_its_share(server: Server, name: str) -> None:
    with Member(server, name, [name]) as ours, ExitStack() as stack:
        until(lambda: ours.assigned == _all(name))
        theirs = Consumer({"bootstrap.servers": server.address, "group.id": name, "group.protocol": "consumer"})
        stack.callback(theirs.close)
        theirs.subscribe([name])
        until(lambda: theirs.poll(0.02) is None and len(theirs.assignment()) == len(ours.assigned) == 2)
        assert sorted([*ours.assigned, *((each.topic, each.partition) for each in theirs.assignment())]) == _all(name)


def test_a_classic_member_is_let_into_the_group(server: Server, client: Client, name: str) -> None:
    with (
        Member(server, name, [name]) as ours,
        Member(server, name, [name], ClassicProtocol(heartbeat_ms=100)) as classic,
    ):
        until(lambda: _is_shared([ours, classic], name, at_most=2))
        found = {each.member_id: each.consumer and each.consumer.type for each in describe_group(client, name).members}
        assert found == {ours.consumer.member.member_id: "consumer", classic.consumer.member.member_id: "classic"}


@pytest.mark.long  # Kafka's shortest interval between two resolutions is ten seconds
def test_a_regular_expression_finds_topics_that_come_later(server: Server, client: Client, name: str) -> None:
    with Member(server, name, [], ConsumerProtocol(regex=f"{name}(-more)?")) as member:
        until(lambda: member.assigned == _all(name))
        create_topic(client, f"{name}-more", partitions=1)
        until(lambda: (f"{name}-more", 0) in member.assigned)


def test_a_topic_that_is_made_again_is_read_from_its_beginning(server: Server, client: Client, name: str) -> None:
    with Member(server, name, [name]) as member:
        until(lambda: len(member.records) == 10 * PARTITIONS)
        delete_topic(client, name)
        until(lambda: member.assigned == [])
        create_topic(client, name, partitions=1)
        until(lambda: member.assigned == [(name, 0)])
        with Producer(client) as producer:
            producer.send(name, b"again", partition=0)
        until(lambda: member.records[-1] == b"again")


# --- fenced, and refused ---


def test_a_member_that_was_removed_joins_again_under_its_id(server: Server, client: Client, name: str) -> None:
    with Member(server, name, [name]) as member:
        until(lambda: len(member.records) == 10 * PARTITIONS)
        before = member.consumer.member
        heartbeat(client, name, before.member_id, -1)
        until(lambda: member.consumer.member.generation_id > before.generation_id)
        until(lambda: member.assigned == _all(name))
        assert (member.consumer.member.member_id, member.failures) == (before.member_id, [])
        send_numbers(client, name, range(4), PARTITIONS)
        until(lambda: {*member.records[40:]} >= {b"0", b"1", b"2", b"3"})


def test_a_commit_of_another_epoch_is_refused(server: Server, client: Client, name: str) -> None:
    with Member(server, name, [name]) as member:
        until(lambda: member.assigned == _all(name))
        who = member.consumer.member
        newer = who.generation_id + 1
        for member_id, epoch, code in [(who.member_id, newer, "STALE_MEMBER_EPOCH"), ("", -1, "UNKNOWN_MEMBER_ID")]:
            with pytest.raises(KafkaError, match=code):
                commit_offsets(client, name, {(name, 0): 1}, generation_id=epoch, member_id=member_id)
        with pytest.raises(KafkaError, match="STALE_MEMBER_EPOCH"):
            stable_offsets(client, name, [(name, 0)], member_id=who.member_id, member_epoch=newer)


@pytest.mark.parametrize(
    ("protocol", "code"),
    [
        (ConsumerProtocol(remote_assignor="nobody"), "UNSUPPORTED_ASSIGNOR"),
        (ConsumerProtocol(regex="("), "INVALID_REGULAR_EXPRESSION"),
    ],
)
def test_what_the_coordinator_refuses_is_told_by_every_poll(
    client: Client, name: str, protocol: ConsumerProtocol, code: str
) -> None:
    member = GroupConsumer(client, name, [] if protocol.regex else [name], protocol=protocol)
    for _ in range(2):
        with pytest.raises(KafkaError, match=code):
            member.poll(100)
    member.close()


# --- static members ---


def test_a_static_member_that_comes_back_has_what_it_had(server: Server, client: Client, name: str) -> None:
    static = ConsumerProtocol(instance_id="one")
    with Member(server, name, [name]) as other:
        with Member(server, name, [name], static) as first:
            until(lambda: _is_shared([first, other], name, at_most=2))
            had = first.assigned
            epoch = describe_group(client, name).group_epoch
            with Member(server, name, [name], static) as rival:
                until(lambda: rival.failures)
            assert rival.failures[0].code is ErrorCode.UNRELEASED_INSTANCE_ID
        with Member(server, name, [name], static) as again:
            until(lambda: again.assigned == had)
            assert describe_group(client, name).group_epoch == epoch
        assert len(other.assigned) == 2


def test_a_static_member_whose_join_was_taken_without_an_answer_is_a_member_at_once(client: Client, name: str) -> None:
    join = ConsumerGroupHeartbeatRequest(group_id=name, member_id="m", member_epoch=0, instance_id="one")
    join.rebalance_timeout_ms, join.subscribed_topic_names, join.topic_partitions = 60_000, [name], []
    deadline = client.deadline()
    until(lambda: client.coordinator(GROUP, name, deadline).ask(join, deadline).error_code == ErrorCode.NONE)
    with consumer(client, name, ConsumerProtocol(member_id="m", instance_id="one")) as member:
        found = member.poll(1000)
        found += read_to_end(member)
    assert len(found) == 10 * PARTITIONS


# --- what is told, and transactions ---


def test_a_group_is_told_of_on_the_command_line(
    server: Server, name: str, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    def asked(*words: str) -> Any:
        assert main(["groups", *words, "--json", "--bootstrap-server", server.address]) == 0
        return json.loads(capsysbinary.readouterr().out)

    with Member(server, name, [name], ConsumerProtocol(instance_id="one", remote_assignor="range")) as member:
        until(lambda: len(member.records) == 10 * PARTITIONS and member.was_at_end)
        (group,) = asked("describe", name)
        (told,) = group["members"]
        listed = {each["group"]: each for each in asked("list", "--type", "consumer", "--state", "stable")}
        rows = asked("offsets", name)["offsets"]
    facts = ("type", "state", "protocol", "group_epoch", "assignment_epoch")
    assert [group[fact] for fact in facts] == ["consumer", "Stable", "range", told["epoch"], told["epoch"]]
    assert told["assignment"] == told["target"] == {name: [*range(PARTITIONS)]}
    assert (told["instance_id"], told["topics"], told["type"]) == ("one", [name], "consumer")
    assert listed[name] == {"group": name, "state": "Stable", "type": "consumer", "protocol_type": "consumer"}
    assert {row["member_id"] for row in rows} == {told["member_id"]}


def test_a_group_without_members_is_empty_and_can_be_moved(server: Server, client: Client, name: str) -> None:
    with Member(server, name, [name]) as member:
        until(lambda: len(member.records) == 10 * PARTITIONS)
    info: GroupInfo = describe_group(client, name)
    assert (info.state, info.members) == ("Empty", [])
    words = ["groups", "reset", name, "--all-topics", "--to-earliest", "--execute"]
    assert main([*words, "--bootstrap-server", server.address]) == 0
    assert committed_offsets(client, name) == dict.fromkeys(_all(name), 0)


def test_offsets_are_committed_in_a_transaction_by_the_member_alone(client: Client, name: str) -> None:
    with consumer(client, name, auto_commit=False) as member:
        until(lambda: member.poll(200) and member.is_at_end())
        producer = begun(client, name)
        producer.send_offsets(member.positions, member.member)
        producer.commit()
        stale = member.member._replace(generation_id=member.member.generation_id + 1)
        producer.begin()
        with pytest.raises(KafkaError, match="ILLEGAL_GENERATION"):
            producer.send_offsets(member.positions, stale)
        producer.abort()
    assert committed_offsets(client, name) == dict.fromkeys(_all(name), 10)
