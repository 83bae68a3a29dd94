"""Our own client and `barnabas txn` against our own broker, or with --against kafka against Apache Kafka."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from barnabas.broker.cli import main
from barnabas.client import transaction_requests
from barnabas.client.admin.topics import create_topic
from barnabas.client.admin.transactions import describe_producers
from barnabas.client.client import Client
from barnabas.client.consume.group_consumer import GroupConsumer
from barnabas.client.offsets import READ_COMMITTED, READ_UNCOMMITTED, committed_offsets
from barnabas.client.transaction_requests import EXPLICIT, IMPLICIT, ConsumerGroupMetadata
from barnabas.client.transactions.errors import ProducerFatal, TransactionAbortable
from barnabas.client.transactions.producer import TransactionalProducer
from barnabas.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.support.clients.committed import read
from tests.support.processes.server import Server
from tests.support.waiting import until

UPGRADE, SAFE_DOWNGRADE = 1, 2
PARTITIONS = 3


@pytest.fixture
def name(request: pytest.FixtureRequest, client: Client) -> str:
    """A name of its own for each test's topic, group and transactional id."""
    name: str = request.node.name.replace("[", "-").replace("]", "")[:200]
    create_topic(client, name, partitions=PARTITIONS)
    return name


def producer_of(client: Client, name: str) -> TransactionalProducer:
    producer = TransactionalProducer(client, name)
    producer.init()
    return producer


def values(client: Client, topic: str, isolation: int = READ_COMMITTED) -> list[bytes]:
    """Everything that is read, sorted."""
    found = read(client, [(topic, number) for number in range(PARTITIONS)], isolation)
    return sorted(each.record.value or b"" for each in found)


def shows(client: Client, topic: str, expected: list[bytes]) -> None:
    """That this is what is read; Kafka answers a commit before its markers are there."""
    until(lambda: values(client, topic) == expected)


def set_level(client: Client, level: int, upgrade_type: int) -> None:
    key = FeatureUpdateKey(feature="transaction.version", max_version_level=level, upgrade_type=upgrade_type)
    assert client.ask_any(UpdateFeaturesRequest(feature_updates=[key])).error_code == 0
    until(lambda: _told_level(client) == level)  # Kafka's broker learns of it some time after its controller


def _told_level(client: Client) -> int:
    client.close()  # levels are told to new connections
    return client.controller(client.deadline()).features.get("transaction.version", 0)


@pytest.fixture(params=[EXPLICIT, IMPLICIT])
def protocol(request: pytest.FixtureRequest, client: Client) -> Iterator[int]:
    """Each protocol in turn; the level is what it was afterwards."""
    if request.param == EXPLICIT:
        set_level(client, 1, SAFE_DOWNGRADE)
    yield request.param
    if request.param == EXPLICIT:
        set_level(client, 2, UPGRADE)


def test_a_transaction_is_read_whole_or_not_at_all(client: Client, name: str, protocol: int) -> None:
    producer = producer_of(client, name)
    for number, end in enumerate((producer.commit, producer.abort, producer.commit)):
        producer.begin()
        for partition in range(PARTITIONS):
            producer.send(name, b"%d" % number, partition=partition)
        producer.flush()
        assert values(client, name).count(b"%d" % number) == 0
        end()
    assert transaction_requests.find_protocol(client, name) == protocol
    assert producer.identity.producer_epoch == (3 if protocol == IMPLICIT else 0)
    shows(client, name, [b"0"] * PARTITIONS + [b"2"] * PARTITIONS)
    assert len(values(client, name, READ_UNCOMMITTED)) == 3 * PARTITIONS


def test_a_second_instance_fences_the_first_and_aborts_what_it_had_open(
    client: Client, name: str, protocol: int
) -> None:
    zombie = producer_of(client, name)
    zombie.begin()
    zombie.send(name, b"zombie", partition=0)
    zombie.flush()
    heir = producer_of(client, name)
    with pytest.raises(ProducerFatal) as fenced:
        zombie.commit()
    assert fenced.value.is_fenced
    heir.begin()
    heir.send(name, b"heir", partition=0)
    heir.commit()
    shows(client, name, [b"heir"])


def test_records_are_written_with_their_offsets_or_not_at_all(client: Client, name: str, protocol: int) -> None:
    target = f"{name}-out"
    create_topic(client, target, partitions=PARTITIONS)
    source = producer_of(client, f"{name}-source")
    source.begin()
    for number in range(9):
        source.send(name, b"%d" % number, partition=number % PARTITIONS)
    source.commit()
    producer = producer_of(client, name)
    for end in (producer.abort, producer.commit):
        with GroupConsumer(client, name, [name], auto_offset_reset="earliest", auto_commit=False) as consumer:
            producer.begin()
            copied = 0
            while copied < 9:
                for each in consumer.poll(1000):
                    producer.send(target, each.record.value, partition=each.partition)
                    copied += 1
            producer.send_offsets(consumer.positions, consumer.member)
            end()
    shows(client, target, [b"%d" % number for number in range(9)])
    assert sum(committed_offsets(client, name).values()) >= 9


def test_a_member_that_lost_its_place_cannot_commit_offsets(client: Client, name: str) -> None:
    producer = producer_of(client, name)
    producer.begin()
    with pytest.raises(TransactionAbortable):
        producer.send_offsets({(name, 0): 1}, ConsumerGroupMetadata(name, 7, "stranger"))
    producer.abort()
    assert committed_offsets(client, name) == {}


def test_one_process_ends_what_another_began(client: Client, server: Server, name: str, protocol: int) -> None:
    producer = producer_of(client, name)
    producer.begin()
    producer.send(name, b"prepared", partition=1)
    producer.flush()
    with Client(server.address) as other:
        after = transaction_requests.end(other, name, producer.identity, commit=True, protocol=protocol)
    assert after.producer_epoch == producer.identity.producer_epoch + (protocol == IMPLICIT)
    shows(client, name, [b"prepared"])


def test_the_command_line_sees_and_ends_transactions(
    client: Client, server: Server, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def told(*arguments: str) -> Any:
        assert main(["txn", *arguments, "--json", "--bootstrap-server", server.address]) == 0
        return json.loads(capsys.readouterr().out)

    producer = producer_of(client, name)
    producer.begin()
    producer.send(name, b"open", partition=0)
    producer.flush()
    assert [(row["transactional_id"], row["partitions"]) for row in told("list", "--pattern", name)] == [(name, 1)]
    (facts,) = told("describe", name)
    assert [(place["partition"], place["held_back"]) for place in facts["partitions"]] == [(0, 1)]
    assert told("find-hanging", "--topic", name, "--longer-than-ms", "0") == []
    assert told("abort", name)[0]["transactional_id"] == name
    producer = producer_of(client, name)
    producer.begin()
    producer.send(name, b"forced", partition=0)
    producer.flush()
    (open_one,) = (each for each in describe_producers(client, [(name, 0)]) if each.txn_start_offset >= 0)
    told("abort", "--partition", f"{name}:0", "--start-offset", str(open_one.txn_start_offset))
    shows(client, name, [])
