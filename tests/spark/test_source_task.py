"""What one task of the source does, without Spark: through a broker that dies, with losses, and in little memory."""

import sys
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
import pytest

from barnabas.client.admin.records import delete_records
from barnabas.client.admin.topics import create_topic
from barnabas.client.client import Client
from barnabas.client.produce.producer import Producer
from barnabas.client.transactions.producer import TransactionalProducer
from pyspark_barnabas.cluster.clients import client_for
from pyspark_barnabas.cluster.connection import ConnectionSettings
from pyspark_barnabas.source.errors import DataLoss, SourceError
from pyspark_barnabas.source.options import SourceSettings, batch_settings
from pyspark_barnabas.source.ranges import OffsetRange
from pyspark_barnabas.source.task import read
from tests.support.processes.own_broker import OwnBroker


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnBroker]:
    with OwnBroker(tmp_path_factory.mktemp("task") / "data") as running:
        yield running


@pytest.fixture
def client(broker: OwnBroker) -> Iterator[Client]:
    with Client(broker.address, timeout_ms=10_000) as connected:
        yield connected


@pytest.fixture
def settings(broker: OwnBroker) -> Iterator[SourceSettings]:
    options = {"kafka.bootstrap.servers": broker.address, "subscribe": "t", "kafka.request.timeout.ms": "10000"}
    found = batch_settings(options)
    yield found
    client_for(found.connection).close()  # which a worker keeps


def fill(client: Client, topic: str, count: int, size: int = 10) -> OffsetRange:
    """Numbers as values, filled up with dots; the range that they are."""
    create_topic(client, topic, partitions=1)
    with Producer(client, batch_bytes=1 << 18) as producer:
        for number in range(count):
            producer.send(topic, (b"%d" % number).ljust(size, b"."), partition=0)
    return OffsetRange(topic, 0, 0, count)


def numbers(batches: Iterator[pa.RecordBatch]) -> list[int]:
    return [int(value.rstrip(b".")) for batch in batches for value in batch.column("value").to_pylist()]


def test_a_task_reads_its_range_and_nothing_else(client: Client, settings: SourceSettings) -> None:
    whole = fill(client, "range", 5000)
    assert numbers(read(settings, whole)) == list(range(5000))
    assert numbers(read(settings, whole._replace(start=17, end=4711))) == list(range(17, 4711))
    assert numbers(read(settings, whole._replace(start=17, end=18))) == [17]


def test_a_task_goes_on_when_the_broker_comes_back(client: Client, broker: OwnBroker, settings: SourceSettings) -> None:
    batches = read(replace(settings, fetch_bytes=1 << 20), fill(client, "revived", 4000, size=2000))
    found = [next(batches), next(batches)]
    broker.kill()
    broker.start()
    found += batches
    assert numbers(iter(found)) == list(range(4000))


def test_a_broker_that_stays_away_is_named(settings: SourceSettings) -> None:
    away = replace(settings, connection=ConnectionSettings("127.0.0.1:1", request_timeout_ms=100), poll_timeout_ms=100)
    with pytest.raises(Exception, match=r"cannot connect to 127\.0\.0\.1:1"):
        list(read(away, OffsetRange("range", 0, 0, 1)))


def test_nothing_of_an_aborted_transaction_is_read(client: Client, settings: SourceSettings) -> None:
    create_topic(client, "aborted", partitions=1)
    producer = TransactionalProducer(client, "aborter")
    producer.init()
    for number in range(40):
        producer.begin()
        for _ in range(25):
            producer.send("aborted", b"%d" % number, partition=0)
        producer.flush()
        producer.commit() if number % 2 else producer.abort()
    whole = OffsetRange("aborted", 0, 0, 40 * 26)
    committed = [number for number in range(40) if number % 2 for _ in range(25)]
    assert numbers(read(settings, whole)) == committed
    assert numbers(read(replace(settings, fetch_bytes=2000), whole)) == committed
    assert len(numbers(read(replace(settings, isolation=0), whole))) == 1000
    # Ranges of other tasks begin inside of transactions, and say the same of them.
    pieces = [whole._replace(start=start, end=start + 13) for start in range(0, whole.end, 13)]
    assert [number for piece in pieces for number in numbers(read(settings, piece))] == committed


def test_records_that_were_deleted_are_a_loss_or_passed_over(client: Client, settings: SourceSettings) -> None:
    whole = fill(client, "deleted", 100)
    delete_records(client, {("deleted", 0): 60})
    with pytest.raises(DataLoss, match="deleted-0 was to be read from 0, but has only 60 to 100"):
        list(read(settings, whole))
    lenient = replace(settings, fail_on_data_loss=False)
    assert numbers(read(lenient, whole)) == list(range(60, 100))
    assert numbers(read(lenient, whole._replace(end=50))) == []


def test_an_end_that_does_not_come_is_a_loss_or_the_end(client: Client, settings: SourceSettings) -> None:
    whole = fill(client, "short", 10)._replace(end=20)
    assert numbers(read(settings, whole._replace(end=10))) == list(range(10))  # and is connected from then on
    impatient = replace(settings, poll_timeout_ms=1)
    with pytest.raises(DataLoss, match="short-0 was to be read up to 20, but ends at 10"):
        list(read(impatient, whole))
    assert numbers(read(replace(impatient, fail_on_data_loss=False), whole)) == list(range(10))


def test_damaged_records_are_a_sentence_with_their_place(
    client: Client, broker: OwnBroker, settings: SourceSettings
) -> None:
    whole = fill(client, "damaged", 100)
    [log] = (broker.data_dir / "damaged-0").glob("*.log")
    data = bytearray(log.read_bytes())
    data[-1] ^= 1
    log.write_bytes(data)
    with pytest.raises(SourceError, match="the batch at offset 0 is damaged: its crc is wrong"):
        list(read(settings, whole))


def test_a_codec_that_is_not_installed_is_named(
    client: Client, settings: SourceSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_topic(client, "compressed", partitions=1)
    with Producer(client, compression="snappy") as producer:
        producer.send("compressed", b"v" * 1000, partition=0)
    monkeypatch.setitem(sys.modules, "cramjam", None)
    with pytest.raises(SourceError, match="compressed-0 is compressed, but cramjam is not installed"):
        list(read(settings, OffsetRange("compressed", 0, 0, 1)))


def test_memory_does_not_grow_with_the_range(client: Client, settings: SourceSettings) -> None:
    whole = fill(client, "large", 64_000, size=1000)
    pool = pa.default_memory_pool()
    tracemalloc.start()
    try:
        rows, arrow = 0, 0
        for batch in read(settings, whole):
            rows += batch.num_rows
            arrow = max(arrow, pool.bytes_allocated())
        python = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert rows == 64_000
    assert arrow < 16 << 20
    assert python < 32 << 20
    del batch
