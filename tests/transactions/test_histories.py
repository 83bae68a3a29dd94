"""What stock clients are told over a broker that is killed again and again, judged by the rules of the simulation.

Each client plays the seed of the day; with --long the ones behind it, too. With `--against kafka` it is the control:
the same play over Apache Kafka 4.4.0.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.simulation.checkers.rules import CHECKERS
from tests.simulation.checkers.transactions.moments import torn_moments
from tests.simulation.history.history import Finding, History, Outcome
from tests.support.clients.go import history_writer
from tests.support.clients.java import program_command
from tests.support.histories.clients import Client
from tests.support.histories.librdkafka_producers import Librdkafka
from tests.support.histories.play import Play
from tests.support.histories.remote import Remote
from tests.support.kafka.jars import KAFKA_VERSION
from tests.support.processes.server import Server

JAVA = Path(__file__).resolve().parents[1] / "compat" / "java" / "HistoryWriter.java"
DEATHS = 3
SEEDS = 4
SETTINGS = {
    "log.retention.ms": -1,
    "offsets.topic.num.partitions": 3,
    "transaction.state.log.num.partitions": 3,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 1000,
}
CLIENTS: Mapping[str, Callable[[str], Client]] = {
    "librdkafka": Librdkafka,
    "java": lambda address: Remote(program_command(JAVA, client_version=KAFKA_VERSION), address),
    "franz-go": lambda address: Remote([str(history_writer())], address),
}
NOT_TOLD = {"librdkafka": (torn_moments,), "java": (torn_moments,), "franz-go": ()}
"""Not every client tells which records came in one Fetch."""
KNOWN = {
    "barnabas": {},
    "kafka": {
        "aborted_reads": "KAFKA-20734: the marker of an abort is left out, and the next commit of the id ends it",
        "lost_commits": "KAFKA-20734: the marker of a commit is left out, and the next abort of the id ends it",
        "torn_transactions": "KAFKA-20734: in some partitions only",
        "torn_moments": "each partition shows its part when its own marker arrives: docs/decisions/0072",
    },
}
"""Rules that a broker was seen to break, and why: docs/histories.md."""


def findings(history: History, client: str) -> list[Finding]:
    rules = [rule for rule in CHECKERS if rule not in NOT_TOLD[client]]
    return [Finding(rule.__name__, text) for rule in rules for text in rule(history)]


def _plays() -> Iterator[Any]:
    for name in CLIENTS:
        for number in range(SEEDS):
            marks = [pytest.mark.long] if number else []
            yield pytest.param((name, number), id=f"{name}+{number}" if number else name, marks=marks)


@pytest.fixture(scope="module", params=_plays())
def client_and_seed(request: pytest.FixtureRequest, seed: int) -> tuple[str, int]:
    """Who writes and reads, and of which seed."""
    name, number = request.param
    return name, seed + number


@pytest.fixture(scope="module")
def client(client_and_seed: tuple[str, int]) -> str:
    return client_and_seed[0]


@pytest.fixture(scope="module")
def play(
    tmp_path_factory: pytest.TempPathFactory,
    new_server: Callable[[Path, Mapping[str, object]], Server],
    client_and_seed: tuple[str, int],
) -> Play:
    """One that is over."""
    client, seed = client_and_seed
    with new_server(tmp_path_factory.mktemp("histories") / "data", SETTINGS) as server:
        playing = CLIENTS[client](server.address)
        try:
            play = Play(server, playing, seed, deaths=DEATHS)
            play.run()
        except AssertionError as problem:
            raise AssertionError(f"--seed {seed}: {problem}\n{server.log[-8000:]}") from problem
        finally:
            playing.close()
    return play


@pytest.fixture(scope="module")
def known(request: pytest.FixtureRequest) -> Mapping[str, str]:
    """By rule, why this broker may break it."""
    broker: str = request.config.getoption("--against")
    return KNOWN[broker]


def test_every_rule_is_kept(
    play: Play, client_and_seed: tuple[str, int], known: Mapping[str, str], tmp_path: Path
) -> None:
    client, seed = client_and_seed
    broken = [finding for finding in findings(play.notes.history, client) if finding.rule not in known]
    if broken:
        whole = tmp_path / "history.txt"
        whole.write_text("\n".join(play.notes.history.lines()))
        pytest.fail(f"--seed {seed}: {broken[:20]}; the history is in {whole}")


def test_there_was_something_to_judge(play: Play) -> None:
    history = play.notes.history
    assert play.notes.boots == DEATHS + 1
    assert any(each.is_committed for each in history.transactions)
    assert any(each.is_aborted for each in history.transactions)
    assert any(each.transaction is None and each.outcome is Outcome.OK for each in history.sends)
    assert any(each.offset > 0 for each in history.final_offsets)
    for is_committed in (True, False):
        assert any(poll.records for poll in history.polls if poll.is_committed is is_committed)
        assert any(poll.last_stable_offset > 0 for poll in history.polls if poll.is_committed is is_committed)


def test_a_record_that_would_be_gone_would_be_found(play: Play, client: str) -> None:
    history = play.notes.history
    gone = next(send for each in history.transactions if each.is_committed for send in each.sends)
    polls = [poll for poll in history.final if poll.at == gone.at]
    kept = [list(poll.records) for poll in polls]
    for poll in polls:
        poll.records = [record for record in poll.records if record[1] != gone.value]
    try:
        assert {"lost_writes", "lost_commits"} <= {finding.rule for finding in findings(history, client)}
    finally:
        for poll, records in zip(polls, kept, strict=True):
            poll.records = records
