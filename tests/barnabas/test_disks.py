"""The disk of an embedded broker fails where its owner wants it to, on the files that it really has."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from barnabas import Barnabas
from barnabas.client.client import Client
from barnabas.client.produce.producer import Producer
from barnabas.protocol.errors import ErrorCode, KafkaError
from tests.barnabas.conftest import Writer

PARTITIONS = 8
TIMEOUT_MS = 60_000
REFUSED_MS = 3_000
SYNCED = {"log.flush.interval.messages": 1}


def write_to_all(broker: Barnabas, timeout_ms: int = TIMEOUT_MS) -> None:
    """A record to each partition, in one request: one round syncs them. What is refused is tried again, for a time."""
    with Client(broker.bootstrap_servers) as client, Producer(client, delivery_timeout_ms=timeout_ms) as producer:
        for partition in range(PARTITIONS):
            producer.send("orders", b"x", partition=partition)


def test_a_sync_that_fails_takes_the_directory_offline_until_the_next_start(tmp_path: Path) -> None:
    with Barnabas(topics={"orders": PARTITIONS}, config=SYNCED, data_dir=tmp_path / "data") as broker:
        write_to_all(broker)
        broker.faults.arm(name="io", disk="sync", topic="orders", partition=5, error="EIO")
        with pytest.raises(KafkaError) as refused:
            write_to_all(broker, REFUSED_MS)
        assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
        broker.faults.assert_all_fired()
        broker.faults.reset()
        with pytest.raises(KafkaError):
            write_to_all(broker, REFUSED_MS)
        assert "is not used until the next start" in str(broker.why.hanging()["disk"])
        broker.kill()
        broker.start()
        write_to_all(broker)
        for partition in range(PARTITIONS):
            assert broker.offsets("orders", partition).high_watermark >= 2


def test_a_slow_sync_keeps_its_producer_waiting_and_nobody_else(writer: Writer) -> None:
    with Barnabas(topics={"orders": 1}, config=SYNCED) as broker:
        writer.write(broker, b"before")
        slow = broker.faults.arm(disk="sync", topic="orders", delay="1h")
        with ThreadPoolExecutor(1) as thread:
            writing = thread.submit(writer.write, broker, b"slow")
            slow.wait()
            assert broker.topics() == {"orders": 1}
            assert not writing.done()
            slow.disarm()
            writing.result(30)
        assert [record.value for record in broker.records("orders")] == [b"before", b"slow"]
