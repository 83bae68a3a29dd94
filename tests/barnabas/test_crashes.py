"""A broker that ended by a fault says so in its last line, and whoever embeds it reads that line."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from barnabas import Barnabas, Crashed, NotRunning
from barnabas.embedded.crashes import Crash, crash_in

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
