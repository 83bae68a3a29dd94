"""Clean restarts and kills: what was acknowledged stays where it was, once, and clients go on by themselves."""

import os
import signal
import subprocess
import threading
from collections.abc import Mapping

import pytest
from confluent_kafka.admin import AdminClient

from tests.compat import model
from tests.compat.conftest import STREAMING
from tests.support.processes.server import Server
from tests.support.waiting import until

COUNT = 8000
KILL_AT = 2000  # acknowledgements
NUMBERS_NO_BATCHES = "kafka-go"
SETTINGS = {
    "num.partitions": model.PARTITIONS,
    "log.retention.ms": -1,
    "log.segment.bytes": 1024 * 1024,  # so small that recovery meets more than one
}

Clients = Mapping[str, model.Client]
StreamingClients = Mapping[str, model.StreamingClient]


def test_everything_is_there_after_a_clean_restart(server: Server, clients: Clients) -> None:
    expected = {}
    for name in (*STREAMING, NUMBERS_NO_BATCHES):
        messages = model.messages_for(clients[name], "zstd")
        clients[name].write(server.address, f"restart-{name}", messages, "zstd")
        expected[name] = messages
    server.stop()
    server.start()
    for name, messages in expected.items():
        more = [
            model.Message(partition, b"k", b"after", (), 1_700_000_000_000) for partition in range(model.PARTITIONS)
        ]
        clients[name].write(server.address, f"restart-{name}", more, "lz4")
        found = model.by_position(clients[name].read(server.address, f"restart-{name}"))
        assert model.as_read_by(name, found) == model.as_read_by(name, model.as_stored([*messages, *more]))


def test_committed_offsets_outlive_a_kill(server: Server, clients: Clients) -> None:
    client, topic = clients["confluent-kafka"], "offsets-outlive"
    client.write(server.address, topic, model.messages_for(client, "none", count=30), "none")
    client.read_in_group(server.address, topic, "survivors", 30)
    server.kill()
    server.start()
    client.write(server.address, topic, [model.Message(2, b"k", b"after the kill")], "none")
    found = client.read_in_group(server.address, topic, "survivors", 1)
    assert [(record.partition, record.offset, record.value) for record in found] == [(2, 10, b"after the kill")]


@pytest.mark.parametrize("name", STREAMING)
def test_a_kill_in_the_middle_of_writing_loses_and_doubles_nothing(
    server: Server, clients: StreamingClients, name: str
) -> None:
    topic = f"killed-{name}"
    acknowledged = _stream_over_a_kill(server, clients[name], topic)
    found = clients["confluent-kafka"].read(server.address, topic)
    assert sorted(int(record.value or b"") for record in found) == sorted(acknowledged)
    assert [record for record in found if acknowledged[int(record.value or b"")] != record.offset] == []


def test_a_kill_in_the_middle_of_writing_loses_nothing_of_a_client_that_numbers_no_batches(
    server: Server, clients: StreamingClients
) -> None:
    topic = f"killed-{NUMBERS_NO_BATCHES}"
    acknowledged = _stream_over_a_kill(server, clients[NUMBERS_NO_BATCHES], topic)
    found = clients["confluent-kafka"].read(server.address, topic)
    assert {int(record.value or b"") for record in found} == set(acknowledged)
    places = {record.offset: int(record.value or b"") for record in found}
    assert [number for number, offset in acknowledged.items() if places[offset] != number] == []


def test_kcat_loses_and_doubles_nothing_over_a_kill(server: Server, clients: Clients) -> None:
    topic = "killed-kcat"
    command = ["kcat", "-b", server.address, "-P", "-E", "-t", topic, "-X", "enable.idempotence=true"]
    kcat = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert kcat.stdin is not None
    kcat.stdin.writelines(f"{number}\n" for number in range(COUNT))
    kcat.stdin.flush()
    reader = clients["confluent-kafka"]
    admin = AdminClient({"bootstrap.servers": server.address})
    until(lambda: topic in admin.list_topics(timeout=10).topics)
    reader.read_in_group(server.address, topic, "sees-the-first", KILL_AT)  # so it is in the middle of writing
    server.kill()
    kcat.stdin.writelines(f"{number}\n" for number in range(COUNT, 2 * COUNT))
    kcat.stdin.flush()
    server.start()
    _, said = kcat.communicate(timeout=60)
    assert kcat.returncode == 0, said
    values = [int(record.value or b"") for record in reader.read(server.address, topic)]
    assert sorted(values) == list(range(2 * COUNT))


def _stream_over_a_kill(server: Server, client: model.StreamingClient, topic: str) -> dict[int, int]:
    """Write COUNT messages, with a kill and a start in the middle: the offset at which each was acknowledged."""
    acknowledged: dict[int, int] = {}
    enough = threading.Event()

    def on_ack(number: int, offset: int) -> None:
        acknowledged[number] = offset
        if len(acknowledged) == KILL_AT:
            os.kill(server.pid, signal.SIGKILL)  # here, as the client may have written all before a thread wakes up
            enough.set()

    def kill_and_start() -> None:
        if enough.wait(60):
            server.kill()
            at_the_kill.append(len(acknowledged))
            server.start()

    at_the_kill: list[int] = []
    crash = threading.Thread(target=kill_and_start)
    crash.start()
    client.stream(server.address, topic, COUNT, on_ack)
    crash.join()
    assert at_the_kill[0] < COUNT
    assert sorted(acknowledged) == list(range(COUNT))
    return acknowledged
