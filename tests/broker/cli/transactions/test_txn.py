"""`barnabas txn` against a running broker: what is told of transactions, and how they are ended from outside."""

import json
from typing import Any

import pytest

from barnabas.broker.cli.transactions import txn_words
from barnabas.broker.coordinator.transaction.decisions.states import TransactionState
from barnabas.client import transaction_requests
from barnabas.client.admin.topics import create_topic, delete_topic
from barnabas.client.admin.transactions import STATES, TransactionHold, TransactionInfo, describe_transactions
from barnabas.client.client import Client
from barnabas.client.transactions.errors import ProducerFatal
from barnabas.client.transactions.producer import TransactionalProducer
from tests.support.clients.committed import begun, values
from tests.support.command_line import Barnabas

MINUTE = 60_000


@pytest.fixture
def name(request: pytest.FixtureRequest, client: Client) -> str:
    """A name of its own for each test's topic (of two partitions) and transactional id."""
    name: str = request.node.name.replace("[", "-").replace("]", "")[:200]
    create_topic(client, name, partitions=2)
    return name


@pytest.fixture
def opened(client: Client, name: str) -> TransactionalProducer:
    """A producer with three records in partition 0 of an open transaction, and one committed before them."""
    producer = begun(client, name, b"committed", topic=name)
    producer.commit()
    producer.begin()
    for _ in range(3):
        producer.send(name, b"open", partition=0)
    producer.flush()
    return producer


def json_of(barnabas: Barnabas, *arguments: str) -> Any:
    outcome = barnabas("txn", *arguments, "--json")
    assert outcome.status == 0, outcome.stderr
    return json.loads(outcome.stdout)


# --- list and describe ---


def test_open_transactions_are_listed_with_age_and_size(
    barnabas: Barnabas, opened: TransactionalProducer, name: str
) -> None:
    (row,) = json_of(barnabas, "list", "--state", "Ongoing", "--pattern", f"{name}|nobody")
    assert (row["transactional_id"], row["producer_id"]) == (name, opened.identity.producer_id)
    assert (row["state"], row["partitions"]) == ("Ongoing", 1)
    assert row["age_ms"] >= 0
    header, line = barnabas("txn", "list", "--producer-id", str(opened.identity.producer_id)).stdout.splitlines()
    assert header.split() == ["transactional_id", "producer_id", "state", "age", "partitions"]
    assert line.split()[:3] == [name, str(opened.identity.producer_id), "Ongoing"]
    opened.abort()
    (row,) = json_of(barnabas, "list", "--pattern", name)
    assert (row["state"], row["age_ms"], row["partitions"]) == ("CompleteAbort", None, None)
    assert json_of(barnabas, "list", "--pattern", name, "--longer-than-ms", "3600000") == []


def test_describe_says_who_is_kept_waiting(barnabas: Barnabas, opened: TransactionalProducer, name: str) -> None:
    (facts,) = json_of(barnabas, "describe", name)
    (place,) = facts["partitions"]
    assert (place["topic"], place["partition"]) == (name, 0)
    assert (place["last_stable_offset"], place["high_watermark"], place["held_back"]) == (2, 5, 3)
    assert (place["txn_start_offset"], place["held_back_by"]) == (2, opened.identity.producer_id)
    told = barnabas("txn", "describe").stdout
    assert f"{name}  producer {opened.identity.producer_id}, epoch {opened.identity.producer_epoch}" in told
    assert f"{name}-0: readers of committed records stop at offset 2 of 5, 3 offsets held back for" in told
    assert "Ongoing for" in told
    opened.commit()
    (facts,) = json_of(barnabas, "describe", name)
    assert (facts["state"], facts["age_ms"], facts["partitions"]) == ("CompleteCommit", None, [])


def test_a_partition_that_was_added_and_not_written_blocks_no_client(
    barnabas: Barnabas, client: Client, name: str
) -> None:
    identity = transaction_requests.init_producer(client, name, timeout_ms=MINUTE).identity
    transaction_requests.add_partitions(client, name, identity, [(name, 0), (name, 1)])
    told = barnabas("txn", "describe", name).stdout
    assert f"no open transaction in {name}-0, {name}-1: no record written yet" in told
    transaction_requests.end(client, name, identity, commit=False, protocol=transaction_requests.EXPLICIT)


