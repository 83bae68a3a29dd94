"""A program that runs beside a test: its lines are waited for, and it is ended, killed or left to end."""

import signal
import subprocess
from collections.abc import Callable, Sequence
from typing import Self

from tests.support.processes.server import Lines
from tests.support.waiting import PATIENCE_S


class Program:
    """`command`, started at once; used as a context manager it is killed at the end at the latest."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace"
        )
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._out, self._err = Lines(self._process.stdout), Lines(self._process.stderr)

    @property
    def lines(self) -> list[str]:
        """What it has printed on stdout so far."""
        return self._out.text().splitlines()

    @property
    def errors(self) -> str:
        """What it has printed on stderr so far."""
        return self._err.text()

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def line(self, wanted: Callable[[str], bool] | str, timeout_s: float = PATIENCE_S) -> str:
        """The first line that is `wanted`, or begins with it, once it is there."""
        is_wanted = (lambda line: line.startswith(wanted)) if isinstance(wanted, str) else wanted
        found = self._out.first(is_wanted, timeout_s)
        assert found is not None, f"it never came: {wanted}\n{self._output()}"
        return found

    def tell(self, line: str) -> None:
        """Write a line to its stdin."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def close_input(self) -> None:
        """End its stdin."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    def end(self, timeout_s: float = PATIENCE_S) -> int:
        """Its exit status, once it ends by itself."""
        try:
            status = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"it did not end in {timeout_s:.0f} s\n{self._output()}") from None
        self._out.join()
        self._err.join()
        return status

    def succeed(self, timeout_s: float = PATIENCE_S) -> list[str]:
        """Its lines, once it has ended with status 0."""
        status = self.end(timeout_s)
        assert status == 0, f"status {status}\n{self._output()}"
        return self.lines

    def stop(self) -> int:
        """SIGTERM: let it end in its own way. Returns the exit status."""
        self._process.terminate()
        return self.end()

    def kill(self) -> None:
        """SIGKILL: as a crash ends it."""
        self._process.send_signal(signal.SIGKILL)
        self.end()

    def _output(self) -> str:
        return f"{' '.join(self._command)[-400:]}:\n{self._out.text()[-4000:]}\n{self._err.text()[-8000:]}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Kill it, unless it has ended."""
        if not self.has_ended:
            self.kill()
        assert self._process.stdin is not None
        self._process.stdin.close()
