"""Groups of the consumer protocol (KIP-848) with stock clients: shared, handed over, and there after a kill."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

from confluent_kafka import Consumer, ConsumerGroupState, ConsumerGroupType, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.compat.model import PARTITIONS, Client, messages_for, quick_groups
from tests.support.clients.java import program_command
from tests.support.processes.server import Server
from tests.support.waiting import until

Clients = Mapping[str, Client]
COUNT = 30
DEADLINE_S = 60
SETTINGS = quick_groups(heartbeat_interval_ms=100) | {"num.partitions": PARTITIONS, "log.retention.ms": -1}
_PROGRAM = Path(__file__).parent / "java" / "ConsumerProtocol.java"


def _fill(server: Server, clients: Clients, topic: str) -> None:
    client = clients["confluent-kafka"]
    client.write(server.address, topic, messages_for(client, "lz4", COUNT), "lz4")


def _consumer(server: Server, group: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": server.address,
            "group.id": group,
            "group.protocol": "consumer",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )


def _assigned(consumer: Consumer) -> list[int]:
    return sorted(each.partition for each in consumer.assignment())


def test_librdkafkas_members_share_partitions_and_outlive_a_kill(server: Server, clients: Clients) -> None:
    topic, group = "kip-848", "kip-848-members"
    _fill(server, clients, topic)
    first, second = _consumer(server, group), _consumer(server, group)
    first.subscribe([topic])
    read = 0

    def has_read_all() -> bool:
        nonlocal read
        read += len(first.consume(100, timeout=0.1))
        return read == COUNT

    until(has_read_all, DEADLINE_S)
    first.commit(asynchronous=False)
    second.subscribe([topic])

    def is_shared() -> bool:
        first.poll(0.05)
        second.poll(0.05)
        return sorted(_assigned(first) + _assigned(second)) == [*range(PARTITIONS)] and bool(_assigned(second))

    until(is_shared, DEADLINE_S)
    held = _assigned(first), _assigned(second)
    server.kill()
    server.start()
    admin = AdminClient({"bootstrap.servers": server.address})

    def is_stable() -> bool:
        first.poll(0.05)
        second.poll(0.05)
        described = admin.describe_consumer_groups([group])[group].result()
        assert described.type is ConsumerGroupType.CONSUMER
        return described.state is ConsumerGroupState.STABLE and len(described.members) == 2

    until(is_stable, DEADLINE_S)
    assert (_assigned(first), _assigned(second)) == held, "nobody had to join again"
    offsets = first.committed([TopicPartition(topic, number) for number in range(PARTITIONS)], timeout=DEADLINE_S)
    assert sum(each.offset for each in offsets if each.offset > 0) == COUNT
    second.close()
    until(lambda: first.poll(0.05) is None and _assigned(first) == [*range(PARTITIONS)], DEADLINE_S)
    first.close()


def test_javas_members_share_partitions_by_name_and_by_regular_expression(server: Server, clients: Clients) -> None:
    topic, group = "kip-848-java", "kip-848-java-members"
    _fill(server, clients, topic)
    command = [*program_command(_PROGRAM, client_version="4.4.0"), server.address, topic, group, str(COUNT)]
    said = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout.splitlines()
    everything = [*map(str, range(PARTITIONS))]
    alone, shared = (line.split()[1:] for line in said)
    assert alone == [",".join(everything)]
    assert sorted(",".join(shared).split(",")) == everything
