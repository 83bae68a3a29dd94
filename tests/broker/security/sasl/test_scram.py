"""SCRAM, with the example of RFC 7677 and with what a client must not say."""

from base64 import b64decode

import pytest

from barnabas.broker.security.sasl.mechanism import SaslAuthenticationFailed
from barnabas.broker.security.sasl.scram import ScramExchange, TokenLogin
from barnabas.protocol.security.scram import (
    MECHANISMS,
    SCRAM_SHA_256,
    ScramCredential,
    ScramMechanism,
    credential_of,
    salted,
)
from tests.support.scram import client_final

CLIENT_NONCE = "rOprNGfwEbeRWgbNEkqO"
SALT = b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
FIRST = f"n,,n=user,r={CLIENT_NONCE}".encode()
BY_TOKEN = [b",tokenauth=true", b",x=1,tokenauth=TRUE", b",tokenauth=false,tokenauth=true"]
REFUSED = "due to invalid credentials with SASL mechanism SCRAM-SHA-256"


def credential(mechanism: ScramMechanism, password: str = "pencil", iterations: int = 4096) -> ScramCredential:
    return credential_of(mechanism, salted(mechanism, password, SALT, iterations), SALT, iterations)


def exchange(mechanism: ScramMechanism = SCRAM_SHA_256, /, **users: ScramCredential) -> ScramExchange:
    return ScramExchange(mechanism, (users or {"user": credential(mechanism)}).get, lambda size: bytes(size))


def final(mechanism: ScramMechanism, answer: bytes, password: str, first: bytes = FIRST) -> bytes:
    """The client's second message."""
    return client_final(mechanism.hash_name, password, first.removeprefix(b"n,,"), answer)


def test_the_example_of_rfc_7677_is_accepted() -> None:
    server_nonce = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    world = exchange()
    world._random = lambda size: _Chance(server_nonce)  # type: ignore[assignment,return-value]  # because it is text there

    assert world.respond(FIRST) == f"r={CLIENT_NONCE}{server_nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode()
    proof = "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    answer = world.respond(f"c=biws,r={CLIENT_NONCE}{server_nonce},p={proof}".encode())
    assert answer == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    assert world.user == "user"


class _Chance:
    def __init__(self, text: str) -> None:
        self._text = text

    def hex(self) -> str:
        return self._text


def by_token(mechanism: ScramMechanism) -> ScramExchange:
    """Where there is a token of alice's with the id `user`, and a user of that name with another password."""
    token = TokenLogin("alice", 5000, credential(mechanism, "hmac"))
    users = {"user": credential(mechanism)}
    return ScramExchange(mechanism, users.get, lambda size: bytes(size), {"user": token}.get)


@pytest.mark.parametrize("extensions", BY_TOKEN)
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.name)
def test_a_delegation_token_speaks_for_its_owner_until_it_expires(mechanism: ScramMechanism, extensions: bytes) -> None:
    world = by_token(mechanism)
    first = FIRST + extensions
    world.respond(final(mechanism, world.respond(first), "hmac", first))
    assert (world.user, world.expires_ms, world.is_by_token) == ("alice", 5000, True)


@pytest.mark.parametrize("extensions", [b"", b",tokenauth=false", b",TOKENAUTH=true", b",tokenauth=true,tokenauth=no"])
def test_a_user_is_not_taken_for_a_token(extensions: bytes) -> None:
    world = by_token(SCRAM_SHA_256)
    first = FIRST + extensions
    world.respond(final(SCRAM_SHA_256, world.respond(first), "pencil", first))
    assert (world.user, world.expires_ms, world.is_by_token) == ("user", None, False)


def test_a_token_is_not_taken_with_its_namesakes_password() -> None:
    world = by_token(SCRAM_SHA_256)
    first = FIRST + b",tokenauth=true"
    answer = world.respond(first)
    with pytest.raises(SaslAuthenticationFailed, match=REFUSED):
        world.respond(final(SCRAM_SHA_256, answer, "pencil", first))
    assert world.user is None


def test_an_authorization_id_other_than_the_tokens_principal_is_refused() -> None:
    with pytest.raises(SaslAuthenticationFailed, match="authorization id that is different from username"):
        by_token(SCRAM_SHA_256).respond(b"n,a=alice,n=user,r=abc,tokenauth=true")


@pytest.mark.parametrize(
    "message",
    [
        b"\xff",
        b"n,,n=us=er,r=abc",
        b"n,,m=ext,n=user,r=abc",
        b"n,,n=user,r=" + b"r" * (16 << 10),
        *(FIRST + more for more in (b",", b",no-value", b",1=x", b",x=")),
        *(FIRST + more for more in BY_TOKEN),
    ],
)
def test_a_first_message_that_is_none_or_names_a_token_there_is_not_is_refused(message: bytes) -> None:
    with pytest.raises(SaslAuthenticationFailed, match=REFUSED):
        exchange().respond(message)


@pytest.mark.parametrize(
    "message", [b"", b"c=biws,r=other,p=AAAA", b"c=biws,r={nonce},p=A", b"c=biws,r={nonce},p=AAAA"]
)
def test_a_second_message_that_is_none_is_refused(message: bytes) -> None:
    world = exchange()
    nonce = world.respond(FIRST).split(b",")[0][2:]
    with pytest.raises(SaslAuthenticationFailed, match=REFUSED):
        world.respond(message.replace(b"{nonce}", nonce))


def test_a_credential_of_too_few_iterations_is_not_used() -> None:
    with pytest.raises(SaslAuthenticationFailed, match=REFUSED):
        exchange(user=credential(SCRAM_SHA_256, iterations=4095)).respond(FIRST)


def test_names_may_have_commas_and_equals_signs() -> None:
    world = exchange(SCRAM_SHA_256, **{"a,b=c": credential(SCRAM_SHA_256)})
    first = b"n,,n=a=2Cb=3Dc,r=abc"
    answer = world.respond(first)
    world.respond(final(SCRAM_SHA_256, answer, "pencil", first))
    assert world.user == "a,b=c"
