"""A share group goes on in Apache Kafka, and back: what was accepted does not come again, what was not does."""

from pathlib import Path

import pytest

from barnabas.client.admin.topics import create_topic
from barnabas.client.client import Client
from barnabas.client.consume.share.share_consumer import ShareConsumer
from barnabas.protocol.acknowledge_type import AcknowledgeType
from tests.support.clients.queues import FROM_THE_FIRST, send_numbers, set_of_group
from tests.support.depth import long
from tests.support.kafka.process import KafkaProcess
from tests.support.processes.broker import BrokerProcess

GROUP, TOPIC = "workers", "jobs"
SETTINGS = {"offsets.topic.num.partitions": 4, "share.coordinator.state.topic.num.partitions": 4}
ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT


def _take(address: str, kinds: dict[int, AcknowledgeType | None]) -> dict[int, int]:
    """Acknowledge these records, all that come; None: it stays in flight. Return the delivery count of each."""
    deliveries: dict[int, int] = {}
    with Client(address) as client:
        member = ShareConsumer(client, GROUP, [TOPIC], explicit=True)
        while len(deliveries) < len(kinds):
            records = member.poll(60_000)
            assert records, f"only {sorted(deliveries)} of {sorted(kinds)} came"
            for record in records:
                number = int(record.record.value or b"")
                deliveries[number] = record.delivery_count
                kind = kinds[number]
                if kind is not None:
                    member.acknowledge(record, kind)
            if None not in kinds.values():
                assert member.commit() == {}
        if None in kinds.values():
            assert member.commit() == {}
            return deliveries  # it dies with its connection
        member.close()
    return deliveries


@pytest.mark.parametrize("end", ["kill", long("stop")])
def test_a_share_group_goes_on_in_kafka_and_back(tmp_path: Path, end: str) -> None:
    data_dir = tmp_path / "data"
    with BrokerProcess(data_dir, SETTINGS) as broker:
        with Client(broker.address) as client:
            create_topic(client, TOPIC, partitions=1)
            set_of_group(client, GROUP, FROM_THE_FIRST)
            send_numbers(client, TOPIC, range(6))
        taken = _take(broker.address, {0: ACCEPT, 1: REJECT, 2: RELEASE, 3: None, 4: ACCEPT, 5: None})
        assert taken == dict.fromkeys(range(6), 1)
        getattr(broker, end)()
    with KafkaProcess(data_dir) as kafka:
        with Client(kafka.address) as client:
            send_numbers(client, TOPIC, [6])
        taken = _take(kafka.address, {2: RELEASE, 3: ACCEPT, 5: RELEASE, 6: ACCEPT})
        assert taken.keys() == {2, 3, 5, 6}
        assert taken[2] == 2
        assert kafka.complaints() == []
        kafka.stop()
    with BrokerProcess(data_dir, SETTINGS) as broker:
        with Client(broker.address) as client:
            send_numbers(client, TOPIC, [7])
        taken = _take(broker.address, {2: ACCEPT, 5: ACCEPT, 7: ACCEPT})
        assert taken[2] == 3
        assert taken[7] == 1
