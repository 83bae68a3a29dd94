"""Consumers that carry a leader epoch with their positions (KIP-320) over restarts of the broker.

A consumer that begins with a position, or finds another leader epoch, asks where the epoch of its position ended
(OffsetForLeaderEpoch). What it is told decides whether it goes on from there, begins anew, or asks again. The epoch may
be one in which nothing was written yet. A proxy that stays while the broker comes and goes hears what is asked.
"""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from barnabas.protocol.registry import ApiKey
from tests.compat.conftest import NewServer
from tests.compat.model import PARTITIONS, Client, Message
from tests.support.processes.cutting_proxy import CuttingProxy
from tests.support.processes.server import Server
from tests.support.waiting import until

CARRIERS = ("confluent-kafka", "franz-go", "java-4.4.0")
ASKED_MAX = 4 * PARTITIONS  # a client may ask again after it lost its connection
TIMEOUT_S = 120.0  # a member that a restart cost its place comes back after its session at the latest
LOADING = {KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_LOAD_IN_PROGRESS}  # what Kafka says after a restart


@pytest.fixture
def proxy() -> Iterator[CuttingProxy]:
    with CuttingProxy() as proxy:
        yield proxy


@pytest.fixture
def server(tmp_path: Path, new_server: NewServer, proxy: CuttingProxy) -> Iterator[Server]:
    """A broker that tells its clients the proxy's address."""
    advertised = {"advertised.listeners": f"PLAINTEXT://{proxy.address}", "num.partitions": PARTITIONS}
    with new_server(tmp_path / "data", advertised) as server:
        proxy.target = server.port
        yield server


@pytest.mark.parametrize("name", CARRIERS)
def test_a_position_in_an_epoch_without_records_outlives_restarts(
    server: Server, proxy: CuttingProxy, clients: Mapping[str, Client], name: str
) -> None:
    writer, topic = clients["kafka-python"], "carried"
    writer.write(proxy.address, topic, [Message(each, b"k", b"before") for each in range(PARTITIONS)], "none")
    restart(server, proxy)
    commit_the_end(proxy.address, topic, "group")
    restart(server, proxy)
    proxy.listen()
    with ThreadPoolExecutor(1) as consumer:
        reading = consumer.submit(clients[name].read_in_group, proxy.address, topic, "group", PARTITIONS)
        until_fetching(proxy)
        restart(server, proxy)
        until_fetching(proxy)
        asked = proxy.heard.count(ApiKey.OFFSET_FOR_LEADER_EPOCH)
        writer.write(proxy.address, topic, [Message(each, b"k", b"after") for each in range(PARTITIONS)], "none")
        found = reading.result(TIMEOUT_S)
    expected = [(partition, 1, b"after") for partition in range(PARTITIONS)]
    assert sorted((record.partition, record.offset, record.value) for record in found) == expected
    assert 0 < asked <= ASKED_MAX


def commit_the_end(address: str, topic: str, group: str) -> None:
    """Commit where each partition ends, with the leader epoch that belongs to it, as the Java client does by itself."""
    admin = AdminClient({"bootstrap.servers": address})
    asked = {TopicPartition(topic, partition): OffsetSpec.latest() for partition in range(PARTITIONS)}
    ends = {each.partition: end.result() for each, end in admin.list_offsets(asked).items()}
    assert all(end.leader_epoch > 0 for end in ends.values())
    offsets = [
        TopicPartition(topic, partition, end.offset, leader_epoch=end.leader_epoch) for partition, end in ends.items()
    ]
    with closing(Consumer({"bootstrap.servers": address, "group.id": group})) as consumer:

        def is_committed() -> bool:
            try:
                consumer.commit(offsets=offsets, asynchronous=False)
            except KafkaException as error:
                if error.args[0].code() not in LOADING:
                    raise
                return False
            return True

        until(is_committed)


def restart(server: Server, proxy: CuttingProxy) -> None:
    """A clean stop and a start; the clients find the broker gone meanwhile."""
    proxy.is_down = True
    server.stop()
    server.start()
    proxy.target = server.port
    proxy.is_down = False


def until_fetching(proxy: CuttingProxy) -> None:
    """The consumer knows where it stands: it fetches from now on, and one of its connections has had an answer."""
    before = proxy.heard.count(ApiKey.FETCH)
    until(lambda: proxy.heard.count(ApiKey.FETCH) > before + 1, TIMEOUT_S)
