"""Delegation tokens are kept in Kafka's records, by Kafka's rules: through kills and snapshots, and in bounds."""

import hashlib
import hmac
import logging
from collections.abc import Callable
from contextlib import suppress

import pytest

from barnabas.broker.metadata.delegation_tokens import tokens as tokens_module
from barnabas.broker.metadata.delegation_tokens.expiring import Expiring
from barnabas.broker.metadata.delegation_tokens.token import DelegationToken, SecretKey
from barnabas.broker.metadata.delegation_tokens.tokens import RENEWERS_MAX, Lifetimes, Tokens
from barnabas.broker.security.session.principal import Principal
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.log_records.catalogue import DelegationTokenRecord, RemoveDelegationTokenRecord
from barnabas.protocol.security.scram import MECHANISMS, SCRAM_SHA_256, credential_of, salted
from tests.support.virtual_clock import VirtualClock
from tests.support.worlds.catalogue import CatalogueWorld

ALICE, BOB, CAROL = (Principal("User", name) for name in ("alice", "bob", "carol"))
KEY = "key-of-a-test"
DAY_MS = 86_400_000
LIFETIMES = Lifetimes(7 * DAY_MS, DAY_MS)
AT_EVERY_STOP = {"metadata.log.max.record.bytes.between.snapshots": "1"}


def tokens_of(world: CatalogueWorld) -> Tokens:
    return Tokens(world.catalogue, SecretKey(KEY), LIFETIMES, lambda: world.now_ms, world._random.randbytes)


def refused(call: Callable[[], object]) -> ErrorCode:
    with pytest.raises(KafkaError) as refusal:
        call()
    return refusal.value.code


def of_alice(tokens: Tokens, lifetime_ms: int = -1) -> tuple[DelegationToken, bytes]:
    token = tokens.create(ALICE, CAROL, [BOB], lifetime_ms)
    return token, tokens.hmac_of(token)


def test_a_token_is_kafkas_record_and_its_password_is_computed() -> None:
    world = CatalogueWorld()
    tokens = tokens_of(world)
    token, password = of_alice(tokens)
    assert (token.issued_ms, token.expires_ms, token.max_ms) == (
        world.now_ms,
        world.now_ms + DAY_MS,
        world.now_ms + 7 * DAY_MS,
    )
    assert password == hmac.digest(KEY.encode(), token.token_id.encode(), hashlib.sha512)
    (written,) = [each for *_, each in world.records() if isinstance(each, DelegationTokenRecord)]
    assert written == DelegationTokenRecord(
        owner="User:alice",
        requester="User:carol",
        renewers=["User:bob"],
        issue_timestamp=token.issued_ms,
        max_timestamp=token.max_ms,
        expiration_timestamp=token.expires_ms,
        token_id=token.token_id,
    )
    assert password not in world.log()
    world.kill()
    assert tokens_of(world).all == [token]


def test_a_snapshot_has_the_tokens_as_they_were_last_and_none_that_was_removed() -> None:
    world = CatalogueWorld(settings=AT_EVERY_STOP)
    tokens = tokens_of(world)
    (kept, password), (_, other) = of_alice(tokens), of_alice(tokens)
    world.now_ms += 1000
    expires_ms = tokens.renew(ALICE, password, -1)
    tokens.expire(ALICE, other, -1)
    for _ in range(2):
        world.stop()
        again = tokens_of(world)
        assert again.all == [kept._replace(expires_ms=expires_ms)]
        assert refused(lambda: again.renew(ALICE, other, -1)) == ErrorCode.DELEGATION_TOKEN_NOT_FOUND  # noqa: B023  # called at once
        assert again.renew(BOB, password, -1) == expires_ms


