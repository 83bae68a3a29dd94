"""Which key of a set is for a token: as jose4j chooses."""

import json
from base64 import urlsafe_b64encode
from typing import Any

import pytest
from joserfc.jwk import ECKey, RSAKey

from barnabas.broker.security.sasl.jwk_set import KEYS_MAX, JwkSet, parse_set

CURVE = ECKey.generate_key("P-256").as_dict(private=False)
LARGER_CURVE = ECKey.generate_key("P-384").as_dict(private=False)
RSA = RSAKey.generate_key(2048).as_dict(private=False)


def set_of(*keys: dict[str, Any]) -> JwkSet:
    return parse_set(json.dumps({"keys": keys}).encode())


def test_a_key_is_found_by_id_and_type() -> None:
    keys = set_of(CURVE | {"kid": "a"}, RSA | {"kid": "b"}, RSA | {"kid": "a"})
    assert keys.ids == {"a", "b"}
    found = [keys.find(key_id, algorithm) for key_id in ("a", "b") for algorithm in ("ES256", "RS256", "HS256")]
    assert [key and (key.kid, key.key_type) for key in found] == [
        ("a", "EC"),
        ("a", "RSA"),
        None,
        None,
        ("b", "RSA"),
        None,
    ]


def test_a_token_without_an_id_gets_the_first_that_fits() -> None:
    keys = set_of(LARGER_CURVE | {"kid": "large"}, CURVE | {"kid": "first"}, CURVE | {"kid": "second"})
    found = keys.find(None, "ES256")
    assert found is not None
    assert found.kid == "first"


def test_of_several_the_one_for_the_algorithm_is_taken() -> None:
    found = set_of(RSA | {"kid": "a", "alg": "RS512"}, RSA | {"kid": "a", "alg": "RS256"}).find("a", "RS256")
    assert found is not None
    assert found.alg == "RS256"


@pytest.mark.parametrize("other_use", [{"use": "enc"}, {"key_ops": ["encrypt"]}])
def test_a_key_for_something_else_is_not_taken(other_use: dict[str, Any]) -> None:
    assert set_of(RSA | other_use).find(None, "RS256") is None
    assert set_of(RSA | {"use": "sig", "key_ops": ["verify"]}).find(None, "RS256") is not None


def test_short_keys_are_not_taken() -> None:
    assert set_of(RSA | {"n": urlsafe_b64encode(b"\xff" * 128).decode()}).find(None, "RS256") is None
    short = {"kty": "oct", "k": "c2hvcnQ"}
    assert set_of(short).find(None, "HS256") is None
    long = {"kty": "oct", "k": "A" * 43}
    assert set_of(long).find(None, "HS256") is not None
    assert set_of(long).find(None, "HS512") is None


def test_keys_that_are_not_known_are_left_out() -> None:
    odd: list[Any] = [{}, 5, {"kty": "new"}, {"kty": "RSA"}, {"kty": "RSA", "n": "!", "e": 5}, {"kty": ["RSA"]}]
    keys = parse_set(json.dumps({"keys": [*odd, CURVE]}).encode())
    assert keys.find(None, "ES256") is not None


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "not a JSON object"),
        (b"[]", "not a JSON object"),
        (b"[" * 100_000, "not a JSON object"),
        (b"\xff", "not a JSON object"),
        (b"{}", "no list of keys"),
        (b'{"keys": {}}', "no list of keys"),
        (json.dumps({"keys": [{}] * (KEYS_MAX + 1)}).encode(), "it has 1001 keys"),
    ],
)
def test_an_invalid_set_is_refused(content: bytes, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        parse_set(content)
