"""A server in its own process, as the tests that use real clients see it: started, stopped, killed, started again.

`BrokerProcess` and `KafkaProcess` are the two kinds, so that one test can be run against Barnabas and against Apache
Kafka. The output of the process is stored line by line, and waiting for a line is how a test learns that it is ready.
"""

import signal
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Self

ROOT = Path(__file__).resolve().parents[3]
START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0


class Lines:
    """The lines of a stream, read by a thread as they come."""

    def __init__(self, stream: IO[str]) -> None:
        self._lines: list[str] = []
        self._closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._read, args=(stream,), daemon=True)
        self._thread.start()

    def _read(self, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                with self._changed:
                    self._lines.append(line.rstrip("\n"))
                    self._changed.notify_all()
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def text(self) -> str:
        with self._changed:
            return "\n".join(self._lines)

    def first(self, wanted: Callable[[str], bool], timeout_s: float) -> str | None:
        """The first line that is `wanted`, once it is there; None when the stream ended or the time is up."""
        deadline = time.monotonic() + timeout_s
        with self._changed:
            seen = 0
            while True:
                for line in self._lines[seen:]:
                    if wanted(line):
                        return line
                seen = len(self._lines)
                left_s = deadline - time.monotonic()
                if self._closed or left_s <= 0:
                    return None
                self._changed.wait(left_s)

    def join(self) -> None:
        """Wait for the end of the stream."""
        self._thread.join()


class Server(ABC):
    """One server over one data directory; used as a context manager it is started, and killed at the end at the latest.

    settings: broker keys under Kafka's names. After the first start the port stays the same.
    """

    start_timeout_s = START_TIMEOUT_S

    def __init__(self, data_dir: Path, settings: Mapping[str, object] | None = None) -> None:
        self.data_dir = data_dir
        self.settings = dict(settings or {})
        self.port = 0
        self._process: subprocess.Popen[str] | None = None
        self._stdout: Lines | None = None
        self._stderr: Lines | None = None

    @abstractmethod
    def command(self) -> Sequence[str]:
        """What to run; called at each start."""

    @abstractmethod
    def is_ready_line(self, line: str) -> bool:
        """Whether this line of stdout means that the server can be used."""

    @abstractmethod
    def port_of(self, ready_line: str) -> int:
        """The port that it listens on."""

    @property
    def address(self) -> str:
        """What a client takes as bootstrap.servers."""
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> str:
        """The output of the present or last process on stderr."""
        return self._stderr.text() if self._stderr else ""

    def start(self) -> Self:
        """Start the process and wait until it can be used."""
        assert self._process is None or self._process.poll() is not None, "it runs already"
        self._process = subprocess.Popen(
            self.command(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,  # so that ^C reaches the tests only
        )
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._stdout, self._stderr = Lines(self._process.stdout), Lines(self._process.stderr)
        line = self._stdout.first(self.is_ready_line, self.start_timeout_s)
        if line is None:
            output = self._stdout.text()[-4000:]
            self.kill()
            raise AssertionError(f"{self.command()} did not start:\n{output}\n{self.log[-8000:]}")
        self.port = self.port_of(line)
        return self

    def kill(self) -> None:
        """SIGKILL: what a crash of the process does."""
        self._end(signal.SIGKILL, STOP_TIMEOUT_S)

    def abort(self) -> str:
        """SIGABRT: return its log, which has the stacks of its threads if PYTHONFAULTHANDLER was set."""
        self._end(signal.SIGABRT, STOP_TIMEOUT_S)
        return self.log

    def stop(self) -> int:
        """SIGTERM: a clean stop. Returns the exit status."""
        return self._end(signal.SIGTERM, STOP_TIMEOUT_S)

    def _end(self, how: signal.Signals, timeout_s: float) -> int:
        assert self._process is not None
        assert self._stdout is not None
        assert self._stderr is not None
        self._process.send_signal(how)
        try:
            status = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise AssertionError(f"{how.name} did not end it in {timeout_s:.0f} s:\n{self.log[-8000:]}") from None
        self._stdout.join()
        self._stderr.join()
        return status

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        if self._process is not None and self._process.poll() is None:
            self.kill()
