"""Kafka's tool for transactions: lists and describes them, ends one by force, finds one that hangs and aborts it."""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.records.builder import build_batch
from tests.compat.tools import TRANSACTIONS, Tools
from tests.support.probes.wire import Wire
from tests.support.processes.server import Server
from tests.support.requests import init_producer, produce
from tests.support.waiting import until
from tests.transactions.conftest import SETTINGS, NewServer
from tests.transactions.views import make_topics, values

HOUR_MS = 3_600_000
BEFORE_IMPLICIT_PARTITIONS = 11  # the last version of Produce that adds no partition to a transaction by itself


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, new_server: NewServer) -> Iterator[Server]:
    """A broker that lets a transaction hang: it does not ask the coordinator whether a partition was added."""
    settings = SETTINGS | {"transaction.partition.verification.enable": "false"}
    with new_server(tmp_path_factory.mktemp("server") / "data", settings) as server:
        yield server


@pytest.fixture(scope="module")
def producers(server: Server) -> Iterator[Mapping[str, Producer]]:
    """One producer in each state that lasts; the topic "told" has seen them all. By their transactional ids."""
    make_topics(server.address, "told")
    found = {name: begun(server, name) for name in ("open", "committed", "aborted")}
    for producer in found.values():
        producer.produce("told", b"x", partition=0)
        assert producer.flush(30) == 0
    found["open"].produce("told", b"x", partition=2)
    assert found["open"].flush(30) == 0
    found["committed"].commit_transaction(30)
    found["aborted"].abort_transaction(30)
    found["empty"] = Producer({"bootstrap.servers": server.address, "transactional.id": "empty"})
    found["empty"].init_transactions(30)
    yield found
    found["open"].abort_transaction(30)


def begun(server: Server, transactional_id: str) -> Producer:
    """A producer in a transaction."""
    producer = Producer(
        {"bootstrap.servers": server.address, "transactional.id": transactional_id, "transaction.timeout.ms": 600_000}
    )
    producer.init_transactions(30)
    producer.begin_transaction()
    return producer


def table(tools: Tools, server: Server, *arguments: str) -> list[dict[str, str]]:
    """The rows of the table that the tool prints, by the names in its header."""
    header, *rows = (
        [cell.strip() for cell in line.split("\t")] for line in tools.ask(server, TRANSACTIONS, *arguments).splitlines()
    )
    return [dict(zip(header, row, strict=True)) for row in rows]


@pytest.mark.parametrize(
    ("asked", "ids"),
    [
        ((), {"open", "committed", "aborted", "empty"}),
        (("--transactional-id-pattern", "o.*"), {"open"}),
        (("--transactional-id-pattern", "pen"), set()),
        (("--transactional-id-pattern", ".*t(ted|y)$"), {"committed", "empty"}),
        (("--duration-filter", "0"), {"open", "committed", "aborted", "empty"}),
        (("--duration-filter", str(HOUR_MS)), {"empty"}),  # what never began has taken forever
    ],
)
def test_transactions_are_listed(
    server: Server, tools: Tools, producers: Mapping[str, Producer], asked: tuple[str, ...], ids: set[str]
) -> None:
    listed = {row["TransactionalId"]: row for row in table(tools, server, "list", *asked)}
    assert ids == listed.keys() & producers.keys()
    states = {"open": "Ongoing", "committed": "CompleteCommit", "aborted": "CompleteAbort", "empty": "Empty"}
    for name in ids:
        assert (listed[name]["Coordinator"], listed[name]["TransactionState"]) == ("1", states[name])


def test_transactions_are_described(server: Server, tools: Tools, producers: Mapping[str, Producer]) -> None:
    def described(name: str) -> dict[str, str]:
        [row] = table(tools, server, "describe", "--transactional-id", name)
        assert (row["CoordinatorId"], row["TransactionalId"]) == ("1", name)
        return row

    ongoing = described("open")
    assert (ongoing["TransactionState"], ongoing["TransactionTimeoutMs"]) == ("Ongoing", "600000")
    assert set(ongoing["TopicPartitions"].split(",")) == {"told-0", "told-2"}
    age_ms = time.time() * 1000 - int(ongoing["CurrentTransactionStartTimeMs"])
    assert 0 <= int(ongoing["TransactionDurationMs"]) <= age_ms < 10 * 60 * 1000
    for name, state in (("committed", "CompleteCommit"), ("aborted", "CompleteAbort")):
        assert (described(name)["TransactionState"], described(name)["TopicPartitions"]) == (state, "")
    nothing = described("empty")
    assert (nothing["TransactionState"], nothing["CurrentTransactionStartTimeMs"]) == ("Empty", "None")
    refusal = tools.fail(server, TRANSACTIONS, "describe", "--transactional-id", "unheard-of")
    assert "`unheard-of` failed because the ID could not be found" in refusal
    assert "Failed to list transactions" in tools.fail(server, TRANSACTIONS, "list", "--transactional-id-pattern", "o(")


