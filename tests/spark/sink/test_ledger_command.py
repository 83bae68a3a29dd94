"""`python -m pyspark_barnabas ledger`, about a query that died between its decision and the last end."""

import json
from collections.abc import Iterator

import pytest

from barnabas.client.client import Client
from pyspark_barnabas.cli.command_line import main
from pyspark_barnabas.cluster.connection import ConnectionSettings
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.sink.settings import SinkSettings
from tests.support.processes.broker import BrokerProcess
from tests.support.spark.sink_query import Query, committed_values, rows, transaction_of


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of a broker where transactions have no timeout."""
    settings = {"transaction.two.phase.commit.enable": "true", "num.partitions": 1}
    with BrokerProcess(tmp_path_factory.mktemp("ledger-command") / "data", settings) as server:
        yield server.address


def test_abandon_commits_what_a_dead_query_decided_and_aborts_the_rest(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    query = Query(SinkSettings(ConnectionSettings(address), topic="dead", prefix="dead"))
    where = ["dead", "--bootstrap-servers", address]
    query.play(0, [rows(["a"])])
    orphan = query.write_part(1, 0, rows(["never"]))  # an attempt that lost
    query.decide(1, query.write(1, [rows(["b"]), rows(["c"])], attempt_number=1))
    assert main(["ledger", "show", *where, "--json"]) == 0
    seen = json.loads(capsys.readouterr().out)
    assert [(each["batch"], each["state"], each["rows"]) for each in seen["batches"]] == [
        (0, "finished", 1),
        (1, "decided", 2),
    ]
    assert {each["decided_batch"] for each in seen["transactions"]} == {1, None}
    assert all(each["timeout_ms"] is None and each["holds"] for each in seen["transactions"])
    assert main(["ledger", "abandon", *where]) == 1
    assert "a run seems to be alive under 'dead': the ledger was written to" in capsys.readouterr().err
    assert main(["ledger", "abandon", *where, "--fence"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in said] == ["took", "committed", "committed", "aborted"]
    assert transaction_of(orphan).transactional_id in said[-1]
    with Client(address) as client:
        assert sorted(committed_values(client, "dead")) == ["a", "b", "c"]
    assert main(["ledger", "abandon", *where]) == 0
    assert "no transaction is open under dead" in capsys.readouterr().out
    with pytest.raises(SinkFailed, match="another run took over"):
        query.play(2, [rows(["d"])])
    query.start()  # and the query may be started again
    query.play(2, [rows(["d"])])
    with Client(address) as client:
        assert sorted(committed_values(client, "dead")) == ["a", "b", "c", "d"]
    assert main(["ledger", "show", "deda", "--bootstrap-servers", address]) == 1
    assert "there is no ledger '__deda.ledger' (did you mean dead?): no query" in capsys.readouterr().err


def test_a_prefix_that_nobody_used_is_refused_and_gets_no_ledger(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in ("show", "abandon", "watch"):
        assert main(["ledger", command, "nobody", "--bootstrap-servers", address]) == 1
        assert "there is no ledger '__nobody.ledger'" in capsys.readouterr().err
    with Client(address) as client:
        assert "__nobody.ledger" not in client.refresh(None, client.deadline()).topics
