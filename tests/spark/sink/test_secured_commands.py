"""`ledger` and `recover` over SASL_SSL, as a user with the rights that docs/ledger.md lists; each of them is needed."""

from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from barnabas.client.client import Client
from barnabas.client.transaction_requests import ProducerIdentity
from barnabas.client.transactions.bulk_transactions import end_all
from pyspark_barnabas.cli import watching
from pyspark_barnabas.cli.command_line import main
from pyspark_barnabas.cli.inspection import look
from pyspark_barnabas.cli.sink_state import Look
from pyspark_barnabas.cluster.connection import ConnectionSettings
from pyspark_barnabas.commit.messages import Prepared
from pyspark_barnabas.sink.settings import SinkSettings
from tests.support.clients import topics
from tests.support.security.grants import Grant, Grants
from tests.support.security.secured import SASL_SSL, SecuredServer, secured_kind
from tests.support.spark.sink_query import Query, committed_values, rows

USER = "ann"
KINDS = ["barnabas", pytest.param("kafka", marks=pytest.mark.long)]


@pytest.fixture(scope="module", params=KINDS)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredServer]:
    directory = tmp_path_factory.mktemp("secured")
    settings = {"auto.create.topics.enable": "false"}
    kind = secured_kind(request.param)
    with kind(directory / "data", settings, listeners=(SASL_SSL,), scram_users=(USER,)) as server:
        yield server


@pytest.fixture
def secured(server: SecuredServer, tmp_path: Path) -> tuple[str, ...]:
    """What a command is told. Not where: that is in the file, too."""
    said = server.security.client_properties(USER, "SCRAM-SHA-512")
    said["bootstrap.servers"] = f"127.0.0.1:{server.ports[SASL_SSL]}"
    path = tmp_path / "client.properties"
    path.write_text("".join(f"{name}={value}\n" for name, value in said.items()))
    return "--command-config", str(path)


def die(server: SecuredServer, name: str) -> tuple[Query, list[Prepared]]:
    """A query that leaves one transaction of no batch, and two of a batch that it has decided: those."""
    topics.create(server.address, name, 1)
    query = Query(SinkSettings(ConnectionSettings(server.address), topic=name, prefix=name))
    query.play(0, [rows(["a"])])
    query.write_part(1, 0, rows(["never"]))
    messages = query.write(1, [rows(["b"]), rows(["c"])], attempt_number=1)
    query.decide(1, messages)
    return query, [each for each in messages if isinstance(each, Prepared)]


def refused_without_each(server: SecuredServer, needed: Sequence[Grant], command: Sequence[str]) -> Iterator[Grant]:
    """The rights without which the command fails; each of the others is there then, and all of them in the end."""
    grants = Grants(server.port, USER)
    grants.give(needed)
    for missing in needed:
        grants.take([missing])
        if main(command) == 1:
            yield missing
        grants.give([missing])


def test_a_ledger_is_shown_watched_and_abandoned(
    server: SecuredServer, secured: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    query, _ = die(server, "dead")
    show, ledger = ("ledger", "show", "dead", *secured), "__dead.ledger"
    see_readers = Grant("READ", "TOPIC", "dead")
    needed = (Grant("READ", "TOPIC", ledger), Grant("DESCRIBE", "TRANSACTIONAL_ID", "dead*"))
    assert tuple(refused_without_each(server, needed, show)) == needed
    assert capsys.readouterr().err.count("AUTHORIZATION_FAILED") == len(needed)
    assert main(show) == 0
    said = capsys.readouterr().out
    assert "1  decided  2 rows" in said
    assert "the waiting readers cannot be listed: that needs READ on the topics" in said
    grants = Grants(server.port, USER)
    grants.give([see_readers])
    assert main(show) == 0
    assert "dead-0: readers stop at offset" in capsys.readouterr().out
    grants.take([*needed, see_readers])
    end = (*(Grant(each, "TOPIC", ledger) for each in ("READ", "WRITE")), Grant("WRITE", "TRANSACTIONAL_ID", "dead*"))
    abandon = ("ledger", "abandon", "dead", *secured, "--fence")
    assert tuple(refused_without_each(server, end, abandon)) == end
    assert "committed" not in capsys.readouterr().out
    assert main(abandon) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [
        *("took", "committed", "committed", "aborted")
    ]
    with Client(server.address) as client:
        assert sorted(committed_values(client, "dead")) == ["a", "b", "c"]
    grants.take(end)
    grants.give(needed)
    watch_a_batch(query, secured)
    said = capsys.readouterr().out
    assert "batch 2  finished  1 row" in said


def watch_a_batch(query: Query, secured: tuple[str, ...]) -> None:
    """Batch 2 is written between its first look and its second, before which Ctrl-C is pressed."""

    def look_in_turns(*arguments: Any) -> Look:
        turn = next(turns)
        if turn == 1:
            query.start()
            query.play(2, [rows(["d"])])
        if turn == 2:
            raise KeyboardInterrupt
        return look(*arguments)

    turns = count()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(watching, "look", look_in_turns)
        assert main(["ledger", "watch", str(query.settings.prefix), *secured, "--interval-ms", "1"]) == 0


def test_rows_that_a_timeout_aborted_are_recovered(
    server: SecuredServer, secured: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    lost = die(server, "lost")[1][0].transaction
    assert lost is not None
    with Client(server.address) as client:
        identity = ProducerIdentity(lost.producer_id, lost.producer_epoch)
        assert not end_all(client, {lost.transactional_id: identity}, commit=False)  # as its timeout would
    command, ledger = ("recover", "lost", "--topic", "lost", *secured), "__lost.ledger"
    read = (
        *(Grant("READ", "TOPIC", each) for each in ("lost", ledger)),
        Grant("DESCRIBE", "TRANSACTIONAL_ID", "lost*"),
    )
    assert tuple(refused_without_each(server, read, command)) == read
    assert main(command) == 0
    assert "--execute commits them first" in capsys.readouterr().out
    Grants(server.port, USER).take(read)
    write = (
        *(Grant(each, "TOPIC", topic) for topic in (ledger, "lost") for each in ("READ", "WRITE")),
        Grant("WRITE", "TRANSACTIONAL_ID", "lost*"),
    )
    execute = (*command, "--execute", "--fence")
    assert tuple(refused_without_each(server, write, execute)) == write
    assert "rows again" not in capsys.readouterr().out
    assert main(execute) == 0
    assert "batch 1: wrote 1 row again" in capsys.readouterr().out
    with Client(server.address) as client:
        assert sorted(committed_values(client, "lost")) == ["a", "b", "c"]
