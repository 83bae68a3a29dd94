"""`broker.why`: what hangs in a broker, asked from a test, wherever the broker runs."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from barnabas import Barnabas, BarnabasError
from barnabas.client.client import Client
from barnabas.client.consume.group_consumer import GroupConsumer
from barnabas.client.offsets import READ_COMMITTED
from barnabas.client.transactions.producer import TransactionalProducer
from barnabas.pytest_plugin import describe
from tests.barnabas.conftest import Writer
from tests.support.clients.committed import begun


def test_a_consumer_that_waits_for_a_transaction(broker: Barnabas) -> None:
    assert broker.why.hanging() == {}
    with Client(broker.bootstrap_servers) as client:
        producer = begun(client, "tx", b"v", topic="orders")
        begin = {"isolation": READ_COMMITTED, "auto_offset_reset": "earliest"}
        with GroupConsumer(client, "g", ["orders"], **begin) as consumer:  # type: ignore[arg-type]  # of two types
            assert list(consumer.poll(timeout_ms=200)) == []
            answer = broker.why.consumer("g", "orders")
            assert answer.sentences[0].startswith(
                "orders-0: consumers with isolation.level=read_committed stop at offset 0, the last stable offset"
            )
            assert "They are held by transactional id tx (producer " in str(answer)
            assert str(answer) == "\n".join(answer.sentences)
            assert answer.evidence["partitions"][0]["holder"]["transactional_id"] == "tx"
            assert broker.why.group("g").sentences == (
                "Group g waits for no member: it is Stable, with 1 member.",
                "An open transaction holds readers of committed records back in orders-0: "
                "`barnabas why consumer g` shows which.",
            )
        assert broker.why.producer("tx").evidence["state"] == "Ongoing"
        assert broker.why.record("orders", 0, 0).evidence["fate"] == "open"
        assert list(broker.why.hanging()) == ["transactional id tx", "consumer g"]
        assert str(broker.why.hanging()).startswith("transactional id tx:\n  Transactional id tx has a transaction in ")
        said = describe(broker)
        assert "transactional id tx:\n  Transactional id tx has a transaction in orders-0: it is Ongoing" in said
        producer.commit()
    assert broker.why.hanging() == {}
    assert str(broker.why.hanging()) == "Nothing hangs."
    assert "transactional id" not in describe(broker)
    assert broker.why.record("orders", 0, 0).evidence["fate"] == "committed"


def test_a_producer_that_a_fault_holds_up(broker: Barnabas) -> None:
    fault = broker.faults.arm(api="InitProducerId", transactional_id="tx", pause=True, name="slow-start")
    with Client(broker.bootstrap_servers) as client, ThreadPoolExecutor(1) as thread:
        producer = TransactionalProducer(client, "tx", timeout_ms=60_000)
        beginning = thread.submit(producer.init)
        fault.wait_standing()
        (sentence, *_) = broker.why.producer("tx").sentences
        assert sentence.startswith("InitProducerId of client barnabas-client from 127.0.0.1:")
        assert sentence.endswith(" so far: `barnabas faults release slow-start` resumes it.")
        assert list(broker.why.hanging()) == ["fault slow-start"]
        assert f"fault slow-start:\n  {sentence[:60]}" in describe(broker)
        fault.release()
        beginning.result()
    assert broker.why.hanging() == {}


def test_invalid_input_is_reported_in_a_sentence(broker: Barnabas) -> None:
    with pytest.raises(BarnabasError, match="orders:0:-1: partitions and offsets begin with 0"):
        broker.why.record("orders", 0, -1)
    with pytest.raises(BarnabasError, match=r"^why_record: TypeError"):
        broker.why.record("orders", "0", 0)  # type: ignore[arg-type]  # because that is what is tried
    assert "question failed question=why_record" in broker.logs
    assert str(broker.why.consumer("g")).startswith("There is no group g")
    assert repr(broker.why) == "<the whys of a Barnabas>"


def test_several_nodes_are_queried_together() -> None:
    with Barnabas(topics={"t": 3}, brokers=3) as broker:
        with Client(broker.bootstrap_servers) as client:
            producer = TransactionalProducer(client, "tx", timeout_ms=60_000)
            producer.init()
            producer.begin()
            for partition in range(3):
                producer.send("t", b"v", partition=partition)
            producer.flush()
        broker.stop_node(3)
        led = [broker.leader("t", partition) for partition in range(3)]
        assert "Ongoing" in str(broker.why.producer("tx"))
        for partition, leader in enumerate(led):
            told = str(broker.why.record("t", partition, 0))
            assert ("no node leads it" if leader < 0 else "is open") in told


def test_producers_that_wait_for_room_hang(broker: Barnabas, writer: Writer) -> None:
    full = broker.faults.arm(disk="append", topic="orders", error="ENOSPC", times="always")
    with ThreadPoolExecutor(1) as thread:
        writing = thread.submit(writer.write, broker, b"waits")
        full.wait()
        (disk,) = broker.why.hanging().values()
        assert disk.sentences[0].endswith("Producers wait until there is room again.")
        assert len(disk.evidence["full"]) == 1
        full.disarm()
        writing.result(30)
    assert len(broker.records("orders")) == 1


def test_a_frozen_clock_is_reported_beside_its_waiters(broker: Barnabas, writer: Writer) -> None:
    broker.clock.freeze()
    assert broker.why.hanging() == {}
    writer.begin(broker, "tx", b"v")
    assert "by its timeout in 1 min" in str(broker.why.producer("tx"))
    for answer in (
        broker.why.producer("tx"),
        broker.why.consumer("g"),
        broker.why.group("g"),
        broker.why.hanging()["clock"],
    ):
        assert answer.sentences[-1].startswith("The broker's clock is frozen, so no timeout and no delay ends")
        assert answer.evidence["clock_is_frozen"] is True
    assert "clock" not in str(broker.why.record("orders", 0, 0).sentences[-1])
    broker.clock.run()
    assert "clock" not in broker.why.hanging()
    assert "clock_is_frozen" not in broker.why.producer("tx").evidence
