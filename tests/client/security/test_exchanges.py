"""The client's side of the mechanisms: RFC 7677's example, and what a server must not say."""

from base64 import b64encode

import pytest

from barnabas.broker.security.sasl.scram import ScramExchange as Server
from barnabas.client.security.exchanges import (
    ITERATIONS_MAX,
    BearerSaslClient,
    PlainSaslClient,
    ScramSaslClient,
    ServerRefused,
)
from barnabas.protocol.security.scram import MECHANISMS, SCRAM_SHA_256, ScramMechanism, credential_of, salted

NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_NONCE = f"{NONCE}%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
FIRST = f"r={SERVER_NONCE},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode()


def scram(password: str = "pencil") -> ScramSaslClient:
    return ScramSaslClient(SCRAM_SHA_256, "user", password, NONCE)


def test_the_example_of_rfc_7677() -> None:
    exchange = scram()
    assert exchange.begin() == f"n,,n=user,r={NONCE}".encode()
    final = exchange.respond(FIRST)
    assert final == f"c=biws,r={SERVER_NONCE},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=".encode()
    assert exchange.respond(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=") is None


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.name)
def test_our_server_lets_us_in(mechanism: ScramMechanism) -> None:
    credential = credential_of(mechanism, salted(mechanism, "pencil", b"salt", 4096), b"salt", 4096)
    server = Server(mechanism, {"a,b=c": credential}.get, lambda size: bytes(size))
    client = ScramSaslClient(mechanism, "a,b=c", "pencil", NONCE)
    final = client.respond(server.respond(client.begin()))
    assert final is not None
    assert client.respond(server.respond(final)) is None
    assert server.user == "a,b=c"


@pytest.mark.parametrize(
    ("first", "sentence"),
    [
        (f"r={NONCE},s=c2FsdA==,i=4096", "does not continue the client's"),
        ("r=another,s=c2FsdA==,i=4096", "does not continue the client's"),
        (f"r={SERVER_NONCE},s=c2FsdA==,i=4095", "requires 4095 iterations"),
        (f"r={SERVER_NONCE},s=c2FsdA==,i={ITERATIONS_MAX + 1}", f"requires {ITERATIONS_MAX + 1} iterations"),
        (f"r={SERVER_NONCE},s=c2FsdA==,i={10**10}", "is not a SCRAM message"),
        (f"r={SERVER_NONCE},s=c2FsdA,i=4096", "is not a SCRAM message"),
        (f"r={SERVER_NONCE}", "is not a SCRAM message"),
        ("m=new,r=x,s=c2FsdA==,i=4096", "is not a SCRAM message"),
        ("e=unknown-user", "the server says 'unknown-user'"),
    ],
)
def test_a_server_is_not_believed(first: str, sentence: str) -> None:
    exchange = scram()
    exchange.begin()
    with pytest.raises(ServerRefused, match=sentence):
        exchange.respond(first.encode())


@pytest.mark.parametrize("final", [b"v=" + b64encode(b"x" * 32), b"v=", b"", b"\xff", b"v=6rriTRBi23W"])
def test_a_server_without_the_password_is_rejected(final: bytes) -> None:
    exchange = scram()
    exchange.begin()
    exchange.respond(FIRST)
    with pytest.raises(ServerRefused, match=r"signature is wrong|not a SCRAM message"):
        exchange.respond(final)


def test_a_delegation_token_states_that_it_is_one() -> None:
    assert ScramSaslClient(SCRAM_SHA_256, "id", "hmac", NONCE, is_token=True).begin().endswith(b",tokenauth=true")


def test_plain_is_one_token() -> None:
    exchange = PlainSaslClient("alice", "päss")
    assert exchange.begin() == "\0alice\0päss".encode()
    assert exchange.respond(b"") is None


def test_a_bearer_token_goes_with_its_extensions() -> None:
    exchange = BearerSaslClient("abc", [("team", "blue")])
    assert exchange.begin() == b"n,,\x01auth=Bearer abc\x01team=blue\x01\x01"
    assert exchange.respond(b"") is None


@pytest.mark.parametrize("said", [b'{"status":"invalid_token"}', b"no JSON", b"[]"])
def test_a_refused_token_is_acknowledged_with_one_byte(said: bytes) -> None:
    exchange = BearerSaslClient("abc")
    exchange.begin()
    assert exchange.respond(said) == b"\x01"
    with pytest.raises(ServerRefused, match="the token is refused"):
        exchange.respond(said)
