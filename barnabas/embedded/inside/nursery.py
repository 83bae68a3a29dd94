"""The process that brokers are forked from: it has everything imported, and nothing running.

Started by `embedded.pool`, once for each process that uses brokers, with a socket. For every request from there
(settings, and a socket for the new broker) it forks; the child opens its broker and answers on that socket, the
nursery continues to wait. Modules that the first broker does not need are imported while there is no request.

It has no thread and no event loop, so that a fork is complete. It ends when its parent does, detected by the socket's
end and, on Linux, by the parent's own: a process the parent forked may hold the socket open. Then it kills all present
brokers, and removes the directory that contains them.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import sys
import traceback
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn

from barnabas.broker.cli.serving.ephemeral import EphemeralDirectory
from barnabas.embedded.channel import HEAD, decode, encode, read_exactly
from barnabas.embedded.running import LOG_NAME


def main(descriptor: int, parent_pid: int) -> NoReturn:
    """Serve requests from the socket `descriptor` until the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    requests = socket.socket(fileno=descriptor)
    with EphemeralDirectory() as home:
        nursery = Nursery(requests, home.path, _watch(parent_pid))
        try:
            nursery.run()
        finally:
            nursery.end_all()
    os._exit(0)


def _watch(parent_pid: int) -> int | None:
    """Return a descriptor that is readable when the parent has ended; None where there are no such."""
    watched = None
    with suppress(OSError, AttributeError):  # a kernel, a sandbox or a system without pidfd
        watched = os.pidfd_open(parent_pid)
    if os.getppid() != parent_pid:
        sys.exit()  # it is gone already
    return watched


class Nursery:
    """Forks brokers on request."""

    def __init__(self, requests: socket.socket, home: str, parent: int | None) -> None:
        self._requests = requests
        self._home = home
        self._parent = parent
        self._count = 0
        self._children: set[int] = set()
        self._ended, wake = socket.socketpair()
        for end in (self._ended, wake):
            end.setblocking(False)
        self._wake = wake
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)

    def run(self) -> None:
        """Serve requests until the parent is gone."""
        preparing = prepare()
        is_prepared = False
        watched: list[Any] = [self._requests, self._ended, *([] if self._parent is None else [self._parent])]
        while True:
            ready, _, _ = select.select(watched, [], [], None if is_prepared else 0)
            if self._parent in ready:
                return
            if self._ended in ready:
                self._reap()
            if self._requests in ready:
                try:
                    self._fork()
                except (EOFError, ConnectionError):
                    return
            elif not is_prepared:
                is_prepared = next(preparing, None) is None

    def end_all(self) -> None:
        """Kill every broker, and wait for its end."""
        for pid in self._children:
            os.kill(pid, signal.SIGKILL)
        for pid in self._children:
            os.waitpid(pid, 0)
        self._children.clear()

    def _reap(self) -> None:
        with suppress(BlockingIOError):  # all is read
            while self._ended.recv(1 << 12):
                pass
        for pid in list(self._children):
            if os.waitpid(pid, os.WNOHANG)[0]:
                self._children.discard(pid)

    def _fork(self) -> None:
        head, descriptors, _, _ = socket.recv_fds(self._requests, HEAD.size, 1)
        if not head:
            raise EOFError
        (size,) = HEAD.unpack(head + read_exactly(self._requests, HEAD.size - len(head)))
        request: Any = decode(read_exactly(self._requests, size))
        self._count += 1
        with socket.socket(fileno=descriptors[0]) as owner:
            try:
                pid = os.fork()
            except OSError as error:
                owner.sendall(encode(("failed", f"cannot start a process for the broker: {error}")))
                return
            if pid == 0:
                self._become_broker(owner, request)
            self._children.add(pid)

    def _become_broker(self, owner: socket.socket, request: dict[str, Any]) -> NoReturn:
        home = request["home"] or os.path.join(self._home, str(self._count))
        try:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)
            for each in (self._requests, self._ended, self._wake):
                each.close()
            _speak_into(home)
            from barnabas.embedded.inside.child import run

            run(owner, request, home, self._parent)
        except BaseException:
            traceback.print_exc()
            owner.setblocking(True)
            owner.sendall(encode(("failed", traceback.format_exc())))
        finally:
            os._exit(1)  # in any case it must not continue as a nursery


def _speak_into(home: str) -> None:
    """Redirect all output of this process from now on to the log in `home`."""
    os.makedirs(home, mode=0o700, exist_ok=True)
    log = os.open(os.path.join(home, LOG_NAME), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for standard in (1, 2):
        os.dup2(log, standard)
    os.close(log)


def prepare() -> Iterator[str]:
    """Import what brokers need, a little at a time, the most needed first; then prepare for forks."""
    for name in ("barnabas.embedded.inside.child", "uvloop"):
        with suppress(ImportError):  # the fork imports it again, and fails there; uvloop is optional
            import_module(name)
        yield name
    from barnabas.embedded.inside.warm_up import warm_up

    yield from warm_up()
    gc.collect()
    gc.freeze()  # so that the collector of a child does not write to the pages that it shares with this process
