"""A broker that ended by a fault says so in its last line, and whoever embeds it reads that line."""

import os
import signal
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from barnabas import Barnabas, BarnabasError, Crashed, NotRunning
from barnabas.client.client import Client
from barnabas.client.errors import ConnectionFailed
from barnabas.client.produce.producer import Producer
from barnabas.embedded.crashes import Crash, crash_in
from barnabas.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tests.barnabas.conftest import Writer

PLAN = {
    "version": 1,
    "faults": [{"name": "mine", "match": {"point": "transaction.prepared"}, "do": {"crash": True}}],
}
CRASHED = (
    "2026-11-25T10:00:00.000Z INFO app broker started node=1\n"
    "2026-11-25T10:00:01.000Z ERROR faults fault crashes the broker fault=torn point=transaction.marked nth=1\n"
)


def test_the_last_line_tells_of_the_fault() -> None:
    assert crash_in(CRASHED) == Crash("torn", "transaction.marked")


@pytest.mark.parametrize(
    "log", ["", "2026-11-25T10:00:00.000Z INFO app broker started", f"{CRASHED}2026 INFO app broker started node=1\n"]
)
def test_any_other_end_is_none_of_a_fault(log: str) -> None:
    assert crash_in(log) is None


def test_calls_name_the_fault_that_crashed_the_broker_until_it_is_started_again(tmp_path: Path) -> None:
    with Barnabas(topics=["t"], data_dir=tmp_path / "data") as broker:
        log = Path(broker._running.home) / "broker.log"  # type: ignore[union-attr, arg-type]  # because it runs
        with log.open("a") as file:
            file.write(CRASHED.splitlines()[-1] + "\n")
        os.kill(broker.pid, signal.SIGKILL)
        assert broker._running is not None
        assert broker._running.wait_ended(10)
        assert not broker.is_running
        with pytest.raises(Crashed, match=r"fault torn crashed the broker at transaction.marked; start\(\)") as crashed:
            broker.topics()
        assert (crashed.value.fault, crashed.value.point) == ("torn", "transaction.marked")
        broker.start()
        assert broker.topics() == {"t": 1}
        broker.kill()
        with pytest.raises(NotRunning) as killed:
            broker.topics()
        assert not isinstance(killed.value, Crashed)


def test_a_fault_crashes_the_broker_and_start_brings_it_back(writer: Writer) -> None:
    with Barnabas(topics={"orders": 1}) as broker:
        writer.write(broker, b"kept")
        port = broker.port
        broker.faults.arm(name="mine", point="topic.created", facts={"topic": "new"}, crash=True)
        with pytest.raises(Crashed, match=r"^fault mine crashed the broker at topic\.created; start\(\)"):
            broker.create_topic("new")
        assert broker.faults.wait_crashed() == Crash("mine", "topic.created")
        assert not broker.is_running
        broker.start()
        assert broker.port == port
        assert broker.topics() == {"new": 1, "orders": 1}
        assert [record.value for record in broker.records("orders")] == [b"kept"]
        assert broker.faults.armed == [], "a new process has no faults"


def test_a_broker_is_started_again_by_itself_while_a_client_goes_on(writer: Writer) -> None:
    with Barnabas(topics={"orders": 1}) as broker:
        port, pid = broker.port, broker.pid
        with Client(broker.bootstrap_servers) as client, Producer(client) as producer:
            producer.send("orders", b"before", partition=0)
            producer.flush()
            broker.faults.arm(point="topic.created", facts={"topic": "new"}, crash=True, restart=True, name="mine")
            with pytest.raises(
                Crashed, match=r"^fault mine crashed the broker at topic\.created during the call; it was "
            ):
                broker.create_topic("new")
            crash = broker.faults.wait_crashed()
            assert crash == Crash("mine", "topic.created")
            assert str(crash) == "fault mine crashed the broker at topic.created"
            assert broker.is_running
            assert (broker.port, broker.pid != pid) == (port, True)
            assert broker.faults.armed == []
        writer.write(broker, b"after")
        assert [record.value for record in broker.records("orders")] == [b"before", b"after"]
        with pytest.raises(BarnabasError, match=r"^no fault has crashed the broker within 0\.01 s$"):
            broker.faults.wait_crashed(0.01)


