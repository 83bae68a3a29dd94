"""Quix Streams at exactly-once: copies of a program share its work, one is killed, so is the broker: all once."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compat.test_group_programs import PROGRAMS, QUIXSTREAMS_PYTHON
from tests.support.processes.server import Server
from tests.support.waiting import PATIENCE_S, until
from tests.transactions.views import committed_offsets, make_topics, values, write

COUNT = 300


class Copy:
    """One copy of the program, which copies the topic "quix-in" into "quix-out"."""

    def __init__(self, server: Server, state: Path) -> None:
        topics = [server.address, "quix-in", "quix-out", "quix-copiers"]
        program = [str(QUIXSTREAMS_PYTHON), str(PROGRAMS / "quixstreams_copier.py")]
        self._command = [*program, *topics, "exactly-once", str(state)]
        self.process = subprocess.Popen(self._command)

    def tend(self) -> None:
        """Start it anew if it gave up, as it does when it was away from its group for too long."""
        if self.process.poll() is not None:
            self.process = subprocess.Popen(self._command)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def copies(mortal_server: Server, tmp_path: Path) -> Iterator[list[Copy]]:
    make_topics(mortal_server.address, "quix-in", "quix-out")
    copies = [Copy(mortal_server, tmp_path / name) for name in ("first", "second")]
    yield copies
    for copy in copies:
        copy.kill()


def test_each_record_is_copied_once_and_numbered_once_over_kills(mortal_server: Server, copies: list[Copy]) -> None:
    server = mortal_server

    def copied() -> int:
        for copy in copies:
            copy.tend()
        return len(values(server.address, "quix-out"))

    write(server.address, "quix-in", COUNT)
    until(lambda: copied() > 0, PATIENCE_S)
    server.kill()
    server.start()
    until(lambda: copied() >= COUNT, PATIENCE_S)
    write(server.address, "quix-in", COUNT)
    until(lambda: copied() > COUNT, PATIENCE_S)
    copies.pop(0).kill()
    until(lambda: copied() >= 2 * COUNT, PATIENCE_S)
    copies[0].process.terminate()
    assert copies[0].process.wait(PATIENCE_S) == 0
    # Each number was written twice, as its key's first and second.
    assert values(server.address, "quix-out") == sorted(f"{n} {time}" for n in range(COUNT) for time in (1, 2))
    assert committed_offsets(server.address, "quix-copiers", "quix-in") == 2 * COUNT
