"""Records of a Sarama that told no largest timestamps (before 1.45.1) are found by their times."""

import subprocess
from contextlib import closing

import pytest
from kafka import KafkaConsumer, TopicPartition

from tests.compat.model import COMPRESSIONS
from tests.support.clients.go import older_sarama
from tests.support.processes.server import Server

START_MS = 1_700_000_000_000
TIMES = [START_MS, START_MS + 700, START_MS + 300]


@pytest.mark.parametrize("idempotent", ["false", "true"])
@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_records_of_an_older_sarama_are_found_by_their_times(server: Server, compression: str, idempotent: str) -> None:
    topic = f"older-{compression}-{idempotent}"
    partition = TopicPartition(topic, 0)
    for second in (0, 5):
        times = [str(timestamp + second * 1000) for timestamp in TIMES]
        command = [str(older_sarama()), server.address, topic, compression, idempotent, *times]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    with closing(KafkaConsumer(bootstrap_servers=server.address)) as consumer:
        asked = [START_MS - 9, START_MS, START_MS + 1, START_MS + 301, START_MS + 701, START_MS + 5301, START_MS + 5701]
        found = [consumer.offsets_for_times({partition: timestamp})[partition] for timestamp in asked]
    assert [each and (each.offset, each.timestamp - START_MS) for each in found] == [
        (0, 0),
        (0, 0),
        (1, 700),
        (1, 700),
        (3, 5000),
        (4, 5700),
        None,
    ]
