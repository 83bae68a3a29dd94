"""Quix Streams at exactly-once: copies of a program share its work, one is killed, so is the broker: all once."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.compat.test_group_programs import PROGRAMS, QUIXSTREAMS_PYTHON
from tests.support.server import Server
from tests.support.waiting import until
from tests.transactions.views import committed_offsets, make_topics, values, write

Start = Callable[[], subprocess.Popen[bytes]]
COUNT = 300


@pytest.fixture
def start(mortal_server: Server, tmp_path: Path) -> Iterator[Start]:
    """start() runs one more copy of the program, which copies the topic "quix-in" into "quix-out"."""
    running: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        words = [mortal_server.address, "quix-in", "quix-out", "quix-copiers", "exactly-once"]
        program = [str(QUIXSTREAMS_PYTHON), str(PROGRAMS / "quixstreams_copier.py")]
        running.append(subprocess.Popen([*program, *words, str(tmp_path / f"state-{len(running)}")]))
        return running[-1]

    yield start
    for process in running:
        process.kill()
        process.wait()


def test_each_record_is_copied_once_and_numbered_once_over_kills(mortal_server: Server, start: Start) -> None:
    server = mortal_server
    make_topics(server.address, "quix-in", "quix-out")

    def copied() -> int:
        return len(values(server.address, "quix-out"))

    write(server.address, "quix-in", COUNT)
    first, second = start(), start()
    until(lambda: copied() > 0, timeout_s=60)
    server.kill()
    server.start()
    until(lambda: copied() >= COUNT, timeout_s=60)
    write(server.address, "quix-in", COUNT)
    until(lambda: copied() > COUNT, timeout_s=60)
    first.kill()
    until(lambda: copied() >= 2 * COUNT, timeout_s=60)
    second.terminate()
    assert second.wait(30) == 0

    # Each number was written twice, as its key's first and second.
    assert values(server.address, "quix-out") == sorted(f"{n} {time}" for n in range(COUNT) for time in (1, 2))
    assert committed_offsets(server.address, "quix-copiers", "quix-in") == 2 * COUNT
