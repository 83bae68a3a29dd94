"""One transactional producer, the same for all clients: a process that obeys, step by step.

A step is a line of tab-separated words on its stdin, answered by one line on its stdout: `ok`; `fenced`, when another
instance with the same transactional id has taken over; or `error` and what the client said. H names one producer among
those of the process.

    open H ADDRESS TRANSACTIONAL_ID         make a producer and initialise its transactions
    begin H
    send H TOPIC PARTITION VALUE            and wait for the acknowledgement
    copy H GROUP SOURCE TARGET COUNT        as a member of GROUP read COUNT records of SOURCE at read_committed, send
                                            each one's value to the same partition of TARGET, and send the offsets
    commit H
    abort H                                 and leave the group, so that the next copy begins where the group stands
    close H

Everything is as the client's defaults have it, but: a topic may be made by writing to it; a group's member is declared
dead after `SESSION_MS`, the shortest time a broker allows; and a producer that gives up on a broker within seconds is
told to go on for a minute.
"""

from __future__ import annotations

import itertools
import select
import subprocess
from collections.abc import Callable

from tests.support.waiting import PATIENCE_S

SESSION_MS = 6000


class Fenced(Exception):
    """Another instance with the same transactional id has taken over."""


class Program:
    """A client's process, started when it is first needed. name: the client's."""

    def __init__(self, name: str, command: Callable[[], list[str]]) -> None:
        self.name = name
        self._command = command
        self._process: subprocess.Popen[str] | None = None
        self._handles = itertools.count()

    def open(self, address: str, transactional_id: str) -> Producer:
        """A new producer, ready to begin; whatever an older one with this id left open is aborted."""
        producer = Producer(self, str(next(self._handles)))
        self.step("open", producer.handle, address, transactional_id)
        return producer

    def step(self, *words: object) -> None:
        """Take one step; raises Fenced, or an AssertionError with what the client said."""
        if self._process is None:
            self._process = subprocess.Popen(self._command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        line = "\t".join(map(str, words))
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        answered, _, _ = select.select([self._process.stdout], [], [], PATIENCE_S)
        if not answered:
            self.kill()
            raise AssertionError(f"{self.name} did not answer in {PATIENCE_S} s: {line}")
        outcome, _, said = self._process.stdout.readline().rstrip("\n").partition("\t")
        if outcome == "fenced":
            raise Fenced(said)
        assert outcome == "ok", f"{self.name}, at {line}: {outcome or 'it ended'} {said}"

    def kill(self) -> None:
        """SIGKILL, in whatever state its transactions are; the next step starts a new process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


class Producer:
    """One producer of a program; see the steps above."""

    def __init__(self, program: Program, handle: str) -> None:
        self._program = program
        self.handle = handle

    def begin(self) -> None:
        self._program.step("begin", self.handle)

    def send(self, topic: str, partition: int, value: str) -> None:
        self._program.step("send", self.handle, topic, partition, value)

    def copy(self, group: str, source: str, target: str, count: int) -> None:
        self._program.step("copy", self.handle, group, source, target, count)

    def commit(self) -> None:
        self._program.step("commit", self.handle)

    def abort(self) -> None:
        self._program.step("abort", self.handle)

    def close(self) -> None:
        self._program.step("close", self.handle)
