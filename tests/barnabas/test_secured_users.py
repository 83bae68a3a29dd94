"""Users of a secured broker that a test brings along, and what they are granted."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from barnabas import Barnabas, BarnabasError
from barnabas.broker.cli import main
from barnabas.client.admin.topics import list_topics
from barnabas.client.client import Client
from barnabas.client.produce.producer import Producer
from barnabas.client.security.properties import security_of
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.pytest_plugin import merged

READER = "--consumer --topic orders --group readers"
USERS = {"alice": "wonderland", "bob": "builder"}


def client_of(broker: Barnabas, user: str) -> Client:
    settings = broker.client_settings("java", user=user)
    return Client(settings["bootstrap.servers"], security=security_of(settings))


def topics_for(broker: Barnabas, user: str) -> set[str]:
    with client_of(broker, user) as client:
        return {each.name for each in list_topics(client)}


def error_of_produce(broker: Barnabas, user: str) -> ErrorCode | None:
    """Of a record without a producer id, which needs another right."""
    try:
        with client_of(broker, user) as client, Producer(client, idempotent=False) as producer:
            producer.send("orders", b"v")
    except KafkaError as error:
        return error.code
    return None


def test_users_have_the_rights_that_they_are_granted(tmp_path: Path) -> None:
    grants = {"alice": READER, "bob": ["--operation Describe --topic '*'", "--producer --topic orders"]}
    with Barnabas(secure=True, topics=["orders", "payments"], users=USERS, grants=grants) as broker:
        assert topics_for(broker, "alice") == {"orders"}
        assert topics_for(broker, "bob") == {"orders", "payments"}
        assert error_of_produce(broker, "alice") is ErrorCode.TOPIC_AUTHORIZATION_FAILED
        assert error_of_produce(broker, "bob") is None
        file = tmp_path / "admin.properties"
        settings = broker.client_settings("java", user="admin")
        file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        taken_back = ("--allow-principal", "User:alice", *READER.split())
        assert main(["acls", "remove", *taken_back, "--command-config", str(file)]) == 0
        broker.restart()
        assert topics_for(broker, "alice") == set()
        assert "wonderland" not in broker.logs


@pytest.mark.barnabas(secure=True, topics=["orders"], users={"alice": "wonderland"}, grants={"alice": READER})
@pytest.mark.barnabas(users={"client": "wellKnown1"})
def test_a_mark_brings_users(barnabas: Barnabas) -> None:
    assert topics_for(barnabas, "alice") == {"orders"}
    assert barnabas.client_settings(user="client")["sasl.password"] == "wellKnown1"
    assert barnabas.client_settings(user="admin")["sasl.username"] == "admin"


def test_users_are_kept_beside_the_data_and_may_be_given_other_passwords(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    with Barnabas(secure=True, data_dir=data_dir, users=USERS):
        pass
    with Barnabas(secure=True, data_dir=data_dir, users={"bob": "other"}) as broker:
        assert broker.client_settings(user="alice")["sasl.password"] == "wonderland"
        assert topics_for(broker, "bob") == set()
        assert broker.client_settings(user="bob")["sasl.password"] == "other"
        refused = Barnabas(secure=True, data_dir=data_dir, users={"alice": "stolen"})
        with pytest.raises(BarnabasError), refused:  # the directory is in use
            pass
    assert "alice=wonderland\n" in (tmp_path / "data.security" / "users.properties").read_text()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"users": {"alice": "won der land"}}, "users: 'alice' has a password that is not letters and digits alone"),
        ({"users": {"al ice": "wonderland"}}, "users: 'al ice' has a name that is not letters, digits and _"),
        ({"grants": {"eve": READER}}, "grants: there is no user eve: admin, client are known"),
        ({"grants": {"client": "--consumer --topic t"}}, "'--consumer --topic t': --consumer needs --group"),
        ({"grants": {"client": "Read orders"}}, "'Read orders': unrecognized arguments: (a word) (a word)"),
        ({"grants": {"client": "--topic 'orders"}}, "No closing quotation"),
        ({"grants": {"client": "--topic t --deny-principal User:x"}}, "the right already has a principal before it"),
    ],
)
def test_impossible_settings_are_reported_at_the_start(settings: Mapping[str, Any], said: str) -> None:
    with pytest.raises(BarnabasError) as refused, Barnabas(secure=True, **settings):
        pass
    assert said in str(refused.value)
    assert "der land" not in str(refused.value)


def test_only_a_secured_broker_has_users() -> None:
    with pytest.raises(ValueError, match="users: only a broker with secure=True has users"):
        Barnabas(users=USERS)
    with pytest.raises(ValueError, match="grants: only a broker with secure=True has users"):
        Barnabas(grants={"client": READER})
    with pytest.raises(TypeError, match="users: 'alice': names and passwords must be strings"):
        Barnabas(secure=True, users={"alice": 1})  # type: ignore[dict-item] # what a caller may do
    with pytest.raises(TypeError, match="grants: alice: 1 is not a string"):
        Barnabas(secure=True, grants={"alice": [1]})  # type: ignore[list-item] # what a caller may do


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"users": ["alice"]}, "users must be a mapping of names to passwords, .* not list"),
        ({"grants": [READER]}, "grants must be a mapping of users to their rights, .* not list"),
        ({"grants": READER}, "grants must be a mapping of users to their rights, .* not str"),
        ({"grants": {"client": None}}, "grants: client: None is not a list of rights such as "),
        ({"grants": {1: READER}}, "grants: 1 is not a user: names must be strings"),
    ],
)
def test_a_value_that_is_no_mapping_is_refused_in_a_sentence(settings: Mapping[str, Any], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        Barnabas(secure=True, **settings)


@pytest.mark.parametrize(
    ("name", "said"),
    [("users", ["alice"]), ("grants", [READER]), ("grants", READER), ("topics", "orders"), ("topics", 1)],
)
def test_a_value_that_is_no_mapping_cannot_be_merged(name: str, said: object) -> None:
    with pytest.raises(TypeError, match=rf"{name} must be a mapping( or a list of names)?, not (list|str|int)"):
        merged({name: {"a": "b"}}, {name: said})
    assert merged({name: {"a": "b"}}, {name: None}) == {name: {"a": "b"}}
