"""Consumers of the Java client as members of a group: one JVM (java/GroupMembers.java) has them all.

So what it tells is in the order in which it happened, over all members of a group.
"""

from __future__ import annotations

import itertools
import subprocess
import threading
from pathlib import Path
from typing import Any

from tests.compat.chaos.members import DEADLINE_S, Member
from tests.support.clients.java import program_command

_SOURCE = Path(__file__).resolve().parents[1] / "java" / "GroupMembers.java"


class JavaMembers:
    """The JVM, which starts with its first member."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._members: dict[str, JavaMember] = {}
        self._names = itertools.count()
        self._lock = threading.Lock()

    def join(self, member: JavaMember, protocol: str) -> str:
        """Have it join its group; the name that it has from now on."""
        with self._lock:
            process = self._process = self._process or self._started()
            name = f"member-{next(self._names)}"
            self._members[name] = member
        words = (name, member.address, member.topic, member.group, protocol, str(member.session_timeout_ms))
        self._tell(process, "join", *words)
        return name

    def leave(self, name: str) -> None:
        """Have it leave."""
        assert self._process is not None
        self._tell(self._process, "leave", name)

    def close(self) -> None:
        """End the JVM, if it was started."""
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process.wait(30)

    def _started(self) -> subprocess.Popen[str]:
        command = program_command(_SOURCE, client_version="4.4.0")
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self._listen, args=(process,), daemon=True).start()
        return process

    def _tell(self, process: subprocess.Popen[str], *words: str) -> None:
        assert process.stdin is not None
        with self._lock:
            process.stdin.write("\t".join(words) + "\n")
            process.stdin.flush()

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                name, what, *words = line.rstrip("\n").split("\t")
                self._members[name].hear(what, words)


class JavaMember(Member):
    """One of them."""

    def __init__(self, *place: Any, members: JavaMembers, protocol: str, **how: Any) -> None:
        self._members, self._protocol = members, protocol
        self._left = threading.Event()
        super().__init__(*place, **how)

    def live(self) -> None:
        name = self._members.join(self, self._protocol)
        self._stopping.wait()
        self._members.leave(name)
        assert self._left.wait(DEADLINE_S), f"{self.owner} does not leave"

    def hear(self, what: str, words: list[str]) -> None:
        """What the JVM tells of it."""
        match what, words:
            case "given", [generation, partitions]:
                self.given(int(generation), _numbers(partitions))
            case "taken" | "lost", [partitions]:
                self.was_put_out |= what == "lost"
                self.taken(_numbers(partitions))
            case "read", [partition, offset]:
                self.ledger.read(self, int(partition), int(offset))
            case "committed", [offsets]:
                pairs = (each.split("=") for each in offsets.split(","))
                self.ledger.committed({int(partition): int(offset) for partition, offset in pairs})
            case "out", []:
                self.was_put_out = True
            case "left", []:
                self._left.set()
            case _:
                self.ledger.broken.append(f"{self.owner}: {what} {words}")
                self._left.set()


def _numbers(partitions: str) -> list[int]:
    return [int(each) for each in partitions.split(",") if each]
