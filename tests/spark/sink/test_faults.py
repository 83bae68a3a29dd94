"""The sink, with the connection lost before and after every request that it makes: each row is there once, afterwards.

Without Spark: tests/support/spark/sink_query.py calls the sink as Spark does.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from barnabas.client.admin.topics import create_topic
from barnabas.client.client import Client
from pyspark_barnabas.cluster.connection import ConnectionSettings
from pyspark_barnabas.commit.ledger import SourceOffset
from pyspark_barnabas.sink.checkpoint import CheckpointOffsets
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.sink.settings import SinkSettings
from tests.support.kafka.process import KafkaProcess
from tests.support.processes.broker import BrokerProcess
from tests.support.processes.cutting_proxy import Cut, CuttingProxy
from tests.support.spark.sink_query import Query, committed_values, rows

_SHORT_MS = 150
GONE = [Cut.AFTER, pytest.param(Cut.BEFORE, marks=pytest.mark.long)]  # done, and nobody knows: the harder one


class Story:
    """A query behind a proxy, and what it has written so far."""

    def __init__(self, proxy: CuttingProxy, topic: str, *, short_ms: int = _SHORT_MS) -> None:
        connection = ConnectionSettings(proxy.address, request_timeout_ms=10_000)
        patient = SinkSettings(connection, topic=topic, prefix=topic)
        impatient = replace(
            patient, connection=replace(connection, request_timeout_ms=short_ms), delivery_timeout_ms=short_ms
        )
        self.proxy = proxy
        self.topic = topic
        self.patient, self.impatient = patient, impatient
        self.query = Query(patient, topic)
        self.batch_id = -1
        self.expected: Counter[str] = Counter()

    def next_batch(self) -> list[object]:
        """The rows of the next batch, for two tasks."""
        self.batch_id += 1
        parts = [[f"{self.batch_id}-{task}-{row}" for row in range(3)] for task in range(2)]
        self.expected.update(value for part in parts for value in part)
        return [rows(part) for part in parts]

    def checkpoint(self) -> CheckpointOffsets:
        return CheckpointOffsets(f"{self.batch_id:064x}", (SourceOffset("in", 0, self.batch_id + 1),))

    def check(self) -> None:
        with Client(self.proxy.address) as client:
            assert Counter(committed_values(client, self.topic)) == self.expected

    def requests(self) -> dict[str, int]:
        """How many requests a batch takes, in a run that begins with it: its tasks', and commit()'s."""
        self.query.play(self.batch_id + 1, self.next_batch(), self.checkpoint())  # which makes topics and the ledger
        self.proxy.listen()
        self.query.start()
        messages = self.query.write(self.batch_id + 1, self.next_batch())
        written = len(self.proxy.heard)
        self.proxy.listen()
        self.query.commit(self.batch_id, messages, self.checkpoint())
        return {"write": written, "commit": len(self.proxy.heard)}

    def cut(self, part: str, nth: int, where: Cut) -> None:
        """A batch, with the connection lost at one request of its tasks or of commit()."""
        parts = self._begin(part)
        if part == "write":
            self.proxy.cut(nth, where)
        messages = self.query.write(self.batch_id, parts)
        if part == "write":
            self.proxy.listen()
        else:
            self.proxy.cut(nth, where)
        self.query.commit(self.batch_id, messages, self.checkpoint())
        self.proxy.listen()

    def end(self, part: str, nth: int, where: Cut) -> list[str]:
        """The same with the broker gone for good, and what that fails with; the next run makes it good."""
        parts, failures = self._begin(part), []
        messages = self.query.write(self.batch_id, parts) if part == "commit" else []
        self.proxy.cut(nth, where, for_good=True)
        self.query.settings = self.impatient
        try:
            if part == "write":
                self.query.write(self.batch_id, parts)
            else:
                self.query.commit(self.batch_id, messages, self.checkpoint())
        except SinkFailed as failure:
            failures.append(str(failure))
        self.proxy.listen()
        self.query.settings = self.patient
        self.query.start()
        self.query.play(self.batch_id, parts, self.checkpoint())
        return failures

    def _begin(self, part: str) -> list[object]:
        if part == "write":
            self.query.start()
        return self.next_batch()


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CuttingProxy]:
    """A broker behind a proxy."""
    with CuttingProxy() as proxy:
        settings = {"num.partitions": 2, "advertised.listeners": f"PLAINTEXT://{proxy.address}"}
        with BrokerProcess(tmp_path_factory.mktemp("behind") / "data", settings) as server:
            proxy.target = server.port
            with Client(proxy.address) as client:
                create_topic(client, "in")
            yield proxy


@pytest.mark.parametrize("where", Cut)
@pytest.mark.parametrize(("part", "least"), [("commit", 13), ("write", 17)])
def test_a_connection_lost_at_any_request_is_made_up_for(
    proxy: CuttingProxy, part: str, least: int, where: Cut
) -> None:
    story = Story(proxy, f"{part}-{where.name}")
    requests = story.requests()[part]
    assert requests >= least
    for nth in range(requests):
        story.cut(part, nth, where)
    story.check()


@pytest.mark.parametrize("where", GONE)
@pytest.mark.parametrize(
    ("part", "told", "without"),
    [
        ("commit", ("restart the query", "next run"), 4),  # what remains is the sweep, which another batch may do
        ("write", ("restart the query",), 6),  # the impatient client knows leaders that the patient one had to look for
    ],
)
def test_a_broker_gone_at_any_request_fails_it_and_the_next_run_makes_it_good(
    proxy: CuttingProxy, part: str, told: tuple[str, ...], without: int, where: Cut
) -> None:
    story = Story(proxy, f"{part}-gone-{where.name}")
    requests = story.requests()[part]
    failures = [failure for nth in range(requests) for failure in story.end(part, nth, where)]
    assert all(any(sentence in each for sentence in told) for each in failures), failures
    assert len(failures) >= requests - without
    story.check()


def test_a_broker_that_is_killed_amid_the_rows_and_before_commit_loses_and_doubles_none(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data", {"num.partitions": 2}) as server:
        settings = SinkSettings(ConnectionSettings(server.address), topic="t", prefix="p", batch_bytes=2_000)
        query = Query(settings)

        def parts(task: int) -> Iterator[object]:
            for part in range(20):
                if part == 10:
                    server.kill()
                    server.start()
                yield rows([f"{task}-{part}-{row}" for row in range(100)], key=[f"k{row}" for row in range(100)])

        messages = query.write(0, [parts(0), parts(1)])
        server.kill()
        server.start()
        query.commit(0, messages)
        with Client(server.address) as client:
            found = committed_values(client, "t")
    assert sorted(found) == sorted(
        f"{task}-{part}-{row}" for task in range(2) for part in range(20) for row in range(100)
    )


@pytest.mark.long  # the chaos of the pipeline has Apache Kafka in every run
def test_apache_kafka_keeps_each_row_once_through_lost_connections(tmp_path: Path) -> None:
    """A handful of the above: 4.2.0, as later ones lose commits that they acknowledged when they are killed."""
    with CuttingProxy() as proxy:
        settings = {"num.partitions": 2, "advertised.listeners": f"PLAINTEXT://{proxy.address}"}
        with KafkaProcess(tmp_path / "data", settings, version="4.2.0") as server:
            proxy.target = server.port
            with Client(proxy.address) as client:
                create_topic(client, "in")
            story = Story(proxy, "kafka", short_ms=3_000)
            requests = story.requests()
            for where in Cut:
                for nth in range(3, requests["commit"], 3):
                    story.cut("commit", nth, where)
                for nth in range(2, requests["write"], 6):
                    story.cut("write", nth, where)
            story.check()
