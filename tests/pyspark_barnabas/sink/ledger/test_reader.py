"""Reading the ledger: its end first, further back for what is missing, then only what is new."""

from collections.abc import Iterator

import pytest

from barnabas.client.admin.records import delete_records
from barnabas.client.admin.topics import create_topic
from barnabas.client.client import Client
from barnabas.client.produce.producer import Producer
from pyspark_barnabas.commit.identity import RunToken
from pyspark_barnabas.commit.ledger import Decided, Ledger, LedgerDamaged, encode_value
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.sink.ledger import reader as ledger_reader
from pyspark_barnabas.sink.ledger.reader import LedgerReader
from tests.support.clients.committed import begun
from tests.support.processes.own_broker import OwnBroker


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with OwnBroker(tmp_path_factory.mktemp("ledger") / "data") as broker, Client(broker.address) as client:
        yield client


@pytest.fixture
def topic(client: Client, request: pytest.FixtureRequest) -> str:
    name = f"__{request.node.name}.ledger"
    create_topic(client, name, partitions=1)
    return name


def decided(query_id: str, batch_id: int) -> Decided:
    return Decided(query_id, batch_id, "run", RunToken(1, 0), batch_id + 1, (), 0, 0, (), None)


def put(client: Client, topic: str, query_id: str, batches: range) -> None:
    with Producer(client) as producer:
        for batch_id in batches:
            producer.send(topic, encode_value(decided(query_id, batch_id)))


def read(reader: LedgerReader, client: Client, query_id: str, batch_id: int, *, waits: bool = True) -> Ledger:
    return reader.read(client, query_id, batch_id, waits=waits, deadline=client.deadline(30_000))


def batches(ledger: Ledger) -> list[int]:
    return [each.batch_id for each in ledger.records if isinstance(each, Decided)]


def test_only_the_end_is_read_where_it_is_enough(client: Client, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_reader, "_END_OFFSETS", 10)
    put(client, topic, "q", range(100))
    assert batches(read(LedgerReader(topic), client, "q", 100)) == list(range(90, 100))


def test_missing_entries_are_read_further_back(client: Client, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_reader, "_END_OFFSETS", 10)
    put(client, topic, "q", range(100))
    reader = LedgerReader(topic)
    back = batches(read(reader, client, "q", 70))
    assert back == list(range(back[0], 100))
    assert 0 < back[0] <= 68
    assert batches(read(reader, client, "another", 0)) == list(range(100))


def test_new_entries_are_added_to_read_ones(client: Client, topic: str) -> None:
    reader = LedgerReader(topic)
    assert read(reader, client, "q", 0).records == ()
    put(client, topic, "q", range(3))
    assert batches(read(reader, client, "q", 3)) == [0, 1, 2]
    put(client, topic, "q", range(3, 5))
    assert batches(read(reader, client, "q", 5)) == [0, 1, 2, 3, 4]


def test_the_oldest_is_dropped_and_can_be_read_again(
    client: Client, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_reader, "_KEPT_RECORDS", 20)
    put(client, topic, "q", range(100))
    reader = LedgerReader(topic)
    assert batches(read(reader, client, "q", 100)) == list(range(90, 100))
    assert batches(read(reader, client, "q", 3)) == list(range(100))


def test_an_open_transaction_is_waited_for_or_not(client: Client, topic: str) -> None:
    put(client, topic, "q", range(2))
    foreign = begun(client, topic)
    foreign.send(topic, encode_value(decided("q", 2)))
    foreign.flush()
    reader = LedgerReader(topic)
    assert batches(read(reader, client, "q", 2, waits=False)) == [0, 1]
    with pytest.raises(SinkFailed, match="can be read only up to offset 2 of 3"):
        reader.read(client, "q", 2, waits=True, deadline=client.deadline(1_000))
    foreign.commit()
    assert batches(read(reader, client, "q", 3)) == [0, 1, 2]


def test_aborted_records_are_not_visible(client: Client, topic: str) -> None:
    foreign = begun(client, topic)
    foreign.send(topic, b"nonsense")
    foreign.flush()
    foreign.abort()
    assert read(LedgerReader(topic), client, "q", 0).records == ()


def test_a_record_that_is_not_understood_is_not_passed_over(client: Client, topic: str) -> None:
    with Producer(client) as producer:
        producer.send(topic, b"nonsense")
    with pytest.raises(LedgerDamaged, match="cannot be read"):
        read(LedgerReader(topic), client, "q", 0)


def test_a_beginning_that_is_gone_matters_to_a_query_that_is_not_in_what_is_left(client: Client, topic: str) -> None:
    put(client, topic, "q", range(10))
    delete_records(client, {(topic, 0): 5})
    assert batches(read(LedgerReader(topic), client, "q", 10)) == [5, 6, 7, 8, 9]
    with pytest.raises(SinkFailed, match=r"the first 5 offsets of the ledger .* were deleted"):
        read(LedgerReader(topic), client, "another", 0)
