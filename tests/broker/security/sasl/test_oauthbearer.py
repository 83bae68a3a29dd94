"""OAUTHBEARER: its message, tokens that nobody signed, and what Kafka says to what is no good."""

import json
from base64 import urlsafe_b64encode
from functools import partial

import pytest

from barnabas.broker.security.sasl.mechanism import SaslAuthenticationFailed
from barnabas.broker.security.sasl.oauthbearer import MESSAGE_BYTES_MAX, InvalidToken, OAuthBearerExchange
from barnabas.broker.security.sasl.unsecured_tokens import judge, rules_in

NOW_S = 1_700_000_000
GOOD = {"sub": "alice", "iat": NOW_S, "exp": NOW_S + 60}
REFUSED = "due to invalid credentials with SASL mechanism OAUTHBEARER"


def part(value: object) -> str:
    return urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def token(claims: object, header: object = None, signature: str = "") -> str:
    return f"{part({'alg': 'none'} if header is None else header)}.{part(claims)}.{signature}"


def exchange(**options: str) -> OAuthBearerExchange:
    return OAuthBearerExchange(partial(judge, rules_in(options), lambda: NOW_S * 1000))


def message(bearer: str, start: str = "n,,", more: str = "") -> bytes:
    return f"{start}\x01auth=Bearer {bearer}\x01{more}\x01".encode()


def test_a_good_token_says_who_it_is_and_until_when() -> None:
    for user in ("alice", "\u00e4" * 512):
        asked = exchange()
        assert asked.respond(message(token({**GOOD, "sub": user}))) == b""
        assert (asked.user, asked.expires_ms) == (user, (NOW_S + 60) * 1000)


def test_another_authorization_id_is_refused() -> None:
    with pytest.raises(SaslAuthenticationFailed, match="different from the token's principal name"):
        exchange().respond(message(token(GOOD), "n,a=bob,"))


@pytest.mark.parametrize(
    "bad",
    [
        token({**GOOD, "exp": NOW_S}),
        token({**GOOD, "iat": NOW_S + 1}),
        token({**GOOD, "iat": NOW_S - 50, "exp": NOW_S - 60}),
        token({"sub": "alice"}),
        token({"exp": NOW_S + 60}),
        token(GOOD, signature="abc"),
        token({**GOOD, "sub": "half a character: \ud83d"}),
        token({**GOOD, "sub": "\u00e4" * 512 + "a"}),
        token({**GOOD, "sub": "  "}),
        token({**GOOD, "exp": "soon"}),
        token({**GOOD, "exp": True}),
        token({**GOOD, "exp": 1e300}),
        token(GOOD, {}),
        token([1]),
        "a.b",
        "a.b.c.d",
        "....",
        f"{part({'alg': 'none'})}.{'W' * 3}.",
        f"{urlsafe_b64encode(b'[' * 39_999).decode()}.{part(GOOD)}.",
    ],
)
def test_a_token_that_is_no_good_is_reported_and_then_refused(bad: str) -> None:
    asked = exchange()
    assert asked.respond(message(bad)) == b'{"status":"invalid_token"}'
    assert asked.user is None
    with pytest.raises(SaslAuthenticationFailed, match="invalid_token"):
        asked.respond(b"\x01")
    assert asked.user is None


def test_options_name_claims_scope_and_skew() -> None:
    options = {
        "unsecuredValidatorPrincipalClaimName": "user",
        "unsecuredValidatorScopeClaimName": "may",
        "unsecuredValidatorRequiredScope": "read write",
        "unsecuredValidatorAllowableClockSkewMs": "5000",
    }
    asked = exchange(**options)
    claims = {"user": "bob", "exp": NOW_S - 4, "may": ["read", "write"]}
    assert asked.respond(message(token(claims))) == b""
    assert asked.user == "bob"
    told = exchange(**options).respond(message(token({**claims, "may": "read"})))
    assert told == b'{"status":"insufficient_scope", "scope":"[read, write]"}'
    with pytest.raises(ValueError, match="AllowableClockSkewMs is not a number"):
        rules_in({"unsecuredValidatorAllowableClockSkewMs": "-1"})


@pytest.mark.parametrize(
    "said",
    [
        b"n,,\x01\x01",
        b"y,,\x01auth=Bearer abc\x01\x01",
        b"n,,\x01auth=Bearer\x01\x01",
        b"n,,\x01auth=Bearer a b\x01\x01",
        b"n,,\x01host=x\x01\x01",
        b"n,,\x01auth=Bearer abc\x01",
        b"\xff\xff",
        message("a" * MESSAGE_BYTES_MAX),
        message(token(GOOD), more="a=b\x01" * (MESSAGE_BYTES_MAX // 4)),
    ],
    ids=range(9),
)
def test_an_invalid_message_of_the_mechanism_is_refused(said: bytes) -> None:
    with pytest.raises(SaslAuthenticationFailed, match=REFUSED):
        exchange().respond(said)


def test_why_a_token_is_no_good_is_for_the_log_alone() -> None:
    expired = token({**GOOD, "iat": 0, "exp": 1})
    with pytest.raises(InvalidToken, match="it has expired"):
        judge(rules_in({}), lambda: NOW_S * 1000, expired)
    asked = exchange()
    asked.respond(message(expired))
    with pytest.raises(SaslAuthenticationFailed) as refused:
        asked.respond(b"\x01")
    assert (str(refused.value), refused.value.reason) == (
        '{"status":"invalid_token"}',
        "the token is refused: it has expired",
    )