def test_the_producers_of_a_partition_are_described(
    server: Server, tools: Tools, producers: Mapping[str, Producer]
) -> None:
    idempotent = Producer({"bootstrap.servers": server.address, "enable.idempotence": True})
    idempotent.produce("told", b"x", partition=0)
    assert idempotent.flush(30) == 0
    ids = {row["TransactionalId"]: row["ProducerId"] for row in table(tools, server, "list")}
    found = {
        row["ProducerId"]: row
        for row in table(tools, server, "describe-producers", "--topic", "told", "--partition", "0")
    }
    told = {name: found.pop(ids[name]) for name in ("open", "committed", "aborted")}
    [other] = found.values()
    assert int(told["open"]["CurrentTransactionStartOffset"]) >= 0
    assert told["open"]["LatestCoordinatorEpoch"] == "-1"  # no marker has come yet
    assert other["LatestCoordinatorEpoch"] == "-1"
    for row in (told["committed"], told["aborted"]):
        assert int(row["LatestCoordinatorEpoch"]) >= 0
    for row in (told["committed"], told["aborted"], other):
        assert (row["CurrentTransactionStartOffset"], row["LastSequence"]) == ("None", "0")
    [only] = table(tools, server, "describe-producers", "--topic", "told", "--partition", "2", "--broker-id", "1")
    assert only["ProducerId"] == ids["open"]


def test_an_ongoing_transaction_is_ended_by_force(server: Server, tools: Tools) -> None:
    make_topics(server.address, "forced")
    producer = begun(server, "stuck")
    producer.produce("forced", b"never seen", partition=1)
    assert producer.flush(30) == 0
    assert tools.ask(server, TRANSACTIONS, "forceTerminateTransaction", "--transactionalId", "stuck") == ""
    [row] = table(tools, server, "describe", "--transactional-id", "stuck")
    assert (row["TransactionState"], row["TopicPartitions"]) == ("Empty", "")
    with pytest.raises(KafkaException) as refusal:
        producer.commit_transaction(30)
    assert refusal.value.args[0].code() == KafkaError._FENCED
    assert values(server.address, "forced") == []
    assert values(server.address, "forced", "read_uncommitted") == ["never seen"]


def test_a_hanging_transaction_is_found_and_aborted(server: Server, tools: Tools) -> None:
    make_topics(server.address, "hanging")
    producer_id = write_what_the_coordinator_does_not_know_of(server, "hanging", 1)
    later = Producer({"bootstrap.servers": server.address})
    later.produce("hanging", b"waits", partition=1)
    assert later.flush(30) == 0
    assert values(server.address, "hanging") == []
    for scope in (("--broker-id", "1"), ("--topic", "hanging"), ("--topic", "hanging", "--partition", "1")):
        [row] = table(tools, server, "find-hanging", *scope)
        assert (row["Topic"], row["Partition"], row["ProducerId"]) == ("hanging", "1", str(producer_id))
        assert (row["StartOffset"], row["CoordinatorEpoch"], row["Duration(min)"]) == ("0", "-1", "60")
    assert table(tools, server, "find-hanging", "--topic", "hanging", "--partition", "0") == []
    assert table(tools, server, "find-hanging", "--broker-id", "1", "--max-transaction-timeout", "120") == []
    place = ("--topic", "hanging", "--partition", "1", "--start-offset")
    refusal = tools.fail(server, TRANSACTIONS, "abort", *place, "1")
    assert "Could not find any open transactions starting at offset 1 on partition hanging-1" in refusal
    assert tools.ask(server, TRANSACTIONS, "abort", *place, "0") == ""
    assert table(tools, server, "find-hanging", "--broker-id", "1") == []
    assert values(server.address, "hanging") == ["waits"]


def write_what_the_coordinator_does_not_know_of(server: Server, topic: str, partition: int) -> int:
    """An hour-old record of a transaction that nobody will end. Returns the producer's id."""
    with Wire(server.port) as wire:
        told = once_it_can(lambda: wire.ask(init_producer("lost"), 4))
        batch = build_batch(
            [(None, b"hangs", (), int(time.time() * 1000) - HOUR_MS)],
            producer_id=told.producer_id,
            producer_epoch=told.producer_epoch,
            base_sequence=0,
            transactional=True,
        )
        request = produce({partition: batch}, topic, transactional_id="lost")
        once_it_can(lambda: wire.ask(request, BEFORE_IMPLICIT_PARTITIONS).responses[0].partition_responses[0])
    return int(told.producer_id)


def once_it_can(ask: Callable[[], Any]) -> Any:
    """The answer, once it tells of no error: Kafka's coordinator and its leaders are not there at once."""
    answers: list[Any] = []

    def is_answered() -> bool:
        answers.append(ask())
        return bool(answers[-1].error_code == ErrorCode.NONE)

    until(is_answered)
    return answers[-1]