def test_it_restarts_by_itself_as_often_as_configured(writer: Writer) -> None:
    with Barnabas(topics={"orders": 1}) as broker:
        for number in range(2):
            broker.faults.arm_plan(PLAN, restart=True)
            writer.begin(broker, f"tx-{number}", b"v").commit()
            assert broker.faults.wait_crashed() == Crash("mine", "transaction.prepared")
        assert [record.value for record in broker.records("orders")] == [b"v", b"v"]
        broker.faults.arm_plan(PLAN)
        with pytest.raises(BarnabasError, match=r"^no fault has crashed the broker within 0\.01 s$"):
            broker.faults.wait_crashed(0.01)
        broker.create_topic("it-lives")


def test_another_error_ends_it() -> None:
    with Barnabas() as broker:
        broker.faults.arm(point="topic.created", crash=True, restart=True)
        os.kill(broker.pid, signal.SIGKILL)
        with pytest.raises(BarnabasError, match="no fault has crashed the broker"):
            broker.faults.wait_crashed()
        with pytest.raises(NotRunning):
            broker.topics()
        broker.start()
        broker.faults.arm(point="topic.created", crash=True, restart=True)
        broker.stop()
        with pytest.raises(NotRunning):
            broker.topics()


def test_where_it_cannot_be_started_again_the_next_call_reports_it(tmp_path: Path) -> None:
    data = tmp_path / "data"
    broker = Barnabas(data_dir=data).start()
    broker.faults.arm(point="topic.creating", crash=True, restart=True, name="mine")
    (data / "meta.properties").write_text("version=1\n")
    said = r"^fault mine crashed the broker at topic\.creating, and it could not be started again: "
    with pytest.raises(BarnabasError, match=said):
        broker.create_topic("t")
    with pytest.raises(BarnabasError, match=said):
        broker.topics()
    with pytest.raises(BarnabasError, match=said):
        broker.faults.wait_crashed()
    broker.close()


def test_where_nobody_was_told_that_it_could_not_be_started_again_the_end_reports_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = Barnabas(data_dir=tmp_path / "data", topics=["t"]).start()
    broker.faults.arm(point="topic.created", crash=True, restart=True, name="mine")
    began = threading.Event()

    def begin(_: object) -> None:
        began.set()
        raise BarnabasError("the disk is gone")

    monkeypatch.setattr(broker, "_begin", begin)
    topic = CreatableTopic(name="new", num_partitions=1, replication_factor=1, assignments=[], configs=[])
    with suppress(ConnectionFailed), Client(broker.bootstrap_servers) as client:  # the broker crashes at this request
        client.ask_any(CreateTopicsRequest(topics=[topic], timeout_ms=1000), client.deadline(500))
    assert began.wait(10)
    with pytest.raises(BarnabasError, match=r"could not be started again: the disk is gone$"):
        broker.close()
    broker.close()


def test_restart_goes_with_a_crash() -> None:
    with Barnabas() as broker:
        with pytest.raises(BarnabasError, match=r"^restart=True needs a fault that does crash: no other ends the"):
            broker.faults.arm(api="EndTxn", drop=True, restart=True)
        with pytest.raises(BarnabasError, match=r"^restart=True needs a fault that does crash"):
            broker.faults.arm_plan({"version": 1, "faults": []}, restart=True)
        assert broker.faults.armed == []


def test_a_broker_that_no_fault_has_ended_is_waited_for_in_vain(tmp_path: Path) -> None:
    with Barnabas() as broker:
        with pytest.raises(BarnabasError, match=r"^no fault has crashed the broker within 0\.01 s$"):
            broker.faults.wait_crashed(0.01)
        broker.kill()
        with pytest.raises(BarnabasError, match="no fault has crashed the broker"):
            broker.faults.wait_crashed()


def test_a_broker_in_the_process_of_its_test_is_not_crashed() -> None:
    with Barnabas(in_process=True) as broker:
        with pytest.raises(BarnabasError, match=r"^this broker runs in the process of the test"):
            broker.faults.arm(point="topic.created", crash=True)
        broker.faults.arm(point="transaction.prepared", pause=True)
        assert len(broker.faults.armed) == 1
