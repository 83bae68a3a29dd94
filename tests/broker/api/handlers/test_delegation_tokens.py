"""CreateDelegationToken, RenewDelegationToken, ExpireDelegationToken and DescribeDelegationToken: who may ask, about
whose tokens, and what is answered.
"""

from typing import Any

import pytest

from barnabas.broker.config.authorizer import STANDARD_AUTHORIZER
from barnabas.broker.security.session.operations import Operation, Resource
from barnabas.broker.security.session.principal import Principal
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from barnabas.protocol.messages.create_delegation_token import CreatableRenewers, CreateDelegationTokenRequest
from barnabas.protocol.messages.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from barnabas.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from barnabas.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from tests.support.worlds.broker import BrokerWorld, Peer
from tests.support.worlds.secured_broker import ask

SETTINGS = {"delegation.token.secret.key": "key-of-a-test"}
WITH_ACLS = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:root"}
DAY_MS = 86_400_000
NOT_ALLOWED = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


@pytest.fixture
async def world() -> BrokerWorld:
    return BrokerWorld(SETTINGS)


@pytest.fixture
async def with_acls() -> BrokerWorld:
    return BrokerWorld(SETTINGS | WITH_ACLS)


def peer_of(world: BrokerWorld, user: str, *, by_token: bool = False) -> Peer:
    peer = world.connect()
    peer.connection.session.authenticated(Principal("User", user), "PLAIN", by_token=by_token)
    return peer


def creation(*renewers: str, owner: str = "") -> CreateDelegationTokenRequest:
    return CreateDelegationTokenRequest(
        owner_principal_type="User" if owner else "",
        owner_principal_name=owner,
        renewers=[CreatableRenewers(principal_type="User", principal_name=name) for name in renewers],
        max_lifetime_ms=-1,
    )


def described(peer: Peer, *owners: str) -> list[tuple[str, str]]:
    """(owner, requester) of each token."""
    asked = [DescribeDelegationTokenOwner(principal_type="User", principal_name=name) for name in owners]
    answer = ask(peer, DescribeDelegationTokenRequest(owners=asked or None))
    assert answer.error_code == 0
    return [(each.principal_name, each.token_requester_principal_name) for each in answer.tokens]


def grant(world: BrokerWorld, user: str, operation: Operation, resource: Resource, name: str) -> None:
    creation = AclCreation(
        resource_type=resource,
        resource_name=name,
        resource_pattern_type=3,
        principal=f"User:{user}",
        host="*",
        operation=operation,
        permission_type=3,
    )
    assert ask(peer_of(world, "root"), CreateAclsRequest(creations=[creation])).results[0].error_code == 0


async def test_a_token_is_made_renewed_shown_and_taken_back(world: BrokerWorld) -> None:
    alice, now_ms = peer_of(world, "alice"), world.clock.now_ms()
    made = ask(alice, creation("bob"))
    assert (made.error_code, made.principal_name, made.token_requester_principal_name) == (0, "alice", "alice")
    times = (made.issue_timestamp_ms, made.expiry_timestamp_ms, made.max_timestamp_ms)
    assert times == (now_ms, now_ms + DAY_MS, now_ms + 7 * DAY_MS)
    (shown,) = ask(alice, DescribeDelegationTokenRequest(owners=None)).tokens
    assert (shown.token_id, shown.hmac, shown.max_timestamp) == (made.token_id, made.hmac, made.max_timestamp_ms)
    assert [(each.principal_type, each.principal_name) for each in shown.renewers] == [("User", "bob")]
    bob = peer_of(world, "bob")
    renewed = ask(bob, RenewDelegationTokenRequest(hmac=made.hmac, renew_period_ms=1000))
    assert (renewed.error_code, renewed.expiry_timestamp_ms) == (0, now_ms + 1000)
    gone = ask(bob, ExpireDelegationTokenRequest(hmac=made.hmac, expiry_time_period_ms=-1))
    assert (gone.error_code, gone.expiry_timestamp_ms) == (0, now_ms)
    assert described(alice) == []


