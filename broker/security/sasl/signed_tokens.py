"""Signed tokens (RFC 7519): validation by the rules of Apache Kafka's BrokerJwtValidator and of jose4j behind it.

Kafka does not check some fields, and neither does this: a token may be issued in the future (`iat`), but not be used
before its time (`nbf`). Pure: keys and the time are parameters. Imported only where signed tokens are taken.

Invariant: no claim is used before the signature is verified, and no reason contains any part of the token.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from joserfc import jws
from joserfc.errors import JoseError, UnsupportedAlgorithmError
from joserfc.jwk import Key
from joserfc.jws import JWSRegistry

from barnabas.broker.security.sasl.jwt_parts import json_object, split, time_s
from barnabas.broker.security.sasl.oauthbearer import Bearer, InvalidToken

ALGORITHMS: Final = (
    *(f"{family}{bits}" for family in ("HS", "RS", "PS", "ES") for bits in (256, 384, 512)),
    "ES256K",
    "EdDSA",
)
"""The algorithms of jose4j: all but none."""


class SignedRules(NamedTuple):
    """The requirements on a token."""

    audiences: Sequence[str]
    """The token must name one of them; empty if any is accepted."""
    issuer: str | None
    """None if any is accepted."""
    skew_s: int
    subject_claim: str
    scope_claim: str


class _Registry(JWSRegistry):
    """A registry for parts as large as a frame before authentication may be."""

    max_header_length = 16 << 10
    max_payload_length = 1 << 20
    max_signature_length = 4 << 10

    def get_alg(self, name: str) -> Any:
        """Return the algorithm without its warnings, which are for callers that choose an algorithm to sign with."""
        if name not in ALGORITHMS:
            raise UnsupportedAlgorithmError
        return self.algorithms[name]


_REGISTRY: Final = _Registry(strict_check_header=False)


def judge(
    rules: SignedRules, find_key: Callable[[str | None, str], Key | None], now_ms: Callable[[], float], token: str
) -> Bearer:
    """Return the user of a valid token. find_key: the key by its id and the algorithm, or None. Raises InvalidToken."""
    claims = json_object(_verified(token, find_key))
    _check_times(claims, int(now_ms() // 1000), rules.skew_s)
    _check_names(claims, rules)
    _check_scopes(claims.get(rules.scope_claim))
    user = claims.get(rules.subject_claim)
    if not isinstance(user, str) or not user.strip():
        raise InvalidToken(f"the claim {rules.subject_claim} does not name a user")
    return Bearer(user.strip(), int(claims["exp"]) * 1000)


def _verified(token: str, find_key: Callable[[str | None, str], Key | None]) -> bytes:
    """Return the signed payload of the token, once the signature is verified."""
    if not all(part.strip() for part in split(token)):
        raise InvalidToken("a part of it is empty")
    try:
        signed = jws.extract_compact(token.encode(), registry=_REGISTRY)
    except (JoseError, ValueError, RecursionError):
        raise InvalidToken("it is not a signed token") from None
    header: object = signed.protected
    if not isinstance(header, dict) or "crit" in header:
        raise InvalidToken("its header cannot be understood")
    algorithm, key_id = header.get("alg"), header.get("kid")
    if algorithm not in ALGORITHMS:
        raise InvalidToken("its algorithm is not accepted")
    if not isinstance(key_id, str | None):
        raise InvalidToken("its key id is not a string")
    key = find_key(key_id, algorithm)
    if key is None:
        raise InvalidToken("the key set has no key for it")
    try:
        is_good = jws.validate_compact(signed, key, [algorithm], _REGISTRY)
    except (JoseError, ValueError):
        is_good = False
    if not is_good:
        raise InvalidToken("its signature does not match the key")
    return signed.payload


def _check_times(claims: Mapping[str, Any], now_s: int, skew_s: int) -> None:
    expires_s, issued_s, begins_s = (_whole_s(claims, name) for name in ("exp", "iat", "nbf"))
    if expires_s is None or expires_s < 0:
        raise InvalidToken("it has no expiration time")
    if issued_s is None or issued_s < 0:
        raise InvalidToken("it has no issue time")
    if now_s - skew_s >= expires_s:
        raise InvalidToken("it has expired")
    if expires_s < issued_s:
        raise InvalidToken("it expired before it was issued")
    if begins_s is None:
        return
    if expires_s < begins_s:
        raise InvalidToken("it expires before it becomes valid")
    if now_s + skew_s < begins_s:
        raise InvalidToken("it is not valid yet")


def _whole_s(claims: Mapping[str, Any], name: str) -> int | None:
    value = time_s(claims, name)
    return None if value is None else int(value)


def _check_names(claims: Mapping[str, Any], rules: SignedRules) -> None:
    """Check audience and issuer; and that names are texts, also where no rule uses them."""
    for name in ("sub", "iss", "jti"):
        if not isinstance(claims.get(name), str | None):
            raise InvalidToken(f"the claim {name} is not a string")
    audience = claims.get("aud", [])
    audiences = [audience] if isinstance(audience, str) else audience
    if not isinstance(audiences, list) or not all(isinstance(each, str) for each in audiences):
        raise InvalidToken("the claim aud is neither a string nor a list of strings")
    if rules.audiences and not set(audiences).intersection(rules.audiences):
        raise InvalidToken("it is for another audience")
    if rules.issuer is not None and claims.get("iss") != rules.issuer:
        raise InvalidToken("it is from another issuer")


def _check_scopes(value: object) -> None:
    """Check that scopes, if there are any, have names, and no two the same."""
    if not isinstance(value, str | list):
        return
    scopes = [value] if isinstance(value, str) else value
    if not all(isinstance(each, str) and each.strip() for each in scopes):
        raise InvalidToken("a scope of it has no name")
    if len({each.strip() for each in scopes}) != len(scopes):
        raise InvalidToken("it has a scope twice")
