"""Users of SCRAM: given, taken back and described, as by Kafka 4.4.0's controller; they outlive the broker."""

import logging
from typing import Any

import pytest

from barnabas.broker.metadata.image.scram_users import ALTERATIONS_MAX
from barnabas.broker.security.sasl.add_scram import NewUser, parse_user
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from barnabas.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName
from barnabas.protocol.security.scram import SCRAM_SHA_256, SCRAM_SHA_512, ScramMechanism, credential_of, salted
from tests.support.worlds.broker import BrokerWorld

SALT = b"salt"
TWICE = "A user credential cannot be altered twice in the same request"


def new_user(text: str) -> NewUser:
    return parse_user(text, lambda path: b"", {})


def upsertion(
    name: str, mechanism: ScramMechanism = SCRAM_SHA_256, iterations: int = 4096, number: int | None = None
) -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(
        name=name,
        mechanism=mechanism.number if number is None else number,
        iterations=iterations,
        salt=SALT,
        salted_password=salted(mechanism, "secret", SALT, max(iterations, 1)),
    )


def deletion(name: str, mechanism: int = 1) -> ScramCredentialDeletion:
    return ScramCredentialDeletion(name=name, mechanism=mechanism)


def alter(world: BrokerWorld, *alterations: Any) -> list[tuple[str, int, str | None]]:
    peer = world.connect()
    peer.ask(
        AlterUserScramCredentialsRequest(
            deletions=[each for each in alterations if isinstance(each, ScramCredentialDeletion)],
            upsertions=[each for each in alterations if isinstance(each, ScramCredentialUpsertion)],
        )
    )
    return [(each.user, each.error_code, each.error_message) for each in peer.answer().results]


def describe(world: BrokerWorld, *names: str) -> dict[str, Any]:
    peer = world.connect()
    peer.ask(DescribeUserScramCredentialsRequest(users=[UserName(name=name) for name in names] if names else None))
    answer = peer.answer()
    assert answer.error_code == 0
    return {
        each.user: [(info.mechanism, info.iterations) for info in each.credential_infos]
        if each.error_code == 0
        else (each.error_code, each.error_message)
        for each in answer.results
    }


async def test_users_are_given_credentials_and_described(world: BrokerWorld) -> None:
    assert describe(world) == {}
    assert alter(world, upsertion("alice"), upsertion("bob", SCRAM_SHA_512, 8192)) == [
        ("alice", 0, None),
        ("bob", 0, None),
    ]
    alter(world, upsertion("alice", SCRAM_SHA_512, 5000))
    assert describe(world) == {"alice": [(1, 4096), (2, 5000)], "bob": [(2, 8192)]}
    assert describe(world, "bob") == {"bob": [(2, 8192)]}
    kept = world.services.catalogue.users.credential_of(SCRAM_SHA_256, "alice")
    assert kept == credential_of(SCRAM_SHA_256, salted(SCRAM_SHA_256, "secret", SALT, 4096), SALT, 4096)


async def test_a_credential_is_taken_back(world: BrokerWorld) -> None:
    alter(world, upsertion("alice"), upsertion("bob"))
    assert alter(world, deletion("alice")) == [("alice", 0, None)]
    assert describe(world) == {"bob": [(1, 4096)]}
    assert world.services.catalogue.users.credential_of(SCRAM_SHA_256, "alice") is None