REQUESTS: tuple[Any, ...] = (
    creation(),
    RenewDelegationTokenRequest(hmac=b"x", renew_period_ms=-1),
    ExpireDelegationTokenRequest(hmac=b"x", expiry_time_period_ms=-1),
    DescribeDelegationTokenRequest(owners=None),
)


def times_of(answer: Any) -> set[int]:
    return {value for name in dir(answer) if "timestamp_ms" in name and (value := getattr(answer, name)) is not None}


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda each: type(each).__name__)
async def test_anonymous_and_token_principals_may_not_request_tokens(world: BrokerWorld, request_: Any) -> None:
    for peer in (world.connect(), peer_of(world, "alice", by_token=True)):
        answer = ask(peer, request_)
        assert (answer.error_code, times_of(answer) <= {-1}) == (NOT_ALLOWED, True)
    by_certificate = world.connect()
    by_certificate.connection.session.authenticated(Principal("User", "CN=alice"))
    assert ask(by_certificate, request_).error_code != NOT_ALLOWED


async def test_without_a_secret_key_there_are_no_tokens() -> None:
    world = BrokerWorld({"delegation.token.secret.key": " "})
    assert world.services.tokens is None
    assert ask(world.connect(), creation()).error_code == NOT_ALLOWED


async def test_without_an_authorizer_everybody_makes_and_sees_every_token(world: BrokerWorld) -> None:
    assert ask(peer_of(world, "alice"), creation(owner="bob")).error_code == 0
    assert described(peer_of(world, "carol")) == [("bob", "alice")]
    made = ask(peer_of(world, "carol"), DescribeDelegationTokenRequest(owners=None)).tokens[0]
    refused = ask(peer_of(world, "carol"), RenewDelegationTokenRequest(hmac=made.hmac, renew_period_ms=-1))
    assert (refused.error_code, refused.expiry_timestamp_ms) == (ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH, 0)


async def test_a_token_for_another_owner_needs_a_right_on_the_user(with_acls: BrokerWorld) -> None:
    alice = peer_of(with_acls, "alice")
    assert ask(alice, creation()).error_code == 0  # for oneself none
    assert ask(alice, creation(owner="alice")).error_code == 0
    refused = ask(alice, creation(owner="bob"))
    assert refused.error_code == ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    assert (refused.principal_name, refused.token_requester_principal_name) == ("bob", "alice")
    grant(with_acls, "alice", Operation.CREATE_TOKENS, Resource.USER, "User:bob")
    assert ask(alice, creation(owner="bob")).error_code == 0
    assert described(peer_of(with_acls, "bob")) == [("bob", "alice")]


async def test_one_sees_ones_own_tokens_and_those_one_has_a_right_on(with_acls: BrokerWorld) -> None:
    ask(peer_of(with_acls, "alice"), creation("carol"))
    bobs = ask(peer_of(with_acls, "bob"), creation())
    carol = peer_of(with_acls, "carol")
    assert described(carol) == [("alice", "alice")]
    assert described(peer_of(with_acls, "root")) == [("alice", "alice"), ("bob", "bob")]
    grant(with_acls, "carol", Operation.DESCRIBE, Resource.DELEGATION_TOKEN, bobs.token_id)
    assert described(carol) == [("alice", "alice"), ("bob", "bob")]
    dave = peer_of(with_acls, "dave")
    assert described(dave) == []
    grant(with_acls, "dave", Operation.DESCRIBE_TOKENS, Resource.USER, "User:bob")
    assert described(dave) == [("bob", "bob")]


async def test_tokens_outlive_a_stop_and_expire_by_the_clock_of_the_broker() -> None:
    world = BrokerWorld(SETTINGS)
    made = ask(peer_of(world, "alice"), creation())
    await world.close()
    again = BrokerWorld(SETTINGS, files=world.files)
    (shown,) = ask(peer_of(again, "alice"), DescribeDelegationTokenRequest(owners=None)).tokens
    assert (shown.token_id, shown.hmac) == (made.token_id, made.hmac)
    await again.broker.start()
    again.clock.advance(DAY_MS)
    assert described(peer_of(again, "alice")) == [("alice", "alice")]
    again.clock.advance(3_600_000)
    assert described(peer_of(again, "alice")) == []
