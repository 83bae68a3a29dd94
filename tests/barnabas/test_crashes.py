"""A broker that ended by a fault says so in its last line, and whoever embeds it reads that line."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from barnabas import Barnabas, BarnabasError, Crashed, NotRunning
from barnabas.embedded.crashes import Crash, crash_in
from tests.barnabas.conftest import Writer

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


def test_a_broker_that_no_fault_has_ended_is_waited_for_in_vain(tmp_path: Path) -> None:
    with Barnabas() as broker:
        with pytest.raises(BarnabasError, match=r"^no fault has crashed the broker within 0\.01 s$"):
            broker.faults.wait_crashed(0.01)
        broker.kill()
        with pytest.raises(BarnabasError, match="no fault has crashed the broker"):
            broker.faults.wait_crashed()


def test_a_broker_in_the_process_of_its_test_is_not_crashed() -> None:
    with Barnabas(in_process=True) as broker:
        with pytest.raises(BarnabasError, match=r"^this broker lives in the process that tests it"):
            broker.faults.arm(point="topic.created", crash=True)
        broker.faults.arm(point="transaction.prepared", pause=True)
        assert len(broker.faults.armed) == 1
