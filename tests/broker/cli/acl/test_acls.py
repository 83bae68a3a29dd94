"""`barnabas acls`, and kafka-acls, on a broker in a process."""

import json
from collections.abc import Iterator

import pytest

from barnabas.broker.cli.kafka import main as kafka_tool
from tests.support.command_line import Barnabas, run_here
from tests.support.processes.own_broker import OwnBroker

RIGHTS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
HEADER = "resource  name    pattern   principal   host  operation  permission"


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnBroker]:
    with OwnBroker(tmp_path_factory.mktemp("acls") / "data", RIGHTS) as broker:
        yield broker


@pytest.fixture
def acls(secured: OwnBroker, offline: Barnabas) -> Barnabas:
    """`barnabas acls` and what a shell sees of it."""
    return lambda *words: offline("acls", *words, "--bootstrap-server", secured.address)


def test_rights_are_added_listed_and_removed(acls: Barnabas) -> None:
    alice = ("--allow-principal", "User:alice")
    consumer = ("--consumer", "--topic", "orders", "--group", "readers")
    for _ in range(2):  # what is there already stays
        assert acls("add", *alice, *consumer) == (0, "3 ACLs are in force\n", "")
    prefixed = ("--topic", "ord", "--resource-pattern-type", "prefixed")
    bob = ("--deny-principal", "User:bob", "--operation", "Write")
    assert acls("add", *bob, *prefixed).stdout == "1 ACL is in force\n"
    of_orders = [
        HEADER,
        "topic     ord     prefixed  User:bob    *     Write      deny",
        "topic     orders  literal   User:alice  *     Read       allow",
        "topic     orders  literal   User:alice  *     Describe   allow",
    ]
    assert acls("list", "--topic", "orders").stdout.splitlines() == of_orders
    assert len(acls("list").stdout.splitlines()) == len(of_orders) + 1
    of_alice = json.loads(acls("list", "--principal", "User:alice", "--group", "readers", "--json").stdout)
    assert of_alice == [
        {
            "resource": "group",
            "name": "readers",
            "pattern": "literal",
            "principal": "User:alice",
            "host": "*",
            "operation": "Read",
            "permission": "allow",
        }
    ]
    assert acls("remove", *alice, "--operation", "Read", "--topic", "orders") == (0, "removed 1 ACL\n", "")
    assert acls("remove", "--topic", "orders", "--resource-pattern-type", "match").stdout == "removed 2 ACLs\n"
    removed = acls("remove", "--group", "readers", "--json")
    assert json.loads(removed.stdout) == {"removed": of_alice}
    assert acls("list") == (0, "", "")


def test_missing_entries_cannot_be_removed(acls: Barnabas) -> None:
    said = "barnabas: no ACL matches now: `barnabas acls list` shows all\n"
    assert acls("remove", "--topic", "nowhere") == (1, "", said)
    status, out, err = acls("remove", "--topic", "nowhere", "--json")
    assert (status, json.loads(out), err) == (1, {"removed": []}, said)


def test_values_refused_by_kafka_are_refused(acls: Barnabas) -> None:
    many = [word for number in range(10_001) for word in ("--topic", f"t{number}")]
    status, out, err = acls("add", "--allow-principal", "User:alice", *many)
    assert (status, out) == (1, "")
    assert err.startswith("barnabas: POLICY_VIOLATION: User:alice on 't0': ")


@pytest.mark.parametrize(
    "words", [("list",), ("add", "--allow-principal", "User:a", "--topic", "t"), ("remove", "--topic", "t")]
)
def test_a_broker_without_an_authorizer_states_how_it_gets_one(barnabas: Barnabas, words: tuple[str, ...]) -> None:
    assert barnabas("acls", *words) == (
        1,
        "",
        "barnabas: SECURITY_DISABLED: the broker has no authorizer, so every client may do everything: start it with "
        "--secure, or with --set authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer "
        "--set super.users=User:ANONYMOUS\n",
    )


def test_kafkas_tool_asks_nobody_before_it_removes(
    secured: OwnBroker, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    words = ("--bootstrap-server", secured.address, "--remove", "--topic", "orders")
    status, _, error = run_here(kafka_tool, capsysbinary)("kafka-acls", *words)
    assert (status, error.startswith("kafka-acls: --remove needs --force")) == (1, True)
