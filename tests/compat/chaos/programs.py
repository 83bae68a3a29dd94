"""Members that are programs of their own, in Java, Go and JavaScript, and so can be killed.

    [CLIENT] PIPE OWNER ADDRESS TOPIC KIND SESSION_TIMEOUT_MS HEARTBEAT_INTERVAL_MS INSTANCE

KIND is classic, cooperative or consumer; INSTANCE is - for a dynamic member. A program joins the group that is named
after the topic, and leaves when its stdin ends. All write into one pipe, a line at a time, so that lines are read in
the order in which they were told, also those of different programs. The words of a line are separated by tabs; the
first two are OWNER and one of

    given GENERATION PARTITIONS     it was given partitions; the generation is -1 where the client does not tell it
    taken PARTITIONS                they were taken from it, and it has committed what it read
    lost PARTITIONS                 the group went on without it
    out                             the same, heard in another way
    read PARTITION OFFSET           told before it can be committed
    committed PARTITION:OFFSET,…    the broker acknowledged these
"""

from __future__ import annotations

import os
import selectors
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.compat.chaos.ledger import Ledger
from tests.compat.chaos.members import DEADLINE_S, Member
from tests.compat.model import HEARTBEAT_INTERVAL_MS
from tests.support.clients.go import group_member
from tests.support.clients.java import program_command
from tests.support.clients.npm import JS, node_of

CLASSIC, COOPERATIVE, CONSUMER = "classic", "cooperative", "consumer"
_JAVA = JS.with_name("java") / "GroupMember.java"
_PAGE = 1 << 16

Command = Callable[[], list[str]]


def java() -> list[str]:
    return program_command(_JAVA, client_version="4.4.0")


def franz_go() -> list[str]:
    return [str(group_member()), "franz-go"]


def sarama() -> list[str]:
    return [str(group_member()), "sarama"]


def kafkajs() -> list[str]:
    return [node_of(JS), str(JS / "group_member.mjs")]


class Pipe:
    """Where all programs of a play write. What they tell is passed on to them as members."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._members: dict[str, ProgramMember] = {}
        self._rest = b""
        self._lock = threading.Lock()
        os.mkfifo(path)
        self._descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK)  # it writes, too: so there is never an end to read
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def add(self, member: ProgramMember) -> str:
        """The word by which its program is to be known."""
        with self._lock:
            name = str(len(self._members))
            self._members[name] = member
            return name

    def hear(self) -> None:
        """Have passed on everything that was told until now."""
        with self._lock:
            while True:
                try:
                    page = os.read(self._descriptor, _PAGE)
                except BlockingIOError:
                    return
                *lines, self._rest = (self._rest + page).split(b"\n")
                for line in lines:
                    name, what, *words = line.decode().split("\t")
                    self._members[name].told(what, words)

    def _listen(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._descriptor, selectors.EVENT_READ)
            while not self._ending.is_set():
                if selector.select(0.1):
                    self.hear()

    def close(self) -> None:
        """Nobody is left who tells anything."""
        for member in self._members.values():
            member.kill()
        self._ending.set()
        self._thread.join()
        os.close(self._descriptor)


class ProgramMember(Member):
    """One life of a program. It is killed or told to leave."""

    def __init__(
        self,
        command: Sequence[str],
        kind: str,
        pipe: Pipe,
        address: str,
        topic: str,
        ledger: Ledger,
        owner: str,
        *,
        instance: str | None,
        session_timeout_ms: int,
    ) -> None:
        self._command, self._kind, self._pipe = command, kind, pipe
        self._process: subprocess.Popen[str] | None = None
        self._started = threading.Event()  # or it could not be
        self._was_killed = False
        super().__init__(address, topic, ledger, owner, instance=instance, session_timeout_ms=session_timeout_ms)

    def live(self) -> None:
        words = [str(self._pipe.path), self._pipe.add(self), self.address, self.topic, self._kind]
        words += [str(self.session_timeout_ms), str(HEARTBEAT_INTERVAL_MS), self.instance or "-"]
        try:
            self._process = subprocess.Popen(
                [*self._command, *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
        finally:
            self._started.set()
        with self._process:  # until it has ended
            assert self._process.stderr is not None
            said = self._process.stderr.read()
            status = self._process.wait()
        self._pipe.hear()
        if status != 0 and not self._was_killed:
            self.ledger.broken.append(f"{self.owner} ended with status {status}: {said[-4000:]}")

    def leave(self) -> None:
        self._settled.wait(DEADLINE_S)
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
        super().leave()

    def kill(self) -> None:
        """SIGKILL, whatever it does."""
        self._started.wait()
        self._was_killed = True
        if self._process is not None:
            self._process.kill()
        self._settled.set()
        super().leave()

    def told(self, what: str, words: list[str]) -> None:
        """What the program says of itself."""
        match what:
            case "given":
                self.given(int(words[0]), _numbers(words[1]))
            case "taken":
                self.taken(_numbers(words[0]))
            case "lost":
                self.was_put_out = True
                self.taken(_numbers(words[0]))
            case "out":
                self.was_put_out = True
            case "read":
                self.ledger.read(self, int(words[0]), int(words[1]))
            case "committed":
                pairs = (word.split(":") for word in words[0].split(","))
                self.ledger.committed({int(partition): int(offset) for partition, offset in pairs})
            case _:
                raise AssertionError(f"{self.owner} told {what} {words}")


def _numbers(word: str) -> list[int]:
    return [int(number) for number in word.split(",") if number]
