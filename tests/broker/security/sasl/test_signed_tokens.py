"""Signed tokens: which are taken, by the rules of Kafka's BrokerJwtValidator, and why others are not."""

import hmac
import json
from base64 import urlsafe_b64encode
from functools import partial
from typing import Any

import pytest
from joserfc.jwk import ECKey, OctKey, OKPKey, RSAKey

from barnabas.broker.security.sasl.jwk_set import parse_set
from barnabas.broker.security.sasl.oauthbearer import Bearer, InvalidToken, OAuthBearerExchange
from barnabas.broker.security.sasl.signed_tokens import SignedRules, judge
from tests.support.security.signing import AUDIENCE, ISSUER, Signer, published, signer

NOW_S = 1_700_000_000
RULES = SignedRules((AUDIENCE, "other"), ISSUER, 30, "sub", "scope")
CLAIMS: dict[str, Any] = {"sub": "alice", "iat": NOW_S, "exp": NOW_S + 60, "iss": ISSUER, "aud": AUDIENCE}


def judged(token: str, *, rules: SignedRules = RULES, by: Signer | None = None) -> Bearer:
    return judge(rules, parse_set(published(by or signer())).find, lambda: NOW_S * 1000, token)


def signed(by: Signer | None = None, **claims: Any) -> str:
    told = {name: value for name, value in {**CLAIMS, **claims}.items() if value is not None}
    return (by or signer()).sign(told)


def part(value: object) -> str:
    return urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def test_a_good_token_says_who_it_is_and_until_when() -> None:
    assert judged(signed(sub=" alice ")) == ("alice", (NOW_S + 60) * 1000)


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": ["someone", "other"]},
        {"iat": NOW_S - 60, "exp": NOW_S - 29},  # the clocks may differ by 30 s
        {"nbf": NOW_S + 30},
        {"iat": NOW_S + 1, "exp": NOW_S + 1},  # Kafka does not mind
        {"iat": NOW_S + 0.9, "exp": NOW_S + 60.9},
        {"scope": "read"},
        {"scope": ["read", "write"]},
        {"scope": 5},
    ],
)
def test_values_accepted_by_kafka_are_accepted(claims: dict[str, Any]) -> None:
    assert judged(signed(**claims)).user == "alice"


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"aud": "someone"}, "another audience"),
        ({"aud": None}, "another audience"),
        ({"aud": 5}, "the claim aud is neither a string nor"),
        ({"iss": "https://other.test"}, "another issuer"),
        ({"iss": None}, "another issuer"),
        ({"iat": NOW_S - 60, "exp": NOW_S - 30}, "has expired"),
        ({"exp": None}, "no expiration time"),
        ({"exp": "soon"}, "the claim exp is not a time"),
        ({"exp": True}, "the claim exp is not a time"),
        ({"exp": float("inf")}, "the claim exp is not a time"),
        ({"iat": None}, "has no issue time"),
        ({"iat": -1}, "has no issue time"),
        ({"iat": NOW_S + 61}, "expired before it was issued"),
        ({"nbf": NOW_S + 31}, "is not valid yet"),
        ({"nbf": NOW_S + 61}, "expires before it becomes valid"),
        ({"sub": None}, "the claim sub does not name a user"),
        ({"sub": " "}, "the claim sub does not name a user"),
        ({"sub": 5}, "the claim sub is not a string"),
        ({"jti": 5}, "the claim jti is not a string"),
        ({"scope": ["a", "a"]}, "a scope twice"),
        ({"scope": ["a", " "]}, "has no name"),
        ({"scope": " "}, "has no name"),
    ],
)
def test_claims_of_a_token_have_to_be_valid(claims: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidToken, match=reason):
        judged(signed(**claims))


def test_other_claims_may_say_who_it_is_and_anybody_may_be_meant() -> None:
    rules = SignedRules((), None, 0, "email", "scp")
    assert judged(signed(email="a@b", aud=None, iss=None, sub=None, scope=["a", "a"]), rules=rules).user == "a@b"
    with pytest.raises(InvalidToken, match="a scope twice"):
        judged(signed(email="a@b", scp=["a", "a"]), rules=rules)
    with pytest.raises(InvalidToken, match="has expired"):
        judged(signed(email="a@b", iat=NOW_S - 9, exp=NOW_S), rules=rules)


