"""Commands that cannot do what they are told say why in one line: status 2 for what was typed, 1 for the rest."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.client.admin.topics import create_topic
from barnabas.client.admin.transactions import STATES
from barnabas.client.client import Client
from tests.support.command_line import Barnabas
from tests.support.processes.own_broker import OwnBroker
from tests.support.processes.server import ROOT

TIMEOUT_S = 60
HUGE = "9" * 30
LONG = "x" * 40_000
NO_TEXT = os.fsdecode(b"\xff")
CLASSIC = "consume t --group g --group-protocol classic"
COMMAND = (sys.executable, "-m", "barnabas")


@pytest.fixture(scope="module", autouse=True)
def _topic(broker: OwnBroker) -> None:
    """What the commands may name."""
    with Client(broker.address) as client:
        create_topic(client, "bad-input", partitions=2)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("topics create t --partitions 2147483648", "--partitions: must be at most 2147483647"),
        ("topics create t --replication-factor 32768", "--replication-factor: must be at most 32767"),
        (f"topics create t --partitions {HUGE}", "--partitions: must be at most"),
        (f"topics alter bad-input --partitions {HUGE}", "--partitions: must be at most"),
        (f"topics create {LONG}", "an argument does not fit in a request: a string of 40000 bytes"),
        (f"topics create {NO_TEXT}", "an argument does not fit in a request"),
        (f"groups describe {NO_TEXT}", "an argument does not fit in a request"),
        (f"topics list --request-timeout-ms {HUGE}", "--request-timeout-ms: must be at most"),
        ("nodes move bad-input --to 2147483648", "--to: must be at most 2147483647"),
        (f"nodes move bad-input:{HUGE} --to 1", "must be at most"),
        ("nodes move bad-input: --to 1", "is neither TOPIC nor TOPIC:N"),
        (f"consume bad-input --partition 0 --offset {HUGE}", "--offset is earliest, latest or a number, and must be "),
        (
            "consume bad-input --partition 0 --offset -1",
            "--offset is earliest, latest or a number, and must be at least 0",
        ),
        ("consume t --group-protocol consumer", "--group-protocol needs --group"),
        ("consume t --regex --group g", "--regex needs --group-protocol consumer"),
        (f"{CLASSIC} --group-remote-assignor range", "--group-remote-assignor needs --group-protocol consumer"),
        ("consume t --group g --group-protocol new", "invalid choice: 'new'"),
        (f"produce bad-input --timestamp {HUGE}", "--timestamp: must be at most"),
        ("produce bad-input --compression gzip --compression-level 10", "--compression-level of gzip is -1 to 9"),
        ("produce bad-input --compression snappy --compression-level 1", "--compression snappy has no levels"),
        (f"groups reset g --topic bad-input --to-offset {HUGE}", "--to-offset: must be at most"),
        ("groups reset g --all-topics", "--to-earliest"),
        ("groups reset g --to-latest", "--topic"),
        ("groups reset g --topic t --all-topics --to-latest", "not allowed with"),
        ("groups reset g --topic t --to-latest --to-earliest", "not allowed with"),
        ("groups reset g --topic t: --to-latest", "'t:' is neither TOPIC nor TOPIC:N,…"),
        ("groups reset g --topic t --to-datetime soon", "'soon' is not a time like"),
        ("groups reset g --topic t --to-offset -1", "must be at least 0"),
        ("consume t --max-messages -1", "must be above 0"),
        ("groups offsets g --topic t:x", "'x' is not a whole number"),
        (f"txn find-hanging --longer-than-ms {HUGE}", "--longer-than-ms: must be at most"),
        ("txn list --state Open", f"there is no state Open, but {', '.join(STATES)}"),
        ("txn abort", "give transactional ids"),
        ("txn abort a --partition t:0 --start-offset 1", "give transactional ids"),
        ("txn abort --partition t:0", "need each other"),
        ("txn abort --partition t", "'t' is not TOPIC:N"),
        ("quotas alter --client c", "quotas alter: nothing to do, give --set or --delete"),
        ("quotas alter --set producer_byte_rate=1", "quotas alter: no client: give --user"),
        ("quotas alter --client c --set producer_byte_rate=much", "not a number"),
        ("quotas alter --client c --client-defaults", "not allowed with argument"),
    ],
)
def test_values_that_fit_no_request_are_a_usage_error(barnabas: Barnabas, words: str, says: str) -> None:
    outcome = barnabas(*words.split(" "))
    assert (outcome.status, outcome.stdout, len(outcome.stderr.splitlines())) == (2, "", 1)
    assert says in outcome.stderr


def test_a_time_before_1970_is_the_first_record(barnabas: Barnabas) -> None:
    outcome = barnabas("groups", "reset", "g", "--topic", "bad-input", "--to-datetime", "0001-01-01", "--json")
    assert outcome.status == 0


@pytest.fixture
def nobody_reads() -> Iterator[int]:
    """A pipe that nobody reads from."""
    reading, writing = os.pipe()
    os.close(reading)
    yield writing
    os.close(writing)


@pytest.mark.parametrize("words", ["--help", "--version", "topics list", "configs describe --broker 1 --all"])
def test_a_peer_that_stopped_reading_gets_nothing(broker: OwnBroker, nobody_reads: int, words: str) -> None:
    where = [] if words.startswith("-") else ["--bootstrap-server", broker.address]
    assert said_by([*COMMAND, *words.split(), *where], nobody_reads) == (1, "")


def said_by(command: list[str], stdout: int | None = None) -> tuple[int, str]:
    """(exit status, stderr)."""
    done = subprocess.run(
        command, cwd=ROOT, stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=TIMEOUT_S, check=False
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("redirected", "words", "status", "says"),
    [
        (">&-", "topics list", 1, "barnabas: stdout is closed\n"),
        (">&-", "consume bad-input --exit-at-end", 1, "barnabas: stdout is closed\n"),
        ("<&-", "produce bad-input", 2, "barnabas: produce: stdin is closed: give a FILE\n"),
    ],
)
def test_a_closed_stream_is_named(broker: OwnBroker, redirected: str, words: str, status: int, says: str) -> None:
    shell = ["sh", "-c", f'exec "$@" {redirected}', "sh", *COMMAND, *words.split()]
    assert said_by([*shell, "--bootstrap-server", broker.address]) == (status, says)


@pytest.mark.parametrize("membership", [[], ["--group", "g"], ["--group", "h", "--group-protocol", "consumer"]])
def test_a_broker_that_dies_ends_a_reader_with_one_line(tmp_path: Path, membership: list[str]) -> None:
    with OwnBroker(tmp_path / "data", flags=["--topic", "t"]) as mortal:
        where = ["--bootstrap-server", mortal.address]
        subprocess.run([*COMMAND, "produce", "t", *where], cwd=ROOT, input=b"a\n", timeout=TIMEOUT_S, check=True)
        command = [*COMMAND, "consume", "t", "--from-beginning", *membership, *where, "--request-timeout-ms", "2500"]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as reader:
            assert reader.stdout is not None
            assert reader.stdout.readline() == "a\n"
            mortal.kill()
            _, said = reader.communicate(timeout=TIMEOUT_S)
    assert (reader.returncode, len(said.splitlines())) == (1, 1)
    assert said.startswith("barnabas: ")
