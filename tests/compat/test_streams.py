"""Kafka Streams at_least_once: a word count over its own internal topics, killed, stopped and started anew."""

import re
from pathlib import Path

from tests.compat.tools import CONFIGS, OFFSETS, TOPICS, Tools
from tests.support.clients.word_count import ENDED_BY_SIGTERM, WordCount
from tests.support.clients.word_count import SETTINGS as SETTINGS
from tests.support.processes.server import Server
from tests.support.waiting import PATIENCE_S, until


def test_a_word_count_loses_nothing_over_a_kill_and_repeats_nothing_over_a_stop(
    server: Server, tools: Tools, tmp_path: Path
) -> None:
    count = WordCount(server, tools, "least", "at_least_once")
    with count.writing():
        with count.run(tmp_path / "first") as program:
            until(lambda: sum(count.counted().values()) > 300, PATIENCE_S)
            program.kill()
        told = sum(count.counted().values())
    with count.run(tmp_path / "first") as program:
        until(count.is_done, PATIENCE_S)  # what was counted twice may hide what is not counted yet
        assert count.counted() >= count.written
        assert sum(count.counted().values()) > told
        assert program.stop() == ENDED_BY_SIGTERM
    before, written = count.counted(), count.written.copy()
    count.write(100)
    with count.run(tmp_path / "restored from the changelog") as program:
        until(lambda: count.counted() == before + count.written - written, PATIENCE_S)
        assert program.stop() == ENDED_BY_SIGTERM
    _check_internal_topics(server, tools)


def _check_internal_topics(server: Server, tools: Tools) -> None:
    internal = [name for name in tools.ask(server, TOPICS, "--list").split() if name.startswith("least-counts-")]
    assert internal == ["least-counts-changelog", "least-counts-repartition"]
    changelog, repartition = (
        tools.ask(server, CONFIGS, "--describe", "--entity-type", "topics", "--entity-name", name) for name in internal
    )
    assert "cleanup.policy=compact " in changelog
    assert "cleanup.policy=delete " in repartition
    assert "retention.ms=-1 " in repartition
    # What was counted is deleted from the repartition topic, soon after it was committed.
    ends, starts = (
        [int(offset) for offset in re.findall(r":(\d+)$", told, re.MULTILINE)]
        for told in (
            tools.ask(server, OFFSETS, "--topic", internal[1], "--time", time) for time in ("latest", "earliest")
        )
    )
    assert sum(starts) > sum(ends) / 2