@pytest.mark.parametrize(
    "key",
    [
        *(("ES256", ECKey.generate_key("P-256")), ("ES384", ECKey.generate_key("P-384"))),
        *(("RS256", RSAKey.generate_key(2048)), ("PS512", RSAKey.generate_key(2048))),
        *(("HS256", OctKey.generate_key(256)), ("EdDSA", OKPKey.generate_key("Ed25519"))),
    ],
    ids=lambda key: key[0],
)
def test_algorithms_are_those_of_jose4j(key: tuple[str, Any]) -> None:
    algorithm, own = key
    by = Signer(None, own)
    keys = parse_set(json.dumps({"keys": [own.as_dict(private=algorithm.startswith("HS"))]}).encode())
    judge(RULES, keys.find, lambda: NOW_S * 1000, by.sign(CLAIMS, {"alg": algorithm}))


def test_unsigned_tokens_are_refused() -> None:
    algorithms: tuple[object, ...] = ("none", "None", "", None, 5, ["ES256"], {})
    for algorithm in algorithms:
        with pytest.raises(InvalidToken):
            judged(f"{part({'alg': algorithm, 'kid': 'one'})}.{part(CLAIMS)}.{part('signature')}")
    with pytest.raises(InvalidToken, match="a part of it is empty"):
        judged(f"{part({'alg': 'none'})}.{part(CLAIMS)}.")


def test_another_signature_is_refused() -> None:
    header, claims, signature = signed().split(".")
    other = signed(by=Signer("one"), sub="mallory").split(".")
    for token in (f"{header}.{other[1]}.{signature}", ".".join(other), f"{header}.{claims}.{signature[:-4]}"):
        with pytest.raises(InvalidToken, match="its signature does not match the key"):
            judged(token)


def test_a_public_key_is_no_secret_to_sign_with() -> None:
    """Who takes a public key of RSA for the password of HS256 lets everybody in."""
    own = RSAKey.generate_key(2048, {"kid": "one"})
    unsigned = f"{part({'alg': 'HS256', 'kid': 'one'})}.{part(CLAIMS)}"
    signature = hmac.digest(own.as_pem(private=False), unsigned.encode(), "sha256")
    forged = f"{unsigned}.{urlsafe_b64encode(signature).decode().rstrip('=')}"
    with pytest.raises(InvalidToken, match="the key set has no key for it"):
        judge(RULES, parse_set(published(Signer("one", own))).find, lambda: NOW_S * 1000, forged)


def test_the_key_has_to_be_there() -> None:
    with pytest.raises(InvalidToken, match="the key set has no key for it"):
        judged(Signer("two", signer().key).sign(CLAIMS))
    assert judged(Signer(None, signer().key).sign(CLAIMS)).user == "alice"


@pytest.mark.parametrize(
    "token",
    [
        "",
        "a.b",
        "a.b.c.d.e",
        "!.!.!",
        f"{part([])}.{part(CLAIMS)}.c",
        f"{part('alg')}.{part(CLAIMS)}.c",
        f"{part({'alg': 'ES256', 'kid': 5})}.{part(CLAIMS)}.c",
        f"{part({'alg': 'ES256', 'crit': ['exp']})}.{part(CLAIMS)}.c",
        f"{'W1' * 8000}.{part(CLAIMS)}.c",
        f"{urlsafe_b64encode(b'[' * 9000).decode()}.{part(CLAIMS)}.c",
    ],
)
def test_an_invalid_token_is_refused(token: str) -> None:
    with pytest.raises(InvalidToken):
        judged(token)


@pytest.mark.parametrize("claims", [[], "text", None])
def test_a_signed_payload_has_to_be_an_object(claims: object) -> None:
    with pytest.raises(InvalidToken, match="not a JSON object"):
        judged(signer().sign(claims))


def test_no_reason_has_anything_of_the_token() -> None:
    with pytest.raises(InvalidToken) as refused:
        judged(signed(aud="secret-audience", sub="secret-name"))
    assert "secret" not in str(refused.value)
    assert refused.value.response == '{"status":"invalid_token"}'


def test_an_exchange_with_one_ends_with_its_user() -> None:
    asked = OAuthBearerExchange(partial(judge, RULES, parse_set(published(signer())).find, lambda: NOW_S * 1000))
    assert asked.respond(f"n,,\x01auth=Bearer {signed()}\x01\x01".encode()) == b""
    assert (asked.user, asked.expires_ms) == ("alice", (NOW_S + 60) * 1000)
