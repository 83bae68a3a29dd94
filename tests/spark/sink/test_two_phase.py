"""Two-phase commits (KIP-939) where the broker has them, and what becomes of a decided batch where it has none."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from barnabas.client.admin.transactions import fence
from barnabas.client.client import Client
from barnabas.client.transactions.bulk_transactions import find_transactions
from pyspark_barnabas.cluster.connection import ConnectionSettings
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.sink.settings import SinkSettings
from tests.support.processes.broker import BrokerProcess
from tests.support.spark.sink_query import Query, committed_values, rows, transaction_of

WITHOUT_END_MS = 0x7FFFFFFF


@pytest.fixture(scope="module")
def two_phase_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    settings = {"transaction.two.phase.commit.enable": "true", "num.partitions": 1}
    with BrokerProcess(tmp_path_factory.mktemp("two-phase") / "data", settings) as server:
        yield server


@pytest.mark.parametrize(
    ("two_phase", "timeout_ms"), [("on", WITHOUT_END_MS), ("auto", WITHOUT_END_MS), ("off", 5_000)]
)
def test_transactions_have_no_end_where_the_broker_has_two_phase_commits(
    two_phase_broker: BrokerProcess, two_phase: str, timeout_ms: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "pyspark_barnabas")
    topic = f"two-phase-{two_phase}"
    connection = ConnectionSettings(two_phase_broker.address)
    settings = SinkSettings(connection, topic=topic, prefix=topic, transaction_timeout_ms=5_000, two_phase=two_phase)
    query = Query(settings)
    messages = query.write(0, [rows(["a"])])
    with Client(two_phase_broker.address) as client:
        name = transaction_of(messages[0]).transactional_id
        found = find_transactions(client, [name])[name]
        assert found is not None
        assert found.transaction_timeout_ms == timeout_ms
        query.commit(0, messages)
        assert committed_values(client, topic) == ["a"]
    first, batch = (line for line in caplog.messages if line.startswith(("query ", "batch ")))
    assert ("Transactions have no timeout" if timeout_ms == WITHOUT_END_MS else "time out after 5000 ms") in first
    assert f"ledger abandon {topic}" in first
    assert batch.startswith("batch 0 of query q: 1 rows, ")


def test_transactions_are_open_for_as_long_as_the_broker_allows_where_no_option_says_otherwise(
    client: Client, settings: SinkSettings
) -> None:
    query = Query(replace(settings, prefix="unasked", transaction_timeout_ms=None))
    messages = query.write(0, [rows(["a"])])
    name = transaction_of(messages[0]).transactional_id
    found = find_transactions(client, [name])[name]
    assert found is not None
    assert found.transaction_timeout_ms == settings.transaction_timeout_ms  # the fixture's: the broker's limit
    query.commit(0, messages)


def test_a_decided_batch_whose_transaction_was_aborted_is_reported_as_lost(
    client: Client, settings: SinkSettings
) -> None:
    """As when nobody was there to end it before its timeout."""
    query = Query(replace(settings, two_phase="off"))
    messages = query.write(0, [rows(["a"]), rows(["b"])])
    query.decide(0, messages)
    lost = transaction_of(messages[1]).transactional_id
    fence(client, lost)
    query.start()
    with pytest.raises(SinkFailed, match=f"its transaction '{lost}' is .*part of the batch is missing"):
        query.play(0, [rows(["a"]), rows(["b"])])
    query.start()
    with pytest.raises(SinkFailed, match="part of the batch is missing"):
        query.play(0, [rows(["a"]), rows(["b"])])
