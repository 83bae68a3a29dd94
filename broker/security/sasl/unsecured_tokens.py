"""Tokens without a signature: Apache Kafka takes them for OAUTHBEARER where no other handler is configured, for tests.

A token is `base64({"alg":"none"}).base64(claims).`; a client that can write it can claim any user. The rules are those
of Kafka's OAuthBearerUnsecuredValidatorCallbackHandler, and so are the options of its login module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from barnabas.broker.security.sasl.jwt_parts import decoded, split, time_s
from barnabas.broker.security.sasl.oauthbearer import Bearer, InvalidToken

_PREFIX = "unsecuredValidator"


class UnsecuredRules(NamedTuple):
    """The requirements on a token."""

    principal_claim: str
    scope_claim: str
    required_scope: tuple[str, ...]
    skew_ms: int


def rules_in(options: Mapping[str, str]) -> UnsecuredRules:
    """Return the rules in the options of the login module. Raises ValueError with a sentence."""
    values = {
        key: options.get(f"{_PREFIX}{key}", "").strip()
        for key in ("PrincipalClaimName", "ScopeClaimName", "RequiredScope", "AllowableClockSkewMs")
    }
    skew = values["AllowableClockSkewMs"] or "0"
    if not (skew.isascii() and skew.isdecimal()):
        raise ValueError(f"{_PREFIX}AllowableClockSkewMs is not a number from 0 on")
    claims = values["PrincipalClaimName"] or "sub", values["ScopeClaimName"] or "scope"
    return UnsecuredRules(*claims, tuple(values["RequiredScope"].split()), int(skew))


def judge(rules: UnsecuredRules, now_ms: Callable[[], float], token: str) -> Bearer:
    """Return the user of a valid token. Raises InvalidToken."""
    header_part, claims_part, signature = split(token)
    if decoded(header_part).get("alg") != "none":
        raise InvalidToken("an unsecured token has the algorithm none")
    if signature:
        raise InvalidToken("an unsecured token has no signature")
    claims, now = decoded(claims_part), now_ms()
    user = claims.get(rules.principal_claim)
    if not isinstance(user, str) or not user.strip():
        raise InvalidToken(f"the claim {rules.principal_claim} does not name a user")
    issued, expires = _time(claims, "iat"), _time(claims, "exp")
    if expires is None:
        raise InvalidToken("it has no expiration time")
    if issued is not None and issued > now + rules.skew_ms:
        raise InvalidToken("it is issued in the future")
    if now - rules.skew_ms >= expires:
        raise InvalidToken("it has expired")
    if issued is not None and expires <= issued:
        raise InvalidToken("it expired before it was issued")
    lacking = [each for each in rules.required_scope if each not in _scope(claims.get(rules.scope_claim))]
    if lacking:
        raise InvalidToken(f"it lacks the scope {lacking[0]}", f"[{', '.join(rules.required_scope)}]")
    return Bearer(user, expires)


def _time(claims: Mapping[str, Any], name: str) -> float | None:
    """Return the time in a claim, in milliseconds since 1970."""
    value = time_s(claims, name)
    return None if value is None else value * 1000


def _scope(value: object) -> set[str]:
    """Return the scopes as Kafka reads them: a text is one scope, a list has several."""
    if isinstance(value, str):
        return {value.strip()}
    return {str(each).strip() for each in value} if isinstance(value, list) else set()
