"""More partitions than file descriptors: the broker closes and opens segments as it goes, and no client notices."""

from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.compat.clients.confluent import Confluent
from tests.support.processes.broker import BrokerProcess

PARTITIONS = 500
ROUNDS = 3


def test_five_hundred_partitions_under_256_descriptors(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data", descriptor_limit=256) as server:
        admin = AdminClient({"bootstrap.servers": server.address})
        admin.create_topics([NewTopic("wide", num_partitions=PARTITIONS)])["wide"].result(timeout=30)
        for number in range(ROUNDS):
            _write_to_each(server.address, number)
        server.stop()
        server.start()
        _write_to_each(server.address, ROUNDS)
        found = {(each.partition, each.offset): each.value for each in Confluent().read(server.address, "wide")}
        assert found == {
            (partition, number): b"%d in %d" % (number, partition)
            for partition in range(PARTITIONS)
            for number in range(ROUNDS + 1)
        }
        server.stop()


def _write_to_each(address: str, number: int) -> None:
    producer = Producer({"bootstrap.servers": address, "enable.idempotence": True})
    failures: list[object] = []
    for partition in range(PARTITIONS):
        producer.produce(
            "wide",
            value=b"%d in %d" % (number, partition),
            partition=partition,
            on_delivery=lambda error, _: failures.append(error) if error else None,
        )
    assert producer.flush(60) == 0
    assert failures == []
