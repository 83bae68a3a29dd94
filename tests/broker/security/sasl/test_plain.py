"""SASL/PLAIN: who is let in, and what Kafka says to the others."""

import hmac

import pytest

from barnabas.broker.security.sasl.mechanism import SaslAuthenticationFailed
from barnabas.broker.security.sasl.plain import PlainExchange, users_in

USERS = users_in({"username": "admin", "password": "admin-secret", "user_alice": "secret", "user_bob": "ключ"})


@pytest.mark.parametrize("token", ["\0alice\0secret", "alice\0alice\0secret", "\0bob\0ключ"])
def test_a_client_with_the_password_is_authenticated(token: str) -> None:
    exchange = PlainExchange(USERS.get)
    assert exchange.respond(token.encode()) == b""
    assert exchange.user in ("alice", "bob")


@pytest.mark.parametrize(
    ("token", "message"),
    [
        (b"\0alice\0wrong", "Authentication failed: Invalid username or password"),
        (b"\0carol\0secret", "Authentication failed: Invalid username or password"),
        (b"\0admin\0admin-secret", "Authentication failed: Invalid username or password"),
        (b"\0\0secret", "Authentication failed: username not specified"),
        (b"\0alice\0", "Authentication failed: password not specified"),
        (b"bob\0alice\0secret", "authorization id that is different from username"),
        (b"alice", "expected 3 tokens, got 1"),
        (b"\0a\0b\0c", "expected 3 tokens, got 4"),
        (b"\0\xff\0x", "not UTF-8"),
    ],
)
def test_others_are_refused(token: bytes, message: str) -> None:
    exchange = PlainExchange(USERS.get)
    with pytest.raises(SaslAuthenticationFailed, match=message):
        exchange.respond(token)
    assert exchange.user is None


@pytest.mark.parametrize("user", ["alice", "carol"])
def test_a_password_is_compared_also_for_a_user_there_is_not(user: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[bytes] = []

    def comparing(given: bytes, expected: bytes) -> bool:
        compared.append(given)
        return given == expected

    monkeypatch.setattr(hmac, "compare_digest", comparing)
    with pytest.raises(SaslAuthenticationFailed):
        PlainExchange(USERS.get).respond(f"\0{user}\0wrong".encode())
    assert compared == [b"wrong"]
