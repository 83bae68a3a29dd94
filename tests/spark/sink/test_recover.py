"""`python -m pyspark_barnabas recover`: rows of a decided batch that a timeout aborted are there again, once."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from barnabas.client import transaction_requests
from barnabas.client.admin.records import delete_records
from barnabas.client.admin.transactions import fence
from barnabas.client.client import Client
from barnabas.client.produce.new_batch import NewBatch
from barnabas.client.produce.producer import Producer
from barnabas.client.transaction_requests import Initialised, ProducerIdentity
from barnabas.client.transactions.bulk_transactions import end_all, find_transactions
from pyspark_barnabas.cli import recovering, scanning
from pyspark_barnabas.cli.abandoning import Takeover
from pyspark_barnabas.cli.command_line import main
from pyspark_barnabas.cli.lost_rows import Found
from pyspark_barnabas.commit.identity import RunToken
from pyspark_barnabas.commit.ledger import Run, encode_value
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.sink.settings import SinkSettings
from pyspark_barnabas.sink.transaction import driver_transaction
from tests.support.processes.server import Server
from tests.support.spark.sink_query import Query, checkpoint, committed_values, rows, transaction_of

VALUES = [["a0", "a1", "a2"], ["b0", "b1"], ["c0"]]
PARTS = [rows(each, key=[value.encode() for value in each]) for each in VALUES]


def lose(query: Query, client: Client, batch_id: int, parts: Sequence[Any], *lost: int) -> None:
    """Decide the batch; then the transactions of these tasks are aborted, in this order, and the others stay open."""
    messages = query.write(batch_id, parts)
    query.decide(batch_id, messages, checkpoint(batch_id, orders=10 + 6 * batch_id))
    for each in lost:
        ended = transaction_of(messages[each])
        identity = ProducerIdentity(ended.producer_id, ended.producer_epoch)
        assert not end_all(client, {ended.transactional_id: identity}, commit=False)  # as its timeout would


@pytest.fixture
def query(settings: SinkSettings, client: Client) -> Query:
    """Batch 0 is finished; batch 1 is decided; one of its transactions was aborted, two are still open."""
    query = Query(settings)
    query.play(0, [rows(["before"])], checkpoint(0, orders=10))
    lose(query, client, 1, PARTS, 1)
    return query


def recover(query: Query, broker: Server, *more: str) -> int:
    assert query.settings.prefix is not None
    return main(
        ["recover", query.settings.prefix, "--topic", query.topic, "--bootstrap-servers", broker.address, *more]
    )


def test_rows_that_were_aborted_are_written_again_once_and_the_query_goes_on(
    query: Query, broker: Server, client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    everything = sorted(["before", *(value for part in VALUES for value in part)])
    assert recover(query, broker) == 0
    seen = capsys.readouterr().out
    assert "batch 1 of query q: 6 rows" in seen
    assert "source orders-0: offsets 10 to 16" in seen
    assert "2 transactions of it still open" in seen
    assert recover(query, broker, "--settle", "q:1", "--fence") == 1
    assert "batch 1 of query q: the log has all missing rows: use --execute" in capsys.readouterr().err
    assert recover(query, broker, "--execute", "--fence") == 0
    assert "batch 1: wrote 2 rows again" in capsys.readouterr().out
    topic = query.topic
    assert sorted(committed_values(client, topic)) == everything
    assert recover(query, broker, "--execute", "--fence") == 0
    assert "is lost: nothing was changed" in capsys.readouterr().out
    query.start()
    query.play(1, PARTS, checkpoint(1, orders=16))  # as Spark repeats it: all tasks skip
    query.play(2, [rows(["after"])], checkpoint(2, orders=17))
    assert sorted(committed_values(client, topic)) == sorted([*everything, "after"])


def test_a_lost_batch_is_found_however_often_the_query_was_started_after_it(
    query: Query, broker: Server, client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    assert query.settings.prefix is not None
    with Producer(client) as producer:
        for _ in range(450):
            producer.send(f"__{query.settings.prefix}.ledger", encode_value(Run("q", "r", RunToken(9, 9))))
    where = [query.settings.prefix, "--bootstrap-servers", broker.address]
    assert main(["ledger", "show", *where, "--last", "1"]) == 0
    assert "1  lost  6 rows" in capsys.readouterr().out
    assert recover(query, broker, "--execute", "--fence") == 0
    said = capsys.readouterr().out
    assert said.count("committed ") == 2
    assert "aborted " not in said.replace("missing, aborted at", "")
    assert "batch 1: wrote 2 rows again" in said


def test_rows_of_a_partition_are_all_copied_whichever_of_its_transactions_was_aborted_first(
    settings: SinkSettings, broker: Server, client: Client
) -> None:
    query = Query(settings)
    lose(query, client, 0, [rows(["a0", "a1"], key=[b"k", b"k"]), rows(["b0"], key=[b"k"])], 1, 0)
    assert recover(query, broker, "--execute", "--fence") == 0
    assert committed_values(client, query.topic) == ["a0", "a1", "b0"]


def test_a_copy_that_is_not_what_was_missing_counts_for_nothing_and_leaves_nothing_open(
    query: Query, broker: Server, client: Client, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def copy(reading: Client, found: Found) -> Iterator[NewBatch]:
        for each in found.values():
            each.aborted.count += bool(each.aborted.count)  # as if retention had removed one since they were counted
        return aborted(reading, found)

    aborted = scanning.aborted_batches
    with monkeypatch.context() as patched:
        patched.setattr(recovering, "aborted_batches", copy)
        assert recover(query, broker, "--execute", "--fence") == 1
    assert "rows that were found before" in capsys.readouterr().err
    driver_id = f"{query.settings.prefix}.driver"
    state = find_transactions(client, [driver_id])[driver_id]
    assert state is not None
    assert state.transaction_state == "CompleteAbort"
    assert recover(query, broker) == 0
    assert "--execute writes 2 rows again" in capsys.readouterr().out


@pytest.mark.parametrize("is_slow", [True, False])
def test_a_copy_that_takes_longer_than_its_timeout_is_not_called_overtaken(
    query: Query,
    broker: Server,
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    is_slow: bool,
) -> None:
    def copy(*arguments: Any) -> Iterator[NewBatch]:
        fence(client, f"{query.settings.prefix}.driver")  # what a timeout does, and another run, which registers then
        return aborted(*arguments)

    def initialise(takeover: Takeover, timeout_ms: int) -> Initialised:
        begun = real_initialise(takeover, timeout_ms)
        takeover._timeout_ms = 0 if is_slow else timeout_ms
        return begun

    aborted, real_initialise = scanning.aborted_batches, Takeover._initialise
    monkeypatch.setattr(recovering, "aborted_batches", copy)
    monkeypatch.setattr(Takeover, "_initialise", initialise)
    assert recover(query, broker, "--execute", "--fence") == 1
    sentence = "Raise transaction.max.timeout.ms of the brokers" if is_slow else "another run took over"
    assert sentence in capsys.readouterr().err


def test_a_recovery_that_was_cut_off_shows_nothing_and_may_be_called_again(
    query: Query, broker: Server, client: Client, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ends = iter([False, True])  # that of the registration, and that of the copy

    def end(*arguments: object, **options: object) -> None:
        if next(ends):
            raise SinkFailed("cut off")
        real_end(*arguments, **options)  # type: ignore[arg-type]  # as it was called

    real_end = transaction_requests.end
    with monkeypatch.context() as patched:
        patched.setattr(driver_transaction, "end", end)
        assert recover(query, broker, "--execute", "--fence") == 1
    assert "cut off" in capsys.readouterr().err
    assert recover(query, broker, "--execute", "--fence") == 0
    topic = query.topic
    assert sorted(committed_values(client, topic)) == sorted(["before", *(value for part in VALUES for value in part)])


def test_rows_that_the_log_does_not_have_any_more_are_not_guessed(
    query: Query, broker: Server, client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = query.topic
    where = ["ledger", "abandon", topic, "--bootstrap-servers", broker.address, "--fence"]
    assert main(where) == 1  # what is open does not hide the loss
    assert "`recover` writes them again" in capsys.readouterr().err
    ends = client.refresh([topic], client.deadline()).topic(topic).partitions
    before = committed_values(client, topic)
    delete_records(client, {(topic, number): -1 for number in ends})
    assert recover(query, broker, "--execute", "--fence") == 1
    assert "these topics have 0 of its 6 rows" in capsys.readouterr().err
    assert len(before) == 5
    lose(Query(query.settings, "other"), client, 0, [rows(["d0", "d1"])], 0)
    assert recover(query, broker) == 1  # what cannot be done does not hide what can
    seen = capsys.readouterr()
    assert "--execute writes 2 rows again" in seen.out
    assert seen.err.startswith("python -m pyspark_barnabas: batch 1 of query q: these topics have 0 of its 6 rows")
    assert recover(query, broker, "--execute", "--fence") == 1
    seen = capsys.readouterr()
    assert "batch 0: wrote 2 rows again" in seen.out
    assert seen.err.startswith("python -m pyspark_barnabas: batch 1 of query q: these topics have 0 of its 6 rows")
    assert sorted(committed_values(client, topic)) == ["d0", "d1"]
    query.start()
    with pytest.raises(SinkFailed, match="part of the batch is missing"):
        query.play(1, PARTS, checkpoint(1, orders=16))
    assert recover(query, broker, "--settle", "other:0", "--fence") == 1
    assert "batch 0 of query other is not lost" in capsys.readouterr().err
    assert recover(query, broker, "--settle", "q:1", "--fence") == 0
    assert "now has it as finished, with 0 of its 6 rows visible as the query wrote them" in capsys.readouterr().out
    query.start()
    query.play(1, PARTS, checkpoint(1, orders=16))  # all tasks skip
    query.play(2, [rows(["after"])], checkpoint(2, orders=17))
    assert sorted(committed_values(client, topic)) == ["after", "d0", "d1"]
