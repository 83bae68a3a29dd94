"""Jobs for helper processes that do what a test wants to see; processes import this module by its name."""

import os
import signal
import threading
from dataclasses import dataclass
from functools import partial

from barnabas.broker.runtime.workers.job import Steps
from barnabas.storage.disk.files import Files
from barnabas.storage.errors import StorageError


@dataclass(frozen=True, slots=True)
class Count:
    """Pauses a number of times, with ten bytes each time; returns where it was done and in which process."""

    directory: str
    pauses: int = 3

    def steps(self, files: Files) -> Steps[tuple[int, int]]:
        """(pauses, process id)."""
        for _ in range(self.pauses):
            yield 10
        return self.pauses, os.getpid()


@dataclass(frozen=True, slots=True)
class Fail:
    """Raises a StorageError with all its fields, in its own call or in its steps."""

    directory: str
    in_call: bool = False

    def steps(self, files: Files) -> Steps[str]:
        """The reason that the call failed for; what the steps raise themselves goes through."""

        def fail() -> None:
            raise StorageError(f"{self.directory}/x", "cannot write: no room", 28)

        if not self.in_call:
            fail()
        try:
            yield fail
        except StorageError as error:
            return error.reason
        return "nothing was raised"


@dataclass(frozen=True, slots=True)
class Die:
    """Kills the process it runs in until there are so many files in its directory, making one each time.

    With `signal`, it does something else to it.
    """

    directory: str
    times: int
    signal: int = signal.SIGKILL

    def steps(self, files: Files) -> Steps[int]:
        """How many files there are."""
        count = len(files.entries(self.directory))
        yield 0
        if count < self.times:
            files.open(f"{self.directory}/{count}", create=True).close()
            os.kill(os.getpid(), self.signal)
        return count


@dataclass(frozen=True, slots=True)
class Hold:
    """Makes the file `begun` in its directory, sends a byte, and continues until there is a file `go on`."""

    directory: str

    def steps(self, files: Files) -> Steps[None]:
        """Pauses without an end, with a moment's wait in a call between two."""
        moment = threading.Event()
        files.open(f"{self.directory}/begun", create=True).close()
        yield 1
        while not any(entry.name == "go on" for entry in files.entries(self.directory)):
            yield 1
            yield partial(moment.wait, 0.001)
