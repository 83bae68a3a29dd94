"""Connections of a worker acknowledge at once, and stay what they are."""

import os
import pickle
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyspark_barnabas.worker import worker_connections
from pyspark_barnabas.worker.worker_connections import SentToWorkers, acknowledge_at_once

Pair = tuple[socket.socket, socket.socket]
_QUICKACK = getattr(socket, "TCP_QUICKACK", 0)

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a program ask for it")


@pytest.fixture
def connected() -> Iterator[Pair]:
    """A TCP connection whose second end has answered often, and so delays what it acknowledges."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as one:
        other, _ = server.accept()
        with other:
            for _ in range(10):
                _exchange(one, other)
            yield one, other


def _exchange(one: socket.socket, other: socket.socket) -> None:
    for sender, receiver in ((one, other), (other, one)):
        sender.sendall(b"!")
        assert receiver.recv(1) == b"!"


def _delays(connection: socket.socket) -> bool:
    return not connection.getsockopt(socket.IPPROTO_TCP, _QUICKACK)


@linux
def test_a_connection_that_delayed_its_acknowledgements_does_no_more(connected: Pair) -> None:
    assert _delays(connected[1])
    acknowledge_at_once()
    assert not any(map(_delays, connected))


@linux
def test_a_pickled_reader_resolves_its_secret_in_the_task_and_keeps_its_fields(connected: Pair) -> None:
    pickled = pickle.dumps(_Sent(7))
    assert _delays(connected[1])
    assert pickle.loads(pickled).field == 7
    assert not any(map(_delays, connected))


def test_connections_stay_open_and_other_files_are_left_alone(connected: Pair, tmp_path: Path) -> None:
    first, second = socket.socketpair()
    with first, second, (tmp_path / "file").open("wb") as file, socket.socket(type=socket.SOCK_DGRAM) as datagrams:
        acknowledge_at_once()
        _exchange(*connected)
        _exchange(first, second)
        assert file.write(b"!") == 1
        assert datagrams.fileno() >= 0


@linux
def test_a_default_timeout_of_the_process_is_not_given_to_connections(connected: Pair) -> None:
    socket.setdefaulttimeout(5)
    try:
        acknowledge_at_once()
    finally:
        socket.setdefaulttimeout(None)
    assert all(os.get_blocking(each.fileno()) for each in connected)
    assert not any(map(_delays, connected))


@linux
def test_a_system_without_the_setting_is_left_alone(monkeypatch: pytest.MonkeyPatch, connected: Pair) -> None:
    monkeypatch.delattr(socket, "TCP_QUICKACK")
    acknowledge_at_once()
    assert _delays(connected[1])


@linux
def test_a_task_runs_where_open_files_may_not_be_listed(monkeypatch: pytest.MonkeyPatch, connected: Pair) -> None:
    pickled = pickle.dumps(_Sent(7))
    monkeypatch.setattr(worker_connections, "_OPEN_FILES", _Closed())
    assert pickle.loads(pickled).field == 7
    assert _delays(connected[1])


@linux
def test_a_system_that_does_not_list_open_files_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, connected: Pair, tmp_path: Path
) -> None:
    monkeypatch.setattr(worker_connections, "_OPEN_FILES", tmp_path / "nowhere")
    acknowledge_at_once()
    assert _delays(connected[1])


class _Sent(SentToWorkers):
    def __init__(self, field: int) -> None:
        self.field = field


class _Closed:
    """A directory that this process may not look into."""

    def is_dir(self) -> bool:
        raise PermissionError
