"""Kafka Streams with exactly_once_v2: a word count, killed in the middle, tells every count as if nothing had been."""

from pathlib import Path

import pytest

from tests.compat.tools import Tools
from tests.support.clients.word_count import ENDED_BY_SIGTERM, WordCount
from tests.support.clients.word_count import STREAMS_SETTINGS as FURTHER_SETTINGS
from tests.support.processes.server import Server
from tests.support.waiting import PATIENCE_S, until

__all__ = ["FURTHER_SETTINGS"]


@pytest.mark.parametrize("protocol", ["classic", "streams"])
def test_a_word_count_is_exact_over_kills_of_program_and_broker(
    mortal_server: Server, tools: Tools, tmp_path: Path, protocol: str
) -> None:
    server = mortal_server
    count = WordCount(server, tools, f"exact-{protocol}", "exactly_once_v2", protocol=protocol)
    with count.writing():
        with count.run(tmp_path / "state") as program:
            until(lambda: sum(count.counted().values()) > 300, PATIENCE_S)
            program.kill()
        with count.run(tmp_path / "state") as program:
            told = sum(count.counted().values())
            until(lambda: sum(count.counted().values()) > told + 100, PATIENCE_S)
            server.kill()
            server.start()
            told = sum(count.counted().values())
            until(lambda: sum(count.counted().values()) > told + 100, PATIENCE_S)
            program.kill()
    with count.run(tmp_path / "restored from the changelog") as program:
        until(lambda: count.counted() == count.written, PATIENCE_S)
        assert program.stop() == ENDED_BY_SIGTERM
    assert count.counted() == count.written