def test_a_lifetime_that_is_requested_is_at_most_the_configured_one() -> None:
    world = CatalogueWorld()
    tokens = tokens_of(world)
    for asked_ms, max_ms in ((5, 5), (0, 7 * DAY_MS), (-1, 7 * DAY_MS), ((1 << 63) - 1, 7 * DAY_MS)):
        token, _ = of_alice(tokens, asked_ms)
        assert (token.max_ms, token.expires_ms) == (world.now_ms + max_ms, world.now_ms + min(max_ms, DAY_MS))
    endless = Tokens(
        world.catalogue,
        SecretKey(KEY),
        Lifetimes((1 << 63) - 1, (1 << 63) - 1),
        lambda: world.now_ms,
        world._random.randbytes,
    )
    assert of_alice(endless)[0].expires_ms == (1 << 63) - 1


def test_renewing_ends_at_the_longest_life() -> None:
    world = CatalogueWorld()
    tokens = tokens_of(world)
    token, password = of_alice(tokens, 2 * DAY_MS)
    assert tokens.renew(BOB, password, 1000) == world.now_ms + 1000
    assert tokens.renew(ALICE, password, -1) == world.now_ms + DAY_MS
    world.now_ms += DAY_MS
    assert tokens.renew(ALICE, password, DAY_MS) == token.max_ms
    world.now_ms = token.max_ms
    assert tokens.renew(ALICE, password, -1) == token.max_ms
    world.now_ms += 1
    assert refused(lambda: tokens.renew(ALICE, password, -1)) == ErrorCode.DELEGATION_TOKEN_EXPIRED


def test_only_owners_and_renewers_change_a_token() -> None:
    world = CatalogueWorld()
    tokens = tokens_of(world)
    _, password = of_alice(tokens)
    for change in (tokens.renew, tokens.expire):
        assert refused(lambda: change(CAROL, password, 1)) == ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH  # noqa: B023  # called at once
        assert refused(lambda: change(ALICE, b"", 1)) == ErrorCode.DELEGATION_TOKEN_NOT_FOUND  # noqa: B023  # called at once
        assert refused(lambda: change(ALICE, password[:-1], 1)) == ErrorCode.DELEGATION_TOKEN_NOT_FOUND  # noqa: B023  # called at once


def test_expiring_changes_the_time_and_a_negative_one_removes_the_token() -> None:
    world = CatalogueWorld()
    tokens = tokens_of(world)
    token, password = of_alice(tokens)
    assert tokens.expire(BOB, password, 5) == world.now_ms + 5
    assert tokens.expire(ALICE, password, 30 * DAY_MS) == token.max_ms
    assert tokens.expire(ALICE, password, 0) == world.now_ms
    world.now_ms += 1
    assert refused(lambda: tokens.expire(ALICE, password, 5)) == ErrorCode.DELEGATION_TOKEN_EXPIRED
    assert tokens.expire(ALICE, password, -1) == world.now_ms
    assert (len(tokens), refused(lambda: tokens.expire(ALICE, password, -1))) == (
        0,
        ErrorCode.DELEGATION_TOKEN_NOT_FOUND,
    )
    gone = [each.token_id for *_, each in world.records() if isinstance(each, RemoveDelegationTokenRecord)]
    assert gone == [token.token_id]


def test_expired_tokens_are_removed_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens_module, "REMOVED_AT_ONCE_MAX", 2)
    world, clock = CatalogueWorld(), VirtualClock()
    tokens = Tokens(world.catalogue, SecretKey(KEY), LIFETIMES, clock.now_ms, world._random.randbytes)
    for _ in range(3):
        of_alice(tokens, 500)
    kept, _ = of_alice(tokens)
    expiring = Expiring(tokens, clock, 1000)
    expiring.start()
    clock.advance(999)
    assert len(tokens) == 4
    clock.advance(1)
    assert len(tokens) == 2
    clock.advance(1)
    assert tokens.all == [kept]
    expiring.stop()
    clock.advance(8 * DAY_MS)
    assert tokens.all == [kept]


