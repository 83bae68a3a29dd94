"""A broker in a process of its own, as its owner sees it when things go wrong."""

import errno
import os
import signal
import socket
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from barnabas import Barnabas, BarnabasError, NotRunning
from barnabas.embedded import pool
from barnabas.embedded.channel import encode, receive
from barnabas.embedded.child_process import ChildProcess
from barnabas.embedded.pool import Pool
from barnabas.embedded.settings import checked

SETTINGS = checked(
    topics=["orders"], config=None, features=None, host="127.0.0.1", port=0, data_dir=None, log_level="info"
).wire()


@pytest.fixture
def child() -> Iterator[ChildProcess]:
    child = ChildProcess(SETTINGS, None)
    yield child
    child.kill()
    child.discard()


def test_one_that_does_not_answer_is_killed(child: ChildProcess) -> None:
    os.kill(child.pid, signal.SIGSTOP)
    with pytest.raises(BarnabasError, match=r"within 0\.1 s"):
        child.ask("topics", timeout_s=0.1)
    assert not child.is_running
    with pytest.raises(NotRunning, match="broker started"):
        child.ask("topics")


def test_it_may_end_twice(child: ChildProcess) -> None:
    child.stop()
    child.kill()
    child.kill()
    assert not child.is_running
    assert "broker stopped" in child.logs()


def test_a_pool_that_died_after_it_was_looked_at_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    died = pool.current()
    os.kill(died.pid, signal.SIGKILL)
    os.waitid(os.P_PID, died.pid, os.WEXITED | os.WNOWAIT)
    looks = iter([True])

    class Slow(Pool):
        """A pool whose end is seen late."""

        @property
        def is_alive(self) -> bool:
            return next(looks, False) or super().is_alive

    monkeypatch.setattr(died, "__class__", Slow)
    with Barnabas(topics=["orders"]) as broker:
        assert broker.topics() == {"orders": 1}
        assert next(looks, None) is None
    assert pool.current() is not died


def test_where_there_are_no_pidfds_its_end_is_seen_by_its_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(pid: int) -> int:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(os, "pidfd_open", missing, raising=False)
    with Barnabas(topics=["orders"]) as broker:
        assert broker.is_running
        broker.kill()
        assert not broker.is_running
        broker.start()
        broker.restart()
        assert broker.topics() == {"orders": 1}


def test_a_pool_that_cannot_start_states_what_its_python_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_pool", None)
    monkeypatch.setattr(pool, "_PROGRAM", "raise SystemExit('no room in the castle')")
    with pytest.raises(BarnabasError, match="no room in the castle"):
        Barnabas().start()
    pool.close()


def test_a_forked_child_of_the_owner_has_a_pool_of_its_own_and_leaves_the_owners_brokers_alone() -> None:
    with Barnabas(topics=["orders"]) as broker:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads, which xdist has
            pid = os.fork()
        if pid == 0:
            try:
                is_apart = not broker.is_running
                with Barnabas(topics=["of_child"]) as own:
                    is_apart = is_apart and own.topics() == {"of_child": 1}
                pool.close()
                os._exit(0 if is_apart else 3)
            finally:
                os._exit(4)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert broker.topics() == {"orders": 1}


@pytest.mark.parametrize("in_process", [False, True])
def test_a_forked_child_cannot_end_the_owners_broker_or_touch_its_data(in_process: bool) -> None:
    with Barnabas(topics=["orders"], in_process=in_process) as broker:
        snapshot = broker.snapshot()
        calls = (
            broker.topics,
            broker.start,
            broker.stop,
            broker.kill,
            broker.restart,
            lambda: broker.restore(snapshot),
        )
        with warnings.catch_warnings(), _in_use(broker):
            warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads
            pid = os.fork()
        if pid == 0:
            try:
                signal.alarm(60)  # ends it if a call waits for the thread that is gone
                refused = [_is_refused(call, broker) for call in calls]
                broker.close()
                os._exit(0 if all(refused) else 3)
            finally:
                os._exit(4)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        broker.create_topic("after", 1, {})
        broker.restart()
        assert broker.topics() == {"orders": 1, "after": 1}


@contextmanager
def _in_use(broker: Barnabas) -> Iterator[None]:
    """Have another thread in the middle of a call."""
    owner = os.getpid()
    begun, over = threading.Event(), threading.Event()

    def call() -> None:
        with broker._turn:
            begun.set()
            over.wait()

    thread = threading.Thread(target=call)
    thread.start()
    begun.wait()
    try:
        yield
    finally:
        over.set()
        if os.getpid() == owner:
            thread.join()


def _is_refused(call: Callable[[], object], broker: Barnabas) -> bool:
    try:
        call()
    except BarnabasError as error:
        return str(error) == (
            f"process {os.getppid()} started the broker, and this is a fork of it: call its methods there, and connect "
            f"a client to {broker.bootstrap_servers} here"
        )
    return False


def test_messages_go_over_a_socket_whole_and_its_end_is_reported() -> None:
    first, second = socket.socketpair()
    message = ("records", [(0, 1, None, b"v" * 100_000, [("h", None)])], None, True)
    with second:
        with first:
            first.sendall(encode(message)[:5])
            first.sendall(encode(message)[5:])
            assert receive(second) == message
            first.sendall(encode(message)[:7])
        with pytest.raises(EOFError):
            receive(second)
