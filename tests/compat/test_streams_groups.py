"""Kafka Streams with `group.protocol=streams` (KIP-1071): a word count of two programs, of which one is killed."""

from pathlib import Path

from tests.compat.tools import Tools
from tests.support.clients.word_count import ENDED_BY_SIGTERM, WordCount
from tests.support.clients.word_count import STREAMS_SETTINGS as SETTINGS
from tests.support.processes.server import Server
from tests.support.waiting import PATIENCE_S, until

__all__ = ["SETTINGS"]


def test_a_second_program_takes_tasks_over_and_goes_on_alone(server: Server, tools: Tools, tmp_path: Path) -> None:
    count = WordCount(server, tools, "shared", "exactly_once_v2", protocol="streams")

    def counts_more(words: int = 300) -> None:
        told = sum(count.counted().values())
        until(lambda: sum(count.counted().values()) > told + words, PATIENCE_S)

    with count.writing(), count.run(tmp_path / "first") as first:
        counts_more()
        with count.run(tmp_path / "second") as second:
            second.line("RUNNING")
            counts_more()
            first.kill()
            counts_more()
            assert second.stop() == ENDED_BY_SIGTERM
    with count.run(tmp_path / "restored from the changelog") as program:
        until(lambda: count.counted() == count.written, PATIENCE_S)
        assert program.stop() == ENDED_BY_SIGTERM
    assert count.counted() == count.written
