"""`barnabas why` against a served broker."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.client.client import Client
from barnabas.client.transactions.producer import TransactionalProducer
from barnabas.protocol.errors import KafkaError
from tests.support.clients.committed import begun
from tests.support.command_line import Barnabas
from tests.support.processes.served import Running


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    with Running(tmp_path / "d", "--topic", "t:2") as it:
        yield it


def test_each_question_is_answered_in_lines_and_in_json(running: Running, offline: Barnabas) -> None:
    where = ["--http", running.http]
    assert offline("why", "hanging", *where).stdout == "Nothing hangs.\n"
    with Client(running.address) as client:
        producer = begun(client, "tx", b"open", timeout_ms=600_000)
        assert offline("why", *where, "producer", "tx").stdout.startswith(
            "Transactional id tx has a transaction in t-0"
        )
        assert offline("why", "record", "t:0:0", *where).stdout.startswith("Offset 0 of t-0 is open")
        told = json.loads(offline("why", "record", "t:0:0", "--json", *where).stdout)
        assert told["evidence"]["fate"] == "open"
        assert any(each.startswith("It was written by client ") for each in told["sentences"]), told
        hanging = offline("why", "hanging", *where, "--longer-than-ms", "0")
        assert hanging.stdout.startswith("transactional id tx:\n  Transactional id tx has a")
        producer.commit()
    assert offline("why", "record", "t:0:0", *where).stdout.startswith("Offset 0 of t-0 is committed")
    assert offline("why", "group", "g & h", *where).stdout.startswith("There is no group g & h")
    assert offline("why", "consumer", "g", "u", *where).stdout == "There is no topic u.\n"


def test_invalid_input_to_the_broker_is_one_line_and_status_2(running: Running, offline: Barnabas) -> None:
    status, out, err = offline("why", "group", "", "--http", running.http)
    assert (status, out, err) == (2, "", "barnabas: why: group is empty\n")


def test_whose_request_fenced_a_producer(running: Running, offline: Barnabas) -> None:
    with Client(running.address) as client, Client(running.address) as other:
        old = begun(client, "tx", b"never seen", timeout_ms=600_000)
        TransactionalProducer(other, "tx", timeout_ms=600_000).init()
        with pytest.raises(KafkaError):
            old.commit()
    told = offline("why", "producer", "tx", "--http", running.http).stdout
    assert told.startswith("EndTxn of transactional id tx by client "), told
    assert " was refused " in told.splitlines()[0]
    assert told.splitlines()[1].startswith("Another InitProducerId by client "), told
