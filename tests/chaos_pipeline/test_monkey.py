"""Drivers, Python workers and brokers are killed at random. Ours loses and repeats nothing; Spark's own sink does."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.chaos import audit, monkey
from tests.support.chaos.driver import Stream
from tests.support.chaos.pipelines import Pipeline
from tests.support.chaos.ways import way_in
from tests.support.kafka.process import KafkaProcess
from tests.support.processes.server import Server

ROWS, ROWS_PER_BATCH = 2400, 300


def _pipeline(server: Server, work: Path, sink: str, seed: int) -> Pipeline:
    """A stream whose rows are spread over its tasks at random, as a repetition spreads them otherwise."""
    bootstrap = server.address
    rows = audit.fill(bootstrap, "in", ROWS, seed=seed)
    audit.make_topic(bootstrap, "out")
    stream = Stream(
        sink,
        bootstrap,
        "in",
        "out",
        str(work / "checkpoint"),
        sink=sink,
        rows_per_batch=ROWS_PER_BATCH,
        is_shuffled=True,
        restarts=3,
    )
    stream.way_in = way_in(server, stream)
    stream.options = {"topic": "out"}
    if sink == "barnabas":
        stream.options["transactionalIdPrefix"] = stream.prefix
    return Pipeline(stream, rows)


def _rage(server: Server, work: Path, sink: str, seed: int, **victims: int) -> tuple[Pipeline, monkey.Monkey]:
    pipeline = _pipeline(server, work, sink, seed)
    rage = monkey.Monkey(server, pipeline.stream, work, monkey.draw(seed, ROWS, **victims))
    rage.rage()
    assert rage.fallen.total() == len(rage.blows)
    return pipeline, rage


def test_ours_loses_and_repeats_nothing_over_secured_connections(
    secured_server: Server, tmp_path: Path, seed: int, tell: Callable[[str], None]
) -> None:
    pipeline, rage = _rage(secured_server, tmp_path, "barnabas", seed, drivers=1, workers=2, brokers=3)
    tell(f"seed {seed}, ours by SASL_SSL: {rage}, {pipeline.check()}")


def test_ours_loses_and_repeats_nothing_on_apache_kafka(
    kafka: KafkaProcess, tmp_path: Path, seed: int, tell: Callable[[str], None]
) -> None:
    pipeline, rage = _rage(kafka, tmp_path, "barnabas", seed, drivers=1, workers=1, brokers=1)
    tell(f"seed {seed}, ours on Apache Kafka: {rage}, {pipeline.check()}")


@pytest.mark.long
def test_a_long_rage(
    new_broker: Callable[..., Server], tmp_path: Path, seed: int, rounds: int, tell: Callable[[str], None]
) -> None:
    repeated = 0
    for each in range(seed, seed + rounds):
        for sink in ("barnabas", "kafka"):
            work = tmp_path / f"{each}-{sink}"
            with new_broker(work / "broker") as server:
                pipeline, rage = _rage(server, work, sink, each, drivers=4, workers=6, brokers=8)
                verdict = audit.audit(server.address, "out", pipeline.rows)
                tell(f"seed {each}, {sink}: {rage}, {verdict}")
                if sink == "barnabas":
                    pipeline.check()
                repeated += verdict.duplicated
    assert repeated > 0, "Spark's own sink repeats nothing"


@pytest.mark.long
@pytest.mark.parametrize("against", ["barnabas", "kafka"])
def test_a_long_rage_over_secured_connections(
    new_broker: Callable[..., Server], tmp_path: Path, seed: int, rounds: int, tell: Callable[[str], None], against: str
) -> None:
    for each in range(seed, seed + rounds):
        work = tmp_path / str(each)
        with new_broker(work / "broker", is_secured=True, against=against) as server:
            pipeline, rage = _rage(server, work, "barnabas", each, drivers=2, workers=4, brokers=4)
            tell(f"seed {each}, {against} by SASL_SSL: {rage}, {pipeline.check()}")
