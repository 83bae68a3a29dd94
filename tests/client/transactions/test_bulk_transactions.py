"""Many transactions at a time."""

import pytest

from barnabas.client.admin.topics import create_topic
from barnabas.client.client import TRANSACTION, Client
from barnabas.client.transaction_requests import EXPLICIT, ProducerIdentity, add_partitions, end, init_producer
from barnabas.client.transactions.bulk_transactions import end_all, find_transactions
from barnabas.client.transactions.errors import FENCED
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.end_txn import EndTxnRequest
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.registry import ApiKey
from tests.support.scripted.broker import HANG_UP, Answer
from tests.support.scripted.coordinator import ScriptedCoordinator


def begun(client: Client, name: str, topic: str) -> ProducerIdentity:
    """A transaction that is open."""
    identity = init_producer(client, name, timeout_ms=60_000).identity
    add_partitions(client, name, identity, [(topic, 0)])
    return identity


def test_all_are_ended_and_each_refusal_is_reported(client: Client) -> None:
    create_topic(client, "set-1", partitions=1)
    names = [f"set-1-{number}" for number in range(5)]
    transactions = {name: begun(client, name, "set-1") for name in names}
    transactions["set-1-3"] = ProducerIdentity(transactions["set-1-3"].producer_id, 99)
    refused = end_all(client, transactions, commit=True)
    assert list(refused) == ["set-1-3"]
    assert refused["set-1-3"].code in FENCED
    states = {name: each and each.transaction_state for name, each in find_transactions(client, names).items()}
    assert states == {name: "Ongoing" if name == "set-1-3" else "CompleteCommit" for name in names}


def test_unknown_names_are_none(client: Client) -> None:
    create_topic(client, "set-2", partitions=1)
    identity = begun(client, "set-2-known", "set-2")
    found = find_transactions(client, ["set-2-unknown", "set-2-known"])
    assert found["set-2-unknown"] is None
    known = found["set-2-known"]
    assert known is not None
    assert (known.transaction_state, known.producer_id) == ("Ongoing", identity.producer_id)
    end(client, "set-2-known", identity, commit=False, protocol=EXPLICIT)


@pytest.mark.parametrize("failure", [ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.NOT_COORDINATOR, HANG_UP])
def test_ends_are_requested_again_while_the_answer_may_pass(failure: ErrorCode | Answer) -> None:
    with ScriptedCoordinator(1) as broker, Client(broker.address, timeout_ms=5_000) as client:
        broker.fail(ApiKey.END_TXN, ErrorCode.NONE, failure)
        transactions = {f"t-{number}": ProducerIdentity(7, 0) for number in range(3)}
        assert end_all(client, transactions, commit=True) == {}
        asked = [each.transactional_id for _, each in broker.requests if isinstance(each, EndTxnRequest)]
        assert set(asked) == set(transactions)
        assert 3 < len(asked) <= 6
        assert all(version == 4 for version, each in broker.requests if type(each).__name__ == "EndTxnRequest")


def test_an_end_without_an_answer_is_reported_as_not_known() -> None:
    with ScriptedCoordinator(1) as broker, Client(broker.address, timeout_ms=300) as client:
        broker.fail(ApiKey.END_TXN, *[HANG_UP] * 100)
        refused = end_all(client, {"t": ProducerIdentity(7, 0)}, commit=True)
        assert refused["t"].code.retriable


def test_coordinators_are_looked_up_together() -> None:
    with ScriptedCoordinator(1) as broker, Client(broker.address) as client:
        names = [f"t-{number}" for number in range(20)]
        client.find_coordinators(TRANSACTION, names, client.deadline())
        client.find_coordinators(TRANSACTION, names, client.deadline())
        assert len(broker.of(FindCoordinatorRequest)) == 1
