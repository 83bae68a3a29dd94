"""A broker in its own process, seen from the process that owns it: called over a socket, killed by a signal."""

from __future__ import annotations

import os
import select
import signal
import socket
import weakref
from contextlib import suppress
from typing import Any

from barnabas.embedded import pool
from barnabas.embedded.channel import encode, receive
from barnabas.embedded.crashes import crash_in
from barnabas.embedded.errors import BarnabasError, Crashed, NotRunning
from barnabas.embedded.running import ANSWER_TIMEOUT_S, LOG_NAME
from barnabas.embedded.settings import Wire

START_TIMEOUT_S = 60.0
_END_TIMEOUT_S = 10.0
_LAST_LINES = 20

_owned: weakref.WeakSet[ChildProcess] = weakref.WeakSet()


class ChildProcess:
    """One running broker. Not for two threads at a time: its owner takes care of that."""

    def __init__(self, settings: Wire, home: str | None) -> None:
        """Start it and wait until it can be used. Raises BarnabasError if it cannot; NotRunning if it died."""
        self.home = home
        self.pid = 0
        self._end: int | None = None
        facts = self._start(settings, home)
        self.pid = facts["pid"]
        self.ports: list[int] = facts["ports"]
        self.home = facts["home"]
        self.data_dir: str = facts["data_dir"]
        self.warnings: list[str] = facts["warnings"]
        with suppress(OSError, AttributeError):  # a system, a kernel or a sandbox without pidfd
            self._end = os.pidfd_open(self.pid)

    @property
    def is_running(self) -> bool:
        """Whether the process still runs."""
        return not self._has_ended(0)

    def wait_ended(self, timeout_s: float) -> bool:
        """Return whether the process has ended, by itself, within this time."""
        return self._has_ended(timeout_s)

    def end_descriptor(self) -> int | None:
        """Return a new descriptor that can be read from once the process has ended, where the kernel supports it."""
        return None if self._end is None else os.dup(self._end)

    def ask(self, name: str, *arguments: object, timeout_s: float = ANSWER_TIMEOUT_S) -> Any:
        """Return the broker's answer. Raises BarnabasError with the reason if there is none; NotRunning."""
        try:
            self._socket.sendall(encode((name, arguments)))
        except OSError:
            raise self._gone() from None
        return self._receive(timeout_s)

    def stop(self) -> None:
        """Stop cleanly. Raises BarnabasError where the data could not be written."""
        try:
            self.ask("stop")
        finally:
            self._wait_and_close()

    def kill(self) -> None:
        """Send SIGKILL, and wait until all its resources are free."""
        if self._end is not None:
            with suppress(ProcessLookupError):  # it has already ended
                signal.pidfd_send_signal(self._end, signal.SIGKILL)
        elif not self._has_ended(0):
            with suppress(ProcessLookupError):  # it has already ended
                os.kill(self.pid, signal.SIGKILL)
        self._wait_and_close()

    def logs(self) -> str:
        """Return the log of this and earlier brokers in the same home."""
        return read_log(self.home)

    def discard(self) -> None:
        """Remove its home with all its files, once it has ended."""
        from shutil import rmtree

        if self.home is not None:
            rmtree(self.home, ignore_errors=True)

    def let_go(self) -> None:
        """Release all its resources in a process that was forked from the owner's."""
        self._socket.close()
        if self._end is not None:
            os.close(self._end)
            self._end = None

    def _start(self, settings: Wire, home: str | None) -> Any:
        """Start a broker and return its first message. A pool whose process died just now is replaced, once."""
        self._pool = pool.current()
        try:
            return self._fork(settings, home)
        except BarnabasError:
            if self._pool.is_alive:
                raise
        self._pool = pool.current()
        return self._fork(settings, home)

    def _fork(self, settings: Wire, home: str | None) -> Any:
        self._socket = self._pool.fork(settings, home)
        _owned.add(self)
        try:
            return self._receive(START_TIMEOUT_S)
        except BaseException:
            self._socket.close()
            raise

    def _receive(self, timeout_s: float) -> Any:
        self._socket.settimeout(timeout_s)
        try:
            answer: Any = receive(self._socket)
        except TimeoutError:
            if self.pid:
                self.kill()  # a late answer would be taken for that of the next call
            raise BarnabasError(f"the broker did not answer within {timeout_s:g} s, and was killed") from None
        except (EOFError, OSError):
            raise self._gone() from None
        kind, value = answer
        if kind == "failed":
            raise BarnabasError(value)
        return value

    def _gone(self) -> NotRunning:
        """Return the error for a closed connection, once the process has ended, too."""
        self._wait_and_close()
        output = read_log(self.home) if self.pid else self._pool.last_output()
        crash = crash_in(output)
        if crash is not None:
            return Crashed(*crash, crash.while_down)
        return NotRunning(
            "\n".join(
                ["the broker's process has ended; the last lines of its log:", *output.splitlines()[-_LAST_LINES:]]
            )
        )

    def _wait_and_close(self) -> None:
        if not self._has_ended(_END_TIMEOUT_S):
            raise BarnabasError(f"the broker's process {self.pid} did not end within {_END_TIMEOUT_S:.0f} s")
        self.let_go()

    def _has_ended(self, timeout_s: float) -> bool:
        """Return whether the process has ended: by its pidfd where there is one, else by the end of its socket."""
        if self._socket.fileno() < 0:
            return True
        if self._end is not None:
            watch = select.poll()
            watch.register(self._end, select.POLLIN)
            return bool(watch.poll(timeout_s * 1000))
        self._socket.settimeout(timeout_s)
        try:
            return not self._socket.recv(1, socket.MSG_PEEK)
        except (BlockingIOError, TimeoutError):
            return False
        except OSError:
            return True


def read_log(home: str | None) -> str:
    """Return the log of the brokers in `home`."""
    if home is None:
        return ""
    # No log was begun, or it was removed with the directory.
    with suppress(OSError), open(os.path.join(home, LOG_NAME), encoding="utf-8", errors="replace") as file:
        return file.read()
    return ""


def _after_fork_in_child() -> None:
    for each in list(_owned):
        each.let_go()


os.register_at_fork(after_in_child=_after_fork_in_child)