@pytest.mark.parametrize(
    ("alteration", "code", "message"),
    [
        (upsertion(""), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty"),
        (upsertion("u", iterations=4095), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations"),
        (upsertion("u", iterations=16385), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations"),
        (upsertion("u", number=0), ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"),
        (upsertion("u", number=3), ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"),
        (deletion("", 1), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty"),
        (deletion("u", 9), ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"),
        (deletion("u", 2), ErrorCode.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist"),
    ],
)
async def test_an_error_of_one_user_is_reported_and_the_others_are_changed(
    world: BrokerWorld, alteration: Any, code: ErrorCode, message: str
) -> None:
    assert alter(world, alteration, upsertion("other")) == [("other", 0, None), (alteration.name, code, message)]
    assert describe(world) == {"other": [(1, 4096)]}


async def test_a_user_named_twice_is_not_changed(world: BrokerWorld) -> None:
    alter(world, upsertion("alice"))
    again = upsertion("alice", iterations=5000)
    assert alter(world, deletion("alice"), again) == [("alice", ErrorCode.DUPLICATE_RESOURCE, TWICE)]
    assert alter(world, again, again) == [("alice", ErrorCode.DUPLICATE_RESOURCE, TWICE)]
    assert alter(world, deletion("alice"), deletion("alice")) == [("alice", ErrorCode.DUPLICATE_RESOURCE, TWICE)]
    assert describe(world) == {"alice": [(1, 4096)]}


async def test_describing_names_who_is_not_there_and_who_was_named_twice(world: BrokerWorld) -> None:
    alter(world, upsertion("alice"))
    assert describe(world, "alice", "carol", "bob", "bob") == {
        "alice": [(1, 4096)],
        "carol": (ErrorCode.RESOURCE_NOT_FOUND, "Attempt to describe a user credential that does not exist: carol"),
        "bob": (
            ErrorCode.DUPLICATE_RESOURCE,
            "Cannot describe SCRAM credentials for the same user twice in a single request: bob",
        ),
    }


async def test_more_than_a_batch_takes_is_refused_for_each(world: BrokerWorld) -> None:
    peer = world.connect()
    deletions = [deletion(f"u{number}") for number in range(ALTERATIONS_MAX + 1)]
    peer.ask(AlterUserScramCredentialsRequest(deletions=deletions, upsertions=[]))
    results = (await peer.answer_to_come()).results
    assert {each.error_code for each in results} == {ErrorCode.INVALID_REQUEST}
    assert len(results) == ALTERATIONS_MAX + 1


async def test_no_secret_is_logged(world: BrokerWorld, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "barnabas"):
        alter(world, upsertion("alice"))
    assert "user altered user=alice mechanism=SCRAM-SHA-256" in caplog.text
    kept = world.services.catalogue.users.credential_of(SCRAM_SHA_256, "alice")
    assert kept is not None
    for secret in (SALT, kept.stored_key, kept.server_key):
        assert repr(secret)[2:-1] not in caplog.text


async def test_a_start_gives_a_user_a_password_once(world: BrokerWorld) -> None:
    users, random = world.services.catalogue.users, world.environment.random
    users.give(new_user("SCRAM-SHA-256=[name=alice,password=secret]"), random)
    kept = users.credential_of(SCRAM_SHA_256, "alice")
    assert kept is not None
    assert kept == credential_of(SCRAM_SHA_256, salted(SCRAM_SHA_256, "secret", kept.salt, 4096), kept.salt, 4096)
    end = world.services.catalogue.features_epoch
    users.give(new_user('SCRAM-SHA-256=[name=alice,password="secret"]'), random)
    assert world.services.catalogue.features_epoch == end  # nothing was written
    users.give(new_user("SCRAM-SHA-256=[name=alice,password=other,iterations=8192]"), random)
    changed = users.credential_of(SCRAM_SHA_256, "alice")
    assert changed is not None
    assert changed.iterations == 8192
    by_salt = "SCRAM-SHA-256=[name=bob,salt=c2FsdA==,saltedpassword=c2VjcmV0]"
    users.give(new_user(by_salt), random)
    assert users.credential_of(SCRAM_SHA_256, "bob") == credential_of(SCRAM_SHA_256, b"secret", b"salt", 4096)


@pytest.mark.parametrize("snapshot_bytes", ["20971520", "1"])
async def test_users_outlive_a_stop(snapshot_bytes: str) -> None:
    """From the log, and from a snapshot in its place."""
    settings = {"metadata.log.max.record.bytes.between.snapshots": snapshot_bytes}
    world = BrokerWorld(settings)
    alter(world, upsertion("alice"), upsertion("bob"), upsertion("carol"))
    alter(world, deletion("bob"))
    alter(world, upsertion("alice", iterations=5000))
    before = world.services.catalogue.users.credential_of(SCRAM_SHA_256, "alice")
    await world.close()
    again = BrokerWorld(settings, files=world.files)
    assert describe(again) == {"alice": [(1, 5000)], "carol": [(1, 4096)]}
    assert again.services.catalogue.users.credential_of(SCRAM_SHA_256, "alice") == before


async def test_a_level_before_scram_has_no_users() -> None:
    world = BrokerWorld()
    world.services.catalogue._image.features["metadata.version"] = 10
    sentence = "The current metadata.version does not support SCRAM"
    assert alter(world, upsertion("alice")) == [("alice", ErrorCode.UNSUPPORTED_VERSION, sentence)]
    world.services.catalogue._image.features["metadata.version"] = 25
