"""One helper process as the broker sees it: started, sent messages, read from, killed, and waited for.

Knows an event loop that watches descriptors, asyncio's or uvloop's; knows nothing of jobs. The process is started by
`subprocess` in a thread (which executes a program at once, and never continues as a copy of the broker), as the disk
may be slow to load the program. stdin and stdout are pipes; stderr is the broker's.

Invariants: `ended` is called once for each process, when its stdout ends, and it is killed by then; no message of it is
delivered afterwards. A process that has ended is always waited for, so none stays behind as a zombie.
"""

from __future__ import annotations

import os
import subprocess
import sys
from asyncio import AbstractEventLoop, Future
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from barnabas import form
from barnabas.broker.runtime.workers.messages import JobAssignment, Messages, encode

_PROGRAM = os.path.join(os.path.dirname(__file__), "__main__.py")
_READ_BYTES = 1 << 16
_WAIT_S = 0.005


def can_start() -> bool:
    """Return whether this system can start processes, and let them stay in a directory that is renamed."""
    return os.name == "posix" and bool(sys.executable)


def helper_processes_max() -> int:
    """Return the number of cores. Helpers are niced: the event loop has its share even if all are busy."""
    with suppress(AttributeError, OSError):  # not on this system
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def command() -> list[str]:
    """Return the program of a helper process: without the environment's settings, with this process's import path."""
    path = [os.path.abspath(entry) for entry in sys.path]
    return [sys.executable, "-I", "-S", *(["-B"] if sys.dont_write_bytecode else []), _PROGRAM, *path]


def start(program: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start a helper process, in any thread. Raises OSError."""
    return subprocess.Popen(
        program,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd="/",
        bufsize=0,
        env={**os.environ, form.VARIABLE: form.running()},  # the classes of both ends have to be the same
    )


def resident_bytes(pid: int) -> int:
    """Return how much memory a process has, in bytes; 0 where the system does not report it."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


class Helper:
    """A process that was started."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        process: subprocess.Popen[bytes],
        heard: Callable[[Helper, Any], None],
        ended: Callable[[Helper], None],
    ) -> None:
        """Watch a process. heard: called with each of its messages. ended: called when it has ended, for any reason."""
        assert process.stdin is not None
        assert process.stdout is not None
        self._loop = loop
        self._process = process
        self._stdin, self._stdout = process.stdin, process.stdout
        self._heard = heard
        self._ended = ended
        self._messages = Messages()
        self._unsent = b""
        self.is_gone: Future[None] = loop.create_future()
        """Done when the system holds nothing of the process any more."""
        self.quiet_checks = 0
        """How many checks there were since its last message or its last job."""
        self._is_over = False
        os.set_blocking(self._stdin.fileno(), False)
        os.set_blocking(self._stdout.fileno(), False)
        loop.add_reader(self._stdout.fileno(), self._read)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def send(self, assignment: JobAssignment) -> None:
        """Send it a job. If the process has ended, `ended` is about to be called."""
        assert not self._unsent, "one job at a time"
        self.quiet_checks = 0
        self._unsent = encode(assignment)
        self._write()

    def kill(self) -> None:
        """End the process now. No message is delivered any more, and it begins nothing new after this returns."""
        if self._is_over:
            return
        self._is_over = True
        self._loop.remove_reader(self._stdout.fileno())
        self._loop.remove_writer(self._stdin.fileno())
        with suppress(OSError):  # it has already ended
            self._process.kill()
        self._stdin.close()
        self._stdout.close()
        self._wait()

    def kill_and_wait(self, timeout_s: float) -> None:
        """Kill the process and wait for its end, at most `timeout_s` if the disk blocks it. Needs no running loop."""
        self.kill()
        with suppress(subprocess.TimeoutExpired):  # it ends when the disk answers
            self._process.wait(timeout_s)

    def _read(self) -> None:
        try:
            data = os.read(self._stdout.fileno(), _READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data:
            self.kill()
            self._ended(self)
            return
        self.quiet_checks = 0
        for message in self._messages.feed(data):
            if self._is_over:
                return  # the message before killed the process
            self._heard(self, message)

    def _write(self) -> None:
        descriptor = self._stdin.fileno()
        try:
            sent = os.write(descriptor, self._unsent)
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError:
            sent = len(self._unsent)  # it has ended: `_read` will notice
        self._unsent = self._unsent[sent:]
        if self._unsent:
            self._loop.add_writer(descriptor, self._write)
        else:
            self._loop.remove_writer(descriptor)

    def _wait(self) -> None:
        if self._process.poll() is None:
            self._loop.call_later(_WAIT_S, self._wait)
        elif not self.is_gone.done():
            self.is_gone.set_result(None)
