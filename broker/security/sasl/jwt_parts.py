"""The common parts of tokens of OAUTHBEARER, signed or not: JSON objects in base64, and times in them.

Knows no rules. A broken token is an InvalidToken, whose message contains no part of the token.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from typing import Any

from barnabas.broker.security.sasl.oauthbearer import InvalidToken


def split(token: str) -> list[str]:
    """Split a token into header, claims and signature."""
    parts = token.split(".")
    if len(parts) != 3:
        raise InvalidToken("it does not have three parts")
    return parts


def decoded(part: str) -> dict[str, Any]:
    """Decode the object in one part of a token."""
    try:
        return json_object(urlsafe_b64decode(part.rstrip("=") + "=" * (-len(part.rstrip("=")) % 4)))
    except ValueError:
        raise InvalidToken("a part of it is not JSON in base64") from None


def json_object(content: bytes) -> dict[str, Any]:
    """Parse an object in JSON. Raise InvalidToken for others, and for a repeated member: parsers differ there."""
    try:
        found = json.loads(content, object_pairs_hook=_object)
    except (ValueError, RecursionError):
        raise InvalidToken("a part of it is not JSON in base64") from None
    if not isinstance(found, dict):
        raise InvalidToken("a part of it is not a JSON object")
    return found


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise InvalidToken("a part of it has a name twice")
    return found


def time_s(claims: Mapping[str, Any], name: str) -> float | None:
    """Return the time in a claim, in seconds since 1970; None where there is no such claim."""
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e12:
        raise InvalidToken(f"the claim {name} is not a time")
    return value