def test_a_token_login_proves_knowledge_of_its_password() -> None:
    world = CatalogueWorld()
    tokens = tokens_of(world)
    token, password = of_alice(tokens)
    for mechanism in MECHANISMS:
        found = tokens.login(mechanism, token.token_id)
        assert found is not None
        owner, expires_ms, credential = found
        assert (owner, expires_ms) == ("alice", token.expires_ms)
        text = tokens._key.password_of(token.token_id)
        assert credential == credential_of(
            mechanism, salted(mechanism, text, credential.salt, 4096), credential.salt, 4096
        )
        assert tokens.login(mechanism, token.token_id) == found  # salted once
    assert tokens.login(SCRAM_SHA_256, "missing") is None
    tokens.expire(ALICE, password, -1)
    assert tokens.login(SCRAM_SHA_256, token.token_id) is None
    assert not tokens._credentials._of_tokens


def test_there_are_no_more_tokens_and_renewers_than_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    world = CatalogueWorld()
    tokens = tokens_of(world)
    many = [Principal("User", str(number)) for number in range(RENEWERS_MAX + 1)]
    assert refused(lambda: tokens.create(ALICE, ALICE, many, -1)) == ErrorCode.POLICY_VIOLATION
    assert len(tokens.create(ALICE, ALICE, many[1:], -1).renewers) == RENEWERS_MAX
    long = Principal("User", "x" * (8 << 10))
    assert refused(lambda: tokens.create(long, ALICE, [], -1)) == ErrorCode.POLICY_VIOLATION
    monkeypatch.setattr(tokens_module, "TOKENS_MAX", 1)
    assert refused(lambda: tokens.create(ALICE, ALICE, [], -1)) == ErrorCode.POLICY_VIOLATION
    assert len(tokens) == 1


def test_an_owner_has_no_more_tokens_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens_module, "TOKENS_MAX", 12)
    world = CatalogueWorld()

    def filled(tokens: Tokens, owner: Principal) -> int:
        """How many more tokens the owner gets."""
        before = len(tokens)
        with suppress(KafkaError):  # the owner has all that are allowed
            for _ in range(13):
                tokens.create(owner, owner, [], -1)
        assert refused(lambda: tokens.create(owner, owner, [], -1)) == ErrorCode.POLICY_VIOLATION
        return len(tokens) - before

    tokens = tokens_of(world)
    assert [filled(tokens, owner) for owner in (ALICE, BOB, CAROL)] == [6, 3, 2]
    world.kill()
    tokens = tokens_of(world)
    assert [filled(tokens, owner) for owner in (ALICE, BOB, CAROL)] == [0, 0, 0]
    for each in [token for token in tokens.all if token.owner == ALICE]:
        tokens.expire(ALICE, tokens.hmac_of(each), -1)
    assert filled(tokens, ALICE) == 4


def test_a_level_before_tokens_has_none() -> None:
    world = CatalogueWorld()
    tokens = tokens_of(world)
    _, password = of_alice(tokens)
    world.catalogue._image.features["metadata.version"] = 13
    for call in (
        lambda: tokens.create(ALICE, ALICE, [], -1),
        lambda: tokens.renew(ALICE, password, -1),
        lambda: tokens.expire(ALICE, password, -1),
    ):
        assert refused(call) == ErrorCode.UNSUPPORTED_VERSION


def test_no_secret_is_logged_or_shown(caplog: pytest.LogCaptureFixture) -> None:
    world = CatalogueWorld()
    tokens = tokens_of(world)
    with caplog.at_level(logging.DEBUG, "barnabas"):
        token, password = of_alice(tokens)
        tokens.renew(ALICE, password, -1)
        tokens.expire(ALICE, password, 5)
        tokens.expire(ALICE, password, -1)
    shown = f"{caplog.text} {token} {tokens!r} {tokens._key!r} {tokens._credentials!r}"
    assert f"delegation token created token={token.token_id} owner=User:alice" in shown
    for secret in (KEY, tokens._key.password_of(token.token_id), password.hex(), repr(password)[2:-1]):
        assert secret not in shown
