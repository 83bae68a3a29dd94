"""Kafka Streams with `group.protocol=streams` (KIP-1071): word counts, one of them killed, and Kafka's own tool."""

from pathlib import Path

from tests.compat.tools import STREAMS_GROUPS, TOPICS, Tools
from tests.support.clients.word_count import ENDED_BY_SIGTERM, WordCount
from tests.support.clients.word_count import STREAMS_SETTINGS as SETTINGS
from tests.support.processes.server import Server
from tests.support.waiting import PATIENCE_S, until

__all__ = ["SETTINGS"]

_ERRORS = "org.apache.kafka.common.errors."


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


def test_kafkas_tool_lists_describes_resets_and_deletes(server: Server, tools: Tools, tmp_path: Path) -> None:
    count = WordCount(server, tools, "app", "at_least_once", protocol="streams")
    count.write(50)

    def rows(*arguments: str) -> list[list[str]]:
        """The cells of the lines that name the group or its input topic."""
        lines = tools.ask(server, STREAMS_GROUPS, *arguments).splitlines()
        return sorted(line.split() for line in lines if line.startswith(("app", "Error")))

    def of_app(*arguments: str) -> list[list[str]]:
        return rows(*arguments, "--group", "app")

    with count.run(tmp_path / "state") as program:
        until(lambda: count.counted() == count.written, PATIENCE_S)
        assert ["app", "Stable"] in rows("--list", "--state")
        until(lambda: all(row[-1] == "0" for row in of_app("--describe")), PATIENCE_S)  # lags
        assert [row[1:3] for row in of_app("--describe")] == [
            [topic, partition] for topic in ("app-counts-repartition", "app-lines") for partition in "01"
        ]
        assert of_app("--describe", "--state")[0][-2:] == ["Stable", "1"]
        (member,) = of_app("--describe", "--members")
        assert member[-3:] == ["ACTIVE:", "0:[0,1];", "1:[0,1];"]
        assert "Streams group 'app' is not EMPTY" in tools.ask(server, STREAMS_GROUPS, "--delete", "--group", "app")
        refused = of_app("--delete-offsets", "--input-topic", "app-lines")
        assert [row[:4] for row in refused[1:]] == [
            ["app-lines", partition, "Error:", f"{_ERRORS}GroupSubscribedToTopicException:"] for partition in "01"
        ]
        assert program.stop() == ENDED_BY_SIGTERM
    until(lambda: ["app", "Empty"] in rows("--list", "--state"), PATIENCE_S)
    reset = "--reset-offsets", "--input-topic", "app-lines:0", "--execute"
    assert of_app(*reset, "--to-offset", "5") == [["app", "app-lines", "0", "5"]]
    assert of_app(*reset, "--shift-by", "3") == [["app", "app-lines", "0", "8"]]
    assert of_app("--delete-offsets", "--input-topic", "app-lines:1") == [["app-lines", "1", "Successful"]]
    deleted = tools.ask(server, STREAMS_GROUPS, "--delete", "--group", "app", "--delete-all-internal-topics")
    assert "Deletion of associated internal topics of the streams groups ('app') was successful." in deleted
    assert not [topic for topic in tools.ask(server, TOPICS, "--list").split() if topic.startswith("app-counts-")]