def test_a_transaction_outlives_its_topic(
    barnabas: Barnabas, opened: TransactionalProducer, client: Client, name: str
) -> None:
    delete_topic(client, name)
    (facts,) = json_of(barnabas, "describe", name)
    assert [place["held_back"] for place in facts["partitions"]] == [None]
    opened.abort()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["describe", "nobody"], "transactional id 'nobody'"),
        (["list", "--pattern", "(?=a)"], "INVALID_REGULAR_EXPRESSION"),
        (["abort", "nobody"], "transactional id 'nobody'"),
    ],
)
def test_names_unknown_to_the_broker_are_reported_in_one_line(
    barnabas: Barnabas, arguments: list[str], said: str
) -> None:
    outcome = barnabas("txn", *arguments)
    assert (outcome.status, outcome.stderr.count("\n"), said in outcome.stderr) == (1, 1, True)


def test_the_states_that_are_named_are_those_there_are() -> None:
    assert sorted(STATES) == sorted(state.value for state in TransactionState)


# --- abort ---


def test_abort_ends_the_transaction_and_fences_its_producer(
    barnabas: Barnabas, opened: TransactionalProducer, client: Client, name: str
) -> None:
    assert f"aborted {name} in 1 partition; its producer is fenced" in barnabas("txn", "abort", name).stdout
    assert values(client, name) == [b"committed"]
    with pytest.raises(ProducerFatal):
        opened.commit()
    refused = barnabas("txn", "abort", name)
    assert (refused.status, "has no open transaction: it is Empty" in refused.stderr) == (1, True)


def test_a_hanging_transaction_is_found_and_aborted(
    barnabas: Barnabas, opened: TransactionalProducer, client: Client, name: str
) -> None:
    assert json_of(barnabas, "find-hanging", "--topic", name, "--longer-than-ms", "0") == []
    told = barnabas("txn", "abort", "--partition", f"{name}:0", "--start-offset", "2").stdout
    assert f"aborted the open transaction of producer {opened.identity.producer_id} in {name}-0 since offset 2" in told
    assert values(client, name) == [b"committed"]
    assert describe_transactions(client, [name])[0].state == "Ongoing", "the coordinator was not asked"
    again = barnabas("txn", "abort", "--partition", f"{name}:0", "--start-offset", "2")
    assert (again.status, "no transaction that began at offset 2 is open" in again.stderr) == (1, True)
    opened.abort()


def test_nothing_hangs_in_a_broker_that_is_well(barnabas: Barnabas) -> None:
    assert barnabas("txn", "find-hanging").stdout.startswith("nothing hangs in ")


# --- in words ---


@pytest.mark.parametrize(
    ("ms", "words"),
    [
        (-5, "0 ms"),
        (412, "412 ms"),
        (12_300, "12 s"),
        (192_000, "3 min 12 s"),
        (180_000, "3 min"),
        (7_500_000, "2 h 5 min"),
        (3_600_000, "1 h"),
        (3 * 86_400_000 + 4 * 3_600_000 + 59_000, "3 d 4 h"),
    ],
)
def test_durations_are_reported_in_their_two_largest_units(ms: int, words: str) -> None:
    assert txn_words.duration(ms) == words


@pytest.mark.parametrize(
    ("state", "timeout_ms", "words"),
    [
        ("Empty", MINUTE, "Empty: no open transaction"),
        ("Ongoing", MINUTE, "2 min beyond its timeout of 1 min"),
        ("Ongoing", 10 * MINUTE, "aborted in 7 min at the earliest"),
        ("Ongoing", txn_words.NO_TIMEOUT_MS, "without a timeout (two-phase commits)"),
        ("PrepareCommit", MINUTE, "committed, its markers are being written"),
        ("PrepareAbort", MINUTE, "aborted, its markers are being written"),
    ],
)
def test_the_state_is_reported_with_what_comes_next(state: str, timeout_ms: int, words: str) -> None:
    txn = TransactionInfo("id", state, 7, 0, timeout_ms, 1_700_000_000_000, [])
    assert words in txn_words.standing(txn, 1_700_000_000_000 + 3 * MINUTE)


def test_a_queued_waiter_names_the_transaction_ahead() -> None:
    hold = TransactionHold("t", 0, 20, 10, 40, 30, in_front=8)
    assert "30 offsets held back by producer 8, which is earlier" in txn_words.waiting(hold, 7, 0, MINUTE)
    assert "1 offset held back for 1 min" in txn_words.waiting(hold._replace(held_back=1), 8, 0, MINUTE)
    assert "no reader waits" in txn_words.waiting(hold._replace(held_back=0), 8, 0, MINUTE)
