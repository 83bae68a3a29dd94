"""`barnabas log clean --now`: in a stopped directory, and by a broker that runs."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from barnabas.broker.cli import main
from barnabas.broker.config import BrokerConfig
from barnabas.broker.config.listeners.listeners import Listener
from barnabas.broker.network.bound_sockets import BoundAddress, bind
from barnabas.broker.server.broker import Broker
from barnabas.broker.server.data_directories import open_directory
from barnabas.broker.server.environment import Environment
from barnabas.logfiles.data_directory import read_layout
from barnabas.protocol.records.builder import build_batch
from barnabas.protocol.security.listener_protocols import PLAINTEXT

COMPACT = {"cleanup.policy": "compact", "segment.ms": "10"}
TIME_MS = 1_700_000_000_000
RECORDS = 12


@asynccontextmanager
async def running(data: Path) -> AsyncIterator[Broker]:
    config = BrokerConfig({"log.dirs": str(data), "log.cleaner.enable": "false"})
    environment = Environment()
    address = Listener(PLAINTEXT, "127.0.0.1", 9092, PLAINTEXT)
    directory = open_directory(config, environment.files, environment.random, 1000)
    broker = Broker(config, directory, environment, asyncio.get_running_loop(), [BoundAddress(address, address, [])])
    try:
        yield broker
    finally:
        await broker.stop()


def fill(broker: Broker) -> None:
    """Topics `t`, of two partitions, and `other` are compacted, `plain` is not; a segment for each record of t-0."""
    for name, partitions, configs in (("t", 2, COMPACT), ("other", 1, COMPACT), ("plain", 1, {})):
        broker.catalogue.create_topic(name, partitions, configs)
    for number in range(RECORDS):
        record = (b"key-%d" % (number % 3), b"value", (), TIME_MS + 100 * number)
        for topic in ("t", "plain"):
            broker.services.partitions.append(topic, 0, bytearray(build_batch([record])))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    async def filled() -> None:
        async with running(tmp_path / "data") as broker:
            fill(broker)

    asyncio.run(filled())
    return tmp_path / "data"


def batches(data: Path) -> int:
    (found,) = read_layout(str(data), lambda topic, partition: (topic, partition) == ("t", 0))
    return sum(segment.size for segment in found.segments) // len(build_batch([(b"key-0", b"value", (), TIME_MS)]))


def test_a_stopped_directory_is_compacted(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert batches(data) == RECORDS
    assert main(["log", "clean", "--now", "--data-dir", str(data), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["topic"], row["partition"], row["state"]) == ("t", 0, "cleaned")
    assert (row["records_before"], row["records_after"]) == (RECORDS - 1, 3)
    assert batches(data) == 4
    assert main(["log", "clean", "--now", "--data-dir", str(data), "t:0"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[:3] == ["t", "0", "clean"]
    assert main(["log", "verify", str(data)]) == 0


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (["nothing"], 1, "there is no topic 'nothing'"),
        (["t:7"], 1, "has no partition 7"),
        (["plain"], 1, "cleanup.policy of plain does not contain compact"),
        (["t:x"], 2, "is not a whole number"),
        (["--http", "127.0.0.1:1"], 2, "--http is for a running broker"),
    ],
)
def test_a_contradictory_command_is_one_line(
    data: Path, words: list[str], status: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = batches(data)
    assert main(["log", "clean", "--now", "--data-dir", str(data), *words]) == status
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("barnabas: ")
    assert says in line
    assert batches(data) == before


def test_a_directory_that_is_used_or_was_killed_is_left_alone(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (data / ".kafka_cleanshutdown").unlink()
    assert main(["log", "clean", "--now", "--data-dir", str(data)]) == 1
    assert "was not stopped cleanly" in capsys.readouterr().err
    assert main(["log", "clean", "--now", "--data-dir", str(tmp_path)]) == 2
    assert "is not a data directory" in capsys.readouterr().err
    assert batches(data) == RECORDS


def test_without_now_nothing_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", "clean"]) == 2
    assert "--now" in capsys.readouterr().err


async def asked(data: Path, words: Callable[[str], list[str]]) -> int:
    """The exit status of the command, run in a thread against a broker that speaks HTTP."""
    async with running(data) as broker:
        sockets = bind("127.0.0.1", 0)
        await broker.open_http(sockets)
        port = sockets[0].getsockname()[1]
        status: list[int] = []
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()

        def run() -> None:
            status.append(main(words(f"127.0.0.1:{port}")))
            loop.call_soon_threadsafe(ended.set)

        thread = threading.Thread(target=run)
        thread.start()
        await asyncio.wait_for(ended.wait(), 60)
        thread.join()
        return status[0]


def test_a_running_broker_compacts(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert asyncio.run(asked(data, lambda at: ["log", "clean", "--now", "--http", at, "t:0"])) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[:3] == ["t", "0", "cleaned"]
    assert batches(data) == 4


def test_a_running_broker_states_what_it_does_not_know(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert asyncio.run(asked(data, lambda at: ["log", "clean", "--now", "--http", at, "nothing"])) == 2
    assert "there is no topic 'nothing'" in capsys.readouterr().err


def test_no_broker_there_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    sockets = bind("127.0.0.1", 0)
    port = sockets[0].getsockname()[1]
    for each in sockets:
        each.close()
    assert main(["log", "clean", "--now", "--http", f"127.0.0.1:{port}"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "connection refused" in line.lower()
