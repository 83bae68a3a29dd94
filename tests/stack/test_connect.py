"""Kafka Connect, distributed, with an exactly-once source: lines of a file go through a topic into another file.

Worker and broker are killed in the middle. In the topic each line is there once; the sink, which promises less, loses
none; connectors, their settings, states and offsets are as they were, and what was deleted stays deleted.
"""

import json
import random
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.processes.server import Server
from tests.support.stack.compacted import last_values
from tests.support.stack.connect import Worker, writing
from tests.support.waiting import PATIENCE_S, until
from tests.transactions.views import make_topics, values

TOPIC = "connected-lines"
RUNNING = ["RUNNING", "RUNNING"]  # the connector, and its one task


class _Pipeline:
    """The files, and the connectors between them: a source, a sink, one that is stopped and one that is deleted."""

    def __init__(self, server: Server, directory: Path) -> None:
        self._server = server
        self.source, self._sink = directory / "source.txt", directory / "sink.txt"
        self._properties = directory / "worker.properties"
        self.source.touch()
        make_topics(server.address, TOPIC, "elsewhere")

    def worker(self) -> Worker:
        return Worker(self._server, self._properties)

    def make_connectors(self, worker: Worker) -> None:
        """Each is told in several steps, so that there is much that a later record replaces."""
        for number in range(2):
            worker.set_connector("stopped", "Source", file=str(self.source), topic="elsewhere", batch_size=f"1{number}")
            worker.set_connector("deleted", "Source", file=str(self.source), topic="elsewhere", batch_size=f"1{number}")
        settings = {"file": str(self.source), "topic": TOPIC, "exactly_once_support": "required"}
        worker.set_connector("source", "Source", **settings)
        worker.set_connector("sink", "Sink", file=str(self._sink), topics=TOPIC)
        until(lambda: worker.states().get("stopped") == worker.states().get("deleted") == RUNNING, PATIENCE_S)
        until(lambda: min(worker.position("deleted"), worker.position("stopped")) > 0, PATIENCE_S)
        for name in ("stopped", "deleted"):
            worker.stop_connector(name)
        until(lambda: worker.states()["deleted"] == worker.states()["stopped"] == ["STOPPED"], PATIENCE_S)
        worker.forget_offsets("deleted")
        worker.delete_connector("deleted")
        until(lambda: not self._told_of_the_deleted(), PATIENCE_S)  # the worker writes some of it later

    def _told_of_the_deleted(self) -> list[str]:
        """Its states. Settings of its tasks stay for ever: Connect deletes those of the connector alone."""
        return [key for key in last_values(self._server.address, "connect-status") if "deleted" in key]

    def sunk(self) -> list[str]:
        return self._sink.read_text().splitlines() if self._sink.exists() else []

    def goes_on(self) -> None:
        """Wait until a hundred lines more have come to the end."""
        before = len(self.sunk())
        until(lambda: len(self.sunk()) > before + 100, PATIENCE_S)

    def check_worker(self, worker: Worker) -> None:
        """All the worker says of its connectors."""
        until(lambda: worker.states() == {"source": RUNNING, "sink": RUNNING, "stopped": ["STOPPED"]}, PATIENCE_S)
        assert worker.config("stopped")["batch.size"] == "11"
        assert worker.config("source")["exactly.once.support"] == "required"
        assert worker.position("stopped") > 0

    def check_lines(self, worker: Worker, lines: list[str]) -> None:
        """Nobody writes any more: all there was has arrived, in the topic once."""
        address = self._server.address
        until(lambda: len(values(address, TOPIC)) >= len(lines) and set(self.sunk()) >= set(lines), PATIENCE_S)
        assert values(address, TOPIC) == sorted(lines)
        assert set(self.sunk()) == set(lines)
        until(lambda: worker.position("source") == self.source.stat().st_size, PATIENCE_S)

    def check_topics(self) -> None:
        """What a worker that reads them from their start would learn."""
        configs, offsets = (last_values(self._server.address, f"connect-{kind}") for kind in ("config", "offset"))
        connectors = {key.removeprefix("connector-") for key in configs if key.startswith("connector-")}
        assert connectors == {"source", "sink", "stopped"}
        assert json.loads(configs["target-state-stopped"])["state.v2"] == "STOPPED"
        assert {json.loads(key)[0] for key in offsets} == {"source", "stopped"}
        assert json.loads(offsets[json.dumps(["source", {"filename": str(self.source)}], separators=(",", ":"))]) == {
            "position": self.source.stat().st_size
        }
        assert self._told_of_the_deleted() == []


def test_a_killed_worker_and_a_killed_broker_go_on_where_they_were(server: Server, tmp_path: Path) -> None:
    pipeline = _Pipeline(server, tmp_path)
    with ExitStack() as running:
        with writing(pipeline.source) as lines:
            with pipeline.worker() as worker:
                pipeline.make_connectors(worker)
                pipeline.goes_on()
                server.kill()
                server.start()
                pipeline.goes_on()
                pipeline.check_worker(worker)
                worker.kill()
            server.kill()
            server.start()
            worker = running.enter_context(pipeline.worker())
            pipeline.goes_on()
        pipeline.check_worker(worker)
        pipeline.check_lines(worker, lines)
    pipeline.check_topics()


@pytest.mark.long
def test_they_do_for_long(server: Server, tmp_path: Path, seed: int, rounds: int) -> None:
    pipeline, dice = _Pipeline(server, tmp_path), random.Random(seed)
    with writing(pipeline.source) as lines:
        with pipeline.worker() as worker:
            pipeline.make_connectors(worker)
        for _ in range(2 * rounds):
            with pipeline.worker() as first, pipeline.worker() as second:
                pipeline.goes_on()
                if dice.randrange(2):
                    server.kill()
                    server.start()
                dice.choice((first, second)).kill()
                pipeline.goes_on()
                pipeline.check_worker(second if first.has_ended else first)
    with pipeline.worker() as worker:
        pipeline.check_worker(worker)
        pipeline.check_lines(worker, lines)
    pipeline.check_topics()
